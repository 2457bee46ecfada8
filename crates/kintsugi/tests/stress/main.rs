//! The binary under hostile clients, dying shards and its own death.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]
#![expect(
    clippy::too_many_lines,
    clippy::type_complexity,
    clippy::items_after_statements,
    reason = "a test is a list of what is tried"
)]
#![expect(clippy::disallowed_methods, reason = "clients of a test end with it")]

mod bed;
mod crash;
mod hostile;
mod shards;
