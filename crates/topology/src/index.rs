//! Shard indexes: the functions from keys to routing values. Invariant: equal keys of one class have
//! equal routing values, in every release.

mod parameters;

use std::collections::HashMap;
use std::ops::RangeInclusive;

use twox_hash::XxHash3_64;

use crate::expression::KeyColumns;
use crate::routing::{RoutingError, RoutingValue};

pub(crate) use parameters::read;

/// How many slots Redis Cluster has.
pub(crate) const REDIS_SLOTS: i64 = 16384;

const REDIS_CRC: crc::Crc<u16> = crc::Crc::<u16>::new(&crc::CRC_16_XMODEM);

/// A named routing function with the columns that it takes by default.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardIndex {
    /// Its name in the document.
    pub name: String,
    /// What it computes.
    pub function: IndexFunction,
    /// Its columns; empty where each table names its own.
    pub columns: KeyColumns,
}

/// What a shard index computes. Two indexes with equal functions place equal keys alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexFunction {
    /// XXH3-64 of the canonical bytes.
    Xxhash,
    /// An integer itself.
    Range,
    /// The key itself, in its own order.
    RangeLiteral,
    /// The integer modulo this, never negative.
    Modulo {
        /// At least 1.
        modulus: i64,
    },
    /// XXH3-64 modulo this.
    Slots {
        /// At least 1.
        slots: i64,
    },
    /// Redis Cluster's slot.
    RedisSlot,
    /// A place for each text.
    List {
        /// By the key's text.
        places: HashMap<Box<str>, i64>,
        /// For every other key.
        rest: Option<i64>,
    },
    /// Leading bits of the hash of each column, one after the other.
    Hierarchy {
        /// How many bits each column gives; 64 in all at most.
        bits: Box<[u32]>,
    },
}

/// How many key columns an index type takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ColumnCount {
    Exactly(usize),
    AtLeastOne,
}

// === impl ShardIndex ===

impl ShardIndex {
    /// The routing value of a key.
    ///
    /// # Errors
    ///
    /// The values do not fit the index, or a list does not name the key.
    pub fn routing_value(&self, key: &[pg::KeyValue]) -> Result<RoutingValue, RoutingError> {
        if !self.function.column_count().allows(key.len()) {
            let expected = match self.function.column_count() {
                ColumnCount::Exactly(count) => count,
                ColumnCount::AtLeastOne => 1,
            };
            return Err(RoutingError::KeyCount {
                expected,
                found: key.len(),
            });
        }
        if let Some(value) = key
            .iter()
            .find(|v| self.function.refusal(v.class()).is_some())
        {
            let index_type = self.function.type_name();
            return Err(RoutingError::KeyClass {
                index_type,
                class: value.class(),
            });
        }
        let routing_value = match &self.function {
            IndexFunction::Xxhash => Some(RoutingValue::Hash(hash(key))),
            IndexFunction::Range => integer(key).map(RoutingValue::Number),
            IndexFunction::RangeLiteral => key.first().cloned().map(RoutingValue::Key),
            IndexFunction::Modulo { modulus } => {
                integer(key).map(|integer| RoutingValue::Number(integer.rem_euclid(*modulus)))
            }
            IndexFunction::Slots { slots } => {
                let slot = hash(key) % slots.unsigned_abs();
                i64::try_from(slot).ok().map(RoutingValue::Number)
            }
            IndexFunction::RedisSlot => key.first().map(redis_slot),
            IndexFunction::List { places, rest } => {
                let listed = key.first().and_then(|key| listed(places, key));
                listed.or(*rest).map(RoutingValue::Number)
            }
            IndexFunction::Hierarchy { bits } => {
                Some(RoutingValue::Hash(*hierarchy_span(bits, key).start()))
            }
        };
        routing_value.ok_or_else(|| RoutingError::Unlisted {
            index: self.name.clone(),
        })
    }

    /// The routing values, first and last, of all keys that begin with these values; none where the
    /// index is not a hierarchy or the values are not a prefix of a key.
    #[must_use]
    pub fn prefix_span(&self, prefix: &[pg::KeyValue]) -> Option<(RoutingValue, RoutingValue)> {
        let IndexFunction::Hierarchy { bits } = &self.function else {
            return None;
        };
        if prefix.is_empty() || prefix.len() > bits.len() {
            return None;
        }
        let (start, end) = hierarchy_span(bits, prefix).into_inner();
        Some((RoutingValue::Hash(start), RoutingValue::Hash(end)))
    }
}

// === impl IndexFunction ===

impl IndexFunction {
    /// The type's name in documents.
    #[must_use]
    pub fn type_name(&self) -> &'static str {
        match self {
            IndexFunction::Xxhash => "xxhash",
            IndexFunction::Range | IndexFunction::RangeLiteral => "range",
            IndexFunction::Modulo { .. } => "modulo",
            IndexFunction::Slots { .. } => "slots",
            IndexFunction::RedisSlot => "redis_slot",
            IndexFunction::List { .. } => "list",
            IndexFunction::Hierarchy { .. } => "hierarchy",
        }
    }

    /// Whether the routing values are in the order of the keys, so that `<` and `BETWEEN` prune shards.
    #[must_use]
    pub fn is_ordered(&self) -> bool {
        matches!(self, IndexFunction::Range | IndexFunction::RangeLiteral)
    }

    /// Why keys of this class can't be taken; none: they can.
    #[must_use]
    pub fn refusal(&self, class: pg::KeyClass) -> Option<&'static str> {
        use pg::KeyClass as C;
        match self {
            IndexFunction::Xxhash
            | IndexFunction::Slots { .. }
            | IndexFunction::Hierarchy { .. } => None,
            IndexFunction::Range | IndexFunction::Modulo { .. } => {
                (class != C::Integer).then_some("it takes integers")
            }
            IndexFunction::RangeLiteral => {
                let ordered = LITERAL_CLASSES.contains(&class);
                (!ordered)
                    .then_some("it takes integers, text, dates, timestamps, uuids and numerics")
            }
            IndexFunction::RedisSlot => {
                let taken = matches!(class, C::Integer | C::Text | C::Bytea);
                (!taken).then_some("it takes text, bytea and integers")
            }
            IndexFunction::List { .. } => {
                let taken = matches!(class, C::Integer | C::Text | C::Enum);
                (!taken).then_some("it takes text, enums and integers")
            }
        }
    }

    pub(crate) fn column_count(&self) -> ColumnCount {
        match self {
            IndexFunction::Xxhash | IndexFunction::Slots { .. } => ColumnCount::AtLeastOne,
            IndexFunction::Hierarchy { bits } => ColumnCount::Exactly(bits.len()),
            _ => ColumnCount::Exactly(1),
        }
    }
}

/// The classes that literal bounds are tried in, those first that fewer texts belong to.
pub(crate) const LITERAL_CLASSES: [pg::KeyClass; 7] = [
    pg::KeyClass::Uuid,
    pg::KeyClass::Date,
    pg::KeyClass::TimestampTz,
    pg::KeyClass::Timestamp,
    pg::KeyClass::Integer,
    pg::KeyClass::Numeric,
    pg::KeyClass::Text,
];

// === impl ColumnCount ===

impl ColumnCount {
    pub(crate) fn allows(self, count: usize) -> bool {
        match self {
            ColumnCount::Exactly(expected) => count == expected,
            ColumnCount::AtLeastOne => count > 0,
        }
    }

    pub(crate) fn describe(self) -> String {
        match self {
            ColumnCount::Exactly(1) => "one column".to_owned(),
            ColumnCount::Exactly(count) => format!("{count} columns"),
            ColumnCount::AtLeastOne => "one or more columns".to_owned(),
        }
    }
}

/// One column is hashed bare, several with the length of each before it.
fn hash(key: &[pg::KeyValue]) -> u64 {
    if let [value] = key {
        return value.with_canonical(XxHash3_64::oneshot);
    }
    let mut bytes = Vec::with_capacity(key.len() * 12);
    pg::KeyValue::canonical_tuple(key, &mut bytes);
    XxHash3_64::oneshot(&bytes)
}

fn integer(key: &[pg::KeyValue]) -> Option<i64> {
    match key {
        [pg::KeyValue::Integer(integer)] => Some(*integer),
        _ => None,
    }
}

fn listed(places: &HashMap<Box<str>, i64>, key: &pg::KeyValue) -> Option<i64> {
    match key {
        pg::KeyValue::Text(text) | pg::KeyValue::Enum(text) => places.get(text).copied(),
        pg::KeyValue::Integer(integer) => places.get(integer.to_string().as_str()).copied(),
        _ => None,
    }
}

fn redis_slot(key: &pg::KeyValue) -> RoutingValue {
    let crc = match key {
        pg::KeyValue::Integer(integer) => REDIS_CRC.checksum(integer.to_string().as_bytes()),
        other => other.with_canonical(|bytes| REDIS_CRC.checksum(hash_tag(bytes))),
    };
    RoutingValue::Number(i64::from(crc) % REDIS_SLOTS)
}

/// What Redis hashes: between the first `{` and the first `}` after it, unless that is empty.
fn hash_tag(bytes: &[u8]) -> &[u8] {
    let tag = || {
        let after = &bytes[bytes.iter().position(|byte| *byte == b'{')? + 1..];
        let length = after.iter().position(|byte| *byte == b'}')?;
        (length > 0).then(|| &after[..length])
    };
    tag().unwrap_or(bytes)
}

/// The hash space under a prefix of a hierarchy; a single point under a whole key whose bits are 64.
fn hierarchy_span(bits: &[u32], prefix: &[pg::KeyValue]) -> RangeInclusive<u64> {
    let mut start = 0_u64;
    let mut free = u64::BITS;
    for (bits, value) in bits.iter().zip(prefix) {
        let leading = value.with_canonical(XxHash3_64::oneshot) >> (u64::BITS - bits);
        free -= bits;
        start |= leading << free;
    }
    let below = 1_u64.checked_shl(free).map_or(u64::MAX, |span| span - 1);
    start..=start | below
}

#[cfg(test)]
mod tests;
