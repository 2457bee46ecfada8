use indexmap::IndexMap;

use super::*;
use crate::check::{CollationFact, ColumnFact, UniqueConstraint};

const OLD: &str = r#"{
    "shards": {"a": {"primary": "a:1"}, "b": {"primary": "b:1"}},
    "shard_indexes": {"by_id": {"type": "xxhash", "columns": ["id"]}},
    "shard_groups": [
        {"uid": "main", "key_ranges": [{"shard_uid": "a"}]},
        {"uid": "customers", "default_shard_index": "by_id", "key_ranges": [
            {"shard_uid": "a", "end": "80"}, {"shard_uid": "b", "start": "80"}]}
    ]
}"#;

struct Types(&'static str);

impl ColumnTypes for Types {
    fn unique_constraints(&self, _: TableName<'_>) -> Vec<UniqueConstraint> {
        Vec::new()
    }

    fn has_table(&self, _: TableName<'_>) -> bool {
        true
    }

    fn column(&self, _: TableName<'_>, column: &str) -> Option<ColumnFact> {
        let key_type = pg::Oid::from_type_name(self.0).and_then(pg::KeyType::of_builtin);
        let type_name = self.0.to_owned();
        let fact = ColumnFact {
            key_type,
            type_name,
            collation: CollationFact::Plain,
        };
        (column == "id").then_some(fact)
    }
}

/// Declares table `t` in group `customers` while it exists on one shard.
fn check(type_name: &'static str, rows: bool, expected: &str) {
    let new = OLD.trim_end().strip_suffix('}').unwrap().to_owned()
        + r#", "databases": {"d": {"schemas": {"s": {"tables": {"t": {"shard_group": "customers"}}}}}}}"#;
    let topology = |text: &str| Topology::parse(text, 1, &IndexMap::new()).unwrap();
    let known = KnownTable {
        database: "d".to_owned(),
        schema: "s".to_owned(),
        name: "t".to_owned(),
        columns: vec!["id".to_owned()],
    };
    let facts = Facts {
        tables: &[known],
        types: &Types(type_name),
        is_populated: &|_| rows,
        foreign_keys: &[],
    };
    let assessment = assess(&topology(OLD), &topology(&new), &facts);
    assert_eq!(assessment.to_string(), expected);
    assert_eq!(assessment.is_allowed(), !expected.contains("refused"));
}

const DIFF: &str = "+ databases: {\"d\":{\"schemas\":{\"s\":{\"tables\":{\"t\":{\"shard_group\":\"customers\"}}}}}}\n";

#[test]
fn an_empty_table_may_be_placed_anew_and_gets_a_new_home() {
    check(
        "int8",
        false,
        &format!("{DIFF}table d.s.t will be created on b\n"),
    );
}

#[test]
fn a_table_with_rows_may_not() {
    let expected = format!(
        "{DIFF}refused: table d.s.t: it is placed in another way
    hint: rows that exist keep their shards; empty the table first, or place new tables in another group
table d.s.t will be created on b\n"
    );
    check("int8", true, &expected);
}

#[test]
fn a_key_that_the_index_can_not_take_is_refused() {
    let expected = format!(
        "{DIFF}refused: 9:57 databases.d.schemas.s.tables.t: column \"id\" of table s.t is of type jsonb, \
         which xxhash can't take: its values have no canonical form\n\
         table d.s.t will be created on b\n"
    );
    check("jsonb", false, &expected);
}

/// Judges a foreign key `readings(device) -> devices(id)` where both tables were in one group.
fn check_foreign(tables: &str, on_update: pg::ForeignAction, expected: &[&str]) {
    let topology = |tables: &str, references: &str| {
        let databases = format!(
            r#", "databases": {{"d": {{"schemas": {{"s": {{"tables": {{{tables}}}, "reference_tables": {{{references}}}}}}}}}}}}}"#
        );
        let text = OLD.trim_end().strip_suffix('}').unwrap().to_owned() + &databases;
        Topology::parse(&text, 1, &IndexMap::new()).unwrap()
    };
    let (tables, references) = tables.split_once('|').unwrap_or((tables, ""));
    let known = |name: &str| KnownTable {
        database: "d".to_owned(),
        schema: "s".to_owned(),
        name: name.to_owned(),
        columns: vec!["id".to_owned()],
    };
    let key = ForeignKey {
        name: "readings_id_fkey".to_owned(),
        database: "d".to_owned(),
        child: ("s".to_owned(), "readings".to_owned()),
        columns: vec!["id".to_owned()],
        parent: ("s".to_owned(), "devices".to_owned()),
        referenced: vec!["id".to_owned()],
        on_update,
        on_delete: pg::ForeignAction::Keep,
        reset: Vec::new(),
        computes_defaults: false,
    };
    let facts = Facts {
        tables: &[known("devices"), known("readings")],
        types: &Types("int8"),
        is_populated: &|_| false,
        foreign_keys: &[key],
    };
    let new = topology(tables, references);
    let assessment = assess(&topology("", ""), &new, &facts);
    let broken: Vec<String> = assessment.broken.iter().map(ToString::to_string).collect();
    assert_eq!(broken, expected);
    assert_eq!(assessment.is_allowed(), expected.is_empty());
}

#[test]
fn a_foreign_key_needs_both_of_its_tables_together() {
    let keep = pg::ForeignAction::Keep;
    let devices = r#""devices": {"shard_group": "customers"}"#;
    let readings = r#""readings": {"shard_group": "customers"}"#;
    check_foreign("", keep, &[]);
    check_foreign(&format!("{devices}, {readings}"), keep, &[]);
    check_foreign(
        &format!("{devices}, {readings}"),
        pg::ForeignAction::Cascade,
        &[],
    );
    check_foreign(
        &format!(r#"{readings}|"devices": {{"shard_groups": ["customers"]}}"#),
        keep,
        &[],
    );
    check_foreign(
        devices,
        keep,
        &[
            "foreign key readings_id_fkey of table d.s.readings, unsharded on a, not declared, \
            to table d.s.devices, sharded by id in group customers: no shard could check it",
        ],
    );
    check_foreign(
        readings,
        keep,
        &[
            "foreign key readings_id_fkey of table d.s.readings, sharded by id in group customers, \
            to table d.s.devices, unsharded on a, not declared: no shard could check it",
        ],
    );
    check_foreign(
        &format!(r#"{readings}|"devices": {{"shard_groups": ["customers"]}}"#),
        pg::ForeignAction::Cascade,
        &[
            "foreign key readings_id_fkey of table d.s.readings, sharded by id in group customers, \
            to table d.s.devices, a reference table on a, b: its action changes shard keys or computes \
            defaults, which each shard would do by itself",
        ],
    );
}
