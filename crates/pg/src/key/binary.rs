//! The receive functions of PostgreSQL's types.

use super::text::Read;
use crate::{Decimal, Oid, oid};

fn fixed<const N: usize>(bytes: &[u8]) -> Option<[u8; N]> {
    bytes.try_into().ok()
}

fn read<T>(value: Option<T>) -> Read<T> {
    value.map_or(Read::Invalid, Read::Value)
}

/// `int2recv`, `int4recv`, `int8recv`, by the source's type.
pub(super) fn integer(source: Oid, bytes: &[u8]) -> Read<i64> {
    read(match source {
        oid::INT2 => fixed(bytes).map(|b| i64::from(i16::from_be_bytes(b))),
        oid::INT4 => fixed(bytes).map(|b| i64::from(i32::from_be_bytes(b))),
        _ => fixed(bytes).map(i64::from_be_bytes),
    })
}

/// `float4recv`, `float8recv`, by the source's type.
pub(super) fn float(source: Oid, bytes: &[u8]) -> Read<f64> {
    read(match source {
        oid::FLOAT4 => fixed(bytes).map(|b| f64::from(f32::from_be_bytes(b))),
        _ => fixed(bytes).map(f64::from_be_bytes),
    })
}

/// `numeric_recv`.
pub(super) fn numeric(bytes: &[u8]) -> Read<Decimal> {
    read(Decimal::from_binary(bytes).ok())
}

/// `date_recv`.
pub(super) fn date(bytes: &[u8]) -> Read<i32> {
    read(fixed(bytes).map(i32::from_be_bytes))
}

/// `timestamp_recv`, `timestamptz_recv`.
pub(super) fn timestamp(bytes: &[u8]) -> Read<i64> {
    read(fixed(bytes).map(i64::from_be_bytes))
}

/// `uuid_recv`.
pub(super) fn uuid(bytes: &[u8]) -> Read<[u8; 16]> {
    read(fixed(bytes))
}

/// `boolrecv`: any byte but 0 is true.
pub(super) fn boolean(bytes: &[u8]) -> Read<bool> {
    read(fixed::<1>(bytes).map(|[byte]| byte != 0))
}
