//! Runs plans on shards: one shard's answer copied through, many shards' answers merged, writes committed together.
//!
//! It promises that a statement has all of its effect or none, that nothing of a shard's answer is
//! held beyond a stated budget, and that an error names the shard. It must not know how SQL is parsed
//! nor how clients speak.
//!
//! Read first: [`Transaction`] (which backends a session holds), [`pump`] (the short road), `commit`.

mod ask;
pub mod block;
pub mod commit;
mod compute;
mod copy;
mod describe;
mod error;
mod executor;
mod explain;
mod merge;
mod number;
mod pipeline;
mod position;
pub mod pump;
pub mod recovery;
mod request;
mod running;
pub mod sequence;
mod transaction;

pub use describe::describe;
pub use error::ExecuteError;
pub use executor::{Executor, Ran, Snapshot};
pub use number::{Numbers, Translation};
pub use pipeline::{Flow, Hands, Pipeline, Preparable};
pub use position::Position;
pub use request::{Known, Request};
pub use running::Running;
pub use sequence::SessionSequences;
pub use transaction::{Participant, Pins, Transaction, Wanted};

/// What every statement of a router runs in.
pub struct Environment {
    /// Uids of the shards, by number.
    pub shard_names: Vec<std::sync::Arc<str>>,
    /// Ends transactions.
    pub committer: commit::Committer,
    /// Draws sequence values.
    pub sequences: sequence::Sequences,
    turns: std::sync::atomic::AtomicUsize,
}

impl Environment {
    /// An environment for the shards of these uids.
    #[must_use]
    pub fn new(shard_names: Vec<std::sync::Arc<str>>, committer: commit::Committer) -> Self {
        let (sequences, turns) = (
            sequence::Sequences::new(),
            std::sync::atomic::AtomicUsize::new(0),
        );
        Self {
            shard_names,
            committer,
            sequences,
            turns,
        }
    }

    /// A number that grows with every call: whose turn it is among equals.
    pub(crate) fn turn(&self) -> usize {
        self.turns
            .fetch_add(1, std::sync::atomic::Ordering::Relaxed)
    }

    /// A shard's uid.
    #[must_use]
    pub fn shard_name(&self, shard: topology::ShardId) -> String {
        self.shard_names
            .get(shard.index())
            .map_or_else(|| shard.to_string(), ToString::to_string)
    }
}
