use super::*;
use crate::check::{CollationFact, ColumnFact, ColumnTypes, UniqueConstraint};

const DOCUMENT: &str = r#"{
    "shards": {"a": {"primary": "a:1"}, "b": {"primary": "b:1"}},
    "shard_indexes": {
        "by_id": {"type": "xxhash", "columns": ["id"]},
        "by_sku": {"type": "xxhash", "columns": ["lower(sku)"]}
    },
    "shard_groups": [
        {"uid": "customers", "default_shard_index": "by_id", "key_ranges": [
            {"shard_uid": "b", "start": "80"}, {"shard_uid": "a", "end": "80"}]},
        {"uid": "catalog", "default_shard_index": "by_sku", "key_ranges": [
            {"shard_uid": "a", "end": "80"}, {"shard_uid": "b", "start": "80"}]},
        {"uid": "main", "key_ranges": [{"shard_uid": "a"}]},
        {"uid": "archive", "key_ranges": [{"shard_uid": "b"}]}
    ],
    "authoritative_shard_group": "main",
    "databases": {
        "shop": {
            "default_shard_group": "customers",
            "schemas": {
                "public": {
                    "tables": {
                        "orders": {"primary_indexes": [{"columns": ["customer_id"]}]},
                        "items": {"primary_indexes": [{"columns": ["customer_id"]}]},
                        "by_sku": {"primary_indexes": [{"shard_index": "by_sku"}]},
                        "products": {"shard_group": "catalog"}
                    },
                    "reference_tables": {"currencies": {"shard_groups": ["customers", "catalog"]}},
                    "sequences": {"order_number": {"block": 50}, "old": {"shard_group": "archive"}},
                    "functions": {
                        "credit": {"shard_group": "customers", "shard_key_argument": "customer"}
                    }
                },
                "old": {"default_shard_group": "archive"}
            }
        },
        "strict": {"default_shard_group": "customers", "unsharded_patterns": []}
    }
}"#;

fn topology() -> Topology {
    Topology::parse(DOCUMENT, 7, &IndexMap::new()).unwrap()
}

fn name<'a>(database: &'a str, schema: &'a str, table: &'a str) -> TableName<'a> {
    TableName {
        database,
        schema,
        table,
    }
}

/// Where a table with these columns is, in one line.
fn check(at: (&str, &str, &str), columns: &[&str], expected: &str) {
    let topology = topology();
    let placement = topology.placement(name(at.0, at.1, at.2), &|column| columns.contains(&column));
    let uid = |group: GroupId| topology.group(group).uid.clone();
    let shown = match placement {
        Ok(Placement::Sharded(sharded)) => {
            format!(
                "{} by {}({})",
                uid(sharded.group),
                sharded.index.name,
                sharded.key
            )
        }
        Ok(Placement::Reference(reference)) => {
            let groups: Vec<String> = reference.groups.iter().map(|group| uid(*group)).collect();
            format!(
                "copies in {} on {} shards",
                groups.join(", "),
                reference.shards.len()
            )
        }
        Ok(Placement::Unsharded { group, .. }) => format!("on one shard in {}", uid(group)),
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected, "{at:?}");
}

#[test]
fn a_declared_table_inherits_what_it_does_not_say() {
    check(
        ("shop", "public", "orders"),
        &[],
        "customers by by_id(customer_id)",
    );
    check(
        ("shop", "public", "by_sku"),
        &[],
        "customers by by_sku(lower(sku))",
    );
    check(
        ("shop", "public", "products"),
        &[],
        "catalog by by_sku(lower(sku))",
    );
    check(
        ("shop", "public", "currencies"),
        &[],
        "copies in customers, catalog on 2 shards",
    );
}

#[test]
fn an_undeclared_table_goes_to_the_nearest_default() {
    check(
        ("shop", "public", "notes"),
        &["id"],
        "customers by by_id(id)",
    );
    check(("shop", "old", "notes"), &["id"], "on one shard in archive");
    check(
        ("shop", "unknown", "notes"),
        &["id"],
        "customers by by_id(id)",
    );
    check(
        ("other", "public", "notes"),
        &["id"],
        "on one shard in main",
    );
    check(
        ("shop", "pg_catalog", "pg_class"),
        &[],
        "on one shard in main",
    );
    check(
        ("shop", "information_schema", "tables"),
        &[],
        "on one shard in main",
    );
}

#[test]
fn an_undeclared_table_without_the_key_is_refused() {
    check(
        ("shop", "public", "notes"),
        &["note"],
        "table public.notes has no column \"id\", the key of shard group \"customers\"",
    );
}

#[test]
fn bookkeeping_tables_go_to_the_authoritative_group() {
    check(
        ("shop", "public", "schema_migrations"),
        &["version"],
        "on one shard in main",
    );
    // With the key it is a table like any other.
    check(
        ("shop", "public", "schema_migrations"),
        &["id"],
        "customers by by_id(id)",
    );
    check(
        ("strict", "public", "schema_migrations"),
        &["version"],
        "table public.schema_migrations has no column \"id\", the key of shard group \"customers\"",
    );
}

#[test]
fn tables_of_one_group_and_index_are_colocated() {
    let topology = topology();
    let sharded = |table| match topology.declared(name("shop", "public", table)) {
        Some(Placement::Sharded(sharded)) => Arc::clone(sharded),
        other => panic!("{table} is {other:?}"),
    };
    assert!(sharded("orders").is_colocated(&sharded("items")));
    // Same function over keys of one class: the same text lies together.
    assert!(sharded("by_sku").is_colocated(&sharded("orders")));
    // Another group, though with the same index.
    assert!(!sharded("by_sku").is_colocated(&sharded("products")));
}

#[test]
fn sequences_and_functions_have_places() {
    let topology = topology();
    let shown = |schema, sequence| {
        let place = topology.sequence("shop", schema, sequence);
        format!("{} {}", topology.group(place.group).uid, place.block)
    };
    assert_eq!(shown("public", "order_number"), "main 50");
    assert_eq!(shown("public", "old"), "archive 1000");
    assert_eq!(shown("public", "undeclared"), "main 1");
    let credit = topology.function("shop", "public", "credit").unwrap();
    let shard = credit
        .shard_for(&pg::KeyValue::Integer(32))
        .unwrap()
        .unwrap();
    assert_eq!(topology.shard(shard).uid, "b");
    assert!(topology.function("shop", "public", "other").is_none());
}

#[test]
fn without_an_unsharded_group_main_is_implied_on_the_first_shard() {
    let text = r#"{
        "shards": {"b": {"primary": "b:1"}, "a": {"primary": "a:1"}},
        "shard_indexes": {"by_id": {"type": "modulo", "columns": ["id"],
            "index_params": {"modulus": "2"}}},
        "shard_groups": [{"uid": "g", "default_shard_index": "by_id", "key_ranges": [
            {"shard_uid": "a", "end": "1"}, {"shard_uid": "b", "start": "1"}]}]
    }"#;
    let topology = Topology::parse(text, 1, &IndexMap::new()).unwrap();
    assert_eq!(topology.group(topology.authoritative_group()).uid, "main");
    assert_eq!(topology.shard(topology.authoritative_shard()).uid, "b");
}

#[test]
fn a_cluster_without_a_document_has_everything_on_its_first_shard() {
    let shard = |address: &str| document::Shard {
        primary: Some(address.to_owned()),
        ..document::Shard::default()
    };
    let shards = IndexMap::from([
        ("x".to_owned(), shard("x:1")),
        ("y".to_owned(), shard("y:1")),
    ]);
    let topology = Topology::single(&shards).unwrap();
    assert_eq!(topology.shards().len(), 2);
    let placement = topology
        .placement(name("d", "public", "t"), &|_| true)
        .unwrap();
    assert_eq!(placement.shards(), [topology.shard_named("x").unwrap().id]);
}

#[test]
fn configured_shards_add_to_the_document_and_replace_addresses() {
    let shard = |address: &str| document::Shard {
        primary: Some(address.to_owned()),
        ..document::Shard::default()
    };
    let configured = IndexMap::from([
        ("b".to_owned(), shard("here:2")),
        ("c".to_owned(), shard("c:1")),
    ]);
    let topology = Topology::parse(DOCUMENT, 1, &configured).unwrap();
    let shown: Vec<String> = topology
        .shards()
        .iter()
        .map(|shard| format!("{} {}", shard.uid, shard.primary))
        .collect();
    assert_eq!(shown, ["a a:1", "b here:2", "c c:1"]);
}

struct Columns;

impl ColumnTypes for Columns {
    fn unique_constraints(&self, _: TableName<'_>) -> Vec<UniqueConstraint> {
        Vec::new()
    }

    fn has_table(&self, _: TableName<'_>) -> bool {
        true
    }

    fn column(&self, _: TableName<'_>, column: &str) -> Option<ColumnFact> {
        let type_oid = match column {
            "customer_id" => pg::oid::INT8,
            "sku" => pg::oid::TEXT,
            _ => return None,
        };
        let key_type = pg::KeyType::of_builtin(type_oid);
        let type_name = type_oid.type_name()?.to_owned();
        Some(ColumnFact {
            key_type,
            type_name,
            collation: CollationFact::Plain,
        })
    }
}

#[test]
fn a_key_is_located_for_people() {
    let topology = topology();
    let shown = |table, texts: &[&str]| match topology.shard_of(
        name("shop", "public", table),
        texts,
        &Columns,
    ) {
        Ok(location) => location.describe(&topology),
        Err(error) => error.to_string(),
    };
    assert_eq!(
        shown("orders", &["32"]),
        "b (routing value 8d5d6e55752a60ea)"
    );
    assert_eq!(
        shown("orders", &["3203"]),
        "a (routing value 69ac7759a7df6527)"
    );
    assert_eq!(
        shown("products", &["AB-1042"]),
        "b (routing value ace08d9787842c6b)"
    );
    assert_eq!(
        shown("products", &["ÄB"]),
        "only a shard can compute lower(sku)"
    );
    assert_eq!(shown("currencies", &[]), "a, b");
    assert_eq!(
        shown("orders", &["x"]),
        "\"x\" is no value of column \"customer_id\""
    );
    assert_eq!(
        shown("orders", &["1", "2"]),
        "the key is (customer_id), but 2 values are given"
    );
}
