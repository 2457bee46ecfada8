//! Atomic commit: a transaction that wrote to several shards commits on all of them or on none,
//! whichever process dies at whichever instant.
//!
//! [`Commit`] is the protocol without I/O: events in, effects out, both printable. The decision is
//! the COMMIT of one participant, the decider, whose own transaction holds the decision row; so the
//! invariant is: **a participant is committed after its PREPARE only when a commit row is durable
//! on the decider's shard, and rolled back only when none can ever become so.**
//!
//! Read first: [`Commit`] (states and diagram), [`Gid`] (what a prepared transaction's name tells a
//! stranger), [`Step`] (every instant at which a router may be killed). The page
//! `docs/internals/atomic-commit.md` tells why.

mod driver;
mod error;
pub(crate) mod exchange;
mod gid;
mod machine;
pub(crate) mod parallel;
mod registry;
mod schema;
pub(crate) mod statement;
mod step;

pub use driver::{Committed, Committer, Enlisted, Patience, StepHook};
pub use error::{CommitError, Failure};
pub use gid::{DeciderBackend, Gid, GidError, PREFIX, PreparedName, write_uid};
pub use machine::{
    Cause, Commit, Effect, Event, Outcome, Participant, Reply, Request, TooManyUnpreparable,
    Verdict,
};
pub use registry::{InFlight, Registry};
pub use schema::{PrepareShardError, prepare_shard};
pub use step::{Moment, Step, UnknownStep};

#[cfg(test)]
mod model;
