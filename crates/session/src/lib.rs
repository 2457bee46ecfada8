//! One client's life, from its first packet to its last: start-up, simple and extended protocol, settings, prepared statements.
//!
//! It promises that a client can't tell the router from one PostgreSQL but by what is refused by name, that a statement that fails
//! leaves the session as PostgreSQL would, and that nothing a client sends ends more than its own session. It must not know
//! sockets of backends, nor how plans are run.
//!
//! Read first: [`serve`], [`House`], then `session`, `run` and `extended`.

mod access;
mod cache;
mod cancel;
mod catalogs;
mod command;
mod error;
mod extended;
mod house;
mod meaning;
mod run;
mod session;
mod settings;
mod shape;
mod simple;
mod startup;
mod statement;

pub use access::{Access, Users};
pub use cache::PlanCache;
pub use cancel::Cancels;
pub use catalogs::Catalogs;
pub use error::Halt;
pub use house::{House, Limits};
pub use startup::serve;
