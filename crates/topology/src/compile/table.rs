//! Databases, schemas and what is declared in them.

use std::collections::HashMap;
use std::sync::Arc;

use crate::document::{Database, Function, Schema, Sequence, Table, UniqueOffKey};
use crate::id::GroupId;
use crate::index::ShardIndex;
use crate::json::{item_path, member_path};
use crate::mistake::{MistakeKind, Unsupported};
use crate::placement::{FunctionPlace, Placement, Reference, SequencePlace, Sharded};
use crate::topology::{DatabasePlaces, SEQUENCE_BLOCK, SchemaPlaces};

use super::Compiler;

/// The defaults that a table inherits.
#[derive(Clone, Copy)]
struct Inherited {
    default_group: Option<GroupId>,
    authoritative: Option<GroupId>,
}

impl Compiler<'_> {
    pub(super) fn databases(
        &mut self,
        authoritative: Option<GroupId>,
    ) -> HashMap<String, DatabasePlaces> {
        let document = self.document;
        let named = document.default_shard_group.as_ref();
        let top = named.and_then(|uid| self.groups.iter().find(|group| group.uid == *uid));
        let default_group = match (named, top) {
            (Some(_), top) => top.map(|group| group.id),
            (None, _) => authoritative,
        };
        let inherited = Inherited {
            default_group,
            authoritative,
        };
        let mut databases = HashMap::new();
        for (name, database) in &document.databases {
            let path = member_path("databases", name);
            databases.insert(name.clone(), self.database(&path, database, inherited));
        }
        databases
    }

    fn database(&mut self, path: &str, entry: &Database, above: Inherited) -> DatabasePlaces {
        let default_group = self.default_group(path, entry.default_shard_group.as_ref());
        let inherited = match entry.default_shard_group {
            Some(_) => Inherited {
                default_group,
                ..above
            },
            None => above,
        };
        let mut schemas = HashMap::new();
        for (name, schema) in &entry.schemas {
            let path = member_path(&member_path(path, "schemas"), name);
            schemas.insert(name.clone(), self.schema(&path, schema, inherited));
        }
        self.global_secondary_indexes(path, entry);
        self.secondary_indexes(path, entry);
        DatabasePlaces {
            default_group,
            unsharded_patterns: entry.unsharded_patterns.clone(),
            schemas,
        }
    }

    fn global_secondary_indexes(&mut self, path: &str, database: &Database) {
        let path = member_path(path, "global_secondary_indexes");
        for (name, gsi) in &database.global_secondary_indexes {
            let path = member_path(&path, name);
            let owned = database
                .schemas
                .values()
                .any(|s| s.tables.contains_key(&gsi.owner_table));
            if !owned {
                let kind = MistakeKind::UnknownOwner {
                    table: gsi.owner_table.clone(),
                };
                self.mistake(member_path(&path, "owner_table"), kind);
            }
            if gsi.columns.is_empty() {
                let kind = MistakeKind::NoIndexedColumns { name: name.clone() };
                self.mistake(member_path(&path, "columns"), kind);
            }
            if gsi.enabled {
                let what = Unsupported::GlobalSecondaryIndex;
                self.mistake(path, MistakeKind::Unsupported { what });
            }
        }
    }

    /// Every name in a table's `secondary_indexes` must be one of the database's.
    fn secondary_indexes(&mut self, path: &str, database: &Database) {
        let schemas_path = member_path(path, "schemas");
        for (schema_name, schema) in &database.schemas {
            let tables_path = member_path(&member_path(&schemas_path, schema_name), "tables");
            for (name, table) in &schema.tables {
                let path = member_path(&member_path(&tables_path, name), "secondary_indexes");
                let indexes = table.secondary_indexes.iter().enumerate();
                let unknown = indexes.filter(|(_, index)| {
                    !database.global_secondary_indexes.contains_key(&index.name)
                });
                for (at, index) in unknown {
                    let name = index.name.clone();
                    self.mistake(
                        item_path(&path, at),
                        MistakeKind::UnknownSecondaryIndex { name },
                    );
                }
            }
        }
    }

    fn schema(&mut self, path: &str, entry: &Schema, above: Inherited) -> SchemaPlaces {
        let default_group = self.default_group(path, entry.default_shard_group.as_ref());
        let inherited = match entry.default_shard_group {
            Some(_) => Inherited {
                default_group,
                ..above
            },
            None => above,
        };
        let mut places = SchemaPlaces {
            default_group,
            ..SchemaPlaces::default()
        };
        for (name, table) in &entry.tables {
            let path = member_path(&member_path(path, "tables"), name);
            if let Some(placement) = self.table(&path, table, inherited) {
                places.tables.insert(name.clone(), placement);
            }
        }
        for (name, table) in &entry.reference_tables {
            let path = member_path(&member_path(path, "reference_tables"), name);
            if entry.tables.contains_key(name) {
                self.mistake(
                    path.clone(),
                    MistakeKind::TableTwice {
                        table: name.clone(),
                    },
                );
            }
            let reference = self.reference_table(&path, name, &table.shard_groups);
            places
                .tables
                .insert(name.clone(), Placement::Reference(Arc::new(reference)));
        }
        for (name, sequence) in &entry.sequences {
            let path = member_path(&member_path(path, "sequences"), name);
            if let Some(place) = self.sequence(&path, sequence, inherited) {
                places.sequences.insert(name.clone(), place);
            }
        }
        for (name, function) in &entry.functions {
            let path = member_path(&member_path(path, "functions"), name);
            if let Some(place) = self.function(&path, function) {
                places.functions.insert(name.clone(), Arc::new(place));
            }
        }
        places
    }

    fn table(&mut self, path: &str, table: &Table, inherited: Inherited) -> Option<Placement> {
        if !table.secondary_indexes.is_empty() {
            let kind = MistakeKind::Unsupported {
                what: Unsupported::SecondaryIndexes,
            };
            self.mistake(member_path(path, "secondary_indexes"), kind);
        }
        if table.unique_off_key == Some(UniqueOffKey::Index) {
            let kind = MistakeKind::Unsupported {
                what: Unsupported::UniqueOffKeyIndex,
            };
            self.mistake(member_path(path, "unique_off_key"), kind);
        }
        if table.primary_indexes.len() > 1 {
            let kind = MistakeKind::SeveralPrimaryIndexes {
                found: table.primary_indexes.len(),
            };
            self.mistake(member_path(path, "primary_indexes"), kind);
        }
        let group = match &table.shard_group {
            Some(uid) => self.group(member_path(path, "shard_group"), uid)?,
            None => inherited.default_group?,
        };
        if !self.is_sharded(group) {
            return self.unsharded_table(path, table, group);
        }
        self.sharded_table(path, table, group)
    }

    fn unsharded_table(&mut self, path: &str, table: &Table, group: GroupId) -> Option<Placement> {
        if !table.primary_indexes.is_empty() {
            let group = self.groups[group.index()].uid.clone();
            let kind = MistakeKind::IndexInUnshardedGroup { group };
            self.mistake(member_path(path, "primary_indexes"), kind);
        }
        let shard = *self.groups[group.index()].shards.first()?;
        Some(Placement::Unsharded { group, shard })
    }

    fn sharded_table(&mut self, path: &str, table: &Table, group: GroupId) -> Option<Placement> {
        let own = table.primary_indexes.first();
        let own_path = item_path(&member_path(path, "primary_indexes"), 0);
        let index = match own.and_then(|own| own.shard_index.as_ref()) {
            Some(name) => self.index(member_path(&own_path, "shard_index"), name)?,
            None => self.groups[group.index()]
                .index
                .as_ref()
                .map(|(index, _)| Arc::clone(index))?,
        };
        let own_columns = own.map(|own| own.columns.as_slice()).unwrap_or_default();
        let key = if own_columns.is_empty() {
            index.columns.clone()
        } else {
            self.key_columns(&member_path(&own_path, "columns"), own_columns)?
        };
        if key.is_empty() {
            self.mistake(
                path.to_owned(),
                MistakeKind::NoColumns {
                    index: index.name.clone(),
                },
            );
            return None;
        }
        if !own_columns.is_empty() && !self.count_columns(&own_path, &index, &key) {
            return None;
        }
        let ranges = self.layout(group, &index)?;
        let unique_off_key = table.unique_off_key.unwrap_or(UniqueOffKey::Refuse);
        let sharded = Sharded {
            group,
            index,
            ranges,
            key,
            unique_off_key,
        };
        Some(Placement::Sharded(Arc::new(sharded)))
    }

    fn reference_table(&mut self, path: &str, name: &str, uids: &[String]) -> Reference {
        let path = member_path(path, "shard_groups");
        let mut reference = Reference {
            groups: Vec::new(),
            shards: Vec::new(),
        };
        if uids.is_empty() {
            self.mistake(
                path.clone(),
                MistakeKind::ReferenceNowhere {
                    table: name.to_owned(),
                },
            );
        }
        for (at, uid) in uids.iter().enumerate() {
            let path = item_path(&path, at);
            let Some(group) = self.group(path.clone(), uid) else {
                continue;
            };
            if reference.groups.contains(&group) {
                self.mistake(path, MistakeKind::DuplicateEntry { name: uid.clone() });
                continue;
            }
            reference.groups.push(group);
            reference.shards.extend(&self.groups[group.index()].shards);
        }
        reference.shards.sort_unstable();
        reference.shards.dedup();
        reference
    }

    fn sequence(
        &mut self,
        path: &str,
        sequence: &Sequence,
        inherited: Inherited,
    ) -> Option<SequencePlace> {
        let path = member_path(path, "shard_group");
        let group = match &sequence.shard_group {
            Some(uid) => self.group(path.clone(), uid)?,
            None => inherited.authoritative?,
        };
        if self.is_sharded(group) {
            let group = self.groups[group.index()].uid.clone();
            self.mistake(
                path,
                MistakeKind::NeedsOneShard {
                    what: "sequence",
                    group,
                },
            );
            return None;
        }
        let shard = *self.groups[group.index()].shards.first()?;
        Some(SequencePlace {
            group,
            shard,
            block: sequence.block.unwrap_or(SEQUENCE_BLOCK),
        })
    }

    fn function(&mut self, path: &str, function: &Function) -> Option<FunctionPlace> {
        let path = member_path(path, "shard_group");
        let group = self.group(path.clone(), &function.shard_group)?;
        if !self.is_sharded(group) {
            let group = function.shard_group.clone();
            self.mistake(path, MistakeKind::FunctionWithoutKey { group });
            return None;
        }
        let (index, ranges) = self.groups[group.index()].index.clone()?;
        if !takes_one_value(&index) {
            let index_type = index.function.type_name();
            let expected = "one value, the argument".to_owned();
            let found = index.columns.parts().len();
            self.mistake(
                path,
                MistakeKind::ColumnCount {
                    index_type,
                    expected,
                    found,
                },
            );
            return None;
        }
        let argument = function.shard_key_argument.clone();
        Some(FunctionPlace {
            group,
            argument,
            index,
            ranges,
        })
    }
}

fn takes_one_value(index: &ShardIndex) -> bool {
    index.function.column_count().allows(1) && index.columns.parts().len() <= 1
}
