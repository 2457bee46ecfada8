//! One round of recovery, and rounds for ever.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use topology::ShardId;

use super::access::Access;
use super::report::{Report, Trouble};
use super::settle;
use crate::commit::parallel::join_all;
use crate::commit::{Gid, GidError, PREFIX, PreparedName, Registry, write_uid};

/// How many transactions are settled at a time.
const PARALLEL_MAX: usize = 8;

/// Settles what others left behind.
#[derive(Clone, Debug)]
pub struct Recovery {
    /// What this router itself has in flight.
    pub registry: Arc<Registry>,
    /// How the shards are reached.
    pub access: Access,
    /// The databases that clients use.
    pub databases: Vec<Arc<str>>,
    /// When to do what.
    pub timing: Timing,
}

/// When recovery acts. Correctness doesn't depend on it: it says how long to leave alone what
/// another router may still be at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Between two rounds.
    pub interval: Duration,
    /// Another router's transaction is settled when it has been prepared for so long and its
    /// decider's backend is gone.
    pub orphan_after: Duration,
    /// Another router's transaction is settled when it has been prepared for so long, whether its
    /// decider's backend is there or not.
    pub linger_after: Duration,
    /// A commit row that its own router didn't remove is looked at when it is so old.
    pub sweep_after: Duration,
    /// Another router's commit row is kept for so long, so that it can still look at it.
    pub retention: Duration,
}

/// What is prepared on the shards: by transaction, where and under which name.
type Prepared = BTreeMap<Gid, Vec<(ShardId, PreparedName)>>;

// === impl Timing ===

impl Default for Timing {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(2),
            orphan_after: Duration::from_secs(5),
            linger_after: Duration::from_mins(5),
            sweep_after: Duration::from_secs(30),
            retention: Duration::from_hours(1),
        }
    }
}

// === impl Recovery ===

impl Recovery {
    /// Rounds for ever; dropped, it stops.
    ///
    /// # Cancel safety
    /// Safe at any point: the next round, of whichever router, goes on.
    pub async fn run(self) {
        let mut known = BTreeSet::new();
        loop {
            let report = self.round().await;
            log(&report, &mut known);
            tokio::time::sleep(self.timing.interval).await;
        }
    }

    /// One round: settles what nobody is at any more, and removes decision rows that nobody needs.
    ///
    /// # Cancel safety
    /// As [`Recovery::run`].
    pub async fn round(&self) -> Report {
        let mut report = Report::default();
        for database in &self.databases {
            self.settle_all(database, &mut report).await;
            self.sweep(database, &mut report).await;
        }
        report
    }

    async fn settle_all(&self, database: &Arc<str>, report: &mut Report) {
        // What is prepared, then what is in flight, then what was decided, then what is prepared
        // still: a transaction that ends meanwhile is missing from one of them, and left alone.
        let (found, ages) = self.list(database, Some(&mut *report)).await;
        let mut wanted = BTreeSet::new();
        for gid in found.keys() {
            let age = ages.get(gid).copied().unwrap_or_default();
            match self.is_abandoned(database, gid, age).await {
                Ok(true) => {
                    wanted.insert(gid.clone());
                }
                Ok(false) => report.waiting += 1,
                Err(trouble) => report.fail(gid.decider_shard(), Some(gid), trouble),
            }
        }
        if wanted.is_empty() {
            return;
        }
        let (mut still, _) = self.list(database, None).await;
        still.retain(|gid, _| wanted.contains(gid));
        let orphans: Vec<(Gid, Vec<(ShardId, PreparedName)>)> = still.into_iter().collect();
        for some in orphans.chunks(PARALLEL_MAX) {
            let settling = some
                .iter()
                .map(|(gid, places)| self.settle(database, gid, places));
            for done in join_all(settling).await {
                report.committed.extend(done.committed);
                report.rolled_back.extend(done.rolled_back);
                report.problems.extend(done.problems);
            }
        }
    }

    /// Settles one transaction where it is prepared.
    async fn settle(
        &self,
        database: &Arc<str>,
        gid: &Gid,
        places: &[(ShardId, PreparedName)],
    ) -> Report {
        let mut report = Report::default();
        let settled = match settle::claim(&self.access, database, gid).await {
            Ok(settled) => settled,
            Err(trouble) => {
                report.fail(gid.decider_shard(), Some(gid), trouble);
                return report;
            }
        };
        let mut is_touched = false;
        for (shard, name) in places {
            match self.end(database, (*shard, name), &settled).await {
                Ok(()) => is_touched = true,
                Err(trouble) => report.fail(&self.uid(*shard), Some(gid), trouble),
            }
        }
        if is_touched && settled.is_commit {
            report.committed.push(gid.clone());
        } else if is_touched {
            report.rolled_back.push(gid.clone());
        }
        report
    }

    async fn end(
        &self,
        database: &Arc<str>,
        (shard, name): (ShardId, &PreparedName),
        settled: &settle::Settled,
    ) -> Result<(), Trouble> {
        let mut lease = self.access.lease(shard, database).await?;
        if !settled.is_commit {
            return settle::undo(&mut lease, name).await;
        }
        let number = usize::try_from(name.participant).unwrap_or(usize::MAX);
        match settled.participants.get(number) {
            Some((uid, xid)) if *uid == write_uid(&self.uid(shard)) => {
                settle::finish(&mut lease, name, *xid).await
            }
            _ => Err(Trouble::Name(GidError::Malformed {
                text: name.to_string(),
            })),
        }
    }

    /// Nobody is at it any more, as far as one can see.
    async fn is_abandoned(
        &self,
        database: &Arc<str>,
        gid: &Gid,
        age: Duration,
    ) -> Result<bool, Trouble> {
        if self.registry.is_own(gid) {
            return Ok(!self.registry.is_in_flight(gid));
        }
        if age >= self.timing.linger_after {
            return Ok(true);
        }
        if age < self.timing.orphan_after {
            return Ok(false);
        }
        let uid = write_uid(gid.decider_shard());
        let mut lease = self.access.lease_written(&uid, database).await?;
        Ok(!settle::is_decider_alive(&mut lease, gid).await?)
    }

    /// What is prepared under names of ours, and the least time for which.
    async fn list(
        &self,
        database: &Arc<str>,
        report: Option<&mut Report>,
    ) -> (Prepared, BTreeMap<Gid, Duration>) {
        let asking =
            self.access.pools.shards().map(|shard| async move {
                (shard, list_shard(&self.access, shard, database).await)
            });
        let mut failed: Vec<(ShardId, Trouble)> = vec![];
        let mut prepared = Prepared::new();
        let mut ages = BTreeMap::new();
        for (shard, listed) in join_all(asking).await {
            let rows = match listed {
                Ok(rows) => rows,
                Err(trouble) => {
                    failed.push((shard, trouble));
                    continue;
                }
            };
            for (name, age) in rows {
                let name = match PreparedName::parse(&name) {
                    Ok(name) => name,
                    Err(GidError::Foreign) => continue,
                    Err(error) => {
                        failed.push((shard, error.into()));
                        continue;
                    }
                };
                let oldest: &mut Duration = ages.entry(name.gid.clone()).or_default();
                *oldest = age.max(*oldest);
                prepared
                    .entry(name.gid.clone())
                    .or_default()
                    .push((shard, name));
            }
        }
        if let Some(report) = report {
            for (shard, trouble) in failed {
                report.fail(&self.uid(shard), None, trouble);
            }
        }
        (prepared, ages)
    }

    pub(super) fn uid(&self, shard: ShardId) -> String {
        self.access
            .uid(shard)
            .map_or_else(|| shard.to_string(), ToString::to_string)
    }
}

async fn list_shard(
    access: &Access,
    shard: ShardId,
    database: &Arc<str>,
) -> Result<Vec<(String, Duration)>, Trouble> {
    let mut lease = access.lease(shard, database).await?;
    let sql = format!(
        "SELECT gid, (extract(epoch FROM clock_timestamp() - prepared) * 1000)::int8 \
         FROM pg_catalog.pg_prepared_xacts \
         WHERE database = current_database() AND starts_with(gid, '{PREFIX}')"
    );
    let found = settle::run(&mut lease, &sql).await?;
    let rows = found.answers.into_iter().flat_map(|answer| answer.rows);
    let read = rows.filter_map(|row| {
        let mut values = row.into_iter();
        let name = values.next()??;
        let age_ms = values.next()??.parse().unwrap_or(0);
        Some((name, Duration::from_millis(age_ms)))
    });
    Ok(read.collect())
}

/// Says what is new.
fn log(report: &Report, known: &mut BTreeSet<String>) {
    for gid in &report.committed {
        tracing::info!(%gid, "orphan transaction committed");
    }
    for gid in &report.rolled_back {
        tracing::info!(%gid, "orphan transaction rolled back");
    }
    let problems: BTreeSet<String> = report.problems.iter().map(ToString::to_string).collect();
    for problem in problems.difference(known) {
        tracing::warn!(%problem, "recovery of transactions is delayed");
    }
    *known = problems;
}
