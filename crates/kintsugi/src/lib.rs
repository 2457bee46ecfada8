//! The one binary, apart from its `main`: configuration, composition, commands.
//!
//! It promises that every command ends with an honest status and says what it did, that a router starts only on shards that
//! agree with each other, and that what it started is stopped. A command makes values; printing is at the rim. It must not know
//! how statements are planned or run.
//!
//! Read first: [`router::Router`] (how the house is put together), [`dev`], [`topology_command`]. Tests: beside the modules, and
//! in `tests/` with the binary itself.

pub mod cli;
pub mod config;
pub mod dev;
mod failure;
pub mod place;
pub mod router;
pub mod serve;
pub mod shards;
pub mod status;
pub mod stop;
pub mod topology_command;

pub use failure::Failure;
