//! Order of column values as they stand in `DataRow`, for merging sorted rows of several shards.
//!
//! A [`Comparator`] exists only for types whose btree order is computed here bit for bit; for all others
//! [`Comparator::for_type`] is `None` and the rows are sorted by a PostgreSQL. Assumptions on text format,
//! which the caller pins on the shards: `DateStyle` ISO, `bytea_output` hex, `extra_float_digits` at least 1
//! (rounded floats would tie where the values differ). `TimeZone` may be any: a `timestamptz` is printed
//! with its offset, and instants are compared.

use std::cmp::Ordering;

use crate::datetime::{self, Dialect};
use crate::key::compare_floats;
use crate::{Decimal, Format, Oid, oid};

/// Compares values of one column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comparator {
    kind: Kind,
    direction: Direction,
}

/// How an ORDER BY element is sorted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Direction {
    /// DESC.
    pub descending: bool,
    /// NULLS FIRST (PostgreSQL's default for DESC).
    pub nulls_first: bool,
}

/// A shard sent what the column's type doesn't print, or not in the pinned style.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a column value of type {type_name} is not in the expected form")]
pub struct CompareError {
    /// The type's name.
    pub type_name: &'static str,
}

/// What is compared how.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Integer {
        bytes: usize,
    },
    Oid,
    Bool,
    Char,
    /// Both formats order as bytes.
    Bytes,
    Bpchar,
    Bytea,
    Uuid,
    Float {
        bytes: usize,
    },
    Numeric,
    Date,
    Time,
    Timestamp,
    TimestampTz,
}

// === impl Comparator ===

impl Comparator {
    /// The comparator of a type, if its order is known here. `collation_is_bytes` says that the comparison's
    /// collation is C (or POSIX, or one that orders by bytes); other types don't care.
    #[must_use]
    pub fn for_type(type_oid: Oid, collation_is_bytes: bool, direction: Direction) -> Option<Self> {
        let kind = match type_oid {
            oid::INT2 => Kind::Integer { bytes: 2 },
            oid::INT4 => Kind::Integer { bytes: 4 },
            oid::INT8 => Kind::Integer { bytes: 8 },
            oid::OID => Kind::Oid,
            oid::BOOL => Kind::Bool,
            oid::CHAR => Kind::Char,
            oid::TEXT | oid::VARCHAR | oid::NAME if collation_is_bytes => Kind::Bytes,
            oid::BPCHAR if collation_is_bytes => Kind::Bpchar,
            oid::BYTEA => Kind::Bytea,
            oid::UUID => Kind::Uuid,
            oid::FLOAT4 => Kind::Float { bytes: 4 },
            oid::FLOAT8 => Kind::Float { bytes: 8 },
            oid::NUMERIC => Kind::Numeric,
            oid::DATE => Kind::Date,
            oid::TIME => Kind::Time,
            oid::TIMESTAMP => Kind::Timestamp,
            oid::TIMESTAMPTZ => Kind::TimestampTz,
            _ => return None,
        };
        Some(Self { kind, direction })
    }

    /// Compares two values (`None` is NULL) of one format: less comes first.
    ///
    /// # Errors
    /// A value is not in the form that the type and the pinned settings give.
    pub fn compare(
        &self,
        a: Option<&[u8]>,
        b: Option<&[u8]>,
        format: Format,
    ) -> Result<Ordering, CompareError> {
        let null = if self.direction.nulls_first {
            Ordering::Less
        } else {
            Ordering::Greater
        };
        let (a, b) = match (a, b) {
            (None, None) => return Ok(Ordering::Equal),
            (None, Some(_)) => return Ok(null),
            (Some(_), None) => return Ok(null.reverse()),
            (Some(a), Some(b)) => (a, b),
        };
        let rising = self.kind.compare(a, b, format).ok_or(CompareError {
            type_name: self.kind.type_name(),
        })?;
        Ok(if self.direction.descending {
            rising.reverse()
        } else {
            rising
        })
    }
}

// === impl Kind ===

impl Kind {
    fn type_name(self) -> &'static str {
        match self {
            Self::Integer { .. } => "integer",
            Self::Oid => "oid",
            Self::Bool => "bool",
            Self::Char => "\"char\"",
            Self::Bytes => "text",
            Self::Bpchar => "bpchar",
            Self::Bytea => "bytea",
            Self::Uuid => "uuid",
            Self::Float { .. } => "float",
            Self::Numeric => "numeric",
            Self::Date => "date",
            Self::Time => "time",
            Self::Timestamp => "timestamp",
            Self::TimestampTz => "timestamptz",
        }
    }

    fn compare(self, a: &[u8], b: &[u8], format: Format) -> Option<Ordering> {
        /// Reads both with `read` and compares what was read.
        fn by<T: Ord>(a: &[u8], b: &[u8], read: impl Fn(&[u8]) -> Option<T>) -> Option<Ordering> {
            Some(read(a)?.cmp(&read(b)?))
        }
        match (self, format) {
            (Self::Bytes, _) | (Self::Bytea | Self::Uuid, Format::Binary) => Some(a.cmp(b)),
            (Self::Bpchar, _) => Some(without_blanks(a).cmp(without_blanks(b))),
            (Self::Integer { .. }, Format::Text) => by(a, b, parsed::<i64>),
            (Self::Integer { bytes }, Format::Binary) => by(a, b, |raw| signed(raw, bytes)),
            (Self::Oid, Format::Text) => by(a, b, parsed::<u32>),
            (Self::Oid, Format::Binary) => {
                by(a, b, |raw| raw.try_into().ok().map(u32::from_be_bytes))
            }
            (Self::Bool, Format::Text) => by(a, b, |raw| match raw {
                b"t" => Some(true),
                b"f" => Some(false),
                _ => None,
            }),
            (Self::Bool, Format::Binary) => by(a, b, |raw| match raw {
                [byte] => Some(*byte != 0),
                _ => None,
            }),
            (Self::Char, _) => by(a, b, |raw| char_byte(raw, format)),
            // Lower-case digits order as the bytes that they spell; a prefix is shorter either way.
            (Self::Bytea, Format::Text) => {
                by(a, b, |raw| raw.strip_prefix(b"\\x").map(<[u8]>::to_vec))
            }
            (Self::Uuid, Format::Text) => (a.len() == 36 && b.len() == 36).then(|| a.cmp(b)),
            (Self::Float { .. }, Format::Text) => {
                Some(compare_floats(float_text(a)?, float_text(b)?))
            }
            (Self::Float { bytes }, Format::Binary) => Some(compare_floats(
                float_binary(a, bytes)?,
                float_binary(b, bytes)?,
            )),
            (Self::Numeric, _) => compare_numeric(a, b, format),
            (Self::Date, Format::Text) => by(a, b, |raw| {
                datetime::parse_date(utf8(raw)?, Dialect::Output).ok()
            }),
            (Self::Date, Format::Binary) => by(a, b, |raw| signed(raw, 4)),
            // Fields are fixed in width, and a fraction has no trailing zeros.
            (Self::Time, Format::Text) => (is_time(a) && is_time(b)).then(|| a.cmp(b)),
            (Self::Timestamp, Format::Text) => by(a, b, |raw| {
                datetime::parse_timestamp(utf8(raw)?, Dialect::Output).ok()
            }),
            (Self::TimestampTz, Format::Text) => by(a, b, |raw| {
                datetime::parse_timestamptz(utf8(raw)?, Dialect::Output).ok()
            }),
            (Self::Time | Self::Timestamp | Self::TimestampTz, Format::Binary) => {
                by(a, b, |raw| signed(raw, 8))
            }
        }
    }
}

fn utf8(raw: &[u8]) -> Option<&str> {
    std::str::from_utf8(raw).ok()
}

fn parsed<T: std::str::FromStr>(raw: &[u8]) -> Option<T> {
    utf8(raw)?.parse().ok()
}

/// A big-endian signed integer of exactly `bytes` bytes.
pub(crate) fn signed(raw: &[u8], bytes: usize) -> Option<i64> {
    if raw.len() != bytes {
        return None;
    }
    Some(match *raw {
        [a, b] => i64::from(i16::from_be_bytes([a, b])),
        [a, b, c, d] => i64::from(i32::from_be_bytes([a, b, c, d])),
        _ => i64::from_be_bytes(raw.try_into().ok()?),
    })
}

fn without_blanks(raw: &[u8]) -> &[u8] {
    let kept = raw
        .iter()
        .rposition(|byte| *byte != b' ')
        .map_or(0, |at| at + 1);
    &raw[..kept]
}

fn float_text(raw: &[u8]) -> Option<f64> {
    // Rust reads PostgreSQL's "NaN" and "Infinity" as well as the digits.
    parsed(raw)
}

fn float_binary(raw: &[u8], bytes: usize) -> Option<f64> {
    match bytes {
        4 => raw
            .try_into()
            .ok()
            .map(|raw| f64::from(f32::from_be_bytes(raw))),
        _ => raw.try_into().ok().map(f64::from_be_bytes),
    }
}

fn compare_numeric(a: &[u8], b: &[u8], format: Format) -> Option<Ordering> {
    if format == Format::Text
        && let (Some(a), Some(b)) = (parsed::<i64>(a), parsed::<i64>(b))
    {
        return Some(a.cmp(&b));
    }
    Some(read_numeric(a, format)?.cmp(&read_numeric(b, format)?))
}

pub(crate) fn read_numeric(raw: &[u8], format: Format) -> Option<Decimal> {
    match format {
        Format::Text => Decimal::parse(utf8(raw)?).ok(),
        Format::Binary => Decimal::from_binary(raw).ok(),
    }
}

/// `"char"` is one byte; 0 prints as nothing and, from PostgreSQL 16 on, high ones as `\ooo`.
fn char_byte(raw: &[u8], format: Format) -> Option<u8> {
    match (format, raw) {
        (_, [byte]) => Some(*byte),
        (Format::Text, []) => Some(0),
        (Format::Text, [b'\\', digits @ ..]) => {
            utf8(digits).and_then(|digits| u8::from_str_radix(digits, 8).ok())
        }
        _ => None,
    }
}

fn is_time(raw: &[u8]) -> bool {
    raw.len() >= 8 && raw.get(2) == Some(&b':') && raw.get(5) == Some(&b':')
}

#[cfg(test)]
mod tests;
