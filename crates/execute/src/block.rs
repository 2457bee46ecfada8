//! The client's transaction block, as one PostgreSQL would keep it, without any shard.
//!
//! ```text
//!            begin                 savepoint, release, rollback to
//!   none ------------> open ----+------------------------------+
//!    ^                  |  ^    |                              |
//!    |  commit/rollback |  +----+------------------------------+
//!    +------------------+       | error
//!    |                          v
//!    +--- commit/rollback --- failed --- rollback to ---> open
//! ```
//!
//! Invariant: the stack of savepoints is what a shard enlisted now has to be given before its first statement.

/// Who opened the block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The client, by `BEGIN`.
    Explicit,
    /// The router, for a statement or a pipeline that needs several shards; the client is not told.
    Implicit,
}

/// Modes of a transaction, as `BEGIN` takes them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modes {
    /// Lower-case isolation level.
    pub isolation: Option<String>,
    /// `READ ONLY` or `READ WRITE`.
    pub read_only: Option<bool>,
    /// `DEFERRABLE` or not.
    pub deferrable: Option<bool>,
}

/// An open transaction block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Who opened it.
    pub kind: Kind,
    /// Its modes.
    pub modes: Modes,
    /// A statement failed: everything but the end of the block or `ROLLBACK TO` is refused.
    pub is_failed: bool,
    /// A shard's part of it was lost with its connection: it can only be rolled back as a whole.
    pub is_lost: bool,
    /// It changed definitions, so the shared catalog doesn't describe what it sees.
    pub has_defined: bool,
    savepoints: Vec<String>,
}

impl Modes {
    /// The modes with those of a `SET TRANSACTION` laid over them.
    pub fn overlay(&mut self, newer: Self) {
        self.isolation = newer.isolation.or(self.isolation.take());
        self.read_only = newer.read_only.or(self.read_only);
        self.deferrable = newer.deferrable.or(self.deferrable);
    }

    /// The clause, with a leading blank when it isn't empty.
    #[must_use]
    pub fn to_sql(&self) -> String {
        let mut sql = String::new();
        if let Some(isolation) = &self.isolation {
            sql.push_str(" ISOLATION LEVEL ");
            sql.push_str(&isolation.to_uppercase());
        }
        let words = [
            (self.read_only, " READ ONLY", " READ WRITE"),
            (self.deferrable, " DEFERRABLE", " NOT DEFERRABLE"),
        ];
        for (mode, yes, no) in words {
            if let Some(mode) = mode {
                sql.push_str(if mode { yes } else { no });
            }
        }
        sql
    }
}

impl Block {
    /// A block that has just begun.
    #[must_use]
    pub fn new(kind: Kind, modes: Modes) -> Self {
        Self {
            kind,
            modes,
            is_failed: false,
            is_lost: false,
            has_defined: false,
            savepoints: Vec::new(),
        }
    }

    /// What a shard that is enlisted now is given first: `BEGIN` and the live savepoints.
    #[must_use]
    pub fn replay(&self) -> String {
        let mut sql = format!("BEGIN{}", self.modes.to_sql());
        for savepoint in &self.savepoints {
            sql.push_str("; SAVEPOINT ");
            sql.push_str(&sql::quote_ident(savepoint));
        }
        sql
    }

    /// Sets a savepoint.
    pub fn savepoint(&mut self, name: &str) {
        self.savepoints.push(name.to_owned());
    }

    /// Releases a savepoint and those after it; false when there is none of that name.
    #[must_use]
    pub fn release(&mut self, name: &str) -> bool {
        self.position(name)
            .map(|index| self.savepoints.truncate(index))
            .is_some()
    }

    /// Goes back to a savepoint, which stays; false when there is none of that name.
    #[must_use]
    pub fn rollback_to(&mut self, name: &str) -> bool {
        let found = self.position(name);
        if let Some(index) = found {
            self.savepoints.truncate(index + 1);
            self.is_failed = false;
        }
        found.is_some()
    }

    /// There is a live savepoint of that name.
    #[must_use]
    pub fn has_savepoint(&self, name: &str) -> bool {
        self.position(name).is_some()
    }

    fn position(&self, name: &str) -> Option<usize> {
        self.savepoints
            .iter()
            .rposition(|savepoint| savepoint == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_shard_gets_the_live_savepoints_only() {
        let modes = Modes {
            read_only: Some(false),
            ..Modes::default()
        };
        let mut block = Block::new(Kind::Explicit, modes);
        for name in ["a", "B c", "d"] {
            block.savepoint(name);
        }
        assert!(block.release("d"));
        assert!(!block.release("d"));
        assert_eq!(
            block.replay(),
            "BEGIN READ WRITE; SAVEPOINT \"a\"; SAVEPOINT \"B c\""
        );
        block.is_failed = true;
        assert!(block.rollback_to("a"));
        assert!(!block.is_failed);
        assert_eq!(block.replay(), "BEGIN READ WRITE; SAVEPOINT \"a\"");
    }

    #[test]
    fn a_reused_name_means_the_newest() {
        let mut block = Block::new(Kind::Explicit, Modes::default());
        block.savepoint("s");
        block.savepoint("s");
        assert!(block.release("s"));
        assert!(block.has_savepoint("s"));
    }

    #[test]
    fn set_transaction_lays_over_begin() {
        let mut modes = Modes {
            isolation: Some("serializable".into()),
            ..Modes::default()
        };
        modes.overlay(Modes {
            read_only: Some(true),
            ..Modes::default()
        });
        assert_eq!(modes.to_sql(), " ISOLATION LEVEL SERIALIZABLE READ ONLY");
    }
}
