use std::collections::{BTreeMap, BTreeSet};

use super::Storefront;

fn rows(shop: Storefront, name: &str) -> Vec<Vec<String>> {
    let table = shop
        .tables()
        .into_iter()
        .find(|table| table.name == name)
        .unwrap();
    let text = String::from_utf8(table.collect::<Vec<_>>().concat()).unwrap();
    text.lines()
        .map(|line| line.split('\t').map(str::to_owned).collect())
        .collect()
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let all = |seed| {
        let tables = Storefront::new(1_000, seed).tables();
        tables
            .into_iter()
            .flat_map(|table| table.collect::<Vec<_>>().concat())
            .collect::<Vec<_>>()
    };
    assert_eq!(all(7), all(7));
    assert_ne!(all(7), all(8));
}

#[test]
fn every_reference_leads_somewhere() {
    let shop = Storefront::new(2_000, 1);
    let column = |name: &str, at: usize| -> BTreeSet<String> {
        rows(shop, name)
            .into_iter()
            .map(|row| row[at].clone())
            .collect()
    };
    let customers = column("customers", 0);
    assert_eq!(customers.len() as u64, shop.customers());
    assert!(column("orders", 1).is_subset(&customers));
    assert!(column("addresses", 0).is_subset(&customers));
    let products = column("products", 0);
    assert_eq!(products.len() as u64, shop.products());
    assert!(column("inventory", 0).is_subset(&products));
    assert!(column("prices", 0).is_subset(&products));
    let pairs = |name: &str, a: usize, b: usize| -> BTreeSet<(String, String)> {
        rows(shop, name)
            .into_iter()
            .map(|row| (row[a].clone(), row[b].clone()))
            .collect()
    };
    assert!(pairs("items", 0, 1).is_subset(&pairs("orders", 1, 0)));
}

#[test]
fn totals_are_the_sums_of_their_lines() {
    let shop = Storefront::new(1_000, 3);
    let cents = |text: &str| text.replace('.', "").parse::<u64>().unwrap();
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for row in rows(shop, "items") {
        *sums.entry(row[1].clone()).or_default() += row[4].parse::<u64>().unwrap() * cents(&row[5]);
    }
    for row in rows(shop, "orders") {
        assert_eq!(
            cents(&row[4]),
            sums.get(&row[0]).copied().unwrap_or(0),
            "order {}",
            row[0]
        );
    }
}

#[test]
fn some_customers_are_very_large_and_some_have_nothing() {
    let shop = Storefront::new(5_000, 1);
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for row in rows(shop, "orders") {
        *counts.entry(row[1].clone()).or_default() += 1;
    }
    let largest = counts.values().max().copied().unwrap_or(0);
    assert!(largest > 300, "{largest}");
    assert!((counts.len() as u64) < shop.customers());
}

#[test]
fn sizes_are_held_to_their_limits() {
    assert_eq!(Storefront::new(1, 0).orders(), super::ORDERS_MIN);
    assert_eq!(Storefront::new(u64::MAX, 0).orders(), super::ORDERS_MAX);
}

#[test]
fn the_tour_names_a_product_that_is_there() {
    let skus = rows(Storefront::default(), "products");
    let wanted = Storefront::TOUR
        .split("p.sku) = '")
        .nth(1)
        .unwrap()
        .split('\'')
        .next()
        .unwrap();
    assert!(
        skus.iter()
            .any(|row| row[0].to_lowercase() == wanted.to_lowercase()),
        "{skus:?}"
    );
}

#[test]
fn the_definitions_are_whole_statements() {
    let definitions: Vec<&str> = Storefront::definitions().collect();
    assert!(definitions.len() > 15);
    assert!(definitions.iter().all(|text| text.ends_with(';')));
}
