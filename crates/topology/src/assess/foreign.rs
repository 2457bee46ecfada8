//! Foreign keys that exist, under another document: which of them no shard could check any more.

use std::fmt;

use pg::ForeignAction;
use serde::Serialize;

use super::Facts;
use crate::placement::{Placement, Sharded, TableName};
use crate::topology::Topology;

/// A foreign key that exists. Partitions stand as their topmost parent, where their rows are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ForeignKey {
    /// Its name.
    pub name: String,
    /// The database of both tables.
    pub database: String,
    /// The schema and name of the referring table.
    pub child: (String, String),
    /// Its columns.
    pub columns: Vec<String>,
    /// The schema and name of the referenced table.
    pub parent: (String, String),
    /// The referenced columns.
    pub referenced: Vec<String>,
    /// `ON UPDATE`.
    pub on_update: ForeignAction,
    /// `ON DELETE`.
    pub on_delete: ForeignAction,
    /// The columns that `ON DELETE SET NULL` names; empty for all.
    pub reset: Vec<String>,
    /// `SET DEFAULT` would compute other values on each shard.
    pub computes_defaults: bool,
}

/// A foreign key that no shard could check under a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BrokenKey {
    /// Its name.
    pub constraint: String,
    /// The referring table.
    pub table: String,
    /// Where that would be.
    pub place: String,
    /// The referenced table.
    pub referenced_table: String,
    /// Where that would be.
    pub referenced_place: String,
    /// Why.
    pub why: &'static str,
}

/// The foreign keys that break under a document.
pub(super) fn broken(new: &Topology, facts: &Facts<'_>) -> Vec<BrokenKey> {
    // One shard holds every row.
    if new.shards().len() == 1 {
        return Vec::new();
    }
    let judge = |key: &ForeignKey| {
        let child = Home::of(new, facts, name(key, &key.child));
        let parent = Home::of(new, facts, name(key, &key.parent));
        let why = if !is_checked_by_shards(new, facts, (&child, &parent)) {
            "no shard could check it"
        } else if !keeps_its_ground(new, key, (&child, &parent)) {
            "its action changes shard keys or computes defaults, which each shard would do by itself"
        } else {
            return None;
        };
        Some(BrokenKey {
            constraint: key.name.clone(),
            table: full(child.name),
            place: child.place(new),
            referenced_table: full(parent.name),
            referenced_place: parent.place(new),
            why,
        })
    };
    facts.foreign_keys.iter().filter_map(judge).collect()
}

/// A table where it would be.
struct Home<'a> {
    name: TableName<'a>,
    placement: Placement,
}

// === impl Home ===

impl<'a> Home<'a> {
    fn of(new: &Topology, facts: &Facts<'_>, name: TableName<'a>) -> Self {
        let known = facts.tables.iter().find(|known| known.name() == name);
        let has_column = |column: &str| known.is_some_and(|known| known.has_column(column));
        // A table without its group's key was made on the one unsharded shard.
        let on_authority = |_| Placement::Unsharded {
            group: new.authoritative_group(),
            shard: new.authoritative_shard(),
        };
        let placement = new.placement(name, &has_column);
        Self {
            name,
            placement: placement.unwrap_or_else(on_authority),
        }
    }

    fn sharded(&self) -> Option<&Sharded> {
        match &self.placement {
            Placement::Sharded(sharded) => Some(sharded),
            _ => None,
        }
    }

    fn place(&self, new: &Topology) -> String {
        let what = match &self.placement {
            Placement::Sharded(sharded) => {
                let group = &new.group(sharded.group).uid;
                return format!("sharded by {} in group {group}", sharded.key);
            }
            Placement::Reference(_) => "a reference table",
            Placement::Unsharded { .. } => "unsharded",
        };
        let shards = self.placement.shards().iter();
        let uids: Vec<&str> = shards.map(|shard| new.shard(*shard).uid.as_str()).collect();
        let declared = if new.declared(self.name).is_none() {
            ", not declared"
        } else {
            ""
        };
        format!("{what} on {}{declared}", uids.join(", "))
    }
}

/// Every shard with a referring row has the row that it may refer to. Sharded tables whose foreign key leaves out the shard
/// key are checked within each shard, as when they are created.
fn is_checked_by_shards(
    new: &Topology,
    facts: &Facts<'_>,
    (child, parent): (&Home<'_>, &Home<'_>),
) -> bool {
    if child.name == parent.name {
        return true;
    }
    match (&child.placement, &parent.placement) {
        (_, Placement::Reference(copies)) => {
            let shards = child.placement.shards().iter();
            shards
                .into_iter()
                .all(|shard| copies.shards.contains(shard))
        }
        (Placement::Unsharded { shard, .. }, Placement::Unsharded { shard: other, .. }) => {
            shard == other
        }
        (Placement::Sharded(mine), Placement::Sharded(theirs)) => {
            let classes = |home: &Home<'_>, sharded: &Sharded| -> Vec<Option<pg::KeyClass>> {
                let types = new.key_types(home.name, &sharded.key, facts.types);
                types
                    .into_iter()
                    .map(|known| known.map(|known| known.class))
                    .collect()
            };
            mine.is_colocated(theirs) && classes(child, mine) == classes(parent, theirs)
        }
        _ => false,
    }
}

/// What the foreign key does to referring rows changes no shard key, and every copy of a row alike.
fn keeps_its_ground(
    new: &Topology,
    key: &ForeignKey,
    (child, parent): (&Home<'_>, &Home<'_>),
) -> bool {
    if key.computes_defaults && child.placement.shards() != [new.authoritative_shard()] {
        return false;
    }
    let is_in = |home: &Home<'_>, column: &String| {
        let sharded = home.sharded();
        sharded.is_some_and(|sharded| sharded.key.columns().iter().any(|part| part == column))
    };
    let mut pairs = key.columns.iter().zip(&key.referenced);
    let is_fixed = |column: &String| is_in(parent, column);
    let moves = match key.on_update {
        ForeignAction::Keep => false,
        ForeignAction::Cascade => {
            pairs.any(|(mine, theirs)| is_in(child, mine) && !is_fixed(theirs))
        }
        ForeignAction::SetNull | ForeignAction::SetDefault => {
            key.columns.iter().any(|column| is_in(child, column))
                && !key.referenced.iter().all(is_fixed)
        }
    };
    let lost = if key.reset.is_empty() {
        &key.columns
    } else {
        &key.reset
    };
    let strands = key.on_delete.resets() && lost.iter().any(|column| is_in(child, column));
    !moves && !strands
}

fn name<'a>(key: &'a ForeignKey, (schema, table): &'a (String, String)) -> TableName<'a> {
    TableName {
        database: &key.database,
        schema,
        table,
    }
}

fn full(name: TableName<'_>) -> String {
    format!("{}.{}.{}", name.database, name.schema, name.table)
}

// === impl BrokenKey ===

impl fmt::Display for BrokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "foreign key {} of table {}, {}, to table {}, {}: {}",
            self.constraint,
            self.table,
            self.place,
            self.referenced_table,
            self.referenced_place,
            self.why
        )
    }
}
