//! What a round of recovery did, and what it couldn't.

use std::fmt;

use pool::{BackendError, LeaseError};

use crate::commit::{Gid, GidError};

/// A round of recovery.
#[derive(Debug, Default)]
pub struct Report {
    /// Transactions of which something was committed.
    pub committed: Vec<Gid>,
    /// Transactions of which something was rolled back.
    pub rolled_back: Vec<Gid>,
    /// Transactions that others may still be running.
    pub waiting: usize,
    /// Decision rows that were removed.
    pub forgotten: u64,
    /// What failed. It is tried again in the next round.
    pub problems: Vec<Problem>,
}

/// Something that recovery could not do.
#[derive(Debug)]
pub struct Problem {
    /// The shard, as far as there is one.
    pub shard: String,
    /// The transaction, as far as there is one.
    pub gid: Option<Gid>,
    /// Why.
    pub trouble: Trouble,
}

/// Why recovery could not do something.
#[derive(Debug, thiserror::Error)]
pub enum Trouble {
    /// No connection.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// The shard said no, or was lost.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// A name that begins as ours do, and can't be read.
    #[error(transparent)]
    Name(#[from] GidError),
    /// A shard that the topology doesn't know.
    #[error("no shard \"{uid}\" is known")]
    UnknownShard {
        /// Its uid, as it is written.
        uid: String,
    },
    /// The decider's transaction stays open although its backend was terminated.
    #[error("the deciding transaction stays open")]
    Lingering,
    /// The decision row went away while it was looked at.
    #[error("the decision row changed meanwhile")]
    Changed,
    /// A write was done, but its wait for a standby was broken off.
    #[error("a write may not have reached the standby")]
    Undurable,
    /// The decision is commit, and a participant holds the transaction neither prepared nor
    /// committed: the shard lost what it had acknowledged. A person must look.
    #[error("the participant neither holds the prepared transaction nor has committed it")]
    Vanished,
}

// === impl Report ===

impl Report {
    /// Nothing failed.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.problems.is_empty()
    }

    pub(crate) fn fail(&mut self, shard: &str, gid: Option<&Gid>, trouble: Trouble) {
        self.problems.push(Problem {
            shard: shard.to_owned(),
            gid: gid.cloned(),
            trouble,
        });
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}: ", self.shard)?;
        if let Some(gid) = &self.gid {
            write!(f, "{gid}: ")?;
        }
        fmt::Display::fmt(&stdx::Chain(&self.trouble), f)
    }
}
