//! What was decided, when nobody is left to tell: the unique index on the decision's name decides
//! between the commit row of a late decider and the abort row of whoever asks.

use crate::commit::Verdict;

/// How a decision is settled, without I/O.
///
/// ```text
///               +----- decider ended, tries left ------+
///               v                                      |
/// new --> Inserting -- blocked by the open decider --> Terminating
///            |  |  |                                       |
///            |  |  +--- failed, or no tries left ----------+--> Done(Unsettled)
///            |  +------ inserted, or found an abort row ------> Done(Aborted)
///            +--------- found a commit row --> Witnessing ----> Done(Committed)
/// ```
///
/// A read that finds no row proves nothing, since the decider's COMMIT may be on its way; so the
/// abort row is inserted at once. It waits while the decider's transaction is open with the commit
/// row in it, fails when that commits, and is first otherwise, whereupon the decider fails.
///
/// Ending a decider that waits for its standby makes a commit visible that no standby has; so
/// whoever finds a commit row first has a write of its own made durable on that shard, behind it in
/// the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Claim {
    /// The abort row is being inserted.
    Inserting {
        /// How many more times a lingering decider may be terminated.
        tries: u8,
    },
    /// The decider's backend is being terminated.
    Terminating {
        /// As before.
        tries: u8,
    },
    /// A commit row was found; a write behind it is being made durable.
    Witnessing,
    /// It is known, or left to the next round.
    Done(Verdict),
}

/// What a [`Claim`] asks of the deciding shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    /// Insert the abort row, and commit it durably; where there is a row, read it.
    InsertAbort,
    /// Terminate the backend that the transaction's name names, if it is still that one.
    Terminate,
    /// Commit a write durably.
    Witness,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Finding {
    /// The abort row was inserted, or one was there.
    Abort,
    /// A commit row was there.
    Commit,
    /// The decider's transaction is still open, and holds the name.
    Blocked,
    /// The request was done.
    Done,
    /// The shard refused, or the connection broke.
    Failed,
}

/// How many times a lingering decider is terminated before the claim is left to the next round.
const TERMINATIONS_MAX: u8 = 3;

// === impl Claim ===

impl Claim {
    /// Begins.
    #[must_use]
    pub fn new() -> Self {
        Self::Inserting {
            tries: TERMINATIONS_MAX,
        }
    }

    /// What to do now; nothing when it is done.
    #[must_use]
    pub fn ask(self) -> Option<Ask> {
        match self {
            Self::Inserting { .. } => Some(Ask::InsertAbort),
            Self::Terminating { .. } => Some(Ask::Terminate),
            Self::Witnessing => Some(Ask::Witness),
            Self::Done(_) => None,
        }
    }

    /// Takes the answer to what [`Claim::ask`] said.
    #[must_use]
    pub fn on(self, finding: Finding) -> Self {
        match (self, finding) {
            (Self::Inserting { .. }, Finding::Abort) => Self::Done(Verdict::Aborted),
            (Self::Inserting { .. }, Finding::Commit) => Self::Witnessing,
            (Self::Inserting { tries }, Finding::Blocked) if tries > 0 => {
                Self::Terminating { tries }
            }
            (Self::Terminating { tries }, Finding::Done) => Self::Inserting {
                tries: tries.saturating_sub(1),
            },
            (Self::Witnessing, Finding::Done) => Self::Done(Verdict::Committed),
            (done @ Self::Done(_), _) => done,
            (Self::Inserting { .. } | Self::Terminating { .. } | Self::Witnessing, _) => {
                Self::Done(Verdict::Unsettled)
            }
        }
    }
}

impl Default for Claim {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(findings: &[Finding], wanted: Claim) {
        let claim = findings.iter().fold(Claim::new(), |c, f| c.on(*f));
        assert_eq!(claim, wanted, "{findings:?}");
    }

    #[test]
    fn each_way_through_a_claim() {
        use Finding::{Abort, Blocked, Commit, Done, Failed};
        check(&[Abort], Claim::Done(Verdict::Aborted));
        check(&[Commit], Claim::Witnessing);
        check(&[Commit, Done], Claim::Done(Verdict::Committed));
        check(&[Commit, Failed], Claim::Done(Verdict::Unsettled));
        check(&[Blocked, Done, Abort], Claim::Done(Verdict::Aborted));
        check(
            &[Blocked, Done, Commit, Done],
            Claim::Done(Verdict::Committed),
        );
        check(&[Blocked, Failed], Claim::Done(Verdict::Unsettled));
        check(&[Failed], Claim::Done(Verdict::Unsettled));
        let often = [Blocked, Done].repeat(usize::from(TERMINATIONS_MAX));
        check(&often, Claim::Inserting { tries: 0 });
        check(
            &[often, vec![Blocked]].concat(),
            Claim::Done(Verdict::Unsettled),
        );
    }
}
