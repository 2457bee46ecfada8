//! From text to tree: PostgreSQL's own grammar, then [`crate::convert`].
//!
//! Invariant: no text ends the process. The C parser keeps its stack on the heap; our conversion counts levels, moves to
//! a thread with a large stack when there are many, and refuses what is deeper than [`MAX_DEPTH`]; so nobody who walks,
//! clones or drops a tree can run out of stack.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};

use crate::limits::{
    LARGE_STACK, MAX_DEFINITION_TOKENS, MAX_DEPTH, MAX_LARGE, MAX_TOKENS, SHALLOW_DEPTH,
};
use crate::source::Source;
use crate::{ast, convert, raw, scan};

/// Why a text has no tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ParseError {
    /// The message, PostgreSQL's own where its parser failed.
    pub message: String,
    /// Where, when known.
    pub position: Option<Position>,
    /// What kind of failure it is.
    pub kind: ParseErrorKind,
}

/// A place in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// In bytes, from 0.
    pub byte: u32,
    /// In characters, from 1, as the protocol counts.
    pub character: u32,
}

/// What kind of failure it is; each has one SQLSTATE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParseErrorKind {
    /// PostgreSQL's parser refuses the text. It does not tell the SQLSTATE: mostly 42601; a shard knows.
    Syntax,
    /// Too long or too deep (54001).
    TooComplex,
    /// A tree that should not exist, or a failure inside the parser (XX000).
    Internal,
}

/// What the session's settings mean for the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParseOptions {
    /// `standard_conforming_strings`; off, a backslash in `'...'` is an escape.
    pub standard_conforming_strings: bool,
}

impl Default for ParseOptions {
    fn default() -> Self {
        Self {
            standard_conforming_strings: true,
        }
    }
}

/// Parses a query string under PostgreSQL's default settings.
///
/// # Errors
///
/// When PostgreSQL's parser refuses it, or when it is longer or deeper than the limits of this crate.
pub fn parse(text: &str) -> Result<Vec<ast::Statement>, ParseError> {
    parse_with(text, ParseOptions::default())
}

/// Parses a query string.
///
/// # Errors
///
/// As [`parse`].
pub fn parse_with(text: &str, options: ParseOptions) -> Result<Vec<ast::Statement>, ParseError> {
    if u32::try_from(text.len()).is_err() {
        return Err(too_complex("the statement is too long"));
    }
    let c_text = CString::new(text).map_err(|error| ParseError {
        message: "invalid byte sequence for encoding \"UTF8\": 0x00".to_owned(),
        position: Some(position_of_byte(text, error.nul_position())),
        kind: ParseErrorKind::Syntax,
    })?;
    let standard = options.standard_conforming_strings;
    let tokens: Vec<scan::Token> = scan::Scanner::new(text, standard)
        .take(MAX_TOKENS + 1)
        .collect();
    if tokens.len() > MAX_TOKENS {
        return Err(too_complex("the statement has too many tokens"));
    }
    let blanked = scan::without_comments_in_strings(text, &tokens)
        .and_then(|changed| CString::new(changed).ok());
    let tree =
        raw::Tree::parse(blanked.as_ref().unwrap_or(&c_text), standard).map_err(|failure| {
            ParseError {
                message: failure.message,
                position: position_of_character(text, failure.cursor),
                kind: ParseErrorKind::Syntax,
            }
        })?;
    let source = Source::new(text, tokens);
    convert_tree(&tree, &source)
}

fn convert_tree(tree: &raw::Tree, source: &Source<'_>) -> Result<Vec<ast::Statement>, ParseError> {
    let definition = source.tokens().len() > MAX_DEFINITION_TOKENS;
    let convert = |depth| {
        catch_unwind(AssertUnwindSafe(|| {
            convert::statements(tree.statements(), source, depth, !definition)
        }))
        .unwrap_or(Err(convert::Stop::Unexpected(
            "a node of an unexpected type",
        )))
    };
    let result = match convert(SHALLOW_DEPTH) {
        Err(convert::Stop::Deep) => on_large_stack(|| convert(MAX_DEPTH)),
        result => result,
    };
    result.map_err(|stop| match stop {
        convert::Stop::Deep => too_complex("the statement is nested too deeply"),
        convert::Stop::Long => too_complex("the statement has too many tokens"),
        convert::Stop::Unexpected(what) => ParseError {
            message: format!("the parser returned {what}"),
            position: None,
            kind: ParseErrorKind::Internal,
        },
    })
}

type Converted = Result<Vec<ast::Statement>, convert::Stop>;

/// Runs `work` on a thread with a large stack; only so many at a time.
fn on_large_stack(work: impl Fn() -> Converted + Sync) -> Converted {
    let _permit = Permit::acquire();
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("sql-deep".to_owned())
            .stack_size(LARGE_STACK)
            .spawn_scoped(scope, &work)
            .ok()
            .and_then(|thread| thread.join().ok())
            .unwrap_or(Err(convert::Stop::Deep))
    })
}

static LARGE: Mutex<u32> = Mutex::new(0);
static LARGE_FREED: Condvar = Condvar::new();

struct Permit;

impl Permit {
    fn acquire() -> Self {
        let mut running = LARGE.lock().unwrap_or_else(PoisonError::into_inner);
        while *running >= MAX_LARGE {
            running = LARGE_FREED
                .wait(running)
                .unwrap_or_else(PoisonError::into_inner);
        }
        *running += 1;
        Self
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        *LARGE.lock().unwrap_or_else(PoisonError::into_inner) -= 1;
        LARGE_FREED.notify_one();
    }
}

fn too_complex(message: &str) -> ParseError {
    ParseError {
        message: message.to_owned(),
        position: None,
        kind: ParseErrorKind::TooComplex,
    }
}

fn position_of_byte(text: &str, byte: usize) -> Position {
    let before = text.get(..byte).unwrap_or(text);
    Position {
        byte: scan::offset(byte),
        character: scan::offset(before.chars().count() + 1),
    }
}

/// The parser counts characters from 1, and says 0 when it does not know.
fn position_of_character(text: &str, character: usize) -> Option<Position> {
    let index = character.checked_sub(1)?;
    let byte = text
        .char_indices()
        .nth(index)
        .map_or(text.len(), |(byte, _)| byte);
    Some(Position {
        byte: scan::offset(byte),
        character: scan::offset(character),
    })
}

#[cfg(test)]
mod tests;
