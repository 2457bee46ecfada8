//! Queries and what they read from.

use super::{Body, Expr, Name, Span};

/// A query with what surrounds its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// `WITH`.
    pub with: Option<With>,
    /// The body.
    pub body: QueryBody,
    /// `ORDER BY`.
    pub order_by: Vec<SortKey>,
    /// `LIMIT` / `FETCH FIRST`.
    pub limit: Option<Expr>,
    /// `OFFSET`.
    pub offset: Option<Expr>,
    /// `FETCH FIRST ... WITH TIES`.
    pub with_ties: bool,
    /// `FOR UPDATE` and its kin.
    pub locking: Vec<Locking>,
}

/// The body of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// `SELECT ...`.
    Select(Box<Select>),
    /// `VALUES ...`.
    Values(Vec<Vec<Expr>>),
    /// `UNION`, `INTERSECT`, `EXCEPT`.
    SetOperation {
        /// Which.
        op: SetOperator,
        /// `ALL`.
        all: bool,
        /// Left side.
        left: Box<Query>,
        /// Right side.
        right: Box<Query>,
    },
}

/// Which set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// `UNION`.
    Union,
    /// `INTERSECT`.
    Intersect,
    /// `EXCEPT`.
    Except,
}

/// `SELECT` proper.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// `DISTINCT`.
    pub distinct: Distinct,
    /// The select list.
    pub targets: Vec<Target>,
    /// `INTO table`.
    pub into: Option<Name>,
    /// `FROM`.
    pub from: Vec<FromItem>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `GROUP BY`.
    pub group_by: Vec<GroupItem>,
    /// `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    /// `HAVING`.
    pub having: Option<Expr>,
    /// `WINDOW name AS (...)`.
    pub windows: Vec<Window>,
    /// Where the word `SELECT` begins, when it could be found.
    pub location: Option<u32>,
}

/// `DISTINCT` clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    /// None.
    No,
    /// `DISTINCT`.
    All,
    /// `DISTINCT ON (...)`.
    On(Vec<Expr>),
}

/// One entry of a select list or of `RETURNING`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The expression; a star is [`super::ExprKind::Star`].
    pub expr: Expr,
    /// `AS alias`.
    pub alias: Option<String>,
    /// Where the entry begins.
    pub location: Option<u32>,
}

/// `WITH`.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The common table expressions.
    pub ctes: Vec<Cte>,
}

/// One common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// Column aliases.
    pub columns: Vec<String>,
    /// `MATERIALIZED` / `NOT MATERIALIZED`.
    pub materialized: Option<bool>,
    /// Its statement: a query or a data-modifying statement.
    pub body: Box<Body>,
    /// Expressions of `SEARCH` / `CYCLE` clauses are present.
    pub search_or_cycle: bool,
    /// Where the statement's own text lies, inside its parentheses.
    pub span: Option<Span>,
}

/// An entry of `FROM`.
#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    /// A table, view or common table expression.
    Table(TableRef),
    /// A join.
    Join(Box<Join>),
    /// A sub-select.
    Subquery {
        /// `LATERAL`.
        lateral: bool,
        /// The query.
        query: Box<Query>,
        /// Alias.
        alias: Option<Alias>,
    },
    /// Set-returning functions.
    Function {
        /// `LATERAL`.
        lateral: bool,
        /// The calls (several for `ROWS FROM`).
        calls: Vec<Expr>,
        /// `WITH ORDINALITY`.
        ordinality: bool,
        /// Alias.
        alias: Option<Alias>,
    },
    /// `TABLESAMPLE`.
    Sample {
        /// What is sampled.
        item: Box<FromItem>,
        /// Expressions of the clause.
        arguments: Vec<Expr>,
    },
    /// `XMLTABLE`, `JSON_TABLE`.
    Other {
        /// PostgreSQL's node name.
        node: &'static str,
        /// Every expression inside.
        children: Vec<Expr>,
        /// Alias.
        alias: Option<Alias>,
    },
}

/// A table as named in a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// Its name, as written.
    pub name: Name,
    /// `ONLY`.
    pub only: bool,
    /// Alias.
    pub alias: Option<Alias>,
}

/// `AS alias (columns)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The alias.
    pub name: String,
    /// Column aliases.
    pub columns: Vec<String>,
}

/// A join of two entries of `FROM`.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Which.
    pub kind: JoinKind,
    /// `NATURAL`.
    pub natural: bool,
    /// Left side.
    pub left: FromItem,
    /// Right side.
    pub right: FromItem,
    /// `USING (columns)`.
    pub using: Vec<String>,
    /// `ON`.
    pub on: Option<Expr>,
    /// Alias of the whole join.
    pub alias: Option<Alias>,
}

/// Which join; a `CROSS JOIN` is an inner join without a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `INNER`, `CROSS`.
    Inner,
    /// `LEFT`.
    Left,
    /// `RIGHT`.
    Right,
    /// `FULL`.
    Full,
}

/// An entry of `GROUP BY`.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// A plain expression.
    Expr(Expr),
    /// `ROLLUP`, `CUBE`, `GROUPING SETS`, `()`, with every expression inside.
    Sets {
        /// The upper-case word.
        kind: &'static str,
        /// Every expression inside.
        children: Vec<Expr>,
    },
}

/// An entry of `ORDER BY`.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The expression.
    pub expr: Expr,
    /// `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` / `NULLS LAST`, when said.
    pub nulls_first: Option<bool>,
    /// `USING operator`.
    pub using: Option<Name>,
}

/// A window definition, named or inline.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its own name.
    pub name: Option<String>,
    /// The name of the window that it refers to.
    pub refname: Option<String>,
    /// `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<SortKey>,
    /// Offsets of the frame clause; before them, when the frame was written, a number without a token: PostgreSQL's frame options.
    pub frame: Vec<Expr>,
}

/// `FOR UPDATE OF tables ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    /// `UPDATE`, `NO KEY UPDATE`, `SHARE`, `KEY SHARE`.
    pub strength: &'static str,
    /// `OF` names.
    pub tables: Vec<Name>,
    /// `SKIP LOCKED`.
    pub skip_locked: bool,
    /// `NOWAIT`.
    pub nowait: bool,
}
