//! The thin shell around [`Commit`]: sends what it wants sent, all of a list at once, and feeds it
//! what came back.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use pg::Diagnostic;
use pool::{Backend, BackendError};

use super::error::{CommitError, Failure};
use super::exchange::Exchange;
use super::gid::{DeciderBackend, PreparedName, write_uid};
use super::machine::{Commit, Effect, Event, Outcome, Participant, Reply, Request, Verdict};
use super::parallel::join_all;
use super::registry::{InFlight, Registry};
use super::statement;
use super::step::{Step, Steps};
use crate::recovery::{Access, settle};

/// Called at every [`Step`]; a test kills the router there.
pub type StepHook = Arc<dyn Fn(Step) + Send + Sync>;

/// Commits the transactions of a router. Shared by its sessions.
#[derive(Clone)]
pub struct Committer {
    /// What is in flight.
    pub registry: Arc<Registry>,
    /// How the router itself reaches the shards, to settle and to finish.
    pub access: Access,
    /// How long it tries.
    pub patience: Patience,
    /// Sees every step.
    pub hook: Option<StepHook>,
}

/// How long a client is kept waiting for what can only be tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the second phase on a shard that doesn't do it; after that the client is told of the
    /// commit, with a warning.
    pub finish: Duration,
    /// For what a lost decider decided; after that the client is told that it isn't known (08007).
    /// Far less than [`crate::recovery::Timing::retention`], so that the decision row is still
    /// there.
    pub settle: Duration,
}

/// A shard of a transaction that is to be committed.
#[derive(Debug)]
pub struct Enlisted<'a> {
    /// The connection: in the transaction, with no answer outstanding.
    pub backend: &'a mut Backend,
    /// Something was written there, or may have been.
    pub wrote: bool,
    /// PostgreSQL would let the transaction be prepared.
    pub can_prepare: bool,
}

/// A transaction that was committed.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Committed {
    /// For the client: what deferred triggers raised, and a warning for each shard whose second
    /// phase is delayed.
    pub notices: Vec<Diagnostic>,
}

/// What is learned on the way.
#[derive(Debug, Default)]
struct Notes {
    in_flight: Option<InFlight>,
    /// By participant: its shard, as it is written.
    uids: Vec<String>,
    /// By participant: its number among the prepared ones.
    numbers: Vec<Option<u32>>,
    /// By participant: its transaction's number, and the session's `synchronous_commit`.
    xids: Vec<Option<(u64, String)>>,
    failures: Vec<Option<Failure>>,
    notices: Vec<Diagnostic>,
    /// A COMMIT PREPARED was done, but may not be on a standby.
    is_undurable: bool,
}

/// A request that came to its end.
struct Ended {
    participant: usize,
    request: Request,
    reply: Reply,
    answer: Exchange,
}

// === impl Patience ===

impl Default for Patience {
    fn default() -> Self {
        Self {
            finish: Duration::from_secs(5),
            settle: Duration::from_secs(30),
        }
    }
}

// === impl Committer ===

impl Committer {
    /// Commits a transaction on all of its shards, or on none. Afterwards every connection is
    /// outside a transaction, or lost; after an error those that had prepared are cleaned before
    /// their next lease, since settings that the client made within the transaction outlive its
    /// PREPARE there.
    ///
    /// # Errors
    /// See [`CommitError`]. With [`CommitError::Unknown`] it isn't known whether it was committed;
    /// with all others nothing of it is left.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, it leaves the outcome to recovery, and the connections are closed.
    /// The client's own cancel must not be sent to a shard meanwhile.
    pub async fn commit(&self, shards: &mut [Enlisted<'_>]) -> Result<Committed, CommitError> {
        let roster = shards.iter().map(|shard| Participant {
            wrote: shard.wrote,
            can_prepare: shard.can_prepare,
        });
        let (mut commit, mut effects) = match Commit::new(roster.collect()) {
            Ok(begun) => begun,
            Err(refused) => {
                let uids = [refused.first, refused.second].map(|at| uid(shards, at));
                join_all(
                    shards
                        .iter_mut()
                        .map(|s| Exchange::run(s.backend, "ROLLBACK")),
                )
                .await;
                return Err(CommitError::Unpreparable { shards: uids });
            }
        };
        let mut notes = Notes::new(shards.len());
        let steps = Mutex::new(Steps::default());
        while !effects.is_empty() {
            let mut events = vec![];
            let mut requests = vec![];
            for effect in effects.drain(..) {
                match effect {
                    Effect::Send { to, request } => requests.push((to, request)),
                    Effect::Settle => {
                        self.at(steps.lock().before(Request::Settle));
                        let verdict = self.settle(shards, commit.decider(), &notes).await;
                        self.at(steps.lock().after(Request::Settle));
                        events.push(Event::Settled(verdict));
                    }
                    Effect::Tell(_) => {}
                }
            }
            for ended in self.send(shards, &requests, (&notes, &steps)).await {
                events.push(self.note(shards, commit.decider(), &mut notes, ended));
            }
            for event in events {
                let wanted;
                (commit, wanted) = commit.on(event);
                effects.extend(wanted);
            }
        }
        self.conclude(shards, &commit, notes)
    }

    fn at(&self, step: Step) {
        if let Some(hook) = &self.hook {
            hook(step);
        }
    }

    /// Sends requests, each to another participant, and waits for all answers.
    async fn send(
        &self,
        shards: &mut [Enlisted<'_>],
        requests: &[(usize, Request)],
        (notes, steps): (&Notes, &Mutex<Steps>),
    ) -> Vec<Ended> {
        let asked = shards.iter_mut().enumerate().filter_map(|(at, shard)| {
            let (_, request) = requests.iter().find(|(to, _)| *to == at)?;
            Some((at, shard, *request))
        });
        let asking = asked.map(|(participant, shard, request)| async move {
            self.at(steps.lock().before(request));
            let answer = match (request, notes.text(participant, request)) {
                (Request::Finish, _) => self.finish(shard, participant, notes).await,
                // A connection is asked once in its life.
                (Request::Identify, _) if shard.backend.started_us.is_some() => Exchange::default(),
                (Request::CommitPrepared, Some(sql)) => {
                    commit_prepared(shard.backend, &sql, notes.level(participant)).await
                }
                (_, Some(sql)) => Exchange::run(shard.backend, &sql).await,
                (_, None) => Exchange::failed(shard.backend.violation("no name for a transaction")),
            };
            self.at(steps.lock().after(request));
            Ended {
                participant,
                request,
                reply: reply(request, &answer),
                answer,
            }
        });
        join_all(asking).await
    }

    /// Learns from an answer.
    fn note(
        &self,
        shards: &mut [Enlisted<'_>],
        decider: usize,
        notes: &mut Notes,
        mut ended: Ended,
    ) -> Event {
        let at = ended.participant;
        let is_good = ended.reply == Reply::Done;
        match ended.request {
            Request::Identify if is_good => {
                if let Err(error) = self.begin(shards, decider, notes, &ended.answer) {
                    ended.reply = Reply::Refused;
                    notes.fail(at, error);
                }
            }
            Request::Prepare if is_good => {
                let level = ended.answer.value(3, 0).unwrap_or("on").to_owned();
                let xid = ended.answer.value(1, statement::DURABLE_XID);
                match xid.and_then(|xid| xid.parse().ok()) {
                    Some(xid) => notes.xids[at] = Some((xid, level)),
                    None => ended.reply = Reply::Lost,
                }
            }
            Request::RollbackPrepared => shards[at].backend.require_discard(),
            Request::CommitPrepared | Request::Finish if is_good => {
                notes.is_undurable |= ended.answer.has_warning();
            }
            _ => {}
        }
        if !matches!(ended.request, Request::Rollback | Request::RollbackPrepared) {
            notes.notices.append(&mut ended.answer.take_notices());
        }
        if let Some(error) = ended.answer.error.take() {
            notes.fail(at, failure(ended.request, error));
        } else if ended.reply != Reply::Done {
            notes.fail(at, Failure::RolledBack);
        }
        Event::Answered {
            from: at,
            reply: ended.reply,
        }
    }

    /// Names the transaction, now that its decider is known.
    fn begin(
        &self,
        shards: &mut [Enlisted<'_>],
        decider: usize,
        notes: &mut Notes,
        answer: &Exchange,
    ) -> Result<(), Failure> {
        let Some(Enlisted { backend, .. }) = shards.get_mut(decider) else {
            return Err(Failure::Unidentified);
        };
        let number = |column| answer.value(1, column).and_then(|text| text.parse().ok());
        let pid = backend.process_id();
        if number(0) == Some(i64::from(pid)) {
            backend.started_us = number(1);
        }
        let start_us = backend.started_us.ok_or(Failure::Unidentified)?;
        let backend = DeciderBackend { pid, start_us };
        let begun = self.registry.begin(&uid(shards, decider), backend);
        notes.in_flight = Some(begun.map_err(Failure::Name)?);
        let mut next = 0..;
        for (at, shard) in shards.iter().enumerate() {
            if shard.wrote && at != decider {
                notes.numbers[at] = next.next();
            }
            notes.uids.push(write_uid(shard.backend.shard()));
        }
        Ok(())
    }

    async fn settle(&self, shards: &[Enlisted<'_>], decider: usize, notes: &Notes) -> Verdict {
        let (Some(in_flight), Some(shard)) = (&notes.in_flight, shards.get(decider)) else {
            return Verdict::Unsettled;
        };
        let database = &shard.backend.identity().database;
        settle::patiently(
            &self.access,
            database,
            in_flight.gid(),
            self.patience.settle,
        )
        .await
    }

    /// COMMIT PREPARED over another connection.
    async fn finish(&self, shard: &Enlisted<'_>, at: usize, notes: &Notes) -> Exchange {
        let (Some(name), Some((xid, _))) = (notes.name(at), &notes.xids[at]) else {
            return Exchange::default();
        };
        let place = (&**shard.backend.shard(), &shard.backend.identity().database);
        let done =
            settle::finish_patiently(&self.access, place, (&name, *xid), self.patience.finish)
                .await;
        match done {
            Ok(()) => Exchange::default(),
            Err(error) => Exchange::failed(error),
        }
    }

    fn conclude(
        &self,
        shards: &[Enlisted<'_>],
        commit: &Commit,
        mut notes: Notes,
    ) -> Result<Committed, CommitError> {
        let gid = notes
            .in_flight
            .as_ref()
            .map(|in_flight| in_flight.gid().clone());
        match commit.outcome() {
            Some(Outcome::Committed { unfinished }) => {
                let mut notices = std::mem::take(&mut notes.notices);
                for at in unfinished {
                    notices.push(delayed(&uid(shards, *at), gid.as_ref()));
                }
                if let Some(gid) = gid.filter(|_| unfinished.is_empty() && !notes.is_undurable) {
                    let decider = shards.get(commit.decider());
                    if let Some(decider) = decider {
                        self.registry
                            .confirm(&decider.backend.identity().database, gid);
                    }
                }
                Ok(Committed { notices })
            }
            Some(Outcome::RolledBack(cause)) => Err(CommitError::Failed {
                shard: uid(shards, cause.participant),
                request: cause.request,
                failure: notes.take_failure(cause.participant),
            }),
            Some(Outcome::Unknown(cause)) => Err(CommitError::Unknown {
                shard: uid(shards, cause.participant),
                gid: gid.map(Box::new),
                failure: notes.take_failure(cause.participant),
            }),
            None => {
                stdx::never!("a commit stopped before its end");
                Err(CommitError::Unknown {
                    shard: uid(shards, commit.decider()),
                    gid: gid.map(Box::new),
                    failure: Failure::Unidentified,
                })
            }
        }
    }
}

impl std::fmt::Debug for Committer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Committer")
            .field("registry", &self.registry)
            .field("patience", &self.patience)
            .finish_non_exhaustive()
    }
}

// === impl Notes ===

impl Notes {
    fn new(count: usize) -> Self {
        Self {
            numbers: vec![None; count],
            xids: vec![None; count],
            failures: (0..count).map(|_| None).collect(),
            ..Self::default()
        }
    }

    /// What a participant's prepared transaction is called.
    fn name(&self, at: usize) -> Option<PreparedName> {
        let number = self.numbers.get(at).copied().flatten()?;
        Some(self.in_flight.as_ref()?.gid().participant(number))
    }

    /// The level of durability of a participant's session.
    fn level(&self, at: usize) -> &str {
        let noted = self.xids.get(at).and_then(Option::as_ref);
        noted.map_or("on", |(_, level)| level.as_str())
    }

    /// A request as SQL; nothing when what it needs isn't known.
    fn text(&self, at: usize, request: Request) -> Option<String> {
        Some(match request {
            Request::Commit => "COMMIT".to_owned(),
            Request::Rollback => "ROLLBACK".to_owned(),
            Request::Identify => statement::IDENTIFY.to_owned(),
            Request::Prepare => statement::prepare(&self.name(at)?),
            Request::CommitPrepared => statement::commit_prepared(&self.name(at)?),
            Request::RollbackPrepared => statement::rollback_prepared(&self.name(at)?),
            Request::Decide => {
                let noted = self.xids.iter().zip(&self.uids);
                let prepared = noted.filter_map(|(xid, uid)| {
                    let (xid, _) = xid.as_ref()?;
                    Some((uid.clone(), *xid))
                });
                let prepared: Vec<(String, u64)> = prepared.collect();
                statement::decide(self.in_flight.as_ref()?.gid(), &prepared)
            }
            Request::Finish | Request::Settle => return None,
        })
    }

    /// The first failure of a participant is the one that is told.
    fn fail(&mut self, at: usize, failure: Failure) {
        if let Some(place) = self.failures.get_mut(at) {
            place.get_or_insert(failure);
        }
    }

    fn take_failure(&mut self, at: usize) -> Failure {
        let found = self.failures.get_mut(at).and_then(Option::take);
        found.unwrap_or(Failure::RolledBack)
    }
}

// === free functions ===

/// COMMIT PREPARED as durable as PREPARE was; it takes the session's level, so that one is raised
/// for it where the client lowered it.
async fn commit_prepared(backend: &mut Backend, sql: &str, level: &str) -> Exchange {
    if !statement::is_weak(level) {
        return Exchange::run(backend, sql).await;
    }
    let raised = Exchange::run(backend, "SET synchronous_commit = on").await;
    if raised.error.is_some() {
        return raised;
    }
    let done = Exchange::run(backend, sql).await;
    let lowered = Exchange::run(backend, &format!("SET synchronous_commit = {level}")).await;
    if lowered.error.is_some() {
        backend.poison();
    }
    done
}

/// What an answer means. A COMMIT or PREPARE of a failed transaction answers ROLLBACK without an
/// error; an error that ends the connection tells nothing of what was done before; and a warning
/// after the decision row was inserted tells that the commit may not be on a standby yet.
fn reply(request: Request, answer: &Exchange) -> Reply {
    match &answer.error {
        Some(error) if error.is_fatal() => return Reply::Lost,
        Some(BackendError::Server { .. }) => return Reply::Refused,
        Some(_) => return Reply::Lost,
        None => {}
    }
    let (tag_at, tag, is_strict) = match request {
        Request::Commit => (0, "COMMIT", false),
        Request::Prepare => (2, "PREPARE TRANSACTION", true),
        Request::Decide => (3, "COMMIT", true),
        Request::Rollback
        | Request::Identify
        | Request::CommitPrepared
        | Request::RollbackPrepared
        | Request::Finish
        | Request::Settle => return Reply::Done,
    };
    match answer.answers.get(tag_at) {
        Some(done) if done.tag != tag => Reply::Refused,
        Some(done) if is_strict && done.has_warning() => Reply::Lost,
        Some(_) => Reply::Done,
        None => Reply::Lost,
    }
}

/// An error of the decision row itself is none of the client's.
fn failure(request: Request, error: BackendError) -> Failure {
    let schema = match &error {
        BackendError::Server { diagnostic, .. } => diagnostic.extra.as_ref(),
        BackendError::Lost { .. } | BackendError::Protocol { .. } => None,
    };
    match schema.and_then(|extra| extra.schema.as_deref()) {
        Some("kintsugi") if request == Request::Decide => Failure::Overtaken,
        _ => Failure::Backend(error),
    }
}

fn uid(shards: &[Enlisted<'_>], at: usize) -> String {
    shards
        .get(at)
        .map_or_else(String::new, |shard| shard.backend.shard().to_string())
}

/// Tells the client that its commit isn't to be seen everywhere yet.
fn delayed(shard: &str, gid: Option<&super::Gid>) -> Diagnostic {
    let name = gid.map_or_else(String::new, ToString::to_string);
    Diagnostic::warning(
        pg::SqlState::WARNING,
        format!("transaction {name} is committed, but not finished on shard {shard}"),
    )
    .detail("Its rows are locked and not seen there until the shard can be reached again.")
    .hint("The router finishes it by itself.")
}
