//! Statements that change rows.

use super::{Expr, FromItem, Query, Span, TableRef, Target, With};

/// `INSERT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// `WITH`.
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// The column list; empty when left out.
    pub columns: Vec<InsertColumn>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `OVERRIDING SYSTEM VALUE` (`Some(true)`) or `USER VALUE` (`Some(false)`).
    pub overriding_system: Option<bool>,
    /// `ON CONFLICT`.
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// A column of an `INSERT`'s list.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertColumn {
    /// The column.
    pub name: String,
    /// Field selection or subscripts follow.
    pub has_indirection: bool,
    /// Expressions of the subscripts.
    pub indirection: Vec<Expr>,
    /// Where it begins.
    pub location: Option<u32>,
}

/// Where an `INSERT`'s rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `DEFAULT VALUES`.
    Default,
    /// A plain list of rows, without `ORDER BY`, `LIMIT` and `WITH` of its own.
    Values {
        /// The rows; `DEFAULT` is [`super::ExprKind::Default`].
        rows: Vec<Vec<Expr>>,
        /// Each row's span, its parentheses included.
        spans: Vec<Span>,
    },
    /// Any other query.
    Query(Box<Query>),
}

/// `ON CONFLICT`.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// Inferred columns or expressions.
    pub target: Vec<Expr>,
    /// Predicate of the inferred index.
    pub target_filter: Option<Expr>,
    /// `ON CONSTRAINT name`.
    pub constraint: Option<String>,
    /// `DO UPDATE SET`; `None` for `DO NOTHING`.
    pub update: Option<Vec<Assignment>>,
    /// `WHERE` of `DO UPDATE`.
    pub filter: Option<Expr>,
}

/// `column = expression` of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The columns; several for `(a, b) = ...`.
    pub columns: Vec<String>,
    /// Field selection or subscripts are assigned to.
    pub has_indirection: bool,
    /// Expressions of the subscripts.
    pub indirection: Vec<Expr>,
    /// The value, once for all the columns.
    pub value: Expr,
    /// Where the first column begins.
    pub location: Option<u32>,
}

/// `UPDATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// `WITH`.
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `SET`.
    pub assignments: Vec<Assignment>,
    /// `FROM`.
    pub from: Vec<FromItem>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// `DELETE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// `WITH`.
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `USING`.
    pub using: Vec<FromItem>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// `MERGE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// `WITH`.
    pub with: Option<With>,
    /// The target.
    pub table: TableRef,
    /// `USING`.
    pub source: FromItem,
    /// `ON`.
    pub on: Expr,
    /// Conditions and values of the `WHEN` clauses.
    pub children: Vec<Expr>,
    /// Assignments of `WHEN MATCHED THEN UPDATE`.
    pub updates: Vec<Assignment>,
    /// Columns and values of each `WHEN NOT MATCHED THEN INSERT`.
    pub inserts: Vec<(Vec<String>, Vec<Expr>)>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}
