//! Messages of PostgreSQL's protocol 3: framing, reading, writing, and what the hot path needs to look
//! at a message without reading it.
//!
//! It promises that no bytes make it panic, that what it writes it reads back, and that looking
//! ([`scan`], [`backend::DataRow::columns`], [`frontend::Bind`]) never allocates. It does no I/O and must not
//! know sessions nor SQL.
//!
//! Read first: [`Frame`], [`frontend::Message`], [`backend::Message`]. Tests: beside the modules, and
//! `tests/roundtrip.rs` for the two properties above.

pub mod backend;
mod error;
mod frame;
pub mod frontend;
mod read;
pub mod rewrite;
pub mod scan;
pub mod startup;
pub mod tag;
mod write;

pub use error::DecodeError;
pub use frame::{Frame, Limits, decode};
pub use startup::Startup;
