//! Sequences: every value comes from the authoritative shard, outside of any client's transaction,
//! so that it is drawn once whatever becomes of the statement, as in PostgreSQL.
//!
//! Where the topology allows it, values are fetched in blocks. The invariant: **a value is handed
//! out at most once**: a block belongs to one router's memory from the moment that the sequence has
//! moved past it; what is lost with the router is a gap. As with PostgreSQL's own `CACHE`, routers
//! may hand out values in another order than they were drawn; within a session they only go up (or
//! down).
//!
//! What a session remembers (`currval`, `lastval`) is in [`SessionSequences`].

mod session;

pub use session::SessionSequences;

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use parking_lot::Mutex;
use pg::{Diagnose, Diagnostic, Fault, Retry, SqlState};
use pool::{Backend, BackendError, Identity, LeaseError, Pools, Settings};
use topology::ShardId;

use crate::commit::exchange::Exchange;
use crate::commit::statement::{quote, quote_name};

/// Most values that are drawn at a time, so that an answer stays small.
pub const BATCH_MAX: u32 = 100_000;

/// The blocks that a router has fetched. Shared by its sessions.
#[derive(Debug, Default)]
pub struct Sequences {
    held: Mutex<Held>,
}

#[derive(Debug, Default)]
struct Held {
    /// Changes when blocks are forgotten: what was fetched before is not kept then.
    generation: u64,
    blocks: HashMap<Key, VecDeque<i64>>,
}

/// Whose block it is. A user who may not use the sequence must not be served from one of another's.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    sequence: pg::Oid,
    identity: Identity,
    role: Option<String>,
}

/// A sequence, as the catalog of the authoritative shard knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SequenceName<'a> {
    /// Its schema.
    pub schema: &'a str,
    /// Its name.
    pub name: &'a str,
    /// Its number.
    pub oid: pg::Oid,
}

/// Where values are drawn.
#[derive(Debug)]
pub enum Source<'a> {
    /// On a connection of its own to the authoritative shard, as the client's user and role.
    Authority {
        /// The shards.
        pools: &'a Pools,
        /// The authoritative one.
        shard: ShardId,
        /// The client's user and database.
        identity: &'a Identity,
        /// The client's settings; `role` matters for privileges.
        settings: &'a Settings,
        /// How long to wait for a free connection.
        wait: Duration,
    },
    /// On this connection to the authoritative shard, within its transaction: for a sequence that
    /// was made or changed in it, and for a session that holds the one connection there is. Never
    /// from a block.
    Transaction(&'a mut Backend),
}

/// Why no value could be drawn.
#[derive(Debug, thiserror::Error)]
pub enum SequenceError {
    /// No connection to the authoritative shard.
    #[error(transparent)]
    Lease(#[from] LeaseError),
    /// PostgreSQL said no (2200H at the end of the sequence, 42501, 42P01 ...), or was lost.
    #[error(transparent)]
    Backend(#[from] BackendError),
    /// More values at once than an answer may hold.
    #[error("{count} values of a sequence were wanted at once, more than {BATCH_MAX}")]
    TooMany {
        /// How many.
        count: u32,
    },
    /// The shard answered with something else than the values.
    #[error("the shard drew {drawn} values of a sequence instead of {wanted}")]
    Short {
        /// How many came.
        drawn: usize,
        /// How many were asked for.
        wanted: usize,
    },
}

// === impl Sequences ===

impl Sequences {
    /// No blocks.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Draws `count` values, in order. With a `block` of more than 1, as many are fetched at a
    /// time.
    ///
    /// # Errors
    /// See [`SequenceError`]. Values that were drawn in vain are gaps.
    ///
    /// # Cancel safety
    /// Dropped, it leaves a gap.
    pub async fn next(
        &self,
        source: Source<'_>,
        sequence: SequenceName<'_>,
        (count, block): (u32, u32),
    ) -> Result<Vec<i64>, SequenceError> {
        if count > BATCH_MAX {
            return Err(SequenceError::TooMany { count });
        }
        let (pools, shard, identity, settings, wait) = match source {
            Source::Transaction(backend) => return draw(backend, sequence, count).await,
            Source::Authority {
                pools,
                shard,
                identity,
                settings,
                wait,
            } => (pools, shard, identity, settings, wait),
        };
        let key = Key {
            sequence: sequence.oid,
            identity: identity.clone(),
            role: settings.value("role").map(str::to_owned),
        };
        let (mut values, generation) = self.take(&key, count, block);
        let missing = count - u32::try_from(values.len()).unwrap_or(count);
        if missing > 0 {
            let mut lease = pools.lease(shard, identity, wait).await?;
            lease.apply(settings).await?;
            let batch = missing.max(block).min(BATCH_MAX);
            let drawn = match draw(&mut lease, sequence, batch).await {
                // Near its end a sequence may have what is needed, but not the whole block.
                Err(error) if batch > missing && error.is_exhausted() => {
                    draw(&mut lease, sequence, missing).await?
                }
                result => result?,
            };
            let mut drawn = drawn.into_iter();
            values.extend(
                drawn
                    .by_ref()
                    .take(usize::try_from(missing).unwrap_or(usize::MAX)),
            );
            self.keep(key, generation, drawn.collect());
        }
        Ok(values)
    }

    /// Forgets a sequence's blocks: after `setval`, ALTER, DROP, TRUNCATE ... RESTART IDENTITY.
    pub fn forget(&self, sequence: pg::Oid) {
        let mut held = self.held.lock();
        held.generation += 1;
        held.blocks.retain(|key, _| key.sequence != sequence);
    }

    /// Forgets all blocks: when what was changed isn't known.
    pub fn forget_all(&self) {
        let mut held = self.held.lock();
        held.generation += 1;
        held.blocks.clear();
    }

    fn take(&self, key: &Key, count: u32, block: u32) -> (Vec<i64>, u64) {
        let mut held = self.held.lock();
        let generation = held.generation;
        if block <= 1 {
            return (vec![], generation);
        }
        let Some(kept) = held.blocks.get_mut(key) else {
            return (vec![], generation);
        };
        let wanted = usize::try_from(count).unwrap_or(usize::MAX).min(kept.len());
        (kept.drain(..wanted).collect(), generation)
    }

    /// Keeps what is left of a fetch, unless blocks were forgotten meanwhile. Of two fetches at
    /// once the later one's rest is kept, so that no session is given a value behind one that it
    /// has seen.
    fn keep(&self, key: Key, generation: u64, rest: VecDeque<i64>) {
        let mut held = self.held.lock();
        let (Some(first), Some(last)) = (rest.front().copied(), rest.back().copied()) else {
            return;
        };
        if held.generation != generation {
            return;
        }
        let is_behind = |kept: &VecDeque<i64>| match kept.front() {
            Some(other) if first <= last => *other > first,
            Some(other) => *other < first,
            None => false,
        };
        if !held.blocks.get(&key).is_some_and(is_behind) {
            held.blocks.insert(key, rest);
        }
    }
}

// === impl SequenceError ===

impl SequenceError {
    fn is_exhausted(&self) -> bool {
        matches!(self, Self::Backend(BackendError::Server { diagnostic, .. })
            if diagnostic.code == SqlState::SEQUENCE_GENERATOR_LIMIT_EXCEEDED)
    }
}

impl Diagnose for SequenceError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Lease(error) => error.sqlstate(),
            Self::Backend(error) => error.sqlstate(),
            Self::TooMany { .. } => SqlState::PROGRAM_LIMIT_EXCEEDED,
            Self::Short { .. } => SqlState::PROTOCOL_VIOLATION,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Lease(error) => error.fault(),
            Self::Backend(error) => error.fault(),
            Self::TooMany { .. } => Fault::Client,
            Self::Short { .. } => Fault::Backend,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Lease(error) => error.retry(),
            Self::Backend(error) => error.retry(),
            Self::TooMany { .. } | Self::Short { .. } => Retry::Never,
        }
    }

    fn to_diagnostic(&self) -> Diagnostic {
        match self {
            Self::Lease(error) => error.to_diagnostic(),
            Self::Backend(error) => error.to_diagnostic(),
            Self::TooMany { .. } | Self::Short { .. } => {
                Diagnostic::error(self.sqlstate(), self.to_string())
            }
        }
    }
}

async fn draw(
    backend: &mut Backend,
    sequence: SequenceName<'_>,
    count: u32,
) -> Result<Vec<i64>, SequenceError> {
    if count == 0 {
        return Ok(vec![]);
    }
    let name = format!(
        "{}.{}",
        quote_name(sequence.schema),
        quote_name(sequence.name)
    );
    let sql = format!(
        "SELECT pg_catalog.nextval({}::pg_catalog.regclass) \
         FROM pg_catalog.generate_series(1, {count})",
        quote(&name)
    );
    let answers = Exchange::run(backend, &sql).await.into_result()?;
    let rows = answers.into_iter().flat_map(|answer| answer.rows);
    let values: Vec<i64> = rows
        .filter_map(|row| row.first()?.as_ref()?.parse().ok())
        .collect();
    let wanted = usize::try_from(count).unwrap_or(usize::MAX);
    if values.len() == wanted {
        Ok(values)
    } else {
        Err(SequenceError::Short {
            drawn: values.len(),
            wanted,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key() -> Key {
        Key {
            sequence: pg::Oid::from(1),
            identity: Identity::new("d", "u"),
            role: None,
        }
    }

    #[test]
    fn a_block_is_handed_out_once_and_in_order() {
        let sequences = Sequences::new();
        sequences.keep(key(), 0, (2..=4).collect());
        assert_eq!(sequences.take(&key(), 2, 10).0, [2, 3]);
        assert_eq!(sequences.take(&key(), 2, 10).0, [4]);
        assert_eq!(sequences.take(&key(), 2, 10).0, [0; 0]);
    }

    #[test]
    fn another_role_is_not_served_from_a_block() {
        let sequences = Sequences::new();
        sequences.keep(key(), 0, (2..=4).collect());
        let other = Key {
            role: Some("other".to_owned()),
            ..key()
        };
        assert_eq!(sequences.take(&other, 2, 10).0, [0; 0]);
    }

    #[test]
    fn of_two_fetches_the_later_rest_is_kept() {
        let sequences = Sequences::new();
        sequences.keep(key(), 0, (12..=14).collect());
        sequences.keep(key(), 0, (2..=4).collect());
        assert_eq!(sequences.take(&key(), 9, 10).0, [12, 13, 14]);
        sequences.keep(key(), 0, [-12, -13].into());
        sequences.keep(key(), 0, [-2, -3].into());
        assert_eq!(sequences.take(&key(), 9, 10).0, [-12, -13]);
    }

    #[test]
    fn a_fetch_that_was_overtaken_by_a_change_is_not_kept() {
        let sequences = Sequences::new();
        let (_, generation) = sequences.take(&key(), 1, 10);
        sequences.forget(pg::Oid::from(1));
        sequences.keep(key(), generation, (2..=4).collect());
        assert_eq!(sequences.take(&key(), 1, 10).0, [0; 0]);
        sequences.keep(key(), generation + 1, (2..=4).collect());
        sequences.forget_all();
        assert_eq!(sequences.take(&key(), 1, 10).0, [0; 0]);
    }
}
