//! Removes decision rows: a commit row when every participant has confirmed, an abort row when its
//! decider's backend is gone. Never by age alone.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pool::Backend;
use topology::ShardId;

use super::report::{Report, Trouble};
use super::round::Recovery;
use super::settle;
use crate::commit::Gid;
use crate::commit::statement::quote;

/// Most old rows looked at in one round, of a shard.
const ROWS_MAX: usize = 500;

/// An abort row keeps a late decider from committing; without its backend there is none. A start
/// that isn't shown to this user counts as the same.
const FORGET_ABORTS: &str = "DELETE FROM kintsugi.decision d WHERE d.outcome = 'abort' \
     AND NOT EXISTS (SELECT FROM pg_catalog.pg_stat_activity a \
     WHERE a.pid = split_part(d.gid, '_', 5)::int4 AND (a.backend_start IS NULL \
     OR (extract(epoch FROM a.backend_start) * 1000000)::int8 = split_part(d.gid, '_', 6)::int8))";

/// A commit row.
struct Old {
    gid: Gid,
    age: Duration,
    participants: Vec<(String, u64)>,
}

// === impl Recovery ===

impl Recovery {
    pub(super) async fn sweep(&self, database: &Arc<str>, report: &mut Report) {
        for shard in self.access.pools.shards() {
            if let Err(trouble) = self.sweep_shard(database, shard, report).await {
                report.fail(&self.uid(shard), None, trouble);
            }
        }
    }

    async fn sweep_shard(
        &self,
        database: &Arc<str>,
        shard: ShardId,
        report: &mut Report,
    ) -> Result<(), Trouble> {
        let confirmed = self.registry.take_confirmed(database, &self.uid(shard));
        let mut lease = self.access.lease(shard, database).await?;
        report.forgotten += forget(&mut lease, &confirmed).await?;
        let aborts = settle::run(&mut lease, FORGET_ABORTS).await?;
        report.forgotten += aborts
            .answers
            .first()
            .map_or(0, |answer| count(&answer.tag));
        let (old, unreadable) = self.old(&mut lease).await?;
        drop(lease);
        for error in unreadable {
            report.fail(&self.uid(shard), None, error);
        }
        let mut confirmed = vec![];
        for row in old.iter().filter(|row| self.may_go(row)) {
            match self.confirm(database, row).await {
                Ok(()) => confirmed.push(row.gid.clone()),
                Err((uid, trouble)) => report.fail(&uid, Some(&row.gid), trouble),
            }
        }
        if !confirmed.is_empty() {
            let mut lease = self.access.lease(shard, database).await?;
            report.forgotten += forget(&mut lease, &confirmed).await?;
        }
        Ok(())
    }

    /// Its router needs it no more.
    fn may_go(&self, row: &Old) -> bool {
        if self.registry.is_own(&row.gid) {
            !self.registry.is_in_flight(&row.gid)
        } else {
            row.age >= self.timing.retention
        }
    }

    async fn old(&self, backend: &mut Backend) -> Result<(Vec<Old>, Vec<Trouble>), Trouble> {
        let sweep_after_ms = self.timing.sweep_after.as_millis();
        // In no order: a row that can't go must not keep others from being looked at.
        let sql = format!(
            "SELECT d.gid, (extract(epoch FROM clock_timestamp() - d.at) * 1000)::int8, u.uid, u.xid \
             FROM (SELECT * FROM kintsugi.decision WHERE outcome = 'commit' \
             AND at < clock_timestamp() - {sweep_after_ms} * interval '1 millisecond' \
             ORDER BY random() LIMIT {ROWS_MAX}) d \
             LEFT JOIN LATERAL unnest(d.participants, d.xids) u(uid, xid) ON true"
        );
        let found = settle::run(backend, &sql).await?;
        let mut by_gid: BTreeMap<String, Vec<Vec<Option<String>>>> = BTreeMap::new();
        for row in found.answers.into_iter().flat_map(|answer| answer.rows) {
            if let Some(Some(gid)) = row.first() {
                by_gid.entry(gid.clone()).or_default().push(row);
            }
        }
        let (mut old, mut unreadable) = (vec![], vec![]);
        for (gid, rows) in by_gid {
            let age_ms = rows
                .first()
                .and_then(|row| row.get(1)?.as_ref()?.parse().ok());
            match Gid::parse(&gid) {
                Ok(gid) => old.push(Old {
                    gid,
                    age: Duration::from_millis(age_ms.unwrap_or(0)),
                    participants: settle::read_participants(&rows, 2),
                }),
                Err(error) => unreadable.push(error.into()),
            }
        }
        Ok((old, unreadable))
    }

    /// Makes sure of every participant.
    async fn confirm(&self, database: &Arc<str>, row: &Old) -> Result<(), (String, Trouble)> {
        for (number, (uid, xid)) in (0..).zip(&row.participants) {
            let failed = |trouble| (uid.clone(), trouble);
            let lease = self.access.lease_written(uid, database).await;
            let mut lease = lease.map_err(failed)?;
            let name = row.gid.participant(number);
            settle::finish(&mut lease, &name, *xid)
                .await
                .map_err(failed)?;
        }
        Ok(())
    }
}

async fn forget(backend: &mut Backend, gids: &[Gid]) -> Result<u64, Trouble> {
    if gids.is_empty() {
        return Ok(0);
    }
    let names: Vec<String> = gids.iter().map(|gid| quote(&gid.to_string())).collect();
    let sql = format!(
        "DELETE FROM kintsugi.decision WHERE outcome = 'commit' AND gid = ANY (ARRAY[{}])",
        names.join(", ")
    );
    let done = settle::run(backend, &sql).await?;
    Ok(done.answers.first().map_or(0, |answer| count(&answer.tag)))
}

/// The number at the end of a command tag.
fn count(tag: &str) -> u64 {
    tag.rsplit(' ')
        .next()
        .and_then(|number| number.parse().ok())
        .unwrap_or(0)
}
