//! From JSON to [`Document`]: one function an object of the format. A missing part is replaced by an
//! empty one so that the rest is still judged; the result is given out only without mistakes.

use std::collections::HashMap;

use crate::json::{self, Node};
use crate::mistake::{Mistake, Position};

use super::fields::Notes;
use super::{
    Database, Document, Function, GlobalSecondaryIndex, GsiMode, KeyRange, PrimaryIndex,
    ReadDocument, ReferenceTable, Schema, SecondaryIndex, Sequence, Shard, ShardGroup, ShardIndex,
    Table, UniqueOffKey,
};

/// Most values that a router may draw from a sequence at once.
const SEQUENCE_BLOCK_MAX: u32 = 10_000_000;

/// Where the parts of a document stood in its text; empty for a document that was made by a program.
#[derive(Clone, Debug, Default)]
pub struct Source {
    pub(super) positions: HashMap<String, Position>,
}

/// Reads a document from text.
///
/// # Errors
///
/// All mistakes of form.
pub(super) fn read(text: &str) -> Result<ReadDocument, Vec<Mistake>> {
    let node = json::read(text).map_err(|mistake| vec![*mistake])?;
    let mut notes = Notes::default();
    let document = document(&mut notes, &node);
    match document {
        Some(document) if notes.mistakes.is_empty() => Ok(ReadDocument {
            document,
            source: notes.source,
        }),
        _ => {
            notes.mistakes.sort_by_key(|mistake| mistake.place.position);
            Err(notes.mistakes)
        }
    }
}

fn document(notes: &mut Notes, node: &Node) -> Option<Document> {
    let known = &[
        "shards",
        "shard_indexes",
        "shard_groups",
        "databases",
        "authoritative_shard_group",
        "default_shard_group",
    ];
    let mut fields = notes.fields("", node, known)?;
    let document = Document {
        shards: fields
            .optional(notes, "shards", |n, p, v| n.map(p, v, shard))
            .unwrap_or_default(),
        shard_indexes: fields
            .optional(notes, "shard_indexes", |n, p, v| n.map(p, v, shard_index))
            .unwrap_or_default(),
        shard_groups: fields
            .required(notes, "shard_groups", |n, p, v| n.list(p, v, shard_group))
            .unwrap_or_default(),
        databases: fields
            .optional(notes, "databases", |n, p, v| n.map(p, v, database))
            .unwrap_or_default(),
        authoritative_shard_group: fields.optional(notes, "authoritative_shard_group", Notes::name),
        default_shard_group: fields.optional(notes, "default_shard_group", Notes::name),
    };
    fields.finish(notes);
    Some(document)
}

fn shard(notes: &mut Notes, path: &str, node: &Node) -> Option<Shard> {
    let mut fields = notes.fields(path, node, &["primary", "replicas", "region", "labels"])?;
    let shard = Shard {
        primary: fields.optional(notes, "primary", Notes::name),
        replicas: fields
            .optional(notes, "replicas", Notes::names)
            .unwrap_or_default(),
        region: fields.optional(notes, "region", Notes::name),
        labels: fields
            .optional(notes, "labels", |n, p, v| n.map(p, v, Notes::string))
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(shard)
}

fn shard_index(notes: &mut Notes, path: &str, node: &Node) -> Option<ShardIndex> {
    let mut fields = notes.fields(path, node, &["type", "columns", "index_params"])?;
    let index = ShardIndex {
        index_type: fields
            .required(notes, "type", Notes::name)
            .unwrap_or_default(),
        columns: fields
            .optional(notes, "columns", Notes::names)
            .unwrap_or_default(),
        index_params: fields
            .optional(notes, "index_params", |n, p, v| n.map(p, v, Notes::string))
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(index)
}

fn shard_group(notes: &mut Notes, path: &str, node: &Node) -> Option<ShardGroup> {
    let known = &["uid", "name", "default_shard_index", "key_ranges"];
    let mut fields = notes.fields(path, node, known)?;
    let group = ShardGroup {
        uid: fields
            .required(notes, "uid", Notes::name)
            .unwrap_or_default(),
        name: fields.optional(notes, "name", Notes::string),
        default_shard_index: fields.optional(notes, "default_shard_index", Notes::name),
        key_ranges: fields
            .required(notes, "key_ranges", |n, p, v| n.list(p, v, key_range))
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(group)
}

fn key_range(notes: &mut Notes, path: &str, node: &Node) -> Option<KeyRange> {
    let mut fields = notes.fields(path, node, &["shard_uid", "start", "end"])?;
    let range = KeyRange {
        shard_uid: fields
            .required(notes, "shard_uid", Notes::name)
            .unwrap_or_default(),
        start: fields.optional(notes, "start", Notes::string),
        end: fields.optional(notes, "end", Notes::string),
    };
    fields.finish(notes);
    Some(range)
}

fn database(notes: &mut Notes, path: &str, node: &Node) -> Option<Database> {
    let known = &[
        "default_shard_group",
        "unsharded_patterns",
        "global_secondary_indexes",
        "schemas",
    ];
    let mut fields = notes.fields(path, node, known)?;
    let database = Database {
        default_shard_group: fields.optional(notes, "default_shard_group", Notes::name),
        unsharded_patterns: fields.optional(notes, "unsharded_patterns", Notes::names),
        global_secondary_indexes: fields
            .optional(notes, "global_secondary_indexes", |n, p, v| {
                n.map(p, v, gsi)
            })
            .unwrap_or_default(),
        schemas: fields
            .optional(notes, "schemas", |n, p, v| n.map(p, v, schema))
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(database)
}

fn schema(notes: &mut Notes, path: &str, node: &Node) -> Option<Schema> {
    let known = &[
        "default_shard_group",
        "tables",
        "reference_tables",
        "sequences",
        "functions",
    ];
    let mut fields = notes.fields(path, node, known)?;
    let schema = Schema {
        default_shard_group: fields.optional(notes, "default_shard_group", Notes::name),
        tables: fields
            .optional(notes, "tables", |n, p, v| n.map(p, v, table))
            .unwrap_or_default(),
        reference_tables: fields
            .optional(notes, "reference_tables", |n, p, v| {
                n.map(p, v, reference_table)
            })
            .unwrap_or_default(),
        sequences: fields
            .optional(notes, "sequences", |n, p, v| n.map(p, v, sequence))
            .unwrap_or_default(),
        functions: fields
            .optional(notes, "functions", |n, p, v| n.map(p, v, function))
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(schema)
}

fn table(notes: &mut Notes, path: &str, node: &Node) -> Option<Table> {
    let known = &[
        "shard_group",
        "primary_indexes",
        "secondary_indexes",
        "unique_off_key",
    ];
    let mut fields = notes.fields(path, node, known)?;
    let table = Table {
        shard_group: fields.optional(notes, "shard_group", Notes::name),
        primary_indexes: fields
            .optional(notes, "primary_indexes", |n, p, v| {
                n.list(p, v, primary_index)
            })
            .unwrap_or_default(),
        secondary_indexes: fields
            .optional(notes, "secondary_indexes", |n, p, v| {
                n.list(p, v, secondary_index)
            })
            .unwrap_or_default(),
        unique_off_key: fields.optional(notes, "unique_off_key", |n, p, v| {
            let choices = &[
                ("index", UniqueOffKey::Index),
                ("local", UniqueOffKey::Local),
                ("refuse", UniqueOffKey::Refuse),
            ];
            n.choice(p, v, choices)
        }),
    };
    fields.finish(notes);
    Some(table)
}

fn primary_index(notes: &mut Notes, path: &str, node: &Node) -> Option<PrimaryIndex> {
    let mut fields = notes.fields(path, node, &["shard_index", "columns"])?;
    let index = PrimaryIndex {
        shard_index: fields.optional(notes, "shard_index", Notes::name),
        columns: fields
            .optional(notes, "columns", Notes::names)
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(index)
}

fn secondary_index(notes: &mut Notes, path: &str, node: &Node) -> Option<SecondaryIndex> {
    let mut fields = notes.fields(path, node, &["name", "columns"])?;
    let index = SecondaryIndex {
        name: fields
            .required(notes, "name", Notes::name)
            .unwrap_or_default(),
        columns: fields
            .optional(notes, "columns", Notes::names)
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(index)
}

fn reference_table(notes: &mut Notes, path: &str, node: &Node) -> Option<ReferenceTable> {
    let mut fields = notes.fields(path, node, &["shard_groups"])?;
    let table = ReferenceTable {
        shard_groups: fields
            .required(notes, "shard_groups", Notes::names)
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(table)
}

fn sequence(notes: &mut Notes, path: &str, node: &Node) -> Option<Sequence> {
    let mut fields = notes.fields(path, node, &["shard_group", "block"])?;
    let sequence = Sequence {
        shard_group: fields.optional(notes, "shard_group", Notes::name),
        block: fields.optional(notes, "block", |n, p, v| n.count(p, v, SEQUENCE_BLOCK_MAX)),
    };
    fields.finish(notes);
    Some(sequence)
}

fn function(notes: &mut Notes, path: &str, node: &Node) -> Option<Function> {
    let mut fields = notes.fields(path, node, &["shard_group", "shard_key_argument"])?;
    let function = Function {
        shard_group: fields
            .required(notes, "shard_group", Notes::name)
            .unwrap_or_default(),
        shard_key_argument: fields
            .required(notes, "shard_key_argument", Notes::name)
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(function)
}

fn gsi(notes: &mut Notes, path: &str, node: &Node) -> Option<GlobalSecondaryIndex> {
    let known = &[
        "schema",
        "table",
        "owner_table",
        "columns",
        "owner_sk_columns",
        "owner_pk_columns",
        "unique",
        "ignore_null",
        "enabled",
        "mode",
    ];
    let mut fields = notes.fields(path, node, known)?;
    let gsi = GlobalSecondaryIndex {
        schema: fields.optional(notes, "schema", Notes::name),
        table: fields
            .required(notes, "table", Notes::name)
            .unwrap_or_default(),
        owner_table: fields
            .required(notes, "owner_table", Notes::name)
            .unwrap_or_default(),
        columns: fields
            .required(notes, "columns", Notes::names)
            .unwrap_or_default(),
        owner_sk_columns: fields
            .optional(notes, "owner_sk_columns", Notes::names)
            .unwrap_or_default(),
        owner_pk_columns: fields
            .optional(notes, "owner_pk_columns", Notes::names)
            .unwrap_or_default(),
        unique: fields
            .optional(notes, "unique", Notes::boolean)
            .unwrap_or(false),
        ignore_null: fields
            .optional(notes, "ignore_null", Notes::boolean)
            .unwrap_or(false),
        enabled: fields
            .optional(notes, "enabled", Notes::boolean)
            .unwrap_or(true),
        mode: fields
            .optional(notes, "mode", |n, p, v| {
                n.choice(p, v, &[("sync", GsiMode::Sync), ("async", GsiMode::Async)])
            })
            .unwrap_or_default(),
    };
    fields.finish(notes);
    Some(gsi)
}
