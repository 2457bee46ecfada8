//! What one session remembers of sequences. The shards' own memory is of no use: values are drawn
//! on whichever connection is free.

use std::collections::HashMap;

use pg::{Diagnostic, Oid, SqlState};

/// `currval` and `lastval` of a session. A rollback doesn't undo them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionSequences {
    current: HashMap<Oid, i64>,
    last: Option<Oid>,
    /// A shard may have drawn values that nobody here has seen.
    is_unsure: bool,
}

// === impl SessionSequences ===

impl SessionSequences {
    /// Nothing drawn yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `nextval` gave this value.
    pub fn note_next(&mut self, sequence: Oid, value: i64) {
        self.current.insert(sequence, value);
        self.last = Some(sequence);
        self.is_unsure = false;
    }

    /// Notes that a shard may have drawn values unseen: until the next value is drawn here, what was drawn last isn't known.
    pub fn note_unseen(&mut self) {
        self.is_unsure = true;
    }

    /// Notes `setval(..., value, true)`: `currval` is that value now, and `lastval` where it was
    /// this sequence's. With `false` as its last argument `setval` changes neither.
    pub fn note_set(&mut self, sequence: Oid, value: i64) {
        self.current.insert(sequence, value);
    }

    fn check(&self) -> Result<(), Diagnostic> {
        if !self.is_unsure {
            return Ok(());
        }
        let message = "the last value of a sequence is not known in this session";
        Err(Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
            .detail("kintsugi/sequence-unseen: a trigger or a function drew values inside a shard")
            .hint("Take the value from RETURNING."))
    }

    /// `currval` of a sequence; the name, without its schema, is for the error.
    ///
    /// # Errors
    /// 55000 when this session drew none.
    pub fn current(&self, sequence: Oid, name: &str) -> Result<i64, Diagnostic> {
        self.check()?;
        let missing = || {
            Diagnostic::error(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                format!("currval of sequence \"{name}\" is not yet defined in this session"),
            )
        };
        self.current.get(&sequence).copied().ok_or_else(missing)
    }

    /// `lastval`.
    ///
    /// # Errors
    /// 55000 when this session drew none, or the sequence was dropped since.
    pub fn last(&self) -> Result<i64, Diagnostic> {
        self.check()?;
        let missing = || {
            Diagnostic::error(
                SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE,
                "lastval is not yet defined in this session",
            )
        };
        let value = self.last.and_then(|sequence| self.current.get(&sequence));
        value.copied().ok_or_else(missing)
    }

    /// The sequence was dropped.
    pub fn forget(&mut self, sequence: Oid) {
        self.current.remove(&sequence);
    }

    /// `DISCARD SEQUENCES`, and `DISCARD ALL`.
    pub fn discard(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_remembers_as_postgresql_does() {
        let (one, two) = (Oid::from(1), Oid::from(2));
        let mut session = SessionSequences::new();
        let missing = session.current(one, "orders_id_seq").unwrap_err();
        assert_eq!(
            missing.message,
            "currval of sequence \"orders_id_seq\" is not yet defined in this session"
        );
        assert_eq!(missing.code.as_str(), "55000");
        assert_eq!(
            session.last().unwrap_err().message,
            "lastval is not yet defined in this session"
        );
        session.note_set(one, 5);
        assert!(session.last().is_err());
        assert_eq!(session.current(one, "x"), Ok(5));
        session.note_next(one, 6);
        session.note_next(two, 7);
        assert_eq!((session.current(one, "x"), session.last()), (Ok(6), Ok(7)));
        session.note_set(two, 70);
        assert_eq!(session.last(), Ok(70));
        session.forget(two);
        assert!(session.last().is_err());
        session.discard();
        assert!(session.current(one, "x").is_err());
    }
}
