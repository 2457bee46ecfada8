//! Expressions.

use super::{Name, Query, SortKey, Span, Window};

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// Its name; `int` is `pg_catalog.int4`.
    pub name: Name,
    /// Type modifiers are present (`numeric(10,2)`).
    pub has_modifiers: bool,
    /// The modifiers; fields of an interval are numbers without a token.
    pub modifiers: Vec<Expr>,
    /// Number of array dimensions.
    pub array_dimensions: u32,
    /// `SETOF`.
    pub set_of: bool,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where its leading token (for an operator: the operator) lies.
    pub location: Option<u32>,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A column, possibly qualified.
    Column(Name),
    /// `*` or `t.*`; the qualifier's parts.
    Star(Vec<String>),
    /// A literal.
    Const(Const),
    /// `$n`, from 1.
    Param(u32),
    /// A binary or prefix operator.
    Operator {
        /// The operator, possibly qualified.
        name: Name,
        /// Left operand; `None` for a prefix operator.
        left: Option<Box<Expr>>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `left op ANY (right)` / `ALL (right)` over an array.
    AnyAll {
        /// The operator.
        name: Name,
        /// `ALL` rather than `ANY`.
        all: bool,
        /// Left operand.
        left: Box<Expr>,
        /// The array.
        right: Box<Expr>,
    },
    /// `left [NOT] IN (list)`.
    In {
        /// `NOT`.
        negated: bool,
        /// Left operand.
        left: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
    },
    /// `[NOT] BETWEEN [SYMMETRIC]`.
    Between {
        /// `NOT`.
        negated: bool,
        /// `SYMMETRIC`.
        symmetric: bool,
        /// The operand.
        operand: Box<Expr>,
        /// Lower bound.
        low: Box<Expr>,
        /// Upper bound.
        high: Box<Expr>,
    },
    /// `IS [NOT] DISTINCT FROM`.
    DistinctFrom {
        /// `NOT`.
        negated: bool,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `AND`.
    And(Vec<Expr>),
    /// `OR`.
    Or(Vec<Expr>),
    /// `NOT`.
    Not(Box<Expr>),
    /// `IS [NOT] NULL`.
    IsNull {
        /// `NOT`.
        negated: bool,
        /// The operand.
        operand: Box<Expr>,
    },
    /// A function call.
    Call(Box<Call>),
    /// `CURRENT_TIMESTAMP`, `CURRENT_USER` and their kin: the upper-case word.
    SqlValue(&'static str),
    /// `expr::type`, `CAST(expr AS type)`.
    Cast {
        /// What is cast.
        operand: Box<Expr>,
        /// To what.
        type_name: TypeName,
    },
    /// `CASE`.
    Case {
        /// The operand.
        operand: Option<Box<Expr>>,
        /// `WHEN` and `THEN`.
        branches: Vec<(Expr, Expr)>,
        /// `ELSE`.
        otherwise: Option<Box<Expr>>,
    },
    /// A sub-select.
    Sublink {
        /// Which.
        kind: SublinkKind,
        /// Left operand of `IN`, `ANY`, `ALL`.
        operand: Option<Box<Expr>>,
        /// The operator; empty for `IN`.
        operator: Option<Name>,
        /// The query.
        query: Box<Query>,
    },
    /// `ROW(...)` or `(a, b)`.
    Row(Vec<Expr>),
    /// `ARRAY[...]`.
    Array(Vec<Expr>),
    /// `expr COLLATE name`.
    Collate {
        /// The operand.
        operand: Box<Expr>,
        /// The collation.
        collation: Name,
    },
    /// `DEFAULT` as a value.
    Default,
    /// Anything else, by PostgreSQL's node name (`CoalesceExpr`, `A_Indirection`, `JsonObjectConstructor`, ...).
    Other {
        /// The node.
        node: &'static str,
        /// Every expression inside. What else tells two such nodes apart (the field of an `A_Indirection`, `GREATEST` or
        /// `LEAST`, the clauses of a JSON function) is among them as a string constant without token and location.
        children: Vec<Expr>,
    },
}

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Const {
    /// Its value.
    pub value: ConstValue,
    /// The token that it was written as, when it is exactly one (a sign before a number is not part of it: the token is then
    /// the number, and `negated` is set). `true`, `false` and `NULL` are no literals to the scanner and have none.
    pub token: Option<Span>,
    /// A minus sign before the token was folded into the value.
    pub negated: bool,
}

/// The value of a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstValue {
    /// `NULL`.
    Null,
    /// `true` / `false`.
    Bool(bool),
    /// Fits int4.
    Integer(i32),
    /// Any other number, as decimal text (int8 when it fits, else numeric).
    Number(String),
    /// A string (type unknown).
    String(String),
    /// A bit string, with its leading `b` or `x`.
    Bits(String),
}

/// A function call.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the grammar, independent of the others"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function.
    pub name: Name,
    /// Arguments; named ones lose their names here and are listed in `named`.
    pub arguments: Vec<Expr>,
    /// Names of arguments, by position, where given.
    pub named: Vec<Option<String>>,
    /// `count(*)`.
    pub star: bool,
    /// `DISTINCT`.
    pub distinct: bool,
    /// `VARIADIC`.
    pub variadic: bool,
    /// `ORDER BY` inside the call.
    pub order_by: Vec<SortKey>,
    /// `WITHIN GROUP`.
    pub within_group: bool,
    /// `FILTER (WHERE ...)`.
    pub filter: Option<Expr>,
    /// `OVER`.
    pub over: Option<Box<Window>>,
    /// From the name's first byte to one past the closing parenthesis of the argument list, when it was written as `name(...)`.
    pub span: Option<Span>,
}

/// Which sub-select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SublinkKind {
    /// `EXISTS (...)`.
    Exists,
    /// `x IN (...)`, `x op ANY (...)`.
    Any,
    /// `x op ALL (...)`.
    All,
    /// A scalar sub-select.
    Scalar,
    /// `ARRAY(SELECT ...)`.
    Array,
    /// `(a, b) = (SELECT ...)` and multiple assignment.
    Row,
}
