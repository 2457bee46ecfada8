//! One document for each kind of mistake, with what a person is told about it. `UPDATE_EXPECT=1` writes
//! the texts anew. Beside a document, a file `.columns` gives the catalog: `db.schema.table.column type`,
//! `db.schema.table.name unique column, column`.

#![expect(clippy::unwrap_used, reason = "a helper of tests fails by panicking")]

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use topology::{
    CollationFact, ColumnFact, ColumnTypes, Mistake, MistakeKind, ShardEntry, TableName, Topology,
    UniqueConstraint,
};

/// Kinds whose documents are too large for a file; each has a test below.
const MADE_BY_A_PROGRAM: &[&str] = &["TooLarge", "TooManyShards"];

/// A catalog as a list of columns.
struct Columns(Vec<(String, String)>);

impl ColumnTypes for Columns {
    fn unique_constraints(&self, table: TableName<'_>) -> Vec<UniqueConstraint> {
        let prefix = format!("{}.{}.{}.", table.database, table.schema, table.table);
        let uniques = self.0.iter().filter_map(|(name, type_name)| {
            let columns = type_name.strip_prefix("unique ")?;
            let column = |text: &str| (!text.contains('(')).then(|| text.to_owned());
            let columns = columns.split(", ").map(column).collect();
            Some(UniqueConstraint {
                name: name.strip_prefix(&prefix)?.to_owned(),
                columns,
            })
        });
        uniques.collect()
    }

    fn has_table(&self, table: TableName<'_>) -> bool {
        let prefix = format!("{}.{}.{}.", table.database, table.schema, table.table);
        self.0.iter().any(|(name, _)| name.starts_with(&prefix))
    }

    fn column(&self, table: TableName<'_>, column: &str) -> Option<ColumnFact> {
        let name = format!(
            "{}.{}.{}.{column}",
            table.database, table.schema, table.table
        );
        let (_, type_name) = self.0.iter().find(|(known, _)| *known == name)?;
        let (type_name, collation) = match type_name.split_once(" collate ") {
            Some((type_name, "turkish")) => (type_name, CollationFact::OwnCase),
            Some((type_name, _)) => (type_name, CollationFact::Nondeterministic),
            None => (type_name.as_str(), CollationFact::Plain),
        };
        let key_type = pg::Oid::from_type_name(type_name).and_then(pg::KeyType::of_builtin);
        Some(ColumnFact {
            key_type,
            type_name: type_name.to_owned(),
            collation,
        })
    }
}

fn mistakes_of(path: &Path) -> Vec<Mistake> {
    let text = std::fs::read_to_string(path).unwrap();
    let topology = match Topology::parse(&text, 1, &IndexMap::<String, ShardEntry>::new()) {
        Err(mistakes) => return mistakes,
        Ok(topology) => topology,
    };
    let columns = std::fs::read_to_string(path.with_extension("columns")).unwrap_or_default();
    let pair = |line: &str| {
        let (name, type_name) = line.split_once(' ').unwrap();
        (name.to_owned(), type_name.to_owned())
    };
    let mut mistakes = topology.warnings().to_vec();
    mistakes.extend(topology.check(&Columns(columns.lines().map(pair).collect())));
    mistakes
}

fn shown(mistakes: &[Mistake]) -> String {
    let mut text = String::new();
    for mistake in mistakes {
        writeln!(text, "{mistake}").unwrap();
        if let Some(hint) = mistake.hint() {
            writeln!(text, "    hint: {hint}").unwrap();
        }
    }
    text
}

fn kind_name(kind: &MistakeKind) -> String {
    let debug = format!("{kind:?}");
    debug
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap()
        .to_owned()
}

fn documents() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mistakes");
    let entries = std::fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    paths
}

#[test]
fn each_mistake_is_told_with_its_place_and_a_hint() {
    let update = std::env::var_os("UPDATE_EXPECT").is_some();
    for path in documents() {
        let expected_path = path.with_extension("expected");
        let found = shown(&mistakes_of(&path));
        assert!(!found.is_empty(), "{} has no mistake", path.display());
        if update {
            std::fs::write(&expected_path, found).unwrap();
            continue;
        }
        let expected = std::fs::read_to_string(&expected_path).unwrap_or_default();
        assert_eq!(found, expected, "{}", path.display());
    }
}

#[test]
fn every_kind_of_mistake_has_a_document() {
    let source = include_str!("../src/mistake.rs");
    let (_, after) = source.split_once("pub enum MistakeKind {").unwrap();
    let (variants, _) = after.split_once("\n}\n").unwrap();
    let names = variants.lines().filter_map(|line| {
        let name = line.strip_prefix("    ")?;
        let name = name.strip_suffix(" {").or_else(|| name.strip_suffix(','))?;
        let is_name =
            name.starts_with(char::is_uppercase) && name.chars().all(char::is_alphanumeric);
        is_name.then(|| name.to_owned())
    });
    let declared: BTreeSet<String> = names.collect();
    assert!(declared.len() > 40);
    let mut shown: BTreeSet<String> = MADE_BY_A_PROGRAM.iter().map(|s| (*s).to_owned()).collect();
    for path in documents() {
        shown.extend(
            mistakes_of(&path)
                .iter()
                .map(|mistake| kind_name(&mistake.kind)),
        );
    }
    let missing: Vec<&String> = declared.difference(&shown).collect();
    assert!(
        missing.is_empty(),
        "no document in tests/mistakes shows {missing:?}"
    );
}

#[test]
fn a_document_has_a_greatest_length() {
    let text = " ".repeat(16 * 1024 * 1024 + 1);
    let mistakes = Topology::parse(&text, 1, &IndexMap::new()).unwrap_err();
    assert_eq!(
        shown(&mistakes),
        "1:1 document: the document is longer than 16777216 bytes\n"
    );
}

#[test]
fn a_topology_has_a_greatest_number_of_shards() {
    let shard = |number: u16| {
        let shard = ShardEntry {
            primary: Some("a:1".to_owned()),
            ..ShardEntry::default()
        };
        (format!("s{number}"), shard)
    };
    let shards: IndexMap<String, ShardEntry> = (0..4097).map(shard).collect();
    let text = r#"{"shard_groups": [{"uid": "main", "key_ranges": [{"shard_uid": "s0"}]}]}"#;
    let mistakes = Topology::parse(text, 1, &shards).unwrap_err();
    let first = "shards: 4097 shards are more than the 4096 that a topology can hold\n";
    assert_eq!(
        shown(&mistakes[..1]).split_once("shards:").unwrap().1,
        first.split_once("shards:").unwrap().1
    );
}
