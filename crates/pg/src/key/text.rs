//! The input functions of PostgreSQL's types, as far as every version agrees on them.

use super::{KeyValue, Parsed};
use crate::datetime::{self, Dialect, TimeError};
use crate::decimal::{has_radix_prefix, trim};
use crate::{Decimal, DecimalError};

/// What an input function says about a text.
#[derive(Debug, Clone, Copy)]
pub(super) enum Read<T> {
    /// A value.
    Value(T),
    /// An error.
    Invalid,
    /// It depends on version or settings.
    Unknown,
}

impl<T> Read<T> {
    pub(super) fn parsed(self, value: impl FnOnce(T) -> KeyValue) -> Parsed {
        match self {
            Self::Value(read) => Parsed::Value(value(read)),
            Self::Invalid => Parsed::Invalid,
            Self::Unknown => Parsed::Unknown,
        }
    }

    fn from_option(value: Option<T>) -> Self {
        value.map_or(Self::Invalid, Self::Value)
    }
}

/// `int8in`; the caller checks narrower widths.
pub(super) fn integer(text: &str) -> Read<i64> {
    let text = trim(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if has_radix_prefix(unsigned.as_bytes()) || unsigned.contains('_') {
        return Read::Unknown;
    }
    if unsigned.is_empty() || !unsigned.bytes().all(|c| c.is_ascii_digit()) {
        return Read::Invalid;
    }
    Read::from_option(text.parse().ok())
}

/// `numeric_in`.
pub(super) fn numeric(text: &str) -> Read<Decimal> {
    match Decimal::parse(text) {
        Ok(value) => Read::Value(value),
        Err(DecimalError::Malformed) => Read::Invalid,
        Err(DecimalError::Undecided) => Read::Unknown,
    }
}

/// `float8in`, or `float4in` widened if `width` is 4.
pub(super) fn float(text: &str, width: u8) -> Read<f64> {
    let text = trim(text);
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if text.eq_ignore_ascii_case("nan") {
        return Read::Value(f64::NAN);
    }
    if unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf") {
        let negative = text.starts_with('-');
        return Read::Value(if negative {
            f64::NEG_INFINITY
        } else {
            f64::INFINITY
        });
    }
    // Whatever else C's strtod takes (hexadecimal, NaN with a payload) is left to PostgreSQL.
    if !unsigned
        .bytes()
        .all(|c| matches!(c, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
    {
        return Read::Unknown;
    }
    let value = if width == 4 {
        text.parse().map(f32::into)
    } else {
        text.parse::<f64>()
    };
    let Ok(value) = value else {
        return Read::Invalid;
    };
    let mantissa = unsigned.split(['e', 'E']).next().unwrap_or_default();
    let lost = value == 0.0 && mantissa.bytes().any(|c| matches!(c, b'1'..=b'9'));
    if lost || value.is_infinite() {
        Read::Invalid
    } else {
        Read::Value(value)
    }
}

/// `boolin`.
pub(super) fn boolean(text: &str) -> Read<bool> {
    let word = trim(text).to_ascii_lowercase();
    let is_start_of = |full: &str, least: usize| word.len() >= least && full.starts_with(&word);
    Read::from_option(match word.as_str() {
        "1" | "on" => Some(true),
        "0" => Some(false),
        _ if is_start_of("true", 1) || is_start_of("yes", 1) => Some(true),
        _ if is_start_of("false", 1) || is_start_of("no", 1) => Some(false),
        _ if is_start_of("off", 2) => Some(false),
        _ => None,
    })
}

/// `uuid_in`: braces, capitals, and a hyphen after any group of four digits.
pub(super) fn uuid(text: &str) -> Read<[u8; 16]> {
    Read::from_option(read_uuid(text.as_bytes()))
}

fn read_uuid(text: &[u8]) -> Option<[u8; 16]> {
    let mut rest = match text.strip_prefix(b"{") {
        Some(inner) => inner.strip_suffix(b"}")?,
        None => text,
    };
    let mut value = [0; 16];
    for (at, byte) in value.iter_mut().enumerate() {
        let [high, low, after @ ..] = rest else {
            return None;
        };
        *byte = hex_digit(*high)? << 4 | hex_digit(*low)?;
        rest = match after {
            [b'-', after @ ..] if at % 2 == 1 && at < 15 => after,
            _ => after,
        };
    }
    rest.is_empty().then_some(value)
}

/// `byteain`: hexadecimal or escapes.
pub(super) fn bytea(text: &str) -> Read<Box<[u8]>> {
    let bytes = match text.strip_prefix("\\x") {
        Some(hex) => read_hex(hex.as_bytes()),
        None => read_escapes(text.as_bytes()),
    };
    Read::from_option(bytes.map(Vec::into_boxed_slice))
}

fn read_hex(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 2);
    let mut rest = text;
    loop {
        match rest {
            [] => return Some(bytes),
            [b' ' | b'\n' | b'\t' | b'\r', after @ ..] => rest = after,
            [high, low, after @ ..] => {
                bytes.push(hex_digit(*high)? << 4 | hex_digit(*low)?);
                rest = after;
            }
            [_] => return None,
        }
    }
}

fn read_escapes(text: &[u8]) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        match rest {
            [] => return Some(bytes),
            [b'\\', b'\\', after @ ..] => {
                bytes.push(b'\\');
                rest = after;
            }
            [
                b'\\',
                a @ b'0'..=b'3',
                b @ b'0'..=b'7',
                c @ b'0'..=b'7',
                after @ ..,
            ] => {
                bytes.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest = after;
            }
            [b'\\', ..] => return None,
            [byte, after @ ..] => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
}

fn hex_digit(c: u8) -> Option<u8> {
    char::from(c)
        .to_digit(16)
        .and_then(|digit| u8::try_from(digit).ok())
}

/// `date_in`, strict ISO only.
pub(super) fn date(text: &str) -> Read<i32> {
    time(datetime::parse_date(text, Dialect::Input))
}

/// `timestamp_in`, strict ISO only.
pub(super) fn timestamp(text: &str) -> Read<i64> {
    time(datetime::parse_timestamp(text, Dialect::Input))
}

/// `timestamptz_in`, strict ISO with an offset only.
pub(super) fn timestamptz(text: &str) -> Read<i64> {
    time(datetime::parse_timestamptz(text, Dialect::Input))
}

fn time<T>(read: Result<T, TimeError>) -> Read<T> {
    match read {
        Ok(value) => Read::Value(value),
        Err(TimeError::OutOfRange) => Read::Invalid,
        Err(TimeError::Undecided) => Read::Unknown,
    }
}
