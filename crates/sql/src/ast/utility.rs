//! Statements that define nothing and read no rows themselves.

use super::{Body, Expr, Span, TableRef};

/// `COPY`.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// The table, or `None` when a query is copied.
    pub table: Option<TableRef>,
    /// The column list; empty when left out.
    pub columns: Vec<String>,
    /// The statement of `COPY (statement) TO`.
    pub query: Option<Box<Body>>,
    /// Where that statement's own text lies.
    pub query_span: Option<Span>,
    /// `FROM` rather than `TO`.
    pub is_from: bool,
    /// A server-side file or program rather than STDIN/STDOUT.
    pub server_side: bool,
    /// Options, lower-case name and value as text; a list is joined with commas.
    pub options: Vec<(String, Option<String>)>,
    /// `WHERE`.
    pub filter: Option<Expr>,
}

/// `EXPLAIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// Options, lower-case name and value as text.
    pub options: Vec<(String, Option<String>)>,
    /// What is explained.
    pub body: Box<Body>,
    /// Where its own text lies.
    pub span: Span,
}

/// Transaction control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// `BEGIN`, `START TRANSACTION`.
    Begin(TransactionModes),
    /// `COMMIT`, `END`.
    Commit {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`.
    Rollback {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `RELEASE name`.
    Release(String),
    /// `ROLLBACK TO name`.
    RollbackTo(String),
    /// `PREPARE TRANSACTION gid`.
    Prepare(String),
    /// `COMMIT PREPARED gid`.
    CommitPrepared(String),
    /// `ROLLBACK PREPARED gid`.
    RollbackPrepared(String),
}

/// Modes of `BEGIN` and `SET TRANSACTION`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// Lower-case isolation level, such as `repeatable read`.
    pub isolation: Option<String>,
    /// `READ ONLY` / `READ WRITE`.
    pub read_only: Option<bool>,
    /// `DEFERRABLE` / `NOT DEFERRABLE`.
    pub deferrable: Option<bool>,
}

/// `SET` and `RESET`.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// `SET [LOCAL] name = values`; `values` is `None` for `DEFAULT`.
    Variable {
        /// Lower-case name; `SET TIME ZONE` is `timezone`, `SET ROLE` is `role`.
        name: String,
        /// The values as written, without quotes; `None` for `DEFAULT`.
        values: Option<Vec<String>>,
        /// `LOCAL`.
        local: bool,
    },
    /// `RESET name`.
    Reset(String),
    /// `RESET ALL`.
    ResetAll,
    /// `SET [LOCAL] name FROM CURRENT`.
    FromCurrent(String),
    /// `SET TRANSACTION modes`.
    Transaction(TransactionModes),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION modes`.
    SessionCharacteristics(TransactionModes),
    /// `SET TRANSACTION SNAPSHOT id`.
    Snapshot(String),
}

/// Direction of `FETCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// `FORWARD`.
    Forward,
    /// `BACKWARD`.
    Backward,
    /// `ABSOLUTE`.
    Absolute,
    /// `RELATIVE`.
    Relative,
}

/// `LISTEN`, `UNLISTEN`, `NOTIFY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// `LISTEN channel`.
    Listen(String),
    /// `UNLISTEN channel`; `None` for `*`.
    Unlisten(Option<String>),
    /// `NOTIFY channel, payload`.
    Notify {
        /// Channel.
        channel: String,
        /// Payload.
        payload: Option<String>,
    },
}

/// What `DISCARD` discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardTarget {
    /// `ALL`.
    All,
    /// `PLANS`.
    Plans,
    /// `SEQUENCES`.
    Sequences,
    /// `TEMP`.
    Temp,
}
