//! Routing values: what a shard index makes of a key and what key ranges are intervals of. Invariant:
//! values of one index are of one variant, and within it `Ord` is the order of the ranges.

use std::fmt;

/// What a shard index makes of a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RoutingValue {
    /// A point of the hash space: `xxhash`, `hierarchy`.
    Hash(u64),
    /// A number: `modulo`, `slots`, `redis_slot`, `list`, and `range` over integers.
    Number(i64),
    /// The key itself, compared as PostgreSQL does (text by bytes): `range` with literal bounds.
    Key(pg::KeyValue),
}

/// Why a key has no routing value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RoutingError {
    /// The index can't take keys of this class; the check against the catalog refuses such a key before.
    #[error("an index of type {index_type} can't take a key of class {class}")]
    KeyClass {
        /// The index type.
        index_type: &'static str,
        /// The class.
        class: pg::KeyClass,
    },
    /// Another number of values than the index has columns.
    #[error("the key has {expected} columns, but {found} values are given")]
    KeyCount {
        /// How many columns.
        expected: usize,
        /// How many values.
        found: usize,
    },
    /// A `list` index names neither the key nor a place for the rest: no range holds it.
    #[error("shard index {index:?} does not list the key")]
    Unlisted {
        /// The index.
        index: String,
    },
}

impl fmt::Display for RoutingValue {
    /// As a bound of a range is written: hexadecimal, or the literal.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RoutingValue::Hash(hash) => write!(f, "{hash:016x}"),
            RoutingValue::Number(number) if *number < 0 => {
                write!(f, "-{:x}", number.unsigned_abs())
            }
            RoutingValue::Number(number) => write!(f, "{number:x}"),
            RoutingValue::Key(key) => write!(f, "{key}"),
        }
    }
}
