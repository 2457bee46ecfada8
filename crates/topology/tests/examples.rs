//! The example documents of the project, on any number of shards.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use indexmap::IndexMap;
use topology::{Document, Placement, ShardEntry, TableName, Topology};

fn shards(count: usize) -> IndexMap<String, ShardEntry> {
    let shard = |number: usize| {
        let primary = Some(format!("127.0.0.1:{}", 5000 + number));
        (
            format!("store-{number}"),
            ShardEntry {
                primary,
                ..ShardEntry::default()
            },
        )
    };
    (1..=count).map(shard).collect()
}

fn storefront() -> Document {
    let text = include_str!("../../../examples/storefront/topology.json");
    let document = Document::read(text).unwrap().document;
    assert_eq!(document.to_json(), text, "the example is in canonical form");
    document
}

#[test]
fn the_storefront_stands_on_any_number_of_shards() {
    for count in [1, 2, 3, 4, 16] {
        let mut document = storefront();
        let shards = shards(count);
        let uids: Vec<String> = shards.keys().cloned().collect();
        document.spread_evenly(&uids);
        let topology = Topology::compile(document, 1, &shards).unwrap();
        assert_eq!(topology.warnings(), []);
        for group in ["customer_data", "catalog"] {
            let group = topology.group_named(group).unwrap();
            assert_eq!(group.shards.len(), count, "{} on {count} shards", group.uid);
        }
        assert_eq!(
            topology.shard(topology.authoritative_shard()).uid,
            "store-1"
        );
    }
}

#[test]
fn two_shards_are_what_the_document_says_itself() {
    let uids = ["store-1".to_owned(), "store-2".to_owned()];
    let mut spread = storefront();
    spread.spread_evenly(&uids);
    assert_eq!(spread, storefront());
}

#[test]
fn what_belongs_to_a_customer_lies_together() {
    let topology = Topology::compile(storefront(), 1, &shards(2)).unwrap();
    let placement = |table| {
        let name = TableName {
            database: "storefront",
            schema: "public",
            table,
        };
        topology.declared(name).unwrap().clone()
    };
    let Placement::Sharded(customers) = placement("customers") else {
        unreachable!("customers are sharded");
    };
    assert_eq!(customers.key.to_string(), "id");
    for table in ["addresses", "orders", "items"] {
        let Placement::Sharded(sharded) = placement(table) else {
            unreachable!("{table} is sharded");
        };
        assert!(customers.is_colocated(&sharded), "{table}");
        assert_eq!(sharded.key.to_string(), "customer_id");
    }
    for table in ["countries", "currencies", "tax_rates"] {
        assert!(
            matches!(placement(table), Placement::Reference(_)),
            "{table}"
        );
        assert_eq!(placement(table).shards().len(), 2);
    }
}

#[test]
fn the_storefront_is_shown_to_people() {
    let topology = Topology::compile(storefront(), 3, &shards(2)).unwrap();
    let expected = "\
revision 3
shards
  store-1  127.0.0.1:5001
  store-2  127.0.0.1:5002
groups
  main           on store-1                       authoritative, default
  customer_data  by_customer xxhash(customer_id)
    ..80         store-1
    80..         store-2
  catalog        by_sku xxhash(lower(sku))
    ..80         store-1
    80..         store-2
database storefront
  public.customers     customer_data by id
  public.addresses     customer_data by customer_id
  public.orders        customer_data by customer_id
  public.items         customer_data by customer_id
  public.products      catalog by lower(sku)
  public.inventory     catalog by lower(sku)
  public.prices        catalog by lower(sku)
  public.countries     a copy on every shard of customer_data, catalog
  public.currencies    a copy on every shard of customer_data, catalog
  public.tax_rates     a copy on every shard of customer_data, catalog
  public.order_number  sequence in main, drawn 100 at a time
";
    assert_eq!(topology.to_string(), expected);
}
