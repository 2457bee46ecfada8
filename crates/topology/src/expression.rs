//! Key expressions: `lower(sku)`, `left(order_id, 4)`. The little that the router computes exactly is a
//! tree; everything else is opaque text that a shard computes. Invariant: an expression that looks
//! computable but holds one part that is not is opaque as a whole.

mod evaluate;
mod lex;
mod parse;

use std::fmt;

pub use evaluate::Evaluated;

/// Where a key comes from: a column, or an expression over the row's columns.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum KeyExpression {
    /// A column, by its name in the catalog.
    Column(String),
    /// An integer constant.
    Integer(i64),
    /// A text constant.
    Text(String),
    /// A function that the router computes where it is exact.
    Call {
        /// The function.
        function: Function,
        /// Its arguments.
        arguments: Vec<KeyExpression>,
    },
    /// Anything else, as normalised SQL: a shard computes it.
    Opaque {
        /// The SQL.
        text: String,
        /// The columns that it may use, in order of first mention.
        columns: Vec<String>,
    },
}

/// Functions of which the router knows PostgreSQL's result for some arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// `lower(text)`.
    Lower,
    /// `upper(text)`.
    Upper,
    /// `left(text, n)`.
    Left,
    /// `right(text, n)`.
    Right,
    /// `substr(text, from [, count])`, also written `substring`.
    Substr,
    /// `abs(integer)`.
    Abs,
    /// `coalesce(a, b, ...)`.
    Coalesce,
    /// `integer % integer`, also written `mod(a, b)`.
    Modulo,
    /// `value::text`, also written `cast(value as text)`.
    Text,
}

/// The expressions that make up one key, in order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct KeyColumns {
    parts: Box<[KeyExpression]>,
}

/// Why a text is not a key expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ExpressionError {
    /// One clause.
    pub reason: &'static str,
}

// === impl KeyExpression ===

impl KeyExpression {
    /// Reads an entry of `columns`: a plain word is a column name taken exactly, anything else is SQL.
    ///
    /// # Errors
    ///
    /// The text is not one SQL expression over columns.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        if is_plain_word(text) {
            return Ok(KeyExpression::Column(text.to_owned()));
        }
        Self::parse_sql(text)
    }

    /// Reads an SQL expression; unquoted names are folded to lower case as PostgreSQL does.
    ///
    /// # Errors
    ///
    /// The text is not one SQL expression over columns.
    pub fn parse_sql(text: &str) -> Result<Self, ExpressionError> {
        parse::parse(text)
    }

    /// The columns that it uses, in order of first mention.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        self.collect_columns(&mut columns);
        columns
    }

    /// The column that this expression is, where it is nothing but a column.
    #[must_use]
    pub fn as_column(&self) -> Option<&str> {
        match self {
            KeyExpression::Column(column) => Some(column),
            _ => None,
        }
    }

    fn collect_columns<'e>(&'e self, columns: &mut Vec<&'e str>) {
        match self {
            KeyExpression::Column(column) => {
                if !columns.contains(&column.as_str()) {
                    columns.push(column);
                }
            }
            KeyExpression::Integer(_) | KeyExpression::Text(_) => {}
            KeyExpression::Call { arguments, .. } => {
                for argument in arguments {
                    argument.collect_columns(columns);
                }
            }
            KeyExpression::Opaque { columns: used, .. } => {
                columns.extend(used.iter().map(String::as_str));
            }
        }
    }
}

impl fmt::Display for KeyExpression {
    /// Normalised SQL: equal expressions print equally, however they were written.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeyExpression::Column(column) => write!(f, "{}", lex::quoted(column)),
            KeyExpression::Integer(integer) => write!(f, "{integer}"),
            KeyExpression::Text(text) => write!(f, "'{}'", text.replace('\'', "''")),
            KeyExpression::Opaque { text, .. } => write!(f, "{text}"),
            KeyExpression::Call {
                function: Function::Modulo,
                arguments,
            } => write_infix(f, " % ", arguments),
            KeyExpression::Call {
                function: Function::Text,
                arguments,
            } => {
                let argument = &arguments[0];
                let simple = !matches!(
                    argument,
                    KeyExpression::Call {
                        function: Function::Modulo,
                        ..
                    }
                );
                if simple {
                    write!(f, "{argument}::text")
                } else {
                    write!(f, "({argument})::text")
                }
            }
            KeyExpression::Call {
                function,
                arguments,
            } => {
                write!(f, "{}(", function.name())?;
                for (index, argument) in arguments.iter().enumerate() {
                    let comma = if index == 0 { "" } else { ", " };
                    write!(f, "{comma}{argument}")?;
                }
                write!(f, ")")
            }
        }
    }
}

// === impl Function ===

impl Function {
    /// Its name in normalised SQL.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Function::Lower => "lower",
            Function::Upper => "upper",
            Function::Left => "left",
            Function::Right => "right",
            Function::Substr => "substr",
            Function::Abs => "abs",
            Function::Coalesce => "coalesce",
            Function::Modulo => "%",
            Function::Text => "text",
        }
    }

    /// The function that a call `name(...)` with this many arguments means.
    #[must_use]
    pub fn called(name: &str, arguments_count: usize) -> Option<Self> {
        Some(match (name, arguments_count) {
            ("lower", 1) => Function::Lower,
            ("upper", 1) => Function::Upper,
            ("left", 2) => Function::Left,
            ("right", 2) => Function::Right,
            ("substr" | "substring", 2 | 3) => Function::Substr,
            ("abs", 1) => Function::Abs,
            ("coalesce", 1..) => Function::Coalesce,
            ("mod", 2) => Function::Modulo,
            _ => return None,
        })
    }
}

// === impl KeyColumns ===

impl KeyColumns {
    /// A key of these parts.
    #[must_use]
    pub fn new(parts: Vec<KeyExpression>) -> Self {
        Self {
            parts: parts.into(),
        }
    }

    /// Its parts, in order.
    #[must_use]
    pub fn parts(&self) -> &[KeyExpression] {
        &self.parts
    }

    /// Every column that some part uses, each once.
    #[must_use]
    pub fn columns(&self) -> Vec<&str> {
        let mut columns = Vec::new();
        for part in &self.parts {
            part.collect_columns(&mut columns);
        }
        columns
    }

    /// Whether there is no part.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }
}

impl fmt::Display for KeyColumns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{part}")?;
        }
        Ok(())
    }
}

fn write_infix(
    f: &mut fmt::Formatter<'_>,
    operator: &str,
    arguments: &[KeyExpression],
) -> fmt::Result {
    for (index, argument) in arguments.iter().enumerate() {
        let operator = if index == 0 { "" } else { operator };
        let nested = matches!(
            argument,
            KeyExpression::Call {
                function: Function::Modulo,
                ..
            }
        );
        if nested {
            write!(f, "{operator}({argument})")?;
        } else {
            write!(f, "{operator}{argument}")?;
        }
    }
    Ok(())
}

fn is_plain_word(text: &str) -> bool {
    let mut characters = text.chars();
    let first = characters
        .next()
        .is_some_and(|c| c == '_' || c.is_alphabetic());
    first && characters.all(|c| c == '_' || c == '$' || c.is_alphanumeric())
}

#[cfg(test)]
mod tests;
