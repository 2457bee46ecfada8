//! The protocol and the resolver over a small model of PostgreSQL, through every interleaving of
//! executions, answers, late requests, broken connections, refusals, and the death of the router.

use std::collections::HashSet;

use super::machine::{Commit, Effect, Event, Outcome, Participant, Reply, Request, Verdict};
use crate::recovery::{Ask, Claim, Finding};

/// What a shard has of the transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Tx {
    Open,
    /// Only on the decider: the decision row is inserted, the COMMIT not done.
    Inserted,
    Prepared,
    Committed,
    Aborted,
}

/// One participant's shard and the connection to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Shard {
    tx: Tx,
    is_connected: bool,
    backend_lives: bool,
    /// Sent, not executed: it may still be when the connection is broken already.
    queued: Option<Request>,
    /// Executed, the answer not delivered.
    answer: Option<Reply>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Row {
    Commit,
    Abort,
}

/// Someone who settles: the router itself, or any other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Resolver {
    claim: Option<Claim>,
    runs_left: u8,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    /// `None`: killed.
    router: Option<Commit>,
    settling: Option<Claim>,
    told: Option<Outcome>,
    shards: Vec<Shard>,
    decider: usize,
    row: Option<Row>,
    resolvers: [Resolver; 2],
    failures_left: u8,
}

#[derive(Clone, Copy, Debug)]
enum Action {
    Execute(usize),
    Refuse(usize),
    Deliver(usize),
    Break(usize),
    Vanish(usize),
    Exit(usize),
    Kill,
    Settle,
    SettleFails,
    Resolve(usize),
    ResolverFails(usize),
    Apply(usize, usize),
    Forget,
}

// === impl World ===

impl World {
    fn new(count: usize, failures: u8) -> Self {
        let writer = Participant {
            wrote: true,
            can_prepare: true,
        };
        let (commit, effects) = Commit::new(vec![writer; count]).unwrap();
        let shard = Shard {
            tx: Tx::Open,
            is_connected: true,
            backend_lives: true,
            queued: None,
            answer: None,
        };
        let resolver = Resolver {
            claim: None,
            runs_left: 1,
        };
        let mut world = Self {
            decider: commit.decider(),
            router: Some(commit),
            settling: None,
            told: None,
            shards: vec![shard; count],
            row: None,
            resolvers: [resolver; 2],
            failures_left: failures,
        };
        world.perform(effects);
        world
    }

    fn perform(&mut self, effects: Vec<Effect>) {
        for effect in effects {
            match effect {
                Effect::Send { to, request } => {
                    // On another connection, which this model has do it at once or not at all.
                    if request == Request::Finish {
                        self.shards[to].answer = Some(Reply::Lost);
                        self.shards[to].queued = Some(Request::Finish);
                    } else if self.shards[to].is_connected {
                        self.shards[to].queued = Some(request);
                    } else {
                        self.shards[to].answer = Some(Reply::Lost);
                    }
                }
                Effect::Settle => self.settling = Some(Claim::new()),
                Effect::Tell(outcome) => self.told = Some(outcome),
            }
        }
    }

    fn event(&mut self, event: Event) {
        if let Some(commit) = self.router.take() {
            let (commit, effects) = commit.on(event);
            self.router = Some(commit);
            self.perform(effects);
        }
    }

    fn actions(&self) -> Vec<Action> {
        let mut found = vec![];
        let may_fail = self.failures_left > 0;
        let lives = self.router.is_some() && self.told.is_none();
        for (at, shard) in self.shards.iter().enumerate() {
            if shard.queued.is_some() && shard.backend_lives {
                found.push(Action::Execute(at));
                if may_fail && shard.tx != Tx::Inserted {
                    found.push(Action::Refuse(at));
                }
            }
            if shard.answer.is_some() && lives {
                found.push(Action::Deliver(at));
            }
            if may_fail && shard.is_connected && lives {
                found.push(Action::Break(at));
            }
            if !shard.is_connected && shard.backend_lives {
                if shard.queued.is_some() && shard.tx != Tx::Inserted {
                    found.push(Action::Vanish(at));
                } else if shard.queued.is_none() {
                    found.push(Action::Exit(at));
                }
            }
        }
        if may_fail && lives {
            found.push(Action::Kill);
        }
        if self.settling.is_some() && lives {
            found.push(Action::Settle);
            if may_fail {
                found.push(Action::SettleFails);
            }
        }
        let prepared = self.shards.iter().any(|shard| shard.tx == Tx::Prepared);
        for (who, resolver) in self.resolvers.iter().enumerate() {
            match resolver.claim {
                None if prepared && resolver.runs_left > 0 => found.push(Action::Resolve(who)),
                Some(Claim::Done(Verdict::Committed | Verdict::Aborted)) => {
                    let shards = self.shards.iter().enumerate();
                    let open = shards.filter(|(_, shard)| shard.tx == Tx::Prepared);
                    found.extend(open.map(|(at, _)| Action::Apply(who, at)));
                }
                Some(claim) if claim.ask().is_some() => {
                    found.push(Action::Resolve(who));
                    if may_fail {
                        found.push(Action::ResolverFails(who));
                    }
                }
                _ => {}
            }
        }
        if self.may_forget() {
            found.push(Action::Forget);
        }
        found
    }

    /// A commit row goes when its router has ended and every participant has confirmed; an abort
    /// row when the decider's backend is gone.
    fn may_forget(&self) -> bool {
        let has_ended = self.router.is_none() || self.told.is_some();
        match self.row {
            Some(Row::Commit) => has_ended && self.shards.iter().all(|s| s.tx == Tx::Committed),
            Some(Row::Abort) => !self.shards[self.decider].backend_lives,
            None => false,
        }
    }

    fn act(&mut self, action: Action) {
        match action {
            Action::Execute(at) => self.execute(at),
            Action::Refuse(at) => {
                self.failures_left -= 1;
                let shard = &mut self.shards[at];
                if shard.tx == Tx::Open {
                    shard.tx = Tx::Aborted;
                }
                shard.queued = None;
                shard.answer = Some(Reply::Refused);
            }
            Action::Deliver(from) => {
                let reply = self.shards[from].answer.take().unwrap();
                if self.shards[from].queued == Some(Request::Finish) {
                    self.shards[from].queued = None;
                }
                self.event(Event::Answered { from, reply });
            }
            Action::Break(at) => {
                self.failures_left -= 1;
                self.disconnect(at);
            }
            Action::Vanish(at) => self.shards[at].queued = None,
            Action::Exit(at) => self.exit(at),
            Action::Kill => {
                self.failures_left -= 1;
                self.router = None;
                self.settling = None;
                for at in 0..self.shards.len() {
                    self.disconnect(at);
                }
            }
            Action::Settle => {
                let claim = self.advance(self.settling.unwrap());
                self.settle(claim);
            }
            Action::SettleFails => {
                self.failures_left -= 1;
                self.settle(self.settling.unwrap().on(Finding::Failed));
            }
            Action::Resolve(who) => {
                let resolver = self.resolvers[who];
                if resolver.claim.is_none() {
                    self.resolvers[who].runs_left -= 1;
                }
                let claim = resolver.claim.unwrap_or_default();
                self.resolvers[who].claim = Some(self.advance(claim));
            }
            Action::ResolverFails(who) => {
                self.failures_left -= 1;
                self.resolvers[who].claim = None;
                self.resolvers[who].runs_left = 1;
            }
            Action::Apply(who, at) => {
                let is_commit = self.resolvers[who].claim == Some(Claim::Done(Verdict::Committed));
                self.shards[at].tx = if is_commit {
                    Tx::Committed
                } else {
                    Tx::Aborted
                };
            }
            Action::Forget => self.row = None,
        }
    }

    fn disconnect(&mut self, at: usize) {
        let was_asked = self.shards[at].queued.is_some() || self.shards[at].answer.is_some();
        let shard = &mut self.shards[at];
        if shard.queued == Some(Request::Finish) {
            // That one is on a connection of its own.
            shard.is_connected = false;
            return;
        }
        shard.is_connected = false;
        shard.answer = was_asked.then_some(Reply::Lost);
    }

    fn exit(&mut self, at: usize) {
        let shard = &mut self.shards[at];
        shard.backend_lives = false;
        shard.queued = None;
        if matches!(shard.tx, Tx::Open | Tx::Inserted) {
            shard.tx = Tx::Aborted;
        }
    }

    fn settle(&mut self, claim: Claim) {
        self.settling = Some(claim);
        if let Claim::Done(verdict) = claim {
            self.settling = None;
            self.event(Event::Settled(verdict));
        }
    }

    /// The deciding shard answers a claim.
    fn advance(&mut self, claim: Claim) -> Claim {
        let finding = match (claim.ask().unwrap(), self.row) {
            (Ask::InsertAbort, _) if self.shards[self.decider].tx == Tx::Inserted => {
                Finding::Blocked
            }
            (Ask::InsertAbort, Some(Row::Commit)) => Finding::Commit,
            (Ask::InsertAbort, Some(Row::Abort)) => Finding::Abort,
            (Ask::InsertAbort, None) => {
                self.row = Some(Row::Abort);
                Finding::Abort
            }
            (Ask::Terminate, _) => {
                self.disconnect(self.decider);
                self.exit(self.decider);
                Finding::Done
            }
            (Ask::Witness, _) => Finding::Done,
        };
        claim.on(finding)
    }

    /// The server executes what was sent.
    fn execute(&mut self, at: usize) {
        let row = self.row;
        let shard = &mut self.shards[at];
        let request = shard.queued.take().unwrap();
        let mut reply = Reply::Done;
        match (request, shard.tx) {
            (Request::Prepare, Tx::Open) => shard.tx = Tx::Prepared,
            (Request::Decide, Tx::Open) if row.is_some() => {
                shard.tx = Tx::Aborted;
                reply = Reply::Refused;
            }
            (Request::Decide, Tx::Open) => {
                shard.tx = Tx::Inserted;
                shard.queued = Some(Request::Decide);
                return;
            }
            (Request::Decide, Tx::Inserted) => {
                shard.tx = Tx::Committed;
                self.row = Some(Row::Commit);
            }
            (Request::Rollback, Tx::Open) | (Request::RollbackPrepared, Tx::Prepared) => {
                shard.tx = Tx::Aborted;
            }
            (Request::CommitPrepared | Request::Finish, Tx::Prepared) => shard.tx = Tx::Committed,
            (Request::Identify, Tx::Open)
            | (Request::Rollback, _)
            | (Request::Finish, Tx::Committed) => {}
            _ => reply = Reply::Refused,
        }
        let shard = &mut self.shards[at];
        if shard.is_connected || request == Request::Finish {
            shard.answer = Some(reply);
        }
    }

    /// Nothing is left to happen: recovery has come by once more, and all must be well.
    fn check_end(&mut self) {
        let committed =
            self.row == Some(Row::Commit) || self.shards[self.decider].tx == Tx::Committed;
        for shard in &mut self.shards {
            if shard.tx == Tx::Prepared {
                shard.tx = if committed {
                    Tx::Committed
                } else {
                    Tx::Aborted
                };
            }
        }
        self.check_always();
        let all = |wanted: Tx| self.shards.iter().all(|shard| shard.tx == wanted);
        assert!(all(Tx::Committed) || all(Tx::Aborted), "half: {self:#?}");
        match &self.told {
            Some(Outcome::Committed { .. }) => assert!(all(Tx::Committed), "lost: {self:#?}"),
            Some(Outcome::RolledBack(_)) => assert!(all(Tx::Aborted), "undead: {self:#?}"),
            Some(Outcome::Unknown(_)) | None => {}
        }
    }

    /// Holds at every instant.
    fn check_always(&self) {
        let has = |wanted: Tx| self.shards.iter().any(|shard| shard.tx == wanted);
        assert!(!(has(Tx::Committed) && has(Tx::Aborted)), "half: {self:#?}");
        if let Some(Outcome::Committed { unfinished }) = &self.told {
            for (at, shard) in self.shards.iter().enumerate() {
                let may_wait = unfinished.contains(&at);
                assert!(
                    shard.tx == Tx::Committed || (may_wait && shard.tx == Tx::Prepared),
                    "acknowledged and not there: {self:#?}"
                );
            }
        }
    }
}

/// Goes through all states; returns how many, and how many ends of each kind.
fn explore(world: World) -> (usize, [usize; 4]) {
    let mut seen = HashSet::new();
    let mut ends = [0; 4];
    let mut open = vec![world];
    while let Some(world) = open.pop() {
        if !seen.insert(world.clone()) {
            continue;
        }
        world.check_always();
        let actions = world.actions();
        if actions.is_empty() {
            let kind = match &world.told {
                Some(Outcome::Committed { .. }) => 0,
                Some(Outcome::RolledBack(_)) => 1,
                Some(Outcome::Unknown(_)) => 2,
                None => 3,
            };
            ends[kind] += 1;
            world.clone().check_end();
        }
        for action in actions {
            let mut next = world.clone();
            next.act(action);
            open.push(next);
        }
    }
    (seen.len(), ends)
}

#[test]
fn two_participants_and_three_failures() {
    let (states, ends) = explore(World::new(2, 3));
    assert!(states > 10_000, "{states}");
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}

#[test]
fn three_participants_and_two_failures() {
    let (states, ends) = explore(World::new(3, 2));
    assert!(states > 10_000, "{states}");
    assert!(ends.iter().all(|count| *count > 0), "{ends:?}");
}
