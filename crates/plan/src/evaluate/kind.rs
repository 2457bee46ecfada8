//! Types of keys as PostgreSQL's types, and back.

use pg::{KeyClass, KeyType, Oid, oid};
use topology::KeyExpression;

/// The type that PostgreSQL's lexer gives an unquoted number.
pub(super) fn number_type(text: &str) -> Oid {
    match text.parse::<i64>() {
        Ok(value) if i32::try_from(value).is_ok() => oid::INT4,
        Ok(_) => oid::INT8,
        Err(_) => oid::NUMERIC,
    }
}

/// The type that a key expression's value is read as, given that of its column.
pub(crate) fn result_type(expression: &KeyExpression, column: KeyType) -> KeyType {
    let text = KeyType {
        class: KeyClass::Text,
        width: 0,
        typmod: -1,
    };
    let integer = KeyType {
        class: KeyClass::Integer,
        width: 8,
        typmod: -1,
    };
    match expression {
        KeyExpression::Column(_) => column,
        KeyExpression::Integer(_) => integer,
        KeyExpression::Call {
            function,
            arguments,
        } => match function {
            topology::Function::Abs | topology::Function::Modulo => integer,
            topology::Function::Coalesce => arguments
                .first()
                .map_or(column, |first| result_type(first, column)),
            topology::Function::Lower
            | topology::Function::Upper
            | topology::Function::Left
            | topology::Function::Right
            | topology::Function::Substr
            | topology::Function::Text => text,
        },
        // What a shard prints of an opaque expression is taken as text; integers print alike.
        KeyExpression::Text(_) | KeyExpression::Opaque { .. } => text,
    }
}

/// The type of binary bytes that nobody declared. A number's width is told by its length, since the parameter may
/// have got its type from another place of the statement.
pub(super) fn untyped(key: KeyType, length: usize) -> Oid {
    match (key.class, length) {
        (KeyClass::Integer, 2) => oid::INT2,
        (KeyClass::Integer, 4) => oid::INT4,
        (KeyClass::Integer, 8) => oid::INT8,
        _ => own_type(key),
    }
}

fn own_type(key: KeyType) -> Oid {
    match (key.class, key.width) {
        (KeyClass::Integer, 2) => oid::INT2,
        (KeyClass::Integer, 4) => oid::INT4,
        (KeyClass::Integer, _) => oid::INT8,
        (KeyClass::Float, 4) => oid::FLOAT4,
        (KeyClass::Float, _) => oid::FLOAT8,
        (KeyClass::Text | KeyClass::Enum, _) => oid::TEXT,
        (KeyClass::Bpchar, _) => oid::BPCHAR,
        (KeyClass::Bytea, _) => oid::BYTEA,
        (KeyClass::Uuid, _) => oid::UUID,
        (KeyClass::Numeric, _) => oid::NUMERIC,
        (KeyClass::Date, _) => oid::DATE,
        (KeyClass::Timestamp, _) => oid::TIMESTAMP,
        (KeyClass::TimestampTz, _) => oid::TIMESTAMPTZ,
        (KeyClass::Bool, _) => oid::BOOL,
    }
}

/// The casts from text by way of the source's type to the column's type, with its modifier: what is rounded or cut when
/// it is stored has its place by what is left. An explicit cast cuts where an assignment raises an error, which is then
/// raised wherever the row goes.
pub(super) fn assignment(source: Oid, key: KeyType) -> String {
    let target = match (key.class, key.width) {
        (KeyClass::Integer, 2) => "pg_catalog.int2",
        (KeyClass::Integer, 4) => "pg_catalog.int4",
        (KeyClass::Float, 4) => "pg_catalog.float4",
        (KeyClass::Text, _) if key.typmod >= LENGTH_HEADER => "pg_catalog.varchar",
        (class, _) => type_name(class),
    };
    let modifier = modifier(key);
    match KeyType::of_builtin(source).and_then(|_| source.type_name()) {
        Some(source) => format!("pg_catalog.{source}::{target}{modifier}"),
        None => format!("{target}{modifier}"),
    }
}

/// `VARHDRSZ`, which PostgreSQL adds to modifiers of lengths.
const LENGTH_HEADER: i32 = 4;

/// A type modifier as SQL.
fn modifier(key: KeyType) -> String {
    let packed = key.typmod - LENGTH_HEADER;
    match key.class {
        KeyClass::Text | KeyClass::Bpchar if packed > 0 => format!("({packed})"),
        KeyClass::Numeric if packed >= 0 => {
            // The scale is an 11-bit signed number.
            let scale = ((packed & 0x7ff) ^ 1024) - 1024;
            format!("({}, {scale})", packed >> 16 & 0xffff)
        }
        KeyClass::Timestamp | KeyClass::TimestampTz if (0..=6).contains(&key.typmod) => {
            format!("({})", key.typmod)
        }
        _ => String::new(),
    }
}

/// The widest type of a class, as SQL.
pub(super) fn type_name(class: KeyClass) -> &'static str {
    match class {
        KeyClass::Integer => "pg_catalog.int8",
        KeyClass::Text | KeyClass::Enum => "pg_catalog.text",
        KeyClass::Bpchar => "pg_catalog.bpchar",
        KeyClass::Bytea => "pg_catalog.bytea",
        KeyClass::Uuid => "pg_catalog.uuid",
        KeyClass::Float => "pg_catalog.float8",
        KeyClass::Numeric => "pg_catalog.numeric",
        KeyClass::Date => "pg_catalog.date",
        KeyClass::Timestamp => "pg_catalog.timestamp",
        KeyClass::TimestampTz => "pg_catalog.timestamptz",
        KeyClass::Bool => "pg_catalog.bool",
    }
}
