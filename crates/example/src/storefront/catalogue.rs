//! Products, what is in stock of them, and what they cost.

use super::time::{Day, OPENED};
use super::word::{ADJECTIVES, CATEGORIES, CURRENCIES, TAGS, WAREHOUSES};
use super::{Storefront, purpose};
use crate::copy::{Rows, Table};
use crate::random::Random;

pub(super) fn tables(shop: Storefront) -> Vec<Table> {
    let (products, seed) = (shop.products(), shop.seed());
    vec![
        Table::new(
            "products",
            "sku, title, category, tags, weight_g, details",
            products,
            move |at, rows| product(seed, at, rows),
        ),
        Table::new(
            "inventory",
            "sku, warehouse, quantity, counted_on",
            products,
            move |at, rows| inventory(seed, at, rows),
        ),
        Table::new(
            "prices",
            "sku, currency_code, amount",
            products,
            move |at, rows| {
                prices(seed, at, rows);
            },
        ),
    ]
}

/// The name of a product: unique also in lower case, and written in either case.
pub(super) fn sku(seed: u64, at: u64) -> String {
    let mut random = Random::of(seed, purpose::PRODUCT, at);
    let letters = ["AB", "CD", "EF", "GH", "KL", "MN", "ÄÖ", "XY"];
    let sku = format!("{}-{}", random.pick(&letters), 1_000 + at);
    if random.chance(30) {
        sku.to_lowercase()
    } else {
        sku
    }
}

/// The name of a product as customers type it.
pub(super) fn sku_as_typed(seed: u64, at: u64, random: &mut Random) -> String {
    let sku = sku(seed, at);
    if random.chance(20) {
        sku.to_lowercase()
    } else {
        sku
    }
}

/// The price of a product in hundredths of a euro.
pub(super) fn cents(seed: u64, at: u64) -> u64 {
    99 + Random::of(seed, purpose::PRICE, at).skewed_below(20_000)
}

fn product(seed: u64, at: u64, rows: &mut Rows) {
    // The first numbers of the stream went into the name.
    let mut random = Random::of(seed, purpose::PRODUCT, at);
    let (_, _) = (random.next(), random.next());
    let (category, nouns) = random.pick(&CATEGORIES);
    let title = format!("{} {}", random.pick(&ADJECTIVES), random.pick(nouns));
    let tags: Vec<String> = (0..random.below(4))
        .map(|_| format!("\"{}\"", random.pick(&TAGS)))
        .collect();
    let weight = (!random.chance(15)).then(|| 10 + random.skewed_below(5_000));
    let details = (!random.chance(25)).then(|| {
        let (width, height) = (random.below(90), random.below(90));
        format!(
            "{{\"size\": [{width}, {height}], \"boxed\": {}}}",
            random.chance(50)
        )
    });
    rows.put(sku(seed, at)).put(title).put(category);
    rows.put(format_args!("{{{}}}", tags.join(",")))
        .put_or_null(weight)
        .put_or_null(details)
        .end();
}

fn inventory(seed: u64, at: u64, rows: &mut Rows) {
    let mut random = Random::of(seed, purpose::INVENTORY, at);
    for warehouse in WAREHOUSES {
        if random.chance(40) {
            continue;
        }
        let counted = (!random.chance(20)).then(|| Day(OPENED / 86_400 + random.below(1_800)));
        rows.put(sku(seed, at))
            .put(warehouse)
            .put(random.skewed_below(500));
        rows.put_or_null(counted).end();
    }
}

fn prices(seed: u64, at: u64, rows: &mut Rows) {
    let mut random = Random::of(seed, purpose::INVENTORY, at.wrapping_add(1 << 40));
    let cents = cents(seed, at);
    for (nr, (currency, _, decimals)) in CURRENCIES.iter().enumerate() {
        if nr > 0 && random.chance(50) {
            continue;
        }
        rows.put(sku(seed, at)).put(currency);
        match decimals {
            0 => rows.put(cents * 2),
            _ => rows.put(format_args!("{}.{:02}", cents / 100, cents % 100)),
        };
        rows.end();
    }
}
