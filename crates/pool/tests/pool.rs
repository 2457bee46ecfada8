//! The pool against a real PostgreSQL.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod catalog;
mod common;
mod lease;
mod settings;
