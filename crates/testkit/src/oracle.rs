//! The oracle: one statement, several engines, the same answer.
//!
//! ```text
//! tests/oracle/**/*.test -> case::Case -> run::Trace (on each target) -> compare -> report
//!                                             |
//!                                       contents (each shard, directly)
//! ```
//! Plain PostgreSQL says what is right. A refusal by id counts as a case not answered; any other
//! difference is a wrong answer and fails the run. After a case that writes, every server is looked
//! at directly, and what changed is put back, so that each case starts from the same rows and none
//! depends on another.

pub mod case;
pub mod compare;
pub mod contents;
pub mod contest;
pub mod corpus;
mod direct;
pub mod error;
pub mod fixture;
pub mod report;
pub mod run;
pub mod script;
pub mod stage;
pub mod target;
pub mod tuples;
