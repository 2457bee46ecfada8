//! Tokens of a key expression. A small part of SQL: no comments, no dollar quotes, no escapes.

use std::fmt;

use super::ExpressionError;

/// Longest expression that is read, in bytes.
const EXPRESSION_BYTES_MAX: usize = 1000;

/// Words that a column can have as its name only in quotes (reserved, or reserved but for functions and
/// types, in PostgreSQL 15 to 18).
#[rustfmt::skip]
const RESERVED: &[&str] = &[
    "all", "analyse", "analyze", "and", "any", "array", "as", "asc", "asymmetric",
    "authorization", "binary", "both", "case", "cast", "check", "collate", "collation", "column",
    "concurrently", "constraint", "create", "cross", "current_catalog", "current_date",
    "current_role", "current_schema", "current_time", "current_timestamp", "current_user",
    "default", "deferrable", "desc", "distinct", "do", "else", "end", "except", "false", "fetch",
    "for", "foreign", "freeze", "from", "full", "grant", "group", "having", "ilike", "in",
    "initially", "inner", "intersect", "into", "is", "isnull", "join", "lateral", "leading",
    "left", "like", "limit", "localtime", "localtimestamp", "natural", "not", "notnull", "null",
    "offset", "on", "only", "or", "order", "outer", "overlaps", "placing", "primary",
    "references", "returning", "right", "select", "session_user", "similar", "some", "symmetric",
    "system_user", "table", "tablesample", "then", "to", "trailing", "true", "union", "unique",
    "user", "using", "variadic", "verbose", "when", "where", "window", "with",
];

/// Words that are not reserved but stand in expressions without being columns.
const PARTICLES: &[&str] = &["at", "between", "interval", "time", "zone"];

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// An unquoted word, folded to lower case.
    Word(String),
    /// A quoted identifier, exact.
    Quoted(String),
    /// A string constant without its quotes.
    String(String),
    /// A number as written.
    Number(String),
    /// Operators and punctuation.
    Symbol(String),
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Token::Word(word) => write!(f, "{word}"),
            Token::Quoted(name) => write!(f, "{}", quoted(name)),
            Token::String(text) => write!(f, "'{}'", text.replace('\'', "''")),
            Token::Number(text) | Token::Symbol(text) => write!(f, "{text}"),
        }
    }
}

/// Cuts SQL into tokens.
pub(super) fn tokens(text: &str) -> Result<Vec<Token>, ExpressionError> {
    if text.len() > EXPRESSION_BYTES_MAX {
        return Err(ExpressionError {
            reason: "it is longer than 1000 bytes",
        });
    }
    let mut rest = text;
    let mut tokens = Vec::new();
    while let Some(first) = rest.chars().next() {
        if first.is_ascii_whitespace() {
            rest = &rest[1..];
            continue;
        }
        let (token, length) = token(rest, first)?;
        tokens.push(token);
        rest = &rest[length..];
    }
    Ok(tokens)
}

fn token(rest: &str, first: char) -> Result<(Token, usize), ExpressionError> {
    match first {
        '\'' => {
            let (string, length) = delimited(rest, '\'')?;
            if string.contains('\\') {
                return Err(ExpressionError {
                    reason: "a string holds a backslash",
                });
            }
            Ok((Token::String(string), length))
        }
        '"' => {
            let (name, length) = delimited(rest, '"')?;
            if name.is_empty() {
                return Err(ExpressionError {
                    reason: "a quoted name is empty",
                });
            }
            Ok((Token::Quoted(name), length))
        }
        '0'..='9' => {
            let length = rest
                .find(|c: char| !c.is_ascii_digit() && c != '.')
                .unwrap_or(rest.len());
            Ok((Token::Number(rest[..length].to_owned()), length))
        }
        c if c == '_' || c.is_alphabetic() => Ok(word(rest)),
        _ => symbol(rest),
    }
}

fn word(rest: &str) -> (Token, usize) {
    let inside = |c: char| c == '_' || c == '$' || c.is_alphanumeric();
    let length = rest.find(|c: char| !inside(c)).unwrap_or(rest.len());
    // PostgreSQL folds ASCII letters only in a multi-byte encoding.
    (Token::Word(rest[..length].to_ascii_lowercase()), length)
}

fn symbol(rest: &str) -> Result<(Token, usize), ExpressionError> {
    if rest.starts_with("--") || rest.starts_with("/*") {
        return Err(ExpressionError {
            reason: "it holds a comment",
        });
    }
    for symbol in [
        "::", "||", "->>", "->", "(", ")", ",", ".", "[", "]", "+", "-", "*", "/", "%",
    ] {
        if rest.starts_with(symbol) {
            return Ok((Token::Symbol(symbol.to_owned()), symbol.len()));
        }
    }
    Err(ExpressionError {
        reason: "it holds a character that a key expression can't have",
    })
}

/// Reads up to the closing delimiter; a doubled one stands for itself.
fn delimited(rest: &str, delimiter: char) -> Result<(String, usize), ExpressionError> {
    let mut content = String::new();
    let mut characters = rest.char_indices().skip(1).peekable();
    while let Some((index, c)) = characters.next() {
        if c != delimiter {
            content.push(c);
        } else if characters.next_if(|(_, next)| *next == delimiter).is_some() {
            content.push(delimiter);
        } else {
            return Ok((content, index + 1));
        }
    }
    Err(ExpressionError {
        reason: "a quote is not closed",
    })
}

/// A name as SQL, quoted only where it has to be.
pub(super) fn quoted(name: &str) -> String {
    let plain = name.starts_with(|c: char| c == '_' || c.is_ascii_lowercase())
        && name
            .chars()
            .all(|c| c == '_' || c.is_ascii_lowercase() || c.is_ascii_digit());
    if plain && !is_keyword(name) {
        name.to_owned()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

/// Whether an unquoted word can't be taken for a column.
pub(super) fn is_keyword(word: &str) -> bool {
    RESERVED.contains(&word) || PARTICLES.contains(&word)
}
