//! Key expressions computed in the router, where that is exact. Invariant: what is returned as a value is what
//! PostgreSQL computes; everything else is [`Computed::Unknown`], and a shard is asked.

use pg::KeyValue;
use topology::{Function, KeyExpression};

/// What became of a key expression.
#[derive(Clone, Debug, PartialEq)]
pub enum Computed {
    /// Its value.
    Value(KeyValue),
    /// NULL.
    Null,
    /// The router can't tell: ask a shard.
    Unknown,
}

/// Computes `expression` over a row. `column` gives a column's value, `None` inside for NULL.
///
/// `lower` and `upper` are exact for ASCII text in every locale but those where the database's catalog says
/// otherwise; [`opaque_where_case_is_odd`] makes those unknown beforehand.
pub fn compute(
    expression: &KeyExpression,
    column: &dyn Fn(&str) -> Option<Option<KeyValue>>,
) -> Computed {
    match expression {
        KeyExpression::Column(name) => match column(name) {
            Some(Some(value)) => Computed::Value(value),
            Some(None) => Computed::Null,
            None => Computed::Unknown,
        },
        KeyExpression::Integer(value) => Computed::Value(KeyValue::Integer(*value)),
        KeyExpression::Text(text) => Computed::Value(KeyValue::Text(text.as_str().into())),
        KeyExpression::Opaque { .. } => Computed::Unknown,
        KeyExpression::Call {
            function: Function::Coalesce,
            arguments,
        } => coalesce(arguments, column),
        KeyExpression::Call {
            function,
            arguments,
        } => {
            let mut values = Vec::with_capacity(arguments.len());
            for argument in arguments {
                match compute(argument, column) {
                    Computed::Value(value) => values.push(value),
                    // Every function but coalesce is strict.
                    other => return other,
                }
            }
            call(*function, &values).map_or(Computed::Unknown, Computed::Value)
        }
    }
}

/// The expression, made opaque when it folds case and the database's character type does that oddly even to ASCII.
pub(crate) fn opaque_where_case_is_odd(
    expression: &KeyExpression,
    ascii_case_is_plain: bool,
) -> KeyExpression {
    if ascii_case_is_plain || !folds_case(expression) {
        return expression.clone();
    }
    KeyExpression::Opaque {
        text: expression.to_string(),
        columns: expression
            .columns()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    }
}

fn folds_case(expression: &KeyExpression) -> bool {
    match expression {
        KeyExpression::Call {
            function,
            arguments,
        } => {
            matches!(function, Function::Lower | Function::Upper)
                || arguments.iter().any(folds_case)
        }
        KeyExpression::Column(_)
        | KeyExpression::Integer(_)
        | KeyExpression::Text(_)
        | KeyExpression::Opaque { .. } => false,
    }
}

fn coalesce(
    arguments: &[KeyExpression],
    column: &dyn Fn(&str) -> Option<Option<KeyValue>>,
) -> Computed {
    for argument in arguments {
        match compute(argument, column) {
            Computed::Null => {}
            other => return other,
        }
    }
    Computed::Null
}

fn call(function: Function, values: &[KeyValue]) -> Option<KeyValue> {
    let text = |text: String| Some(KeyValue::Text(text.into()));
    match (function, values) {
        (Function::Lower, [KeyValue::Text(value)]) if value.is_ascii() => {
            text(value.to_ascii_lowercase())
        }
        (Function::Upper, [KeyValue::Text(value)]) if value.is_ascii() => {
            text(value.to_ascii_uppercase())
        }
        (Function::Left, [KeyValue::Text(value), KeyValue::Integer(count)]) => {
            text(left(value, i32::try_from(*count).ok()?))
        }
        (Function::Right, [KeyValue::Text(value), KeyValue::Integer(count)]) => {
            text(right(value, i32::try_from(*count).ok()?))
        }
        (Function::Substr, [KeyValue::Text(value), KeyValue::Integer(from)]) => {
            text(substr(value, i32::try_from(*from).ok()?, None)?)
        }
        (
            Function::Substr,
            [
                KeyValue::Text(value),
                KeyValue::Integer(from),
                KeyValue::Integer(count),
            ],
        ) => {
            let count = i32::try_from(*count).ok()?;
            text(substr(value, i32::try_from(*from).ok()?, Some(count))?)
        }
        // The least integer of the column's own width is an error in PostgreSQL; a shard raises it.
        (Function::Abs, [KeyValue::Integer(value)]) if *value > i64::from(i16::MIN) => {
            Some(KeyValue::Integer(value.abs()))
        }
        (Function::Modulo, [KeyValue::Integer(value), KeyValue::Integer(by)]) if *by != 0 => {
            Some(KeyValue::Integer(value.wrapping_rem(*by)))
        }
        (Function::Text, [KeyValue::Integer(value)]) => text(value.to_string()),
        (Function::Text, [KeyValue::Text(value)]) => text(value.to_string()),
        _ => None,
    }
}

fn left(value: &str, count: i32) -> String {
    let length = value.chars().count();
    value.chars().take(counted(length, count)).collect()
}

fn right(value: &str, count: i32) -> String {
    let length = value.chars().count();
    value
        .chars()
        .skip(length - counted(length, count))
        .collect()
}

/// A negative count leaves out so many at the other end.
fn counted(length: usize, count: i32) -> usize {
    let magnitude = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    if count < 0 {
        length.saturating_sub(magnitude)
    } else {
        length.min(magnitude)
    }
}

/// Positions count from 1 and may lie before the text; a negative count is an error, which a shard raises.
fn substr(value: &str, from: i32, count: Option<i32>) -> Option<String> {
    let start = i64::from(from);
    let end = match count {
        None => i64::MAX,
        Some(count) if count < 0 => return None,
        Some(count) => start + i64::from(count),
    };
    let skip = usize::try_from((start - 1).max(0)).ok()?;
    let take = usize::try_from((end - start.max(1)).max(0)).ok()?;
    Some(value.chars().skip(skip).take(take).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(expression: &str, column: &str, expected: &str) {
        let parsed = KeyExpression::parse(expression).unwrap();
        let value = compute(&parsed, &|_| Some(Some(KeyValue::Text(column.into()))));
        let shown = match value {
            Computed::Value(value) => value.to_string(),
            other => format!("{other:?}"),
        };
        assert_eq!(shown, expected, "{expression}");
    }

    #[test]
    fn ascii_case_folds_here_and_other_letters_on_a_shard() {
        check("lower(sku)", "AB-1042", "ab-1042");
        check("upper(sku)", "ab", "AB");
        check("lower(sku)", "ÄB", "Unknown");
    }

    #[test]
    fn parts_of_texts_count_characters() {
        check("left(id, 4)", "eußeria", "eußa".replace('a', "e").as_str());
        check("left(id, -2)", "abc", "a");
        check("right(id, 2)", "abcß", "cß");
        check("right(id, -1)", "abc", "bc");
        check("substr(id, 2)", "abc", "bc");
        check("substr(id, 0, 2)", "abc", "a");
    }

    #[test]
    fn null_passes_through() {
        let parsed = KeyExpression::parse("lower(sku)").unwrap();
        assert_eq!(compute(&parsed, &|_| Some(None)), Computed::Null);
    }
}
