use indexmap::IndexMap;

use super::*;
use crate::topology::Topology;

const BASE: &str = r#"{
    "shards": {"a": {"primary": "a:1"}, "b": {"primary": "b:1"}, "c": {"primary": "c:1"}},
    "shard_indexes": {
        "by_id": {"type": "xxhash", "columns": ["id"]},
        "by_country": {"type": "list", "columns": ["country"],
            "index_params": {"de": "0", "us": "1"}},
        "by_day": {"type": "range", "columns": ["day"], "index_params": {"bounds": "literal"}}
    },
    "shard_groups": [
        {"uid": "main", "key_ranges": [{"shard_uid": "a"}]},
        {"uid": "customers", "default_shard_index": "by_id", "key_ranges": [
            {"shard_uid": "a", "end": "80"}, {"shard_uid": "b", "start": "80"}]},
        {"uid": "countries", "default_shard_index": "by_country", "key_ranges": [
            {"shard_uid": "a", "end": "1"}, {"shard_uid": "b", "start": "1"}]},
        {"uid": "days", "default_shard_index": "by_day", "key_ranges": [
            {"shard_uid": "a", "end": "2026-01-01"}, {"shard_uid": "b", "start": "2026-01-01"}]}
    ],
    "databases": {"shop": {"schemas": {"public": {
        "tables": {
            "orders": {"shard_group": "customers"},
            "shops": {"shard_group": "countries"},
            "visits": {"shard_group": "days"},
            "audit": {"shard_group": "main"}
        },
        "reference_tables": {"currencies": {"shard_groups": ["customers"]}},
        "sequences": {"order_number": {}}
    }}}}
}"#;

fn topology(text: &str) -> Topology {
    Topology::parse(text, 1, &IndexMap::new()).unwrap()
}

/// Changes one piece of the base document and shows what would have to move.
fn check(from: &str, to: &str, expected: &[&str]) {
    assert_eq!(
        BASE.matches(from).count(),
        1,
        "{from} stands once in the document"
    );
    let moves = moves_rows(&topology(BASE), &topology(&BASE.replace(from, to)), &[]);
    let shown: Vec<String> = moves.iter().map(ToString::to_string).collect();
    assert_eq!(shown, expected, "{from} -> {to}");
}

#[test]
fn nothing_moves_where_only_names_and_notes_change() {
    check(
        r#""b": {"primary": "b:1"}"#,
        r#""b": {"primary": "b2:1", "region": "eu"}"#,
        &[],
    );
    check(
        r#"{"uid": "main", "#,
        r#"{"uid": "main", "name": "Main", "#,
        &[],
    );
    check(
        r#""order_number": {}"#,
        r#""order_number": {"block": 7}"#,
        &[],
    );
}

#[test]
fn nothing_moves_where_a_range_is_cut_without_another_owner() {
    let cut =
        r#"{"shard_uid": "a", "end": "40"}, {"shard_uid": "a", "start": "40", "end": "80"}, "#;
    check(r#"{"shard_uid": "a", "end": "80"}, "#, cut, &[]);
}

#[test]
fn a_range_with_another_owner_moves() {
    check(
        r#"{"shard_uid": "b", "start": "80"}]"#,
        r#"{"shard_uid": "b", "start": "80", "end": "c0"}, {"shard_uid": "c", "start": "c0"}]"#,
        &[
            "table shop.public.currencies: a shard lacks its copy; a copy from a to c",
            "table shop.public.orders: ranges have other owners; c000000000000000.. from b to c",
        ],
    );
}

#[test]
fn a_new_place_in_a_list_moves_only_who_had_another() {
    check(r#""us": "1""#, r#""us": "1", "fr": "1""#, &[]);
    check(
        r#""de": "0""#,
        r#""de": "1""#,
        &["table shop.public.shops: ranges have other owners; key de from a to b"],
    );
    check(
        r#""de": "0", "#,
        "",
        &["table shop.public.shops: ranges have other owners; key de from a to no shard"],
    );
}

#[test]
fn a_literal_bound_moves_what_lies_between() {
    check(
        r#"{"shard_uid": "a", "end": "2026-01-01"}, {"shard_uid": "b", "start": "2026-01-01"}"#,
        r#"{"shard_uid": "a", "end": "2026-02-01"}, {"shard_uid": "b", "start": "2026-02-01"}"#,
        &["table shop.public.visits: ranges have other owners; \
           9497 days since 2000-01-01..9528 days since 2000-01-01 from b to a"],
    );
}

#[test]
fn another_key_or_index_moves_everything() {
    check(
        r#""by_id": {"type": "xxhash", "columns": ["id"]}"#,
        r#""by_id": {"type": "xxhash", "columns": ["customer_id"]}"#,
        &["table shop.public.orders: its key comes from other columns"],
    );
    check(
        r#""by_id": {"type": "xxhash", "columns": ["id"]}"#,
        r#""by_id": {"type": "slots", "columns": ["id"], "index_params": {"slots": "4096"}}"#,
        &["table shop.public.orders: its index computes other routing values"],
    );
}

#[test]
fn a_table_that_is_placed_in_another_way_moves() {
    check(
        r#""audit": {"shard_group": "main"}"#,
        r#""audit": {"shard_group": "customers"}"#,
        &["table shop.public.audit: it is placed in another way"],
    );
    check(
        r#""orders": {"shard_group": "customers"},"#,
        "",
        &["table shop.public.orders: it is placed in another way"],
    );
}

#[test]
fn another_authoritative_shard_moves_schema_truth_and_sequences() {
    check(
        r#"{"uid": "main", "key_ranges": [{"shard_uid": "a"}]}"#,
        r#"{"uid": "main", "key_ranges": [{"shard_uid": "c"}]}"#,
        &[
            "the authoritative group: it is on another shard; everything from a to c",
            "table shop.public.audit: it is on another shard; everything from a to c",
            "sequence shop.public.order_number: it is on another shard; everything from a to c",
        ],
    );
}

#[test]
fn a_known_table_that_no_document_declares_is_judged_too() {
    let with_default = BASE.replace(
        r#"{"shop": {"#,
        r#"{"shop": {"default_shard_group": "customers", "#,
    );
    let table = |name: &str, columns: &[&str]| KnownTable {
        database: "shop".to_owned(),
        schema: "public".to_owned(),
        name: name.to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
    };
    let known = [
        table("notes", &["id"]),
        table("schema_migrations", &["version"]),
        table("x", &["y"]),
    ];
    let moves = moves_rows(&topology(BASE), &topology(&with_default), &known);
    let shown: Vec<String> = moves.iter().map(ToString::to_string).collect();
    let expected = [
        "table shop.public.notes: it is placed in another way",
        "table shop.public.x: it has no place any more",
    ];
    assert_eq!(shown, expected);
}

#[test]
fn a_diff_names_groups_by_uid_and_ranges_by_their_bounds() {
    let changed = BASE
        .replace(
            r#""start": "80"}]"#,
            r#""start": "80", "end": "c0"}, {"shard_uid": "c", "start": "c0"}]"#,
        )
        .replace(r#""audit": {"shard_group": "main"}"#, r#""log": {}"#);
    let diff = diff(&topology(BASE).document, &topology(&changed).document);
    let expected = "\
~ shard_groups.customers.key_ranges: [..80 a, 80.. b] -> [..80 a, 80..c0 b, c0.. c]
+ databases.shop.schemas.public.tables.log: {}
- databases.shop.schemas.public.tables.audit: {\"shard_group\":\"main\"}
";
    assert_eq!(diff.to_string(), expected);
    assert!(super::diff(&topology(BASE).document, &topology(BASE).document).is_empty());
}
