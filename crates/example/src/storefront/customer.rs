//! Customers and their addresses.

use super::time::{Day, OPEN_SECONDS, OPENED, Second};
use super::word::{COUNTRIES, FIRST_NAMES, LAST_NAMES, STREETS};
use super::{Storefront, purpose};
use crate::copy::{Rows, Table};
use crate::random::Random;

pub(super) fn tables(shop: Storefront) -> Vec<Table> {
    let customers = shop.customers();
    vec![
        Table::new(
            "customers",
            "id, name, email, country_code, birthday, vip, profile, created_at",
            customers,
            move |at, rows| customer(shop.seed(), at + 1, rows),
        ),
        Table::new(
            "addresses",
            "customer_id, kind, street, city, postcode, country_code",
            customers,
            move |at, rows| addresses(shop.seed(), at + 1, rows),
        ),
    ]
}

fn customer(seed: u64, id: u64, rows: &mut Rows) {
    let mut random = Random::of(seed, purpose::CUSTOMER, id);
    let name = format!("{} {}", random.pick(&FIRST_NAMES), random.pick(&LAST_NAMES));
    let provider = random.pick(&["example.com", "example.org", "mail.example"]);
    let email = (!random.chance(12)).then(|| format!("customer{id}@{provider}"));
    let country = (!random.chance(5)).then(|| random.pick(&COUNTRIES).0);
    let birthday = (!random.chance(30)).then(|| Day(random.below(14_600)));
    let vip = random.chance(3);
    let profile = (!random.chance(40)).then(|| {
        let news = random.chance(50);
        let level = random.skewed_below(10);
        format!("{{\"level\": {level}, \"news\": {news}, \"langs\": [\"en\", \"de\"]}}")
    });
    let created = Second(OPENED + random.below(OPEN_SECONDS));
    rows.put(id)
        .put(name)
        .put_or_null(email)
        .put_or_null(country)
        .put_or_null(birthday);
    rows.put(if vip { "t" } else { "f" })
        .put_or_null(profile)
        .put(created)
        .end();
}

fn addresses(seed: u64, customer: u64, rows: &mut Rows) {
    let mut random = Random::of(seed, purpose::ADDRESS, customer);
    for (kind, percent) in [("billing", 90), ("shipping", 35)] {
        if !random.chance(percent) {
            continue;
        }
        let (country, _, _, city) = random.pick(&COUNTRIES);
        let street = format!("{} {}", random.pick(&STREETS), 1 + random.below(200));
        let postcode = (!random.chance(10)).then(|| 10_000 + random.below(89_999));
        rows.put(customer)
            .put(kind)
            .put(street)
            .put(city)
            .put_or_null(postcode)
            .put(country)
            .end();
    }
}
