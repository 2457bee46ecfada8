//! Which operator PostgreSQL picks for `key = source`, and so which value of the key is meant.
//!
//! A pair of types that isn't listed here is [`Parsed::Unknown`]; so is whatever is not one-to-one.

use super::text::{self, Read};
use super::{KeyClass, KeyType, KeyValue, Parsed, binary, compare_floats};
use crate::{Decimal, Oid, datetime, oid};

/// The largest integer below which every integer has a `float8` of its own.
const EXACT_FLOAT_INTEGER: i64 = 1 << 53;

/// A value as it came.
#[derive(Debug, Clone, Copy)]
pub(super) enum Spelling<'a> {
    /// In text format.
    Text(&'a str),
    /// In binary format.
    Binary(&'a [u8]),
}

/// What `key = source` compares the key with.
pub(super) fn compared(key: KeyType, source: Oid, spelling: Spelling<'_>) -> Parsed {
    if source == oid::UNKNOWN || source == Oid::INVALID {
        return coerced(key, spelling);
    }
    match key.class {
        KeyClass::Integer => integer(key, source, spelling),
        KeyClass::Numeric => match source {
            oid::NUMERIC => read_numeric(spelling).parsed(KeyValue::Numeric),
            oid::INT2 | oid::INT4 | oid::INT8 => {
                read_integer(source, spelling).parsed(|v| KeyValue::Numeric(Decimal::from(v)))
            }
            _ => Parsed::Unknown,
        },
        KeyClass::Float => float(key, source, spelling),
        KeyClass::Date => match source {
            oid::TIMESTAMP => date_of_timestamp(read_timestamp(spelling)),
            _ => same_type(key, source, oid::DATE, spelling),
        },
        KeyClass::Timestamp => match source {
            oid::DATE => timestamp_of_date(read_date(spelling)),
            _ => same_type(key, source, oid::TIMESTAMP, spelling),
        },
        KeyClass::TimestampTz => same_type(key, source, oid::TIMESTAMPTZ, spelling),
        KeyClass::Text => match source {
            oid::TEXT | oid::VARCHAR | oid::NAME => coerced(key, spelling),
            _ => Parsed::Unknown,
        },
        KeyClass::Bpchar => match source {
            oid::BPCHAR => coerced(key, spelling),
            // Whether the blanks count depends on the operator that is picked.
            oid::TEXT | oid::VARCHAR => match read_str(spelling) {
                Read::Value(text) if text.ends_with(' ') => Parsed::Unknown,
                _ => coerced(key, spelling),
            },
            _ => Parsed::Unknown,
        },
        KeyClass::Bytea => same_type(key, source, oid::BYTEA, spelling),
        KeyClass::Uuid => same_type(key, source, oid::UUID, spelling),
        KeyClass::Bool => same_type(key, source, oid::BOOL, spelling),
        // Only the enum itself can be compared with it; every other type is an error on any shard.
        KeyClass::Enum if !source.is_builtin() => coerced(key, spelling),
        KeyClass::Enum => Parsed::Unknown,
    }
}

fn same_type(key: KeyType, source: Oid, own: Oid, spelling: Spelling<'_>) -> Parsed {
    if source == own {
        coerced(key, spelling)
    } else {
        Parsed::Unknown
    }
}

/// Reads the value as the key's own type does: an undecided literal takes that type.
pub(super) fn coerced(key: KeyType, spelling: Spelling<'_>) -> Parsed {
    match key.class {
        KeyClass::Integer => match read_integer(own_integer(key), spelling) {
            Read::Value(value) if !key.holds(value) => Parsed::Invalid,
            read => read.parsed(KeyValue::Integer),
        },
        KeyClass::Text => read_str(spelling).parsed(|text| KeyValue::Text(text.into())),
        KeyClass::Enum => read_str(spelling).parsed(|text| KeyValue::Enum(text.into())),
        KeyClass::Bpchar => {
            read_str(spelling).parsed(|text| KeyValue::Bpchar(text.trim_end_matches(' ').into()))
        }
        KeyClass::Bytea => match spelling {
            Spelling::Text(text) => text::bytea(text).parsed(KeyValue::Bytea),
            Spelling::Binary(bytes) => Parsed::Value(KeyValue::Bytea(bytes.into())),
        },
        KeyClass::Uuid => match spelling {
            Spelling::Text(text) => text::uuid(text),
            Spelling::Binary(bytes) => binary::uuid(bytes),
        }
        .parsed(KeyValue::Uuid),
        KeyClass::Float => read_float(own_float(key), spelling).parsed(KeyValue::Float),
        KeyClass::Numeric => read_numeric(spelling).parsed(KeyValue::Numeric),
        KeyClass::Date => read_date(spelling).parsed(KeyValue::Date),
        KeyClass::Timestamp => read_timestamp(spelling).parsed(KeyValue::Timestamp),
        KeyClass::TimestampTz => match spelling {
            Spelling::Text(text) => text::timestamptz(text),
            Spelling::Binary(bytes) => binary::timestamp(bytes),
        }
        .parsed(KeyValue::TimestampTz),
        KeyClass::Bool => match spelling {
            Spelling::Text(text) => text::boolean(text),
            Spelling::Binary(bytes) => binary::boolean(bytes),
        }
        .parsed(KeyValue::Bool),
    }
}

fn own_integer(key: KeyType) -> Oid {
    match key.width {
        2 => oid::INT2,
        4 => oid::INT4,
        _ => oid::INT8,
    }
}

fn own_float(key: KeyType) -> Oid {
    if key.width == 4 {
        oid::FLOAT4
    } else {
        oid::FLOAT8
    }
}

/// An integer key against integers (exact), numerics (the key is widened, exact) and `float8` (the key is
/// widened, exact only where no two integers share a float).
fn integer(key: KeyType, source: Oid, spelling: Spelling<'_>) -> Parsed {
    match source {
        oid::INT2 | oid::INT4 | oid::INT8 => match read_integer(source, spelling) {
            Read::Value(value) => integer_or_none(key, Some(value)),
            read => read.parsed(KeyValue::Integer),
        },
        oid::NUMERIC => match read_numeric(spelling) {
            Read::Value(value) => integer_or_none(key, value.to_i64()),
            read => read.parsed(KeyValue::Numeric),
        },
        oid::FLOAT8 => match read_float(source, spelling) {
            Read::Value(value) => integer_of_float(key, value),
            read => read.parsed(KeyValue::Float),
        },
        _ => Parsed::Unknown,
    }
}

fn integer_or_none(key: KeyType, value: Option<i64>) -> Parsed {
    match value {
        Some(value) if key.holds(value) => Parsed::Value(KeyValue::Integer(value)),
        _ => Parsed::NoMatch,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "bounds are checked"
)]
fn integer_of_float(key: KeyType, value: f64) -> Parsed {
    let bound = EXACT_FLOAT_INTEGER as f64;
    if value.is_nan() || value.is_infinite() || value.fract() != 0.0 {
        return Parsed::NoMatch;
    }
    if value.abs() < bound {
        return integer_or_none(key, Some(value as i64));
    }
    if key.width == 8 {
        Parsed::Unknown
    } else {
        Parsed::NoMatch
    }
}

/// A float key: an integer or numeric is turned into `float8` first; a `float4` key is widened.
fn float(key: KeyType, source: Oid, spelling: Spelling<'_>) -> Parsed {
    let read = match (source, spelling) {
        (oid::FLOAT4 | oid::FLOAT8, _) => read_float(source, spelling),
        (oid::INT2 | oid::INT4 | oid::INT8, _) => float_of_integer(read_integer(source, spelling)),
        (oid::NUMERIC, _) => match read_numeric(spelling) {
            Read::Value(value) => text::float(&value.to_string(), 8),
            Read::Invalid => Read::Invalid,
            Read::Unknown => Read::Unknown,
        },
        _ => Read::Unknown,
    };
    match read {
        Read::Value(value) if key.width == 4 && !is_float4(value) => Parsed::NoMatch,
        read => read.parsed(KeyValue::Float),
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "C's conversion rounds to nearest, as this one does"
)]
fn float_of_integer(read: Read<i64>) -> Read<f64> {
    match read {
        Read::Value(value) => Read::Value(value as f64),
        Read::Invalid => Read::Invalid,
        Read::Unknown => Read::Unknown,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the loss is what is looked for"
)]
fn is_float4(value: f64) -> bool {
    compare_floats(f64::from(value as f32), value).is_eq()
}

fn date_of_timestamp(read: Read<i64>) -> Parsed {
    match read {
        Read::Value(datetime::TIMESTAMP_INFINITY) => {
            Parsed::Value(KeyValue::Date(datetime::DATE_INFINITY))
        }
        Read::Value(datetime::TIMESTAMP_NEG_INFINITY) => {
            Parsed::Value(KeyValue::Date(datetime::DATE_NEG_INFINITY))
        }
        Read::Value(micros) if micros % datetime::DAY_MICROS != 0 => Parsed::NoMatch,
        Read::Value(micros) => i32::try_from(micros / datetime::DAY_MICROS)
            .map_or(Parsed::Unknown, |days| Parsed::Value(KeyValue::Date(days))),
        read => read.parsed(KeyValue::Timestamp),
    }
}

fn timestamp_of_date(read: Read<i32>) -> Parsed {
    match read {
        Read::Value(datetime::DATE_INFINITY) => {
            Parsed::Value(KeyValue::Timestamp(datetime::TIMESTAMP_INFINITY))
        }
        Read::Value(datetime::DATE_NEG_INFINITY) => {
            Parsed::Value(KeyValue::Timestamp(datetime::TIMESTAMP_NEG_INFINITY))
        }
        // A date past the last timestamp is greater than all of them, so equal to none.
        Read::Value(days) => i64::from(days)
            .checked_mul(datetime::DAY_MICROS)
            .map_or(Parsed::NoMatch, |micros| {
                Parsed::Value(KeyValue::Timestamp(micros))
            }),
        read => read.parsed(KeyValue::Date),
    }
}

pub(super) fn read_integer(source: Oid, spelling: Spelling<'_>) -> Read<i64> {
    match spelling {
        Spelling::Text(text) => match text::integer(text) {
            Read::Value(value) if !fits(source, value) => Read::Invalid,
            read => read,
        },
        Spelling::Binary(bytes) => binary::integer(source, bytes),
    }
}

fn fits(source: Oid, value: i64) -> bool {
    KeyType::of_builtin(source).is_none_or(|own| own.holds(value))
}

pub(super) fn read_numeric(spelling: Spelling<'_>) -> Read<Decimal> {
    match spelling {
        Spelling::Text(text) => text::numeric(text),
        Spelling::Binary(bytes) => binary::numeric(bytes),
    }
}

fn read_float(source: Oid, spelling: Spelling<'_>) -> Read<f64> {
    match spelling {
        Spelling::Text(text) => text::float(text, if source == oid::FLOAT4 { 4 } else { 8 }),
        Spelling::Binary(bytes) => binary::float(source, bytes),
    }
}

fn read_date(spelling: Spelling<'_>) -> Read<i32> {
    match spelling {
        Spelling::Text(text) => text::date(text),
        Spelling::Binary(bytes) => binary::date(bytes),
    }
}

fn read_timestamp(spelling: Spelling<'_>) -> Read<i64> {
    match spelling {
        Spelling::Text(text) => text::timestamp(text),
        Spelling::Binary(bytes) => binary::timestamp(bytes),
    }
}

fn read_str(spelling: Spelling<'_>) -> Read<&str> {
    let text = match spelling {
        Spelling::Text(text) => Some(text),
        Spelling::Binary(bytes) => std::str::from_utf8(bytes).ok(),
    };
    match text {
        Some(text) if !text.contains('\0') => Read::Value(text),
        _ => Read::Invalid,
    }
}
