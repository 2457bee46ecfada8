//! What is stored when a value is assigned to a key's column: assignment casts and the type modifier.

use super::literal::{self, Spelling};
use super::{KeyClass, KeyType, KeyValue, Parsed};
use crate::{Decimal, Oid, oid};

/// `VARHDRSZ`: type modifiers of lengths count PostgreSQL's header.
const HEADER: i32 = 4;

/// What the column holds afterwards. Where PostgreSQL would round or cut, a shard is asked.
pub(super) fn assigned(key: KeyType, source: Oid, spelling: Spelling<'_>) -> Parsed {
    let compared = literal::compared(key, source, spelling);
    match (key.class, compared) {
        (_, Parsed::Value(value)) => stored(key, source, value),
        // An integer that doesn't fit is an error here, where in a comparison it is merely different.
        (KeyClass::Integer, Parsed::NoMatch) if is_integer(source) => Parsed::Invalid,
        (_, Parsed::Invalid) => Parsed::Invalid,
        // A numeric is rounded, a timestamp loses its hours, and so on.
        (_, Parsed::NoMatch | Parsed::Unknown) => Parsed::Unknown,
    }
}

fn is_integer(source: Oid) -> bool {
    matches!(source, oid::INT2 | oid::INT4 | oid::INT8)
}

fn stored(key: KeyType, source: Oid, value: KeyValue) -> Parsed {
    let kept = match &value {
        // From another type the value may be cut at the modifier after other rules than its own.
        KeyValue::Float(_) => {
            key.width == 8 || matches!(source, oid::FLOAT4 | oid::UNKNOWN | Oid::INVALID)
        }
        // Blanks are cut silently, other characters raise: only what fits is decided here.
        KeyValue::Text(text) | KeyValue::Bpchar(text) => {
            key.typmod < HEADER || text_fits(text, key.typmod)
        }
        KeyValue::Numeric(decimal) => key.typmod < HEADER || numeric_fits(decimal, key.typmod),
        KeyValue::Timestamp(micros) | KeyValue::TimestampTz(micros) => {
            timestamp_fits(*micros, key.typmod)
        }
        _ => true,
    };
    if kept {
        Parsed::Value(value)
    } else {
        Parsed::Unknown
    }
}

fn text_fits(text: &str, typmod: i32) -> bool {
    let length_max = usize::try_from(typmod - HEADER).unwrap_or(0);
    text.len() <= length_max || text.chars().count() <= length_max
}

/// Whether `numeric(p, s)` keeps the value as it is: no rounding and no overflow.
fn numeric_fits(value: &Decimal, typmod: i32) -> bool {
    let packed = typmod - HEADER;
    let precision = packed >> 16 & 0xffff;
    // The scale is an 11-bit signed number.
    let scale = ((packed & 0x7ff) ^ 1024) - 1024;
    let digits = |count: usize| i32::try_from(count).unwrap_or(i32::MAX);
    let canonical = value.canonical();
    let used = canonical
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    value.is_finite()
        && scale >= 0
        && digits(used) <= scale
        && digits(value.integer_digits()) <= precision - scale
}

fn timestamp_fits(micros: i64, typmod: i32) -> bool {
    match u32::try_from(typmod) {
        Ok(places @ 0..=5) => micros % 10i64.pow(6 - places) == 0,
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(type_oid: Oid, typmod: i32, source: Oid, text: &str) -> Parsed {
        let key = KeyType::of_builtin(type_oid).unwrap().with_typmod(typmod);
        KeyValue::assign_text(key, source, text)
    }

    #[test]
    fn what_is_rounded_or_cut_is_left_to_postgresql() {
        let numeric_10_2 = (10 << 16 | 2) + HEADER;
        for (type_oid, typmod, source, text) in [
            (oid::NUMERIC, numeric_10_2, oid::UNKNOWN, "1.234"),
            (oid::NUMERIC, numeric_10_2, oid::UNKNOWN, "123456789.1"),
            (oid::INT4, -1, oid::NUMERIC, "1.5"),
            (oid::VARCHAR, 3 + HEADER, oid::UNKNOWN, "abc "),
            (oid::TIMESTAMP, 0, oid::UNKNOWN, "2026-01-01 00:00:00.5"),
            (oid::DATE, -1, oid::TIMESTAMP, "2026-01-01 00:00:01"),
            (oid::FLOAT4, -1, oid::NUMERIC, "0.1"),
        ] {
            assert_eq!(
                check(type_oid, typmod, source, text),
                Parsed::Unknown,
                "{text}"
            );
        }
        assert_eq!(
            check(oid::INT4, -1, oid::INT8, "99999999999"),
            Parsed::Invalid
        );
        for (type_oid, typmod, source, text) in [
            (oid::NUMERIC, numeric_10_2, oid::UNKNOWN, "12345678.10"),
            (oid::NUMERIC, numeric_10_2, oid::INT4, "7"),
            (oid::INT4, -1, oid::NUMERIC, "1.0"),
            (oid::VARCHAR, 3 + HEADER, oid::UNKNOWN, "äöü"),
            (oid::BPCHAR, 3 + HEADER, oid::UNKNOWN, "ab        "),
            (oid::TIMESTAMP, 3, oid::UNKNOWN, "2026-01-01 00:00:00.125"),
        ] {
            assert!(
                matches!(check(type_oid, typmod, source, text), Parsed::Value(_)),
                "{text}"
            );
        }
    }
}
