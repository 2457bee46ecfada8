//! The protocol as a state machine without I/O.

use std::fmt;

/// One shard of a transaction that is about to commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Participant {
    /// Something was written there, or may have been.
    pub wrote: bool,
    /// PostgreSQL would let the transaction be prepared: no temporary table, LISTEN, NOTIFY,
    /// WITH HOLD cursor, exported snapshot.
    pub can_prepare: bool,
}

/// A transaction on its way to its end. Participants are named by their place in the list that
/// [`Commit::new`] was given.
///
/// ```text
/// no writer        Ending(Committed) ------------------------------> Done(Committed | RolledBack)
/// one writer       Alone -> Ending -------------------------------> Done
/// several writers
///   Identifying -> Preparing -> Deciding -> Ending(Committed) ----> Done(Committed)
///        |             |         |    |        ^   (unfinished participants: recovery's)
///        | refused     |         |    | lost   | commit row
///        | or lost     |         |    v        |
///        |             |         |  Settling --+
///        |             |         |    |    |
///        |             |         |    |    +-- unsettled -> Ending(Unknown) -> Done(Unknown)
///        v             v         v    v abort row
///        +-------------+---------+----+---> Ending(RolledBack) --> Done(RolledBack)
/// ```
///
/// The order is what makes it safe: every other writer is prepared before the decider is asked to
/// decide; nothing is committed after its PREPARE before the decision is known to be durable;
/// nothing is rolled back after its PREPARE unless the decider refused, or an abort row is durable
/// in the place where the commit row would have to be.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Commit {
    participants: Vec<Participant>,
    standings: Vec<Standing>,
    decider: usize,
    phase: Phase,
}

/// Where one participant stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standing {
    /// In its transaction, nothing asked.
    Open,
    /// A request is under way.
    Asked(Request),
    /// PREPARE was answered.
    Prepared,
    /// Its answer was lost, so that recovery must look after it.
    Unsure,
    /// Nothing of the transaction is left there.
    Ended,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Alone,
    Identifying,
    Preparing {
        failed: Option<Cause>,
    },
    Deciding,
    Settling {
        lost: Cause,
    },
    /// The last answers are awaited; they can only add to what is unfinished.
    Ending(Outcome),
    Done(Outcome),
}

/// What a participant, or in the case of [`Request::Settle`] the router itself, is asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Request {
    /// Plain COMMIT.
    Commit,
    /// Plain ROLLBACK.
    Rollback,
    /// Say which backend the decider is.
    Identify,
    /// PREPARE TRANSACTION.
    Prepare,
    /// Insert the decision row and COMMIT.
    Decide,
    /// COMMIT PREPARED, on the connection that prepared.
    CommitPrepared,
    /// ROLLBACK PREPARED, on the connection that prepared.
    RollbackPrepared,
    /// COMMIT PREPARED on another connection, after looking whether it was done already, again and
    /// again for a bounded time.
    Finish,
    /// Find out, or determine, what was decided.
    Settle,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reply {
    /// As asked.
    Done,
    /// The shard answered that it didn't.
    Refused,
    /// The connection broke, so that it may have been done or not.
    Lost,
}

/// What a decision came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// A commit row is there, and durable.
    Committed,
    /// An abort row is there: no commit row can come any more.
    Aborted,
    /// Not known yet.
    Unsettled,
}

/// What happens to a [`Commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A participant's request ended.
    Answered {
        /// The participant.
        from: usize,
        /// How.
        reply: Reply,
    },
    /// [`Effect::Settle`] ended.
    Settled(Verdict),
}

/// What a [`Commit`] wants done.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// Ask a participant. All requests of one list go out at once.
    Send {
        /// The participant.
        to: usize,
        /// What.
        request: Request,
    },
    /// Settle the decision, as one settles an orphan.
    Settle,
    /// Tell the client.
    Tell(Outcome),
}

/// Which participant's which request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cause {
    /// The participant.
    pub participant: usize,
    /// What it was asked.
    pub request: Request,
    /// How it ended.
    pub reply: Reply,
}

/// How a transaction ended.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Committed.
    Committed {
        /// Participants on which the second phase is left to recovery. Their rows are locked and
        /// not seen until then.
        unfinished: Vec<usize>,
    },
    /// Nothing of it is or will be there.
    RolledBack(Cause),
    /// Could not be found out.
    Unknown(Cause),
}

/// Two participants that can't be prepared: only one transaction can hold the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("participants {first} and {second} can both not be prepared")]
pub struct TooManyUnpreparable {
    /// One.
    pub first: usize,
    /// The other.
    pub second: usize,
}

// === impl Commit ===

impl Commit {
    /// Begins the end of a transaction.
    ///
    /// # Errors
    /// Two of several writers can't be prepared. Whoever runs statements refuses the second one
    /// before; here nothing was sent, and the caller rolls back.
    pub fn new(participants: Vec<Participant>) -> Result<(Self, Vec<Effect>), TooManyUnpreparable> {
        let writers = places(&participants, |p| p.wrote);
        let bound = places(&participants, |p| p.wrote && !p.can_prepare);
        let decider = match (bound.as_slice(), writers.as_slice()) {
            (&[first, second, ..], [_, _, ..]) => {
                return Err(TooManyUnpreparable { first, second });
            }
            (&[only], _) => only,
            (_, [.., last]) => *last,
            (_, []) => 0,
        };
        let commit = Self {
            standings: vec![Standing::Open; participants.len()],
            participants,
            decider,
            phase: Phase::Identifying,
        };
        Ok(match writers.len() {
            0 => commit.end(Outcome::Committed { unfinished: vec![] }),
            1 => commit.ask_decider(Phase::Alone, Request::Commit),
            _ => commit.ask_decider(Phase::Identifying, Request::Identify),
        })
    }

    /// The participant whose own transaction holds the decision, where there are several writers.
    #[must_use]
    pub fn decider(&self) -> usize {
        self.decider
    }

    /// The outcome, once there is one and nothing is under way.
    #[must_use]
    pub fn outcome(&self) -> Option<&Outcome> {
        match &self.phase {
            Phase::Done(outcome) => Some(outcome),
            Phase::Alone
            | Phase::Identifying
            | Phase::Preparing { .. }
            | Phase::Deciding
            | Phase::Settling { .. }
            | Phase::Ending(_) => None,
        }
    }

    /// Takes an event. An answer that nobody waits for changes nothing.
    #[must_use]
    pub fn on(mut self, event: Event) -> (Self, Vec<Effect>) {
        match event {
            Event::Answered { from, reply } => match self.standings.get(from).copied() {
                Some(Standing::Asked(request)) => {
                    let ended = after(request, reply);
                    if let Some(standing) = self.standings.get_mut(from) {
                        *standing = ended;
                    }
                    self.answered(Cause {
                        participant: from,
                        request,
                        reply,
                    })
                }
                _ => (self, vec![]),
            },
            Event::Settled(verdict) => match self.phase {
                Phase::Settling { lost } => self.settled(verdict, lost),
                _ => (self, vec![]),
            },
        }
    }

    fn answered(mut self, answer: Cause) -> (Self, Vec<Effect>) {
        let is_good = answer.reply == Reply::Done;
        match self.phase.clone() {
            // Alone -> Ending
            Phase::Alone => self.end(match answer.reply {
                Reply::Done => Outcome::Committed { unfinished: vec![] },
                Reply::Refused => Outcome::RolledBack(answer),
                Reply::Lost => Outcome::Unknown(answer),
            }),
            // Identifying -> Preparing | Ending(RolledBack)
            Phase::Identifying if is_good => {
                self.phase = Phase::Preparing { failed: None };
                self.ask(|p, at, decider| (p.wrote && at != decider).then_some(Request::Prepare))
            }
            Phase::Identifying => self.end(Outcome::RolledBack(answer)),
            // Preparing -> Preparing | Deciding | Ending(RolledBack)
            Phase::Preparing { failed } => {
                let failed = failed.or((!is_good).then_some(answer));
                match failed {
                    _ if self.is_waiting() => {
                        self.phase = Phase::Preparing { failed };
                        (self, vec![])
                    }
                    None => self.ask_decider(Phase::Deciding, Request::Decide),
                    Some(cause) => self.end(Outcome::RolledBack(cause)),
                }
            }
            // Deciding -> Ending(Committed | RolledBack) | Settling
            Phase::Deciding => match answer.reply {
                Reply::Done => self.end(Outcome::Committed { unfinished: vec![] }),
                Reply::Refused => self.end(Outcome::RolledBack(answer)),
                Reply::Lost => {
                    self.phase = Phase::Settling { lost: answer };
                    (self, vec![Effect::Settle])
                }
            },
            // Ending -> Ending | Done
            Phase::Ending(outcome) => self.ending(outcome, answer),
            Phase::Settling { .. } | Phase::Done(_) => (self, vec![]),
        }
    }

    /// `Settling -> Ending`.
    fn settled(self, verdict: Verdict, lost: Cause) -> (Self, Vec<Effect>) {
        self.end(match verdict {
            Verdict::Committed => Outcome::Committed { unfinished: vec![] },
            Verdict::Aborted => Outcome::RolledBack(lost),
            Verdict::Unsettled => Outcome::Unknown(lost),
        })
    }

    /// `Ending -> Ending | Done`.
    fn ending(mut self, outcome: Outcome, answer: Cause) -> (Self, Vec<Effect>) {
        let is_good = answer.reply == Reply::Done;
        let outcome = match (outcome, answer.request) {
            (outcome @ Outcome::Committed { .. }, Request::CommitPrepared) if !is_good => {
                if let Some(standing) = self.standings.get_mut(answer.participant) {
                    *standing = Standing::Asked(Request::Finish);
                }
                self.phase = Phase::Ending(outcome);
                let again = Effect::Send {
                    to: answer.participant,
                    request: Request::Finish,
                };
                return (self, vec![again]);
            }
            (Outcome::Committed { mut unfinished }, Request::Finish) if !is_good => {
                unfinished.push(answer.participant);
                unfinished.sort_unstable();
                Outcome::Committed { unfinished }
            }
            // Nothing was written anywhere, so nothing is lost; but a COMMIT that failed is not
            // called a success.
            (Outcome::Committed { .. }, Request::Commit) if !is_good && !self.has_writer() => {
                Outcome::RolledBack(answer)
            }
            (outcome, _) => outcome,
        };
        self.rest(outcome)
    }

    /// Asks each participant for what an outcome means to it.
    fn end(mut self, outcome: Outcome) -> (Self, Vec<Effect>) {
        let mut effects = vec![];
        for (to, standing) in self.standings.iter_mut().enumerate() {
            let Some(request) = ending_request(&outcome, *standing) else {
                continue;
            };
            *standing = Standing::Asked(request);
            effects.push(Effect::Send { to, request });
        }
        let (ended, told) = self.rest(outcome);
        effects.extend(told);
        (ended, effects)
    }

    fn rest(mut self, outcome: Outcome) -> (Self, Vec<Effect>) {
        if self.is_waiting() {
            self.phase = Phase::Ending(outcome);
            return (self, vec![]);
        }
        self.phase = Phase::Done(outcome.clone());
        (self, vec![Effect::Tell(outcome)])
    }

    fn ask(
        mut self,
        wanted: impl Fn(&Participant, usize, usize) -> Option<Request>,
    ) -> (Self, Vec<Effect>) {
        let mut effects = vec![];
        for (to, participant) in self.participants.iter().enumerate() {
            let Some(request) = wanted(participant, to, self.decider) else {
                continue;
            };
            if let Some(standing) = self.standings.get_mut(to) {
                *standing = Standing::Asked(request);
            }
            effects.push(Effect::Send { to, request });
        }
        (self, effects)
    }

    fn ask_decider(mut self, phase: Phase, request: Request) -> (Self, Vec<Effect>) {
        self.phase = phase;
        self.ask(|_, at, decider| (at == decider).then_some(request))
    }

    fn is_waiting(&self) -> bool {
        let asked = |standing: &Standing| matches!(standing, Standing::Asked(_));
        self.standings.iter().any(asked)
    }

    fn has_writer(&self) -> bool {
        self.participants.iter().any(|p| p.wrote)
    }
}

// === free functions ===

/// Where a participant stands after an answer.
fn after(request: Request, reply: Reply) -> Standing {
    match (request, reply) {
        (Request::Prepare, Reply::Done) => Standing::Prepared,
        // An error leaves the block open in failed state, or has ended it already: ROLLBACK suits
        // both.
        (Request::Identify, Reply::Done)
        | (Request::Identify | Request::Prepare | Request::Decide, Reply::Refused) => {
            Standing::Open
        }
        (Request::Prepare, Reply::Lost)
        | (
            Request::CommitPrepared | Request::RollbackPrepared | Request::Finish,
            Reply::Refused | Reply::Lost,
        ) => Standing::Unsure,
        _ => Standing::Ended,
    }
}

/// What an outcome means to a participant.
fn ending_request(outcome: &Outcome, standing: Standing) -> Option<Request> {
    match (outcome, standing) {
        (Outcome::Committed { .. }, Standing::Open) => Some(Request::Commit),
        (Outcome::Committed { .. }, Standing::Prepared) => Some(Request::CommitPrepared),
        (Outcome::RolledBack(_) | Outcome::Unknown(_), Standing::Open) => Some(Request::Rollback),
        (Outcome::RolledBack(_), Standing::Prepared) => Some(Request::RollbackPrepared),
        // Prepared transactions stay until recovery knows; and what is unsure is recovery's.
        (Outcome::Unknown(_), Standing::Prepared)
        | (_, Standing::Asked(_) | Standing::Unsure | Standing::Ended) => None,
    }
}

fn places(participants: &[Participant], wanted: impl Fn(&Participant) -> bool) -> Vec<usize> {
    let found = participants.iter().enumerate().filter(|(_, p)| wanted(p));
    found.map(|(at, _)| at).collect()
}

// === Display ===

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Commit => "commit",
            Self::Rollback => "rollback",
            Self::Identify => "identify",
            Self::Prepare => "prepare",
            Self::Decide => "decide",
            Self::CommitPrepared => "commit-prepared",
            Self::RollbackPrepared => "rollback-prepared",
            Self::Finish => "finish",
            Self::Settle => "settle",
        })
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Send { to, request } => write!(f, "{request} {to}"),
            Self::Settle => f.write_str("settle"),
            Self::Tell(outcome) => write!(f, "tell {outcome}"),
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Committed { unfinished } if unfinished.is_empty() => f.write_str("committed"),
            Self::Committed { unfinished } => write!(f, "committed, unfinished on {unfinished:?}"),
            Self::RolledBack(cause) => write!(f, "rolled back: {cause}"),
            Self::Unknown(cause) => write!(f, "unknown: {cause}"),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = match self.reply {
            Reply::Done => "done",
            Reply::Refused => "refused",
            Reply::Lost => "lost",
        };
        write!(f, "{} {} {how}", self.request, self.participant)
    }
}

#[cfg(test)]
mod tests;
