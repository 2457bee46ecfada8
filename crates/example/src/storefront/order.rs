//! Orders and their lines. An order's total is the sum of its lines, so both are made alike.

use super::catalogue::{cents, sku_as_typed};
use super::time::{OPEN_SECONDS, OPENED, Second};
use super::word::NOTES;
use super::{Storefront, purpose};
use crate::copy::{Rows, Table};
use crate::random::Random;

/// Of a hundred orders so many belong to the few very large customers.
const LARGE_PERCENT: u64 = 20;
/// How many those are.
const LARGE_CUSTOMERS: u64 = 3;
/// Currencies that orders are paid in, the usual ones first.
const PAID_IN: [&str; 4] = ["EUR", "USD", "GBP", "CHF"];

struct Line {
    sku: String,
    quantity: u64,
    cents: u64,
}

pub(super) fn tables(shop: Storefront) -> Vec<Table> {
    vec![
        Table::new(
            "orders",
            "id, customer_id, status, currency_code, total, note, external_id, placed_at",
            shop.orders(),
            move |at, rows| order(shop, at + 1, rows),
        ),
        Table::new(
            "items",
            "customer_id, order_id, line, sku, quantity, unit_price",
            shop.orders(),
            move |at, rows| items(shop, at + 1, rows),
        ),
    ]
}

/// Whose order it is: the first customers are very large, many others have few or none.
fn customer_of(shop: Storefront, order: u64) -> u64 {
    let mut random = Random::of(shop.seed(), purpose::ORDER, order);
    if random.chance(LARGE_PERCENT) {
        return 1 + random.skewed_below(LARGE_CUSTOMERS);
    }
    1 + LARGE_CUSTOMERS + random.skewed_below(shop.customers() - LARGE_CUSTOMERS)
}

fn lines(shop: Storefront, order: u64) -> impl Iterator<Item = Line> {
    let mut random = Random::of(shop.seed(), purpose::ITEM, order);
    let count = if random.chance(4) {
        0
    } else {
        1 + random.skewed_below(6)
    };
    (0..count).map(move |_| {
        let product = random.skewed_below(shop.products());
        let sku = sku_as_typed(shop.seed(), product, &mut random);
        let quantity = 1 + random.skewed_below(4);
        Line {
            sku,
            quantity,
            cents: cents(shop.seed(), product),
        }
    })
}

fn order(shop: Storefront, id: u64, rows: &mut Rows) {
    let total: u64 = lines(shop, id).map(|line| line.quantity * line.cents).sum();
    let mut random = Random::of(shop.seed(), purpose::ORDER, id);
    // The first numbers of the stream decided whose it is.
    for _ in 0..3 {
        random.next();
    }
    let status = match random.below(100) {
        0..=7 => "cart",
        8..=19 => "placed",
        20..=49 => "paid",
        50..=93 => "shipped",
        _ => "returned",
    };
    let currency = PAID_IN[usize::try_from(random.skewed_below(4)).unwrap_or(0)];
    let note = random.chance(10).then(|| random.pick(&NOTES));
    let external = random.chance(25).then(|| {
        let (high, low) = (random.next(), random.next());
        let tail = low & 0xffff_ffff_ffff;
        format!(
            "{:08x}-{:04x}-4{:03x}-9{:03x}-{tail:012x}",
            high >> 32,
            high & 0xffff,
            high >> 16 & 0xfff,
            low >> 48 & 0xfff
        )
    });
    // Orders come in the order of their numbers, more or less; a cart isn't placed yet.
    let share = OPEN_SECONDS / shop.orders().max(1);
    let placed = Second(OPENED + id * share + random.below(86_400));
    rows.put(id)
        .put(customer_of(shop, id))
        .put(status)
        .put(currency);
    rows.put(format_args!("{}.{:02}", total / 100, total % 100))
        .put_or_null(note);
    rows.put_or_null(external)
        .put_or_null((status != "cart").then_some(placed))
        .end();
}

fn items(shop: Storefront, order: u64, rows: &mut Rows) {
    let customer = customer_of(shop, order);
    for (at, line) in lines(shop, order).enumerate() {
        rows.put(customer)
            .put(order)
            .put(at + 1)
            .put(line.sku)
            .put(line.quantity);
        rows.put(format_args!("{}.{:02}", line.cents / 100, line.cents % 100))
            .end();
    }
}
