//! Every instant at which a router may die: before a request is sent, and after its answer came.
//! Tests that kill a router go through all of them; the list comes from running the machine itself,
//! so that a new request can't be left out.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use super::machine::{Commit, Effect, Event, Participant, Reply, Request, Verdict};

/// On which side of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Moment {
    /// Nothing was sent yet.
    Before,
    /// The answer is there, nothing was done with it yet.
    After,
}

/// One instant of a [`Commit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// The request.
    pub request: Request,
    /// The first request of its kind in this transaction, or a later one.
    pub is_first: bool,
    /// The side.
    pub moment: Moment,
}

/// Counts a transaction's requests, so as to tell its steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct Steps {
    before: BTreeSet<Request>,
    after: BTreeSet<Request>,
}

// === impl Step ===

impl Step {
    /// Every step that the machine can come to.
    #[must_use]
    pub fn all() -> BTreeSet<Self> {
        reachable(&[Reply::Done, Reply::Refused, Reply::Lost])
    }

    /// The steps of transactions that meet no failure.
    #[must_use]
    pub fn of_success() -> BTreeSet<Self> {
        reachable(&[Reply::Done])
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let moment = match self.moment {
            Moment::Before => "before",
            Moment::After => "after",
        };
        let place = if self.is_first { "first" } else { "later" };
        write!(f, "{moment}-{place}-{}", self.request)
    }
}

impl FromStr for Step {
    type Err = UnknownStep;

    fn from_str(text: &str) -> Result<Self, UnknownStep> {
        let found = Self::all()
            .into_iter()
            .find(|step| step.to_string() == text);
        found.ok_or_else(|| UnknownStep {
            text: text.to_owned(),
        })
    }
}

/// Text that names no [`Step`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is no step of the atomic commit")]
pub struct UnknownStep {
    /// What was given.
    pub text: String,
}

// === impl Steps ===

impl Steps {
    /// The step of sending.
    pub(crate) fn before(&mut self, request: Request) -> Step {
        Step {
            request,
            is_first: self.before.insert(request),
            moment: Moment::Before,
        }
    }

    /// The step of having been answered.
    pub(crate) fn after(&mut self, request: Request) -> Step {
        Step {
            request,
            is_first: self.after.insert(request),
            moment: Moment::After,
        }
    }
}

/// Runs the machine over all answers of these kinds, and collects the steps.
fn reachable(replies: &[Reply]) -> BTreeSet<Step> {
    let writer = Participant {
        wrote: true,
        can_prepare: true,
    };
    let reader = Participant {
        wrote: false,
        can_prepare: true,
    };
    let mut found = BTreeSet::new();
    for roster in [
        vec![reader, reader],
        vec![writer, reader, reader],
        vec![writer, writer, writer, reader, reader],
    ] {
        let (commit, effects) = Commit::new(roster).expect("every participant can be prepared");
        let mut walk = Walk {
            replies,
            found: &mut found,
        };
        walk.go(&commit, &effects, (Vec::new(), Steps::default()));
    }
    found
}

struct Walk<'a> {
    replies: &'a [Reply],
    found: &'a mut BTreeSet<Step>,
}

impl Walk<'_> {
    /// Answers come in the order of sending here: that changes which participant a step is about,
    /// not which steps there are.
    fn go(
        &mut self,
        commit: &Commit,
        effects: &[Effect],
        (mut waiting, mut steps): (Vec<(usize, Request)>, Steps),
    ) {
        for effect in effects {
            match effect {
                Effect::Send { to, request } => {
                    self.found.insert(steps.before(*request));
                    waiting.push((*to, *request));
                }
                Effect::Settle => {
                    self.found.insert(steps.before(Request::Settle));
                    self.found.insert(steps.after(Request::Settle));
                    for verdict in [Verdict::Committed, Verdict::Aborted, Verdict::Unsettled] {
                        let (next, effects) = commit.clone().on(Event::Settled(verdict));
                        self.go(&next, &effects, (waiting.clone(), steps.clone()));
                    }
                }
                Effect::Tell(_) => {}
            }
        }
        if waiting.is_empty() {
            return;
        }
        let (from, request) = waiting.remove(0);
        for reply in self.replies {
            let mut steps = steps.clone();
            self.found.insert(steps.after(request));
            let event = Event::Answered {
                from,
                reply: *reply,
            };
            let (next, effects) = commit.clone().on(event);
            self.go(&next, &effects, (waiting.clone(), steps));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_request_is_a_step_and_has_a_name() {
        let all = Step::all();
        for step in &all {
            assert_eq!(step.to_string().parse(), Ok(*step));
        }
        let names: Vec<String> = Step::of_success().iter().map(Step::to_string).collect();
        assert!(
            names.contains(&"after-later-prepare".to_owned()),
            "{names:?}"
        );
        assert!("before-first-nothing".parse::<Step>().is_err());
        for request in [
            Request::Commit,
            Request::Rollback,
            Request::Identify,
            Request::Prepare,
            Request::Decide,
            Request::CommitPrepared,
            Request::RollbackPrepared,
            Request::Finish,
            Request::Settle,
        ] {
            assert!(all.iter().any(|step| step.request == request), "{request}");
        }
    }
}
