//! Placeholder.

pub mod commit;
pub mod recovery;
pub mod sequence;
