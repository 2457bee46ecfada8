//! The compiled topology of one revision. Invariant: it is complete and immutable; a request keeps the
//! one that it began with.

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::document::{self, Document, Source};
use crate::expression::KeyColumns;
use crate::id::{GroupId, ShardId};
use crate::index::ShardIndex;
use crate::mistake::Mistake;
use crate::pattern;
use crate::placement::{
    FunctionPlace, Placement, PlacementError, SequencePlace, Sharded, TableName,
};
use crate::range::KeyRanges;
use crate::{DEFAULT_UNSHARDED_PATTERNS, UniqueOffKey, compile};

/// How many sequence values a router draws at once where the document does not say.
pub(crate) const SEQUENCE_BLOCK: u32 = 1000;

/// Schemas of PostgreSQL itself; what is in them is answered by the authoritative group.
const SYSTEM_SCHEMAS: &[&str] = &["pg_catalog", "information_schema", "pg_toast", "kintsugi"];

/// The compiled topology of one revision.
#[derive(Debug)]
pub struct Topology {
    pub(crate) revision: u64,
    pub(crate) document: Document,
    pub(crate) source: Source,
    pub(crate) shards: Vec<Shard>,
    pub(crate) groups: Vec<Group>,
    pub(crate) authoritative: GroupId,
    pub(crate) default_group: GroupId,
    pub(crate) databases: HashMap<String, DatabasePlaces>,
    pub(crate) warnings: Vec<Mistake>,
}

/// One physical PostgreSQL cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Its number in this revision.
    pub id: ShardId,
    /// Its name in every revision.
    pub uid: String,
    /// `host:port` of the primary.
    pub primary: String,
    /// `host:port` of each replica.
    pub replicas: Vec<String>,
    /// Where it stands, for people.
    pub region: Option<String>,
    /// Free text for people and tools.
    pub labels: IndexMap<String, String>,
}

/// A co-location unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Its number in this revision.
    pub id: GroupId,
    /// Its name in every revision.
    pub uid: String,
    /// The default index and the ranges as it reads them; none: the group is unsharded.
    pub index: Option<(Arc<ShardIndex>, Arc<KeyRanges>)>,
    /// Its shards, each once, in ascending order.
    pub shards: Vec<ShardId>,
    /// How tables are placed that are not declared; none where the index has no columns of its own.
    pub(crate) undeclared: Option<Placement>,
}

/// What is declared in one database.
#[derive(Debug, Default)]
pub(crate) struct DatabasePlaces {
    pub(crate) default_group: Option<GroupId>,
    pub(crate) unsharded_patterns: Option<Vec<String>>,
    pub(crate) schemas: HashMap<String, SchemaPlaces>,
}

/// What is declared in one schema.
#[derive(Debug, Default)]
pub(crate) struct SchemaPlaces {
    pub(crate) default_group: Option<GroupId>,
    pub(crate) tables: HashMap<String, Placement>,
    pub(crate) sequences: HashMap<String, SequencePlace>,
    pub(crate) functions: HashMap<String, Arc<FunctionPlace>>,
}

// === impl Topology ===

impl Topology {
    /// Reads and compiles a document. `configured` are the shards that the router's configuration names:
    /// they add to the document's, and replace the address of a shard that both name.
    ///
    /// # Errors
    ///
    /// Every mistake in the document.
    pub fn parse(
        text: &str,
        revision: u64,
        configured: &IndexMap<String, document::Shard>,
    ) -> Result<Self, Vec<Mistake>> {
        let read = Document::read(text)?;
        compile::compile(read.document, &read.source, revision, configured)
    }

    /// Compiles a document that was made by a program.
    ///
    /// # Errors
    ///
    /// Every mistake in the document; places have no line.
    pub fn compile(
        document: Document,
        revision: u64,
        configured: &IndexMap<String, document::Shard>,
    ) -> Result<Self, Vec<Mistake>> {
        compile::compile(document, &Source::default(), revision, configured)
    }

    /// The topology of a cluster without a document: everything on the first shard.
    ///
    /// # Errors
    ///
    /// There is no shard, or one without a good address.
    pub fn single(shards: &IndexMap<String, document::Shard>) -> Result<Self, Vec<Mistake>> {
        Self::compile(Document::single(shards), 0, shards)
    }

    /// The revision.
    #[must_use]
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// The document that this was compiled from.
    #[must_use]
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// What is odd about the document though it is sound.
    #[must_use]
    pub fn warnings(&self) -> &[Mistake] {
        &self.warnings
    }

    /// All shards; a shard's id is its position.
    #[must_use]
    pub fn shards(&self) -> &[Shard] {
        &self.shards
    }

    /// The shard with this number.
    ///
    /// # Panics
    ///
    /// The number is of another revision with more shards.
    #[must_use]
    pub fn shard(&self, id: ShardId) -> &Shard {
        &self.shards[id.index()]
    }

    /// The shard with this uid.
    #[must_use]
    pub fn shard_named(&self, uid: &str) -> Option<&Shard> {
        self.shards.iter().find(|shard| shard.uid == uid)
    }

    /// All groups; a group's id is its position.
    #[must_use]
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// The group with this number.
    ///
    /// # Panics
    ///
    /// The number is of another revision with more groups.
    #[must_use]
    pub fn group(&self, id: GroupId) -> &Group {
        &self.groups[id.index()]
    }

    /// The group with this uid.
    #[must_use]
    pub fn group_named(&self, uid: &str) -> Option<&Group> {
        self.groups.iter().find(|group| group.uid == uid)
    }

    /// The group that holds schema truth, sequences and the cluster's records.
    #[must_use]
    pub fn authoritative_group(&self) -> GroupId {
        self.authoritative
    }

    /// The only shard of the authoritative group.
    #[must_use]
    pub fn authoritative_shard(&self) -> ShardId {
        self.group(self.authoritative).shards[0]
    }

    /// Where a table's rows live. Of a table that is not declared `has_column` tells which columns it
    /// has; it is not asked about declared ones.
    ///
    /// # Errors
    ///
    /// The table is not declared, its default group is sharded, and it lacks the key.
    pub fn placement(
        &self,
        name: TableName<'_>,
        has_column: &dyn Fn(&str) -> bool,
    ) -> Result<Placement, PlacementError> {
        if let Some(placement) = self.declared(name) {
            return Ok(placement.clone());
        }
        if SYSTEM_SCHEMAS.contains(&name.schema) {
            return Ok(self.on_authoritative_shard());
        }
        let group = self.default_group(name.database, name.schema);
        match self.placement_in(group, name, has_column) {
            Err(_) if self.is_bookkeeping(name) => Ok(self.on_authoritative_shard()),
            placement => placement,
        }
    }

    /// Where the document says that a table lives; none where it is not declared.
    #[must_use]
    pub fn declared(&self, name: TableName<'_>) -> Option<&Placement> {
        self.schema(name.database, name.schema)?
            .tables
            .get(name.table)
    }

    /// Where an undeclared table of this group lives, for a session that chose the group.
    ///
    /// # Errors
    ///
    /// The group is sharded and the table lacks the key.
    pub fn placement_in(
        &self,
        group: GroupId,
        name: TableName<'_>,
        has_column: &dyn Fn(&str) -> bool,
    ) -> Result<Placement, PlacementError> {
        let group = self.group(group);
        let Some(placement) = &group.undeclared else {
            return Err(PlacementError::NoKey {
                schema: name.schema.to_owned(),
                table: name.table.to_owned(),
                group: group.uid.clone(),
            });
        };
        let Placement::Sharded(sharded) = placement else {
            return Ok(placement.clone());
        };
        if let Some(missing) = sharded
            .key
            .columns()
            .iter()
            .find(|column| !has_column(column))
        {
            return Err(PlacementError::NoKeyColumn {
                schema: name.schema.to_owned(),
                table: name.table.to_owned(),
                column: (*missing).to_owned(),
                group: group.uid.clone(),
            });
        }
        Ok(placement.clone())
    }

    /// The group of undeclared tables: the schema's, else the database's, else the document's.
    #[must_use]
    pub fn default_group(&self, database: &str, schema: &str) -> GroupId {
        let in_schema = self
            .schema(database, schema)
            .and_then(|schema| schema.default_group);
        let in_database = || {
            self.databases
                .get(database)
                .and_then(|database| database.default_group)
        };
        in_schema.or_else(in_database).unwrap_or(self.default_group)
    }

    /// Where a sequence's values come from. One that the document doesn't declare is drawn from a value at a time, so that its
    /// `last_value` reads as on one PostgreSQL.
    #[must_use]
    pub fn sequence(&self, database: &str, schema: &str, sequence: &str) -> SequencePlace {
        let declared = self
            .schema(database, schema)
            .and_then(|schema| schema.sequences.get(sequence));
        declared.copied().unwrap_or(SequencePlace {
            group: self.authoritative,
            shard: self.authoritative_shard(),
            block: 1,
        })
    }

    /// Where a function runs that is declared to run on the shard of an argument.
    #[must_use]
    pub fn function(
        &self,
        database: &str,
        schema: &str,
        function: &str,
    ) -> Option<&Arc<FunctionPlace>> {
        self.schema(database, schema)?.functions.get(function)
    }

    fn schema(&self, database: &str, schema: &str) -> Option<&SchemaPlaces> {
        self.databases.get(database)?.schemas.get(schema)
    }

    fn on_authoritative_shard(&self) -> Placement {
        Placement::Unsharded {
            group: self.authoritative,
            shard: self.authoritative_shard(),
        }
    }

    fn is_bookkeeping(&self, name: TableName<'_>) -> bool {
        let patterns = self
            .databases
            .get(name.database)
            .and_then(|database| database.unsharded_patterns.as_deref());
        match patterns {
            Some(patterns) => pattern::matches_any(patterns, name.schema, name.table),
            None => pattern::matches_any(DEFAULT_UNSHARDED_PATTERNS, name.schema, name.table),
        }
    }
}

// === impl Group ===

impl Group {
    /// Whether its rows are spread by a key.
    #[must_use]
    pub fn is_sharded(&self) -> bool {
        self.index.is_some()
    }

    pub(crate) fn new(
        id: GroupId,
        uid: String,
        index: Option<(Arc<ShardIndex>, Arc<KeyRanges>)>,
        shards: Vec<ShardId>,
    ) -> Self {
        let undeclared = match (&index, shards.first()) {
            (None, Some(shard)) => Some(Placement::Unsharded {
                group: id,
                shard: *shard,
            }),
            (Some((index, ranges)), _) if !index.columns.is_empty() => {
                Some(Placement::Sharded(Arc::new(Sharded {
                    group: id,
                    index: Arc::clone(index),
                    ranges: Arc::clone(ranges),
                    key: index.columns.clone(),
                    unique_off_key: UniqueOffKey::Refuse,
                })))
            }
            _ => None,
        };
        Self {
            id,
            uid,
            index,
            shards,
            undeclared,
        }
    }

    /// The key of undeclared tables.
    #[must_use]
    pub fn key(&self) -> Option<&KeyColumns> {
        self.index
            .as_ref()
            .map(|(index, _)| &index.columns)
            .filter(|columns| !columns.is_empty())
    }
}

#[cfg(test)]
mod tests;
