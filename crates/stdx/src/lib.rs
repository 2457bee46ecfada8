//! What the standard library lacks and several crates need: named tasks, error chains, secrets.
//!
//! It must not know databases. Read first: [`TaskGroup`]. Tests: beside the modules.

mod chain;
mod never;
mod secret;
mod task;

pub use chain::Chain;
pub use secret::Secret;
pub use task::{Finished, Outcome, TaskGroup};

#[doc(hidden)]
pub use tracing as __tracing;
