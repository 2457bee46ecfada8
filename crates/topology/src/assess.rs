//! Whether a document may replace another in a cluster with data in it. The caller brings what the shards
//! and the catalog say; the judgement is pure.

mod foreign;

use std::fmt;

use serde::Serialize;

use crate::check::ColumnTypes;
use crate::diff::{self, Diff, KnownTable, Move, Subject};
use crate::mistake::Mistake;
use crate::placement::{Placement, TableName};
use crate::topology::Topology;

pub use foreign::{BrokenKey, ForeignKey};

/// What the shards and the catalog say.
pub struct Facts<'a> {
    /// Every table that exists.
    pub tables: &'a [KnownTable],
    /// The types of their columns.
    pub types: &'a dyn ColumnTypes,
    /// Whether a table has rows on any shard, whether a sequence exists, or, of the authoritative group,
    /// whether there is anything in the cluster.
    pub is_populated: &'a dyn Fn(&Subject) -> bool,
    /// The foreign keys between these tables.
    pub foreign_keys: &'a [ForeignKey],
}

/// What applying a document would mean.
#[derive(Debug)]
pub struct Assessment {
    /// What is new in the document.
    pub diff: Diff,
    /// Keys that the catalog does not bear out.
    pub mistakes: Vec<Mistake>,
    /// Foreign keys that no shard could check any more.
    pub broken: Vec<BrokenKey>,
    /// Rows that would be looked for on another shard than they are on.
    pub stranded: Vec<Move>,
    /// As these, but there are no rows.
    pub empty: Vec<Move>,
    /// Tables that exist and would have shards that did not hold them before: they have to be created
    /// there before the document is applied.
    pub new_homes: Vec<NewHome>,
}

/// A shard that would begin to hold a table.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct NewHome {
    /// The table's database.
    pub database: String,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub table: String,
    /// The uid of the shard.
    pub shard: String,
}

/// Judges a document that would replace another. The document of a cluster that has none is
/// [`Topology::single`].
#[must_use]
pub fn assess(old: &Topology, new: &Topology, facts: &Facts<'_>) -> Assessment {
    let mut mistakes = Vec::new();
    for known in facts.tables {
        let placement = new.placement(known.name(), &|column| known.has_column(column));
        if let Ok(Placement::Sharded(sharded)) = placement {
            mistakes.extend(new.check_placement(known.name(), &sharded, facts.types));
        }
    }
    let moves = diff::moves_rows(old, new, facts.tables);
    let (stranded, empty) = moves
        .into_iter()
        .partition(|one| (facts.is_populated)(&one.subject));
    Assessment {
        diff: diff::diff(old.document(), new.document()),
        mistakes,
        broken: foreign::broken(new, facts),
        stranded,
        empty,
        new_homes: new_homes(old, new, facts.tables),
    }
}

fn new_homes(old: &Topology, new: &Topology, tables: &[KnownTable]) -> Vec<NewHome> {
    let mut homes = Vec::new();
    for known in tables {
        let held_by = shards(old, known);
        for shard in shards(new, known) {
            if !held_by.contains(&shard) {
                homes.push(NewHome {
                    database: known.database.clone(),
                    schema: known.schema.clone(),
                    table: known.name.clone(),
                    shard: shard.to_owned(),
                });
            }
        }
    }
    homes
}

/// The uids of the shards on which a table exists: those that hold its rows, and the authoritative one,
/// which has the definition of every table.
fn shards<'t>(topology: &'t Topology, known: &KnownTable) -> Vec<&'t str> {
    let placement = topology.placement(known.name(), &|column| known.has_column(column));
    let mut shards = vec![topology.authoritative_shard()];
    if let Ok(placement) = placement {
        shards.extend(placement.shards());
    }
    shards.sort_unstable();
    shards.dedup();
    shards
        .into_iter()
        .map(|shard| topology.shard(shard).uid.as_str())
        .collect()
}

// === impl KnownTable ===

impl KnownTable {
    /// Its full name.
    #[must_use]
    pub fn name(&self) -> TableName<'_> {
        TableName {
            database: &self.database,
            schema: &self.schema,
            table: &self.name,
        }
    }

    /// Whether it has a column of this name.
    #[must_use]
    pub fn has_column(&self, column: &str) -> bool {
        self.columns.iter().any(|name| name == column)
    }
}

// === impl Assessment ===

impl Assessment {
    /// Whether the document may be applied, once tables have been created in their new homes.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.mistakes.is_empty() && self.broken.is_empty() && self.stranded.is_empty()
    }
}

impl fmt::Display for Assessment {
    /// The differences, then what stands against them.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.diff)?;
        for mistake in &self.mistakes {
            writeln!(f, "refused: {mistake}")?;
            if let Some(hint) = mistake.hint() {
                writeln!(f, "    hint: {hint}")?;
            }
        }
        for broken in &self.broken {
            writeln!(f, "refused: {broken}")?;
        }
        if !self.broken.is_empty() {
            writeln!(
                f,
                "    hint: keep both tables in one shard group by the same key, make the referenced one a reference \
                 table, or drop the foreign key first"
            )?;
        }
        for stranded in &self.stranded {
            writeln!(f, "refused: {stranded}")?;
        }
        if !self.stranded.is_empty() {
            writeln!(
                f,
                "    hint: rows that exist keep their shards; empty the table first, or place new \
                 tables in another group"
            )?;
        }
        for home in &self.new_homes {
            let NewHome {
                database,
                schema,
                table,
                shard,
            } = home;
            writeln!(
                f,
                "table {database}.{schema}.{table} will be created on {shard}"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
