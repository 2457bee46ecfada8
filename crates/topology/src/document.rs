//! The topology document as written: plain data, in the order of the text. Invariant: `to_json` of a
//! document that was read gives text that reads back as an equal document.

mod fields;
mod read;

use indexmap::IndexMap;
use serde::Serialize;

use crate::mistake::{Mistake, Place, Position};

pub use read::Source;

/// The whole document.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Document {
    /// Physical clusters by uid; empty where the router's configuration names them.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub shards: IndexMap<String, Shard>,
    /// Named routing functions.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub shard_indexes: IndexMap<String, ShardIndex>,
    /// Co-location units.
    pub shard_groups: Vec<ShardGroup>,
    /// Databases by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub databases: IndexMap<String, Database>,
    /// The group that holds schema truth, sequences and the cluster's records.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authoritative_shard_group: Option<String>,
    /// Where an undeclared table goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_shard_group: Option<String>,
}

/// One physical PostgreSQL cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Shard {
    /// `host:port` of the primary; absent where the router's configuration gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub primary: Option<String>,
    /// `host:port` of each replica.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub replicas: Vec<String>,
    /// Where it stands, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub region: Option<String>,
    /// Free text for people and tools.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub labels: IndexMap<String, String>,
}

/// A named routing function.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShardIndex {
    /// `xxhash`, `range`, `modulo`, `slots`, `redis_slot`, `list`, `hierarchy`.
    #[serde(rename = "type")]
    pub index_type: String,
    /// Column names, or one SQL expression.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
    /// Parameters of the type.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub index_params: IndexMap<String, String>,
}

/// A co-location unit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ShardGroup {
    /// Its name in every reference to it.
    pub uid: String,
    /// A name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The index of tables that name none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_shard_index: Option<String>,
    /// Which shard owns which routing values.
    pub key_ranges: Vec<KeyRange>,
}

/// An interval of routing values and its shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct KeyRange {
    /// The owner.
    pub shard_uid: String,
    /// First value inside; absent: from the beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start: Option<String>,
    /// First value outside; absent: to the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub end: Option<String>,
}

/// One database.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Database {
    /// Overrides the document's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_shard_group: Option<String>,
    /// Names of bookkeeping tables that stay on one shard; absent: the built-in list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unsharded_patterns: Option<Vec<String>>,
    /// Global secondary indexes by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub global_secondary_indexes: IndexMap<String, GlobalSecondaryIndex>,
    /// Schemas by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub schemas: IndexMap<String, Schema>,
}

/// One schema.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Schema {
    /// Overrides the database's default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_shard_group: Option<String>,
    /// Tables by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub tables: IndexMap<String, Table>,
    /// Tables of which every shard of some groups keeps a copy.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub reference_tables: IndexMap<String, ReferenceTable>,
    /// Sequences by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub sequences: IndexMap<String, Sequence>,
    /// Functions by name.
    #[serde(skip_serializing_if = "IndexMap::is_empty")]
    pub functions: IndexMap<String, Function>,
}

/// One table.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// Its group; absent: inherited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_group: Option<String>,
    /// How its key is computed; absent: the group's default index.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub primary_indexes: Vec<PrimaryIndex>,
    /// Global secondary indexes that are live on it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secondary_indexes: Vec<SecondaryIndex>,
    /// What a unique constraint without the key gets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unique_off_key: Option<UniqueOffKey>,
}

/// A table's own choice of index and columns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PrimaryIndex {
    /// Absent: the group's default index.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_index: Option<String>,
    /// Absent: the index's columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

/// A global secondary index as its owner table names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct SecondaryIndex {
    /// Its name among the database's.
    pub name: String,
    /// Its columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub columns: Vec<String>,
}

/// What a primary key or unique constraint that lacks the key columns gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum UniqueOffKey {
    /// A unique global secondary index is made and kept.
    Index,
    /// Enforced within each shard only.
    Local,
    /// The constraint is refused.
    Refuse,
}

/// A table with a full copy on every shard of some groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct ReferenceTable {
    /// The groups.
    pub shard_groups: Vec<String>,
}

/// One sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Sequence {
    /// Where it lives; absent: the authoritative group.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shard_group: Option<String>,
    /// How many values a router draws at once; absent: 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block: Option<u32>,
}

/// A function that runs on the shard of one of its arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Function {
    /// The group of the key.
    pub shard_group: String,
    /// The argument that holds the key.
    pub shard_key_argument: String,
}

/// A global secondary index: a lookup table from other columns to the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GlobalSecondaryIndex {
    /// Schema of the lookup table; absent: the owner's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// The lookup table.
    pub table: String,
    /// The table it indexes.
    pub owner_table: String,
    /// Indexed columns.
    pub columns: Vec<String>,
    /// The owner's key columns as the lookup table names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_sk_columns: Vec<String>,
    /// The owner's primary key columns.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_pk_columns: Vec<String>,
    /// At most one owner row per value.
    pub unique: bool,
    /// NULLs get no entry.
    pub ignore_null: bool,
    /// Kept and used.
    pub enabled: bool,
    /// How it is kept.
    pub mode: GsiMode,
}

/// How a global secondary index follows its owner.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GsiMode {
    /// In the same atomic transaction.
    #[default]
    Sync,
    /// From the change stream.
    Async,
}

/// A document together with where its parts stood in the text.
#[derive(Clone, Debug)]
pub struct ReadDocument {
    /// The document.
    pub document: Document,
    /// Its places.
    pub source: Source,
}

// === impl Document ===

impl Document {
    /// Reads a document.
    ///
    /// # Errors
    ///
    /// Every mistake of form: text that is not JSON, unknown and duplicate keys, wrong types.
    pub fn read(text: &str) -> Result<ReadDocument, Vec<Mistake>> {
        read::read(text)
    }

    /// The document as JSON text, two spaces of indent, keys in the order read, a newline at the end.
    ///
    /// # Panics
    ///
    /// Never: the document holds nothing that JSON can't.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self)
            .expect("the document holds strings, numbers and string-keyed maps only");
        text.push('\n');
        text
    }

    /// The uids of all shards that the document declares or its ranges name, in order of first mention.
    #[must_use]
    pub fn named_shards(&self) -> Vec<&str> {
        let mut uids: Vec<&str> = self.shards.keys().map(String::as_str).collect();
        for range in self.shard_groups.iter().flat_map(|group| &group.key_ranges) {
            if !uids.contains(&range.shard_uid.as_str()) {
                uids.push(&range.shard_uid);
            }
        }
        uids
    }

    /// The first database that the document names.
    #[must_use]
    pub fn first_database(&self) -> Option<&str> {
        self.databases.keys().next().map(String::as_str)
    }
}

// === impl Source ===

impl Source {
    /// The place with this path, with its position where the document was read from text.
    pub(crate) fn place(&self, path: String) -> Place {
        let position = self.position(&path);
        Place { path, position }
    }

    /// Where `path` stood; of a path that is not in the text, where its nearest parent stood.
    #[must_use]
    pub fn position(&self, path: &str) -> Option<Position> {
        let mut path = path;
        loop {
            if let Some(position) = self.positions.get(path) {
                return Some(*position);
            }
            path = &path[..path.rfind(['.', '['])?];
        }
    }
}

#[cfg(test)]
mod tests;
