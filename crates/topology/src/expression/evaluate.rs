//! Computing a key expression exactly as PostgreSQL would, or saying that a shard must be asked.
//! Invariant: a value given out is PostgreSQL's for every collation that the check against the catalog
//! lets pass.

use super::{Function, KeyColumns, KeyExpression};

/// What became of an expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Evaluated<T> {
    /// Its value.
    Value(T),
    /// It is NULL; of a key: some part of it is.
    Null,
    /// Only a shard can compute it.
    AskShard,
}

/// A column's value; none is NULL.
type Row<'r> = dyn Fn(&str) -> Option<pg::KeyValue> + 'r;

// === impl KeyExpression ===

impl KeyExpression {
    /// Its value for a row, of which `row` gives the columns; none stands for NULL.
    #[must_use]
    pub fn evaluate(&self, row: &Row<'_>) -> Evaluated<pg::KeyValue> {
        match self {
            KeyExpression::Column(column) => row(column).map_or(Evaluated::Null, Evaluated::Value),
            KeyExpression::Integer(integer) => Evaluated::Value(pg::KeyValue::Integer(*integer)),
            KeyExpression::Text(text) => Evaluated::Value(pg::KeyValue::Text(text.as_str().into())),
            KeyExpression::Opaque { .. } => Evaluated::AskShard,
            KeyExpression::Call {
                function: Function::Coalesce,
                arguments,
            } => coalesce(arguments, row),
            KeyExpression::Call {
                function,
                arguments,
            } => match values(arguments, row) {
                Evaluated::Value(values) => {
                    call(*function, &values).map_or(Evaluated::AskShard, Evaluated::Value)
                }
                Evaluated::Null => Evaluated::Null,
                Evaluated::AskShard => Evaluated::AskShard,
            },
        }
    }

    /// The type of its values, given the types of columns; none where only a shard knows.
    #[must_use]
    pub fn key_type(&self, column: &dyn Fn(&str) -> Option<pg::KeyType>) -> Option<pg::KeyType> {
        let plain = |class, width| {
            Some(pg::KeyType {
                class,
                width,
                typmod: -1,
            })
        };
        match self {
            KeyExpression::Column(name) => column(name),
            KeyExpression::Integer(integer) => {
                let width = if i32::try_from(*integer).is_ok() {
                    4
                } else {
                    8
                };
                plain(pg::KeyClass::Integer, width)
            }
            KeyExpression::Text(_) => plain(pg::KeyClass::Text, 0),
            KeyExpression::Opaque { .. } => None,
            KeyExpression::Call {
                function,
                arguments,
            } => match function {
                Function::Lower
                | Function::Upper
                | Function::Left
                | Function::Right
                | Function::Substr
                | Function::Text => plain(pg::KeyClass::Text, 0),
                Function::Abs | Function::Coalesce | Function::Modulo => {
                    let types: Option<Vec<_>> = arguments
                        .iter()
                        .map(|argument| argument.key_type(column))
                        .collect();
                    common_type(&types?)
                }
            },
        }
    }

    /// Whether it changes the case of letters, which some collations do in ways of their own.
    #[must_use]
    pub fn changes_case(&self) -> bool {
        match self {
            KeyExpression::Call {
                function,
                arguments,
            } => {
                matches!(function, Function::Lower | Function::Upper)
                    || arguments.iter().any(KeyExpression::changes_case)
            }
            _ => false,
        }
    }
}

// === impl KeyColumns ===

impl KeyColumns {
    /// The values of all parts for a row, of which `row` gives the columns; none stands for NULL.
    #[must_use]
    pub fn evaluate(&self, row: &Row<'_>) -> Evaluated<Vec<pg::KeyValue>> {
        values(self.parts(), row)
    }
}

/// The one type of several, the widest where only the width differs.
fn common_type(types: &[pg::KeyType]) -> Option<pg::KeyType> {
    let first = types.first()?;
    let one_class = types.iter().all(|one| one.class == first.class);
    let width = types.iter().map(|one| one.width).max()?;
    one_class.then_some(pg::KeyType {
        class: first.class,
        width,
        typmod: -1,
    })
}

fn values(parts: &[KeyExpression], row: &Row<'_>) -> Evaluated<Vec<pg::KeyValue>> {
    let mut values = Vec::with_capacity(parts.len());
    let mut ask = false;
    for part in parts {
        match part.evaluate(row) {
            Evaluated::Value(value) => values.push(value),
            // All of these functions are strict.
            Evaluated::Null => return Evaluated::Null,
            Evaluated::AskShard => ask = true,
        }
    }
    if ask {
        Evaluated::AskShard
    } else {
        Evaluated::Value(values)
    }
}

/// The first that is not NULL; the check against the catalog made sure that all are of one class.
fn coalesce(arguments: &[KeyExpression], row: &Row<'_>) -> Evaluated<pg::KeyValue> {
    let mut evaluated = arguments.iter().map(|argument| argument.evaluate(row));
    evaluated
        .find(|value| *value != Evaluated::Null)
        .unwrap_or(Evaluated::Null)
}

/// A function's value; none where it is not certain or PostgreSQL raises an error.
fn call(function: Function, arguments: &[pg::KeyValue]) -> Option<pg::KeyValue> {
    use pg::KeyValue::{Integer, Text};
    match (function, arguments) {
        (Function::Lower, [value]) => {
            let ascii = text(value).filter(|text| text.is_ascii())?;
            Some(Text(ascii.to_ascii_lowercase().into()))
        }
        (Function::Upper, [value]) => {
            let ascii = text(value).filter(|text| text.is_ascii())?;
            Some(Text(ascii.to_ascii_uppercase().into()))
        }
        (Function::Left, [value, Integer(count)]) => {
            let text = text(value)?;
            let end = from_either_end(text, *count)?;
            Some(Text(text[..byte_offset(text, end)].into()))
        }
        (Function::Right, [value, Integer(count)]) => {
            let text = text(value)?;
            let kept = from_either_end(text, *count)?;
            Some(Text(
                text[byte_offset(text, text.chars().count() - kept)..].into(),
            ))
        }
        (Function::Substr, [value, Integer(from)]) => substr(text(value)?, *from, None),
        (Function::Substr, [value, Integer(from), Integer(count)]) => {
            substr(text(value)?, *from, Some(*count))
        }
        (Function::Modulo, [Integer(_), Integer(0)]) => None,
        (Function::Modulo, [Integer(a), Integer(b)]) => Some(Integer(a.wrapping_rem(*b))),
        (Function::Abs, [Integer(integer)]) => {
            // The least integer of each width has no positive counterpart: PostgreSQL raises an error.
            let least = [i64::from(i16::MIN), i64::from(i32::MIN), i64::MIN];
            (!least.contains(integer)).then(|| Integer(integer.abs()))
        }
        (Function::Text, [value]) => to_text(value).map(|text| Text(text.into())),
        _ => None,
    }
}

/// What a function on text sees: blanks at the end of a `char(n)` are gone by then.
fn text(value: &pg::KeyValue) -> Option<&str> {
    match value {
        pg::KeyValue::Text(text) | pg::KeyValue::Bpchar(text) => Some(text),
        _ => None,
    }
}

/// How many characters `left` or `right` keep: a negative count leaves that many out.
fn from_either_end(text: &str, count: i64) -> Option<usize> {
    let count = i32::try_from(count).ok()?;
    let length = text.chars().count();
    let magnitude = usize::try_from(count.unsigned_abs()).ok()?;
    Some(if count < 0 {
        length.saturating_sub(magnitude)
    } else {
        length.min(magnitude)
    })
}

fn byte_offset(text: &str, characters: usize) -> usize {
    text.char_indices()
        .nth(characters)
        .map_or(text.len(), |(offset, _)| offset)
}

/// Characters from a position that counts from 1 and may lie before the text.
fn substr(text: &str, from: i64, count: Option<i64>) -> Option<pg::KeyValue> {
    let from = i64::from(i32::try_from(from).ok()?);
    let end = match count {
        None => i64::MAX,
        Some(count) if count < 0 => return None,
        Some(count) => from + i64::from(i32::try_from(count).ok()?),
    };
    let start = from.max(1);
    let skipped = usize::try_from(start - 1).ok()?;
    let kept = usize::try_from((end - start).max(0)).ok()?;
    let part: String = text.chars().skip(skipped).take(kept).collect();
    Some(pg::KeyValue::Text(part.into()))
}

/// Text forms that no setting changes.
fn to_text(value: &pg::KeyValue) -> Option<String> {
    match value {
        pg::KeyValue::Text(_)
        | pg::KeyValue::Bpchar(_)
        | pg::KeyValue::Enum(_)
        | pg::KeyValue::Integer(_)
        | pg::KeyValue::Uuid(_)
        | pg::KeyValue::Bool(_) => Some(value.to_string()),
        _ => None,
    }
}
