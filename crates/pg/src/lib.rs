//! Facts of PostgreSQL that every other crate needs: type numbers, SQLSTATEs, diagnostics, the values
//! of keys with the bytes that are hashed, and exact comparison and addition of column values.
//!
//! It promises that whatever it computes is what PostgreSQL computes, bit for bit; where it can't
//! promise that it says so ([`Parsed::Unknown`], `None` from [`order::Comparator::for_type`]) and the
//! caller asks a shard. It must not know I/O nor protocol messages.
//!
//! Read first: [`KeyValue`], [`Diagnostic`] and [`Diagnose`], [`order::Comparator`]. Tests: beside the
//! modules, and `tests/vectors.rs` for values that independent implementations made.

pub mod arith;
pub mod datetime;
mod decimal;
mod diagnostic;
mod foreign;
mod format;
mod generated {
    pub(crate) mod sqlstate;
}
mod key;
pub mod oid;
pub mod order;
mod sqlstate;

pub use decimal::{Decimal, DecimalError};
pub use diagnostic::{Diagnose, Diagnostic, Extra, Fault, Retry, Severity};
pub use foreign::ForeignAction;
pub use format::Format;
pub use key::{KeyClass, KeyType, KeyValue, Parsed};
pub use oid::Oid;
pub use sqlstate::SqlState;
