//! The thin shell around [`Claim`], and the ends of participants once it is known what was decided.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use pg::SqlState;
use pool::{Backend, BackendError};
use tokio::time::Instant;

use super::access::Access;
use super::claim::{Ask, Claim, Finding};
use super::report::Trouble;
use crate::commit::exchange::Exchange;
use crate::commit::statement::{commit_prepared, quote, rollback_prepared};
use crate::commit::{Gid, PreparedName, Verdict, write_uid};

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(200);

/// A write whose commit is durable: what was committed before it on that server is then durable
/// too. The message is transactional, so that it makes a commit record, and no table grows.
const WITNESS: &str =
    "BEGIN; SELECT pg_catalog.pg_logical_emit_message(true, 'kintsugi', ''); COMMIT";

/// Exact microseconds of a backend's start; see `kintsugi.whoami`.
const START_US: &str = "(extract(epoch FROM backend_start) * 1000000)::int8";

/// A decision that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settled {
    /// Committed, or else aborted.
    pub(crate) is_commit: bool,
    /// Of a commit: the prepared participants' uids, as they are written, and transaction numbers.
    pub(crate) participants: Vec<(String, u64)>,
}

/// Finds out, or determines, what was decided.
pub(crate) async fn claim(
    access: &Access,
    database: &Arc<str>,
    gid: &Gid,
) -> Result<Settled, Trouble> {
    let mut lease = access
        .lease_written(&write_uid(gid.decider_shard()), database)
        .await?;
    let mut claim = Claim::new();
    let mut participants = vec![];
    let mut trouble = Trouble::Lingering;
    while let Some(ask) = claim.ask() {
        let found = match ask {
            Ask::InsertAbort => insert_abort(&mut lease, gid, &mut participants).await,
            Ask::Terminate => terminate(&mut lease, gid).await,
            Ask::Witness => witness(&mut lease).await.map(|()| Finding::Done),
        };
        let finding = found.unwrap_or_else(|error| {
            trouble = error;
            Finding::Failed
        });
        claim = claim.on(finding);
    }
    match claim {
        Claim::Done(Verdict::Committed) => Ok(Settled {
            is_commit: true,
            participants,
        }),
        Claim::Done(Verdict::Aborted) => Ok(Settled {
            is_commit: false,
            participants: vec![],
        }),
        _ => Err(trouble),
    }
}

/// Claims again and again for a bounded time.
pub(crate) async fn patiently(
    access: &Access,
    database: &Arc<str>,
    gid: &Gid,
    patience: Duration,
) -> Verdict {
    match again(patience, || claim(access, database, gid)).await {
        Some(Ok(settled)) if settled.is_commit => Verdict::Committed,
        Some(Ok(_)) => Verdict::Aborted,
        Some(Err(_)) | None => Verdict::Unsettled,
    }
}

/// Finishes a participant of a committed transaction, trying for a bounded time.
pub(crate) async fn finish_patiently(
    access: &Access,
    (shard, database): (&str, &Arc<str>),
    (name, xid): (&PreparedName, u64),
    patience: Duration,
) -> Result<(), BackendError> {
    let shard_written = write_uid(shard);
    let attempt = || async {
        let mut lease = access.lease_written(&shard_written, database).await?;
        finish(&mut lease, name, xid).await
    };
    let failed = |source| BackendError::Lost {
        shard: shard.into(),
        source,
    };
    match again(patience, attempt).await {
        Some(Ok(())) => Ok(()),
        Some(Err(trouble)) => Err(failed(std::io::Error::other(trouble))),
        None => Err(failed(std::io::ErrorKind::TimedOut.into())),
    }
}

/// Tries until it succeeds or the time is over: the last failure, or nothing when the last attempt
/// was still under way.
async fn again<T, F: Future<Output = Result<T, Trouble>>>(
    patience: Duration,
    attempt: impl Fn() -> F,
) -> Option<Result<T, Trouble>> {
    let deadline = Instant::now() + patience;
    loop {
        let result = tokio::time::timeout_at(deadline, attempt()).await.ok()?;
        if result.is_ok() || Instant::now() + PAUSE >= deadline {
            return Some(result);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Commits a prepared participant durably; or makes sure that this was done before. That nothing is
/// prepared there proves nothing by itself: the transaction's number must be a committed one.
pub(crate) async fn finish(
    backend: &mut Backend,
    name: &PreparedName,
    xid: u64,
) -> Result<(), Trouble> {
    // Between the look and the COMMIT PREPARED another may finish it: then it is looked at once
    // more.
    for _ in 0..2 {
        if !is_prepared(backend, name).await? {
            break;
        }
        let done = Exchange::run(backend, &commit_prepared(name)).await;
        if done.error.is_none() && !done.has_warning() {
            return Ok(());
        }
        match done.into_result() {
            Err(error) if !is_missing(&error) => return Err(error.into()),
            _ => {}
        }
    }
    let sql = format!("SELECT pg_catalog.pg_xact_status('{xid}'::pg_catalog.xid8)");
    match run(backend, &sql).await?.value(0, 0) {
        Some("committed") => witness(backend).await,
        _ => Err(Trouble::Vanished),
    }
}

/// Rolls a prepared participant back. That it is gone is as good: no commit row can come any more.
pub(crate) async fn undo(backend: &mut Backend, name: &PreparedName) -> Result<(), Trouble> {
    match run(backend, &rollback_prepared(name)).await {
        Ok(_) => Ok(()),
        Err(Trouble::Backend(error)) if is_missing(&error) => {
            if is_prepared(backend, name).await? {
                return Err(error.into());
            }
            Ok(())
        }
        Err(trouble) => Err(trouble),
    }
}

/// Makes everything that was committed on this server before durable.
async fn witness(backend: &mut Backend) -> Result<(), Trouble> {
    if run(backend, WITNESS).await?.has_warning() {
        return Err(Trouble::Undurable);
    }
    Ok(())
}

/// The backend that a transaction's name names is there.
pub(crate) async fn is_decider_alive(backend: &mut Backend, gid: &Gid) -> Result<bool, Trouble> {
    let decider = gid.decider();
    // A start that isn't shown to this user may be the same.
    let sql = format!(
        "SELECT 1 FROM pg_catalog.pg_stat_activity WHERE pid = {} \
         AND (backend_start IS NULL OR {START_US} = {})",
        decider.pid, decider.start_us
    );
    Ok(run(backend, &sql).await?.value(0, 0).is_some())
}

async fn insert_abort(
    backend: &mut Backend,
    gid: &Gid,
    participants: &mut Vec<(String, u64)>,
) -> Result<Finding, Trouble> {
    let gid = quote(&gid.to_string());
    let insert = format!(
        "INSERT INTO kintsugi.decision (gid, outcome, participants, xids) \
         VALUES ({gid}, 'abort', '{{}}', '{{}}') ON CONFLICT (gid) DO NOTHING"
    );
    match run(backend, &insert).await {
        Ok(done) if done.has_warning() => return Err(Trouble::Undurable),
        Ok(_) => {}
        Err(Trouble::Backend(BackendError::Server { diagnostic, .. }))
            if diagnostic.code == SqlState::LOCK_NOT_AVAILABLE =>
        {
            return Ok(Finding::Blocked);
        }
        Err(trouble) => return Err(trouble),
    }
    let look = format!(
        "SELECT d.outcome, u.uid, u.xid FROM kintsugi.decision d \
         LEFT JOIN LATERAL unnest(d.participants, d.xids) u(uid, xid) ON true WHERE d.gid = {gid}"
    );
    let found = run(backend, &look).await?;
    match found.value(0, 0) {
        Some("abort") => Ok(Finding::Abort),
        Some("commit") => {
            let answer = found.answers.first();
            *participants = answer
                .map(|answer| read_participants(&answer.rows, 1))
                .unwrap_or_default();
            Ok(Finding::Commit)
        }
        _ => Err(Trouble::Changed),
    }
}

/// Pairs of uid and transaction number, from this column on.
pub(crate) fn read_participants(rows: &[Vec<Option<String>>], from: usize) -> Vec<(String, u64)> {
    let pairs = rows.iter().filter_map(|row| {
        let uid = row.get(from)?.clone()?;
        let xid = row.get(from + 1)?.as_ref()?.parse().ok()?;
        Some((uid, xid))
    });
    pairs.collect()
}

/// Ends the decider, if its backend is still the same and in a transaction that wrote.
async fn terminate(backend: &mut Backend, gid: &Gid) -> Result<Finding, Trouble> {
    let decider = gid.decider();
    let sql = format!(
        "SELECT pg_catalog.pg_terminate_backend(pid, 5000) FROM pg_catalog.pg_stat_activity \
         WHERE pid = {} AND {START_US} = {} AND backend_xid IS NOT NULL",
        decider.pid, decider.start_us
    );
    match run(backend, &sql).await?.value(0, 0) {
        Some("f") => Err(Trouble::Lingering),
        _ => Ok(Finding::Done),
    }
}

async fn is_prepared(backend: &mut Backend, name: &PreparedName) -> Result<bool, Trouble> {
    let sql = format!(
        "SELECT 1 FROM pg_catalog.pg_prepared_xacts \
         WHERE gid = {} AND database = pg_catalog.current_database()",
        quote(&name.to_string())
    );
    Ok(run(backend, &sql).await?.value(0, 0).is_some())
}

pub(crate) async fn run(backend: &mut Backend, sql: &str) -> Result<Exchange, Trouble> {
    let mut exchange = Exchange::run(backend, sql).await;
    match exchange.error.take() {
        None => Ok(exchange),
        Some(error) => Err(error.into()),
    }
}

fn is_missing(error: &BackendError) -> bool {
    matches!(error, BackendError::Server { diagnostic, .. }
        if diagnostic.code == SqlState::UNDEFINED_OBJECT)
}
