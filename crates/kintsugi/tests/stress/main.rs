//! The binary under hostile clients, dying shards and its own death.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]

mod bed;
mod crash;
mod hostile;
mod shards;
