//! Where one key lives, for people and programs: `shard_of(table, key...)`.

use crate::check::ColumnTypes;
use crate::expression::Evaluated;
use crate::id::ShardId;
use crate::placement::{Placement, PlacementError, Sharded, TableName};
use crate::routing::{RoutingError, RoutingValue};
use crate::topology::Topology;

/// Where a key lives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// The routing value; none for tables that are not sharded and for keys that a list leaves out.
    pub routing_value: Option<RoutingValue>,
    /// The shards that hold it; none where no range holds the key, several for a reference table.
    pub shards: Vec<ShardId>,
}

/// Why it can't be said where a key lives.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LocateError {
    /// The table has no place.
    #[error("the table has no place")]
    Place {
        /// Why.
        #[source]
        source: PlacementError,
    },
    /// Another number of values than the key has columns.
    #[error("the key is ({columns}), but {found} values are given")]
    Count {
        /// The key's columns.
        columns: String,
        /// How many values.
        found: usize,
    },
    /// The catalog does not know the column.
    #[error("column {column:?} does not exist or its type can't be a key")]
    Column {
        /// The column.
        column: String,
    },
    /// A text is not a value of its column's type.
    #[error("{text:?} is no value of column {column:?}")]
    Value {
        /// The column.
        column: String,
        /// The text.
        text: String,
    },
    /// Only a shard can compute the key.
    #[error("only a shard can compute {key}")]
    AskShard {
        /// The key.
        key: String,
    },
    /// The index does not take the key.
    #[error("the index does not take the key")]
    Route {
        /// Why.
        #[source]
        source: RoutingError,
    },
}

// === impl Topology ===

impl Topology {
    /// Where the row lives whose key columns, in the order of the key, have these values.
    ///
    /// # Errors
    ///
    /// It can't be said without asking a shard, or the values do not fit the key.
    pub fn shard_of(
        &self,
        name: TableName<'_>,
        texts: &[&str],
        types: &dyn ColumnTypes,
    ) -> Result<Location, LocateError> {
        let has_column = |column: &str| types.column(name, column).is_some();
        let placement = self
            .placement(name, &has_column)
            .map_err(|source| LocateError::Place { source })?;
        match placement {
            Placement::Sharded(sharded) => locate(name, &sharded, texts, types),
            other => Ok(Location {
                routing_value: None,
                shards: other.shards().to_vec(),
            }),
        }
    }
}

fn locate(
    name: TableName<'_>,
    sharded: &Sharded,
    texts: &[&str],
    types: &dyn ColumnTypes,
) -> Result<Location, LocateError> {
    let columns = sharded.key.columns();
    if columns.len() != texts.len() {
        let columns = columns.join(", ");
        return Err(LocateError::Count {
            columns,
            found: texts.len(),
        });
    }
    let mut row = Vec::with_capacity(columns.len());
    for (column, text) in columns.iter().zip(texts) {
        let fact = types.column(name, column).and_then(|fact| fact.key_type);
        let Some(key_type) = fact else {
            return Err(LocateError::Column {
                column: (*column).to_owned(),
            });
        };
        let pg::Parsed::Value(value) = pg::KeyValue::assign_text(key_type, pg::oid::UNKNOWN, text)
        else {
            let text = (*text).to_owned();
            return Err(LocateError::Value {
                column: (*column).to_owned(),
                text,
            });
        };
        row.push((*column, value));
    }
    let value_of = |column: &str| {
        row.iter()
            .find(|(name, _)| *name == column)
            .map(|(_, value)| value.clone())
    };
    let Evaluated::Value(key) = sharded.key.evaluate(&value_of) else {
        return Err(LocateError::AskShard {
            key: sharded.key.to_string(),
        });
    };
    match sharded.index.routing_value(&key) {
        Ok(value) => {
            let shards = sharded.ranges.shard_for(&value).into_iter().collect();
            Ok(Location {
                routing_value: Some(value),
                shards,
            })
        }
        Err(RoutingError::Unlisted { .. }) => Ok(Location {
            routing_value: None,
            shards: Vec::new(),
        }),
        Err(source) => Err(LocateError::Route { source }),
    }
}

// === impl Location ===

impl Location {
    /// The location as a line of text, with the shards' uids.
    #[must_use]
    pub fn describe(&self, topology: &Topology) -> String {
        let uids: Vec<&str> = self
            .shards
            .iter()
            .map(|shard| topology.shard(*shard).uid.as_str())
            .collect();
        let uids = uids.join(", ");
        match (&self.routing_value, self.shards.is_empty()) {
            (Some(value), false) => format!("{uids} (routing value {value})"),
            (Some(value), true) => format!("no shard: no range holds routing value {value}"),
            (None, false) => uids,
            (None, true) => "no shard: the index does not list the key".to_owned(),
        }
    }
}
