//! Small numbers that stand for names within one revision. Invariant: they are positions in the
//! revision that gave them; across revisions only uids may be compared.

use std::fmt;

/// Most shards that a topology can hold.
pub const SHARDS_MAX: usize = 4096;

/// A shard of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ShardId(pub(crate) u16);

/// A shard group of one revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GroupId(pub(crate) u16);

// === impl ShardId ===

impl ShardId {
    /// The shard at this position, for tests and for tools that number shards themselves.
    #[must_use]
    pub fn from_index(index: u16) -> Self {
        Self(index)
    }

    /// Its position among the revision's shards.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for ShardId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard#{}", self.0)
    }
}

// === impl GroupId ===

impl GroupId {
    /// Its position among the revision's groups.
    #[must_use]
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

impl fmt::Display for GroupId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "group#{}", self.0)
    }
}
