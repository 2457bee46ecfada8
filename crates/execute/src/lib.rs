//! Placeholder.

pub mod commit;
pub mod recovery;
