//! Where a table, a sequence or a function is. These are the values that the planner works with.

use std::ops::Bound;
use std::sync::Arc;

use crate::document::UniqueOffKey;
use crate::expression::KeyColumns;
use crate::id::{GroupId, ShardId};
use crate::index::ShardIndex;
use crate::range::KeyRanges;
use crate::routing::RoutingError;

/// The full name of a table, as the catalog spells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct TableName<'a> {
    /// Its database.
    pub database: &'a str,
    /// Its schema.
    pub schema: &'a str,
    /// The table.
    pub table: &'a str,
}

/// Where the rows of a table live.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Placement {
    /// Each row on the shard of its key.
    Sharded(Arc<Sharded>),
    /// Every row on every shard of some groups.
    Reference(Arc<Reference>),
    /// All rows on one shard.
    Unsharded {
        /// The group.
        group: GroupId,
        /// Its only shard.
        shard: ShardId,
    },
}

/// How the rows of a table are spread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharded {
    /// The table's group.
    pub group: GroupId,
    /// The index that makes routing values of its keys.
    pub index: Arc<ShardIndex>,
    /// The group's ranges as that index reads them.
    pub ranges: Arc<KeyRanges>,
    /// Where the key comes from.
    pub key: KeyColumns,
    /// What a unique constraint without the key gets.
    pub unique_off_key: UniqueOffKey,
}

/// A table that is copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The groups whose shards hold a copy.
    pub groups: Vec<GroupId>,
    /// Those shards, each once, in ascending order.
    pub shards: Vec<ShardId>,
}

/// Where a sequence's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequencePlace {
    /// Its group.
    pub group: GroupId,
    /// The shard that holds it.
    pub shard: ShardId,
    /// How many values a router draws at once.
    pub block: u32,
}

/// Where a function runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionPlace {
    /// Its group.
    pub group: GroupId,
    /// The argument that holds the key.
    pub argument: String,
    /// The index that makes a routing value of it.
    pub index: Arc<ShardIndex>,
    /// The group's ranges as that index reads them.
    pub ranges: Arc<KeyRanges>,
}

/// Why an undeclared table has no place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlacementError {
    /// The default group is sharded and the table lacks its key column.
    #[error("table {schema}.{table} has no column {column:?}, the key of shard group {group:?}")]
    NoKeyColumn {
        /// Its schema.
        schema: String,
        /// The table.
        table: String,
        /// The missing column.
        column: String,
        /// The default group.
        group: String,
    },
    /// The default group is sharded and its index names no columns, so only declared tables fit.
    #[error(
        "table {schema}.{table} is not declared and shard group {group:?} has no key columns of its own"
    )]
    NoKey {
        /// Its schema.
        schema: String,
        /// The table.
        table: String,
        /// The default group.
        group: String,
    },
}

// === impl Placement ===

impl Placement {
    /// Every shard that holds rows of the table, each once, in ascending order.
    #[must_use]
    pub fn shards(&self) -> &[ShardId] {
        match self {
            Placement::Sharded(sharded) => sharded.ranges.shards(),
            Placement::Reference(reference) => &reference.shards,
            Placement::Unsharded { shard, .. } => std::slice::from_ref(shard),
        }
    }
}

// === impl Sharded ===

impl Sharded {
    /// The shard of a key, given the values of the key's parts in order; none where no range holds it.
    ///
    /// # Errors
    ///
    /// The values do not fit the index.
    pub fn shard_for(&self, key: &[pg::KeyValue]) -> Result<Option<ShardId>, RoutingError> {
        route(&self.index, &self.ranges, key)
    }

    /// The shards that may hold keys between the bounds, each once, in ascending order. Every shard where
    /// the index does not keep the order of keys.
    #[must_use]
    pub fn shards_between(
        &self,
        low: Bound<&pg::KeyValue>,
        high: Bound<&pg::KeyValue>,
    ) -> Vec<ShardId> {
        let value = |key: &pg::KeyValue| self.index.routing_value(std::slice::from_ref(key)).ok();
        let (Some(low), Some(high)) = (map_bound(low, value), map_bound(high, value)) else {
            return self.ranges.shards().to_vec();
        };
        if !self.index.function.is_ordered() {
            return self.ranges.shards().to_vec();
        }
        self.ranges.shards_between(low.as_ref(), high.as_ref())
    }

    /// The shards that may hold keys that begin with these values, each once, in ascending order. Every
    /// shard where the index is not a hierarchy.
    #[must_use]
    pub fn shards_under_prefix(&self, prefix: &[pg::KeyValue]) -> Vec<ShardId> {
        match self.index.prefix_span(prefix) {
            Some((first, last)) => self
                .ranges
                .shards_between(Bound::Included(&first), Bound::Included(&last)),
            None => self.ranges.shards().to_vec(),
        }
    }

    /// Whether two tables of these placements keep rows of equal keys on one shard, given that their keys
    /// are of the same classes. The caller compares the classes: they are facts of the catalog.
    #[must_use]
    pub fn is_colocated(&self, other: &Sharded) -> bool {
        self.group == other.group
            && self.index.function == other.index.function
            && self.key.parts().len() == other.key.parts().len()
    }
}

// === impl FunctionPlace ===

impl FunctionPlace {
    /// The shard that the function runs on, given its key argument; none where no range holds it.
    ///
    /// # Errors
    ///
    /// The argument does not fit the index.
    pub fn shard_for(&self, argument: &pg::KeyValue) -> Result<Option<ShardId>, RoutingError> {
        route(&self.index, &self.ranges, std::slice::from_ref(argument))
    }
}

// === impl PlacementError ===

impl PlacementError {
    /// The ways out.
    #[must_use]
    pub fn hint(&self) -> String {
        let table = match self {
            PlacementError::NoKeyColumn { table, .. } | PlacementError::NoKey { table, .. } => {
                table
            }
        };
        format!(
            "declare {table} in the topology: in another shard_group, among the reference_tables, or \
             with primary_indexes on a column that it has; a table that belongs on one shard can be \
             created with kintsugi.default_shard_group set to an unsharded group"
        )
    }
}

fn route(
    index: &ShardIndex,
    ranges: &KeyRanges,
    key: &[pg::KeyValue],
) -> Result<Option<ShardId>, RoutingError> {
    match index.routing_value(key) {
        Ok(value) => Ok(ranges.shard_for(&value)),
        Err(RoutingError::Unlisted { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn map_bound<T, U>(bound: Bound<T>, map: impl FnOnce(T) -> Option<U>) -> Option<Bound<U>> {
    Some(match bound {
        Bound::Included(value) => Bound::Included(map(value)?),
        Bound::Excluded(value) => Bound::Excluded(map(value)?),
        Bound::Unbounded => Bound::Unbounded,
    })
}
