//! SQL text: what it says and how to change it, without knowing what it is for.
//!
//! Two roads lead in. The short one, [`lift`], is a scanner that takes the literals out of a text
//! so that texts of one shape share a plan; it neither parses nor allocates once warm. The long one,
//! [`parse`], gives an owned tree ([`ast`]) that can be printed, kept and sent between threads.
//!
//! Statements are changed by [`Edits`]: replacements of spans of the client's own text. What is not
//! edited stays as it was written, comments included, and positions in a shard's error can be mapped back. [`Places`]
//! finds the spans that a rewriting wants to change. [`split`] cuts a query string by the lexer ([`scan`]) alone.
//!
//! This crate promises that a tree is complete: whatever PostgreSQL's grammar accepts comes out,
//! and what has no node of its own is an [`ast::ExprKind::Other`] whose children are still there to be
//! walked ([`ast::walk`]); and that no text ends the process: what is longer than [`MAX_TOKENS`] or deeper than
//! [`MAX_DEPTH`] is refused. It must not know shards, catalogs or sessions.
//!
//! Read first: [`ast::Statement`], [`Lifted`], [`Edits`]. Tests: `tests/golden` holds trees as text, `tests/corpus.rs` what
//! must hold for every statement, `tests/fuzz.rs` mutants in a child process, `scan/tests.rs` the comparison with
//! PostgreSQL's own lexer.

pub mod ast;
mod convert;
mod edits;
mod lift;
mod limits;
mod parse;
mod places;
mod quote;
mod raw;
pub mod scan;
mod source;
mod split;

pub use edits::{Edits, Overlap};
pub use lift::{Lifted, Literal, LiteralClass, Slot, lift};
pub use limits::{MAX_DEPTH, MAX_TOKENS};
pub use parse::{ParseError, ParseErrorKind, ParseOptions, Position, parse, parse_with};
pub use places::{Clauses, InsertColumns, Places};
pub use quote::{quote_ident, quote_literal};
pub use split::split;
