//! Values of keys: read from what clients send, compared, and written as the canonical bytes that shard
//! indexes hash.
//!
//! Invariant: two values of one class are equal here if and only if PostgreSQL's `=` of that class says
//! so, and then their canonical bytes are equal.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};

use crate::{Decimal, Oid, oid};

mod assign;
mod binary;
mod literal;
mod text;

/// What is equal to what: values of one class hash alike, whatever their type or spelling.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyClass {
    /// `int2`, `int4`, `int8`.
    Integer,
    /// `text`, `varchar`.
    Text,
    /// `char(n)`.
    Bpchar,
    /// `bytea`.
    Bytea,
    /// `uuid`.
    Uuid,
    /// `float4`, `float8`.
    Float,
    /// `numeric`.
    Numeric,
    /// `date`.
    Date,
    /// `timestamp`.
    Timestamp,
    /// `timestamptz`.
    TimestampTz,
    /// `bool`.
    Bool,
    /// An enum; each is a class of its own, told apart by the column and not here.
    Enum,
}

/// The type of a key column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct KeyType {
    /// Its class.
    pub class: KeyClass,
    /// Bytes of an integer (2, 4, 8) or float (4, 8); 0 for other classes.
    pub width: u8,
    /// PostgreSQL's `atttypmod` (length, precision and scale); -1 for none. Matters when a value is stored.
    pub typmod: i32,
}

/// A value of a key.
///
/// Ordered as PostgreSQL orders the class (text by bytes, so as the C collation; enum labels by bytes,
/// which is *not* PostgreSQL's order of an enum); values of different classes are ordered by class.
#[derive(Debug, Clone)]
pub enum KeyValue {
    /// Any integer, widened.
    Integer(i64),
    /// Text.
    Text(Box<str>),
    /// `char(n)` without its trailing blanks.
    Bpchar(Box<str>),
    /// Bytes.
    Bytea(Box<[u8]>),
    /// A uuid.
    Uuid([u8; 16]),
    /// Any float, widened.
    Float(f64),
    /// A decimal.
    Numeric(Decimal),
    /// Days since 2000-01-01.
    Date(i32),
    /// Microseconds since 2000-01-01.
    Timestamp(i64),
    /// Microseconds since 2000-01-01 UTC.
    TimestampTz(i64),
    /// A truth value.
    Bool(bool),
    /// The label of an enum.
    Enum(Box<str>),
}

/// What became of a literal or parameter that a key is compared with, or that is stored in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Parsed {
    /// This value, and no other, is meant.
    Value(KeyValue),
    /// PostgreSQL takes it, and no value of the key's type is equal to it: the predicate holds for no row.
    NoMatch,
    /// PostgreSQL refuses it: any one shard raises the right error.
    Invalid,
    /// The router can't tell bit for bit: ask a shard, or ask all of them.
    Unknown,
}

// === impl KeyClass ===

impl KeyClass {
    /// The class of a built-in type that can be a key.
    #[must_use]
    pub fn of_builtin(type_oid: Oid) -> Option<Self> {
        Some(match type_oid {
            oid::INT2 | oid::INT4 | oid::INT8 => Self::Integer,
            oid::TEXT | oid::VARCHAR => Self::Text,
            oid::BPCHAR => Self::Bpchar,
            oid::BYTEA => Self::Bytea,
            oid::UUID => Self::Uuid,
            oid::FLOAT4 | oid::FLOAT8 => Self::Float,
            oid::NUMERIC => Self::Numeric,
            oid::DATE => Self::Date,
            oid::TIMESTAMP => Self::Timestamp,
            oid::TIMESTAMPTZ => Self::TimestampTz,
            oid::BOOL => Self::Bool,
            _ => return None,
        })
    }

    /// The word for it in messages and EXPLAIN.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Text => "text",
            Self::Bpchar => "bpchar",
            Self::Bytea => "bytea",
            Self::Uuid => "uuid",
            Self::Float => "float",
            Self::Numeric => "numeric",
            Self::Date => "date",
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamptz",
            Self::Bool => "bool",
            Self::Enum => "enum",
        }
    }
}

impl fmt::Display for KeyClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

// === impl KeyType ===

impl KeyType {
    /// An enum's type.
    pub const ENUM: Self = Self {
        class: KeyClass::Enum,
        width: 0,
        typmod: -1,
    };

    /// The type of a column of a built-in type, without type modifier.
    #[must_use]
    pub fn of_builtin(type_oid: Oid) -> Option<Self> {
        let width = match type_oid {
            oid::INT2 => 2,
            oid::INT4 | oid::FLOAT4 => 4,
            oid::INT8 | oid::FLOAT8 => 8,
            _ => 0,
        };
        Some(Self {
            class: KeyClass::of_builtin(type_oid)?,
            width,
            typmod: -1,
        })
    }

    /// The same type with the column's `atttypmod`.
    #[must_use]
    pub fn with_typmod(self, typmod: i32) -> Self {
        Self { typmod, ..self }
    }

    /// Whether an integer can be stored in it.
    #[must_use]
    pub fn holds(self, value: i64) -> bool {
        match self.width {
            2 => i16::try_from(value).is_ok(),
            4 => i32::try_from(value).is_ok(),
            _ => true,
        }
    }
}

// === impl KeyValue ===

impl KeyValue {
    /// What `key = source_text` compares the key with. `source` is the type of the literal or parameter
    /// ([`oid::UNKNOWN`] for a quoted literal or an undeclared parameter, [`oid::NUMERIC`] for `1.5`):
    /// `id = '99999999999'` is an error on an `int4` key where `id = 99999999999` is merely false.
    #[must_use]
    pub fn from_text(key: KeyType, source: Oid, text: &str) -> Parsed {
        literal::compared(key, source, literal::Spelling::Text(text))
    }

    /// What `key = source_bytes` compares the key with, the value being in binary format.
    #[must_use]
    pub fn from_binary(key: KeyType, source: Oid, bytes: &[u8]) -> Parsed {
        literal::compared(key, source, literal::Spelling::Binary(bytes))
    }

    /// What is stored when `source_text` is assigned to the key's column (INSERT, UPDATE, COPY); the
    /// type modifier counts. Never [`Parsed::NoMatch`].
    #[must_use]
    pub fn assign_text(key: KeyType, source: Oid, text: &str) -> Parsed {
        assign::assigned(key, source, literal::Spelling::Text(text))
    }

    /// As [`KeyValue::assign_text`], the value being in binary format.
    #[must_use]
    pub fn assign_binary(key: KeyType, source: Oid, bytes: &[u8]) -> Parsed {
        assign::assigned(key, source, literal::Spelling::Binary(bytes))
    }

    /// Its class.
    #[must_use]
    pub fn class(&self) -> KeyClass {
        match self {
            Self::Integer(_) => KeyClass::Integer,
            Self::Text(_) => KeyClass::Text,
            Self::Bpchar(_) => KeyClass::Bpchar,
            Self::Bytea(_) => KeyClass::Bytea,
            Self::Uuid(_) => KeyClass::Uuid,
            Self::Float(_) => KeyClass::Float,
            Self::Numeric(_) => KeyClass::Numeric,
            Self::Date(_) => KeyClass::Date,
            Self::Timestamp(_) => KeyClass::Timestamp,
            Self::TimestampTz(_) => KeyClass::TimestampTz,
            Self::Bool(_) => KeyClass::Bool,
            Self::Enum(_) => KeyClass::Enum,
        }
    }

    /// Hands the canonical bytes to `read`; only `numeric` needs the heap for it.
    pub fn with_canonical<R>(&self, read: impl FnOnce(&[u8]) -> R) -> R {
        match self {
            Self::Integer(value) | Self::Timestamp(value) | Self::TimestampTz(value) => {
                read(&value.to_be_bytes())
            }
            Self::Date(days) => read(&i64::from(*days).to_be_bytes()),
            Self::Text(text) | Self::Bpchar(text) | Self::Enum(text) => read(text.as_bytes()),
            Self::Bytea(bytes) => read(bytes),
            Self::Uuid(bytes) => read(bytes),
            Self::Float(value) => read(&float_bits(*value).to_be_bytes()),
            Self::Numeric(value) => read(value.canonical().as_bytes()),
            Self::Bool(value) => read(&[u8::from(*value)]),
        }
    }

    /// Appends the canonical bytes.
    pub fn canonical(&self, out: &mut Vec<u8>) {
        self.with_canonical(|bytes| out.extend_from_slice(bytes));
    }

    /// Appends the canonical bytes of a key of several columns: each preceded by its length.
    ///
    /// # Panics
    /// A value is 4 GB long, which PostgreSQL's values can't be.
    pub fn canonical_tuple<'a>(values: impl IntoIterator<Item = &'a Self>, out: &mut Vec<u8>) {
        for value in values {
            value.with_canonical(|bytes| {
                let length =
                    u32::try_from(bytes.len()).expect("PostgreSQL's values are under 1 GB");
                out.extend_from_slice(&length.to_be_bytes());
                out.extend_from_slice(bytes);
            });
        }
    }
}

/// The bits that are hashed: -0 is 0 and there is one NaN.
fn float_bits(value: f64) -> u64 {
    if value.is_nan() {
        0x7ff8_0000_0000_0000
    } else if value == 0.0 {
        0
    } else {
        value.to_bits()
    }
}

/// PostgreSQL's order of floats: -0 equals 0, NaN equals itself and is greatest.
pub(crate) fn compare_floats(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b)
        .unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()))
}

impl Ord for KeyValue {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b))
            | (Self::Timestamp(a), Self::Timestamp(b))
            | (Self::TimestampTz(a), Self::TimestampTz(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b))
            | (Self::Bpchar(a), Self::Bpchar(b))
            | (Self::Enum(a), Self::Enum(b)) => a.as_bytes().cmp(b.as_bytes()),
            (Self::Bytea(a), Self::Bytea(b)) => a.cmp(b),
            (Self::Uuid(a), Self::Uuid(b)) => a.cmp(b),
            (Self::Float(a), Self::Float(b)) => compare_floats(*a, *b),
            (Self::Numeric(a), Self::Numeric(b)) => a.cmp(b),
            (Self::Date(a), Self::Date(b)) => a.cmp(b),
            (Self::Bool(a), Self::Bool(b)) => a.cmp(b),
            _ => self.class().cmp(&other.class()),
        }
    }
}

impl PartialOrd for KeyValue {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for KeyValue {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for KeyValue {}

impl Hash for KeyValue {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.class().hash(state);
        self.with_canonical(|bytes| bytes.hash(state));
    }
}

impl fmt::Display for KeyValue {
    /// For messages, EXPLAIN and logs of a person's own data; not a literal to send to a shard.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Integer(value) => write!(f, "{value}"),
            Self::Text(text) | Self::Bpchar(text) | Self::Enum(text) => f.write_str(text),
            Self::Bytea(bytes) => {
                f.write_str("\\x")?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
            }
            Self::Uuid(bytes) => bytes.iter().enumerate().try_for_each(|(at, byte)| {
                let hyphen = if matches!(at, 4 | 6 | 8 | 10) {
                    "-"
                } else {
                    ""
                };
                write!(f, "{hyphen}{byte:02x}")
            }),
            Self::Float(value) => write!(f, "{value}"),
            Self::Numeric(value) => write!(f, "{value}"),
            Self::Date(days) => write!(f, "{days} days since 2000-01-01"),
            Self::Timestamp(micros) => write!(f, "{micros} us since 2000-01-01"),
            Self::TimestampTz(micros) => write!(f, "{micros} us since 2000-01-01 UTC"),
            Self::Bool(value) => write!(f, "{value}"),
        }
    }
}

#[cfg(test)]
mod tests;
