//! The tree of a statement: owned, printable, and complete down to every name and every constant.
//!
//! The tree follows PostgreSQL's raw parse tree (names unresolved), with positions as byte offsets into the text that was
//! parsed. It is for reading; changes are made to the text by [`crate::Edits`].

mod data;
mod ddl;
mod expr;
mod print;
mod query;
mod utility;
pub mod walk;

pub use data::{Assignment, Delete, Insert, InsertColumn, InsertSource, Merge, OnConflict, Update};
pub use ddl::{AlterCommand, ColumnDef, Constraint, ConstraintKind, CreateTable, Ddl, DdlAction};
pub use expr::{Call, Const, ConstValue, Expr, ExprKind, SublinkKind, TypeName};
pub use print::{Sexpr, same};
pub use query::{
    Alias, Cte, Distinct, FromItem, GroupItem, Join, JoinKind, Locking, Query, QueryBody, Select,
    SetOperator, SortKey, TableRef, Target, Window, With,
};
pub use utility::{
    Copy, DiscardTarget, Explain, FetchDirection, Notification, Set, Transaction, TransactionModes,
};

/// A half-open range of bytes in the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A possibly qualified name, outermost part first. `public.orders` is `["public", "orders"]`.
///
/// Parts are as PostgreSQL's grammar gives them: unquoted ones are already in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The parts; never empty.
    pub parts: Vec<String>,
    /// Where the name begins, when the grammar keeps it.
    pub location: Option<u32>,
}

/// One statement of a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The statement without its semicolon and without surrounding blanks.
    pub span: Span,
    /// What it is.
    pub body: Body,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// `SELECT`, `VALUES`, `TABLE`, set operations; `SELECT INTO` has [`Select::into`].
    Query(Box<Query>),
    /// `INSERT`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `MERGE`.
    Merge(Box<Merge>),
    /// `COPY`.
    Copy(Box<Copy>),
    /// `EXPLAIN`.
    Explain(Box<Explain>),
    /// `BEGIN`, `COMMIT`, savepoints and two-phase commands.
    Transaction(Transaction),
    /// `SET`, `RESET`, `SET TRANSACTION`, ...
    Set(Set),
    /// `SHOW name`; `all` for `SHOW ALL`.
    Show(String),
    /// `SET CONSTRAINTS`.
    SetConstraints {
        /// The constraints; empty means all.
        names: Vec<Name>,
        /// `DEFERRED` rather than `IMMEDIATE`.
        deferred: bool,
    },
    /// `PREPARE name (types) AS body`.
    Prepare {
        /// The statement's name.
        name: String,
        /// Declared parameter types.
        types: Vec<TypeName>,
        /// The prepared statement.
        body: Box<Body>,
        /// Where the prepared statement's own text lies.
        span: Span,
    },
    /// `EXECUTE name (args)`.
    Execute {
        /// The statement's name.
        name: String,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// `DEALLOCATE name`; `None` for `ALL`.
    Deallocate(Option<String>),
    /// `DECLARE name CURSOR FOR query`.
    Declare {
        /// The cursor's name.
        name: String,
        /// `WITH HOLD`.
        hold: bool,
        /// `SCROLL` asked for explicitly.
        scroll: bool,
        /// `BINARY`.
        binary: bool,
        /// The query.
        query: Box<Query>,
        /// Where the query's own text lies.
        span: Span,
    },
    /// `FETCH` or `MOVE`.
    Fetch {
        /// The cursor's name.
        cursor: String,
        /// `MOVE` rather than `FETCH`.
        is_move: bool,
        /// Direction.
        direction: FetchDirection,
        /// Count; `i64::MAX` for `ALL`.
        count: i64,
    },
    /// `CLOSE name`; `None` for `ALL`.
    Close(Option<String>),
    /// `LISTEN`, `UNLISTEN`, `NOTIFY`.
    Notification(Notification),
    /// `DISCARD`.
    Discard(DiscardTarget),
    /// `LOCK TABLE`.
    Lock {
        /// The tables.
        tables: Vec<TableRef>,
    },
    /// `TRUNCATE`.
    Truncate {
        /// The tables.
        tables: Vec<TableRef>,
        /// `RESTART IDENTITY`.
        restart_identity: bool,
        /// `CASCADE`.
        cascade: bool,
    },
    /// `REFRESH MATERIALIZED VIEW`.
    Refresh {
        /// The view.
        view: Name,
        /// `CONCURRENTLY`.
        concurrently: bool,
        /// `WITH NO DATA`.
        no_data: bool,
    },
    /// `VACUUM`, `ANALYZE`, `CLUSTER`, `REINDEX`, `CHECKPOINT`.
    Maintenance {
        /// Upper-case command word.
        command: &'static str,
        /// Its tables, when it names some.
        tables: Vec<Name>,
    },
    /// `CALL procedure(...)`.
    Call(Box<Call>),
    /// `DO`.
    Do,
    /// Definitions: `CREATE`, `ALTER`, `DROP`, `COMMENT`, `GRANT`, ...
    Ddl(Box<Ddl>),
    /// Anything else, by PostgreSQL's node name (`LoadStmt`, `CreatedbStmt`, ...).
    Other(&'static str),
}
