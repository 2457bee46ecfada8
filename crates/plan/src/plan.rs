//! The product of planning: what to compute first, where to go, what each shard gets, how the answers become one.
//!
//! A [`Plan`] belongs to a shape of statement, not to one execution: keys are named by where they will be found
//! ([`KeySource`]), and are looked up in [`Values`] when the statement runs.

use std::borrow::Cow;
use std::sync::Arc;

use pg::{KeyType, KeyValue, Oid};
use smallvec::SmallVec;
use topology::{GroupId, KeyExpression, ShardId, Sharded};

/// A plan and what of the statement's text it depends on.
#[derive(Clone, Debug, PartialEq)]
pub struct Planned {
    /// The plan.
    pub plan: Plan,
    /// Literals that another text of the same shape must share byte for byte to share the plan.
    pub fixed: Fixed,
    /// What the statement leaves behind in its session.
    pub facts: Facts,
}

/// Which literals a plan depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fixed {
    /// All: the plan holds text that was made from this statement's.
    All,
    /// Those in these slots; all others are free.
    Slots(Vec<u32>),
}

/// What a statement does besides reading and writing tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts, each told to another part of the session"
)]
pub struct Facts {
    /// It may leave state on the backend that the session needs later (advisory locks, temporary tables, large
    /// object descriptors ...): the lease is kept after the transaction.
    pub pins: bool,
    /// It calls `set_config`, so settings may change on the backend behind the router's back.
    pub sets_config: bool,
    /// It may send notifications, or does something else that can't be part of PREPARE TRANSACTION.
    pub unpreparable: bool,
    /// It uses a temporary table of the session.
    pub uses_temporary: bool,
    /// It draws from or asks for sequences.
    pub uses_sequence: bool,
    /// It restarts sequences: values that the router holds in store are forgotten.
    pub forgets_sequences: bool,
    /// A shard may draw from its own sequences unseen: what `currval` and `lastval` are in this session isn't known afterwards.
    pub draws_unseen: bool,
}

/// How one statement is run.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// The cheapest tier that was exact; EXPLAIN names it.
    pub tier: Tier,
    /// Values that are computed once before any shard sees the statement; others refer to them by index.
    pub compute: Vec<Compute>,
    /// Where the statement goes.
    pub target: Target,
    /// What each shard gets.
    pub text: Text,
    /// How the answers become one.
    pub merge: Merge,
    /// What it does to data.
    pub effect: Effect,
    /// Sentences for EXPLAIN: why it goes where it goes, and what would make it cheaper.
    pub reasons: Vec<String>,
    /// Said to the client with the answer.
    pub notices: Vec<pg::Diagnostic>,
}

/// Which way a statement takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tier {
    /// One shard, bytes passed through.
    PassThrough,
    /// Some shards.
    SomeShards,
    /// Many shards, merged in the router.
    Scatter,
    /// Every copy or every shard must do it.
    Broadcast,
}

/// What a statement does to data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// Reads only.
    Read,
    /// Reads and locks rows.
    Lock,
    /// May write.
    Write,
    /// `VACUUM` and its kin: runs outside transactions, on each shard by itself.
    Maintain,
    /// Changes definitions: the catalog is read anew afterwards.
    Define,
}

/// Where a statement goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One shard. All routes must name the same one; when they don't, the statement is refused with `split`.
    One {
        /// Usually exactly one.
        routes: SmallVec<[Route; 1]>,
        /// The refusal when the routes disagree; without one they can't.
        split: Option<Box<crate::Unsupported>>,
    },
    /// The shards of a list of keys, each once.
    Keys {
        /// One route for each key.
        routes: Vec<Route>,
        /// Further keys: the elements of one array parameter.
        array: Option<ArrayRoute>,
    },
    /// Every shard of a group.
    Group(GroupId),
    /// Exactly these shards, the authoritative one first when it is among them.
    Shards(Vec<ShardId>),
    /// Each row of an INSERT goes home; see [`Text::Rows`].
    Rows,
}

/// How one shard is found.
#[derive(Clone, Debug, PartialEq)]
pub enum Route {
    /// By a key.
    Key {
        /// Group, index function, key parts and ranges of the table.
        sharded: Arc<Sharded>,
        /// One term for each part of the key.
        terms: SmallVec<[KeyTerm; 1]>,
        /// What a key without a range means: no row (reads) or 23514 (writes).
        is_write: bool,
    },
    /// Any one of these shards gives the same answer; one that the transaction already uses is preferred.
    Any(Vec<ShardId>),
    /// This shard.
    Shard(ShardId),
    /// The shard that holds schema truth; catalog queries go here.
    Authority,
}

/// The keys of `key = ANY($n)`.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayRoute {
    /// Group, index function, key parts and ranges of the table.
    pub sharded: Arc<Sharded>,
    /// Where the array is: a parameter, or a literal `'{...}'`.
    pub source: KeySource,
    /// The type that an element is compared as.
    pub key_type: KeyType,
    /// The expression over the column, when the key is one and elements are values of the column.
    pub expression: Option<KeyExpression>,
}

/// The value of one part of a key.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyTerm {
    /// Where it is found.
    pub source: KeySource,
    /// The type that it is compared with or stored as: the column's, or the expression's when that was compared itself.
    pub key_type: KeyType,
    /// The expression to apply, when the part is an expression over one column and `source` is the column's value.
    pub expression: Option<KeyExpression>,
}

/// Where a key's value is found when the statement runs.
#[derive(Clone, Debug, PartialEq)]
pub enum KeySource {
    /// The literal in this slot of the lifted text.
    Literal {
        /// Slot, from 0.
        slot: u32,
        /// A minus sign stands before it.
        negated: bool,
        /// How it is written: PostgreSQL takes `'5'` and `5` differently.
        quoted: bool,
    },
    /// A literal whose slot is unknown, as written: the plan holds for this text only.
    Text {
        /// Its decoded value, sign included.
        text: String,
        /// It was quoted.
        quoted: bool,
    },
    /// The parameter `$n`, from 1.
    Param(u32),
    /// Known already.
    Value(KeyValue),
    /// The result of a [`Compute`], by index.
    Computed(u32),
    /// NULL: matches nothing; a row with it is refused (23502).
    Null,
}

/// A value computed once.
#[derive(Clone, Debug, PartialEq)]
pub enum Compute {
    /// The next value of a sequence, drawn from its group.
    NextVal {
        /// The sequence, as the catalog names it.
        sequence: Oid,
    },
    /// The session's last value of a sequence; 55000 when there is none.
    CurrVal {
        /// The sequence.
        sequence: Oid,
    },
    /// The session's last value of any sequence; 55000 when there is none.
    LastVal,
    /// `setval`, run on the sequence's group; values that the router holds in store are forgotten.
    SetVal {
        /// The sequence.
        sequence: Oid,
        /// The arguments after the sequence, as SQL; may name the statement's parameters.
        arguments: String,
    },
    /// No value: the parameter must not be text that means a moment relative to now ([`crate::is_clock_word`]), since each copy
    /// would read it by its own clock; refused as [`crate::UnsupportedId::ReferenceVolatile`].
    Steady {
        /// `$n`, from 1.
        param: u32,
    },
    /// An expression, computed by a shard as `SELECT (sql)::type`.
    Expression {
        /// The expression; may name the statement's parameters.
        sql: String,
        /// The type that it is cast to, as SQL.
        type_name: String,
        /// The type's OID.
        type_oid: Oid,
    },
}

/// What each shard gets.
#[derive(Clone, Debug, PartialEq)]
pub enum Text {
    /// The client's own bytes.
    Verbatim,
    /// An edited text, the same for each shard.
    Edited(Vec<Part>),
    /// The rows of an INSERT, each shard its own.
    Rows {
        /// Before the rows.
        head: Vec<Part>,
        /// The rows, in the client's order.
        rows: Vec<Row>,
        /// After the rows.
        tail: Vec<Part>,
    },
    /// Rows that stream in are read on their way; each goes to its own shard ([`Target::Rows`]) or all go to all.
    CopyIn(Box<crate::CopyIn>),
}

/// A piece of an edited text.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// SQL.
    Sql(String),
    /// A computed value: a typed literal in the simple protocol, a further parameter in the extended one.
    Computed(u32),
}

/// One row of an INSERT.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// Where it goes.
    pub route: Route,
    /// Its text, parentheses included.
    pub text: Vec<Part>,
}

/// How answers become one.
#[derive(Clone, Debug, PartialEq)]
pub enum Merge {
    /// One shard's answer, passed through.
    Pass,
    /// Rows of all shards in any order, tags added up; `LIMIT`/`OFFSET` applied above them.
    Concat {
        /// Bounds on the rows.
        window: RowWindow,
    },
    /// Rows of all shards, each shard's in order, merged.
    Ordered {
        /// The keys, in order of significance.
        keys: Vec<MergeKey>,
        /// Trailing columns that were added for the merge and are cut off again.
        hidden: u16,
        /// Bounds on the rows.
        window: RowWindow,
    },
    /// Rows of all shards combined by group.
    Aggregate(Aggregate),
    /// RETURNING rows put back into the order of the VALUES list; tags added up.
    InsertOrder,
    /// Every copy did the same: one answer is shown, the tags must agree.
    Copies,
    /// Copied rows of all shards in any order, tags added up.
    CopyOut {
        /// Each shard begins with a header line; the first one is shown.
        has_header: bool,
        /// Each shard's data has a binary header and trailer; they are shown once.
        is_binary: bool,
    },
}

/// `LIMIT` and `OFFSET` as applied by the router.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowWindow {
    /// At most so many rows.
    pub limit: Option<Bound>,
    /// After so many rows.
    pub offset: Option<Bound>,
}

/// A bound of a [`RowWindow`].
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Known.
    Rows(u64),
    /// A parameter (int8; NULL: no bound).
    Param(u32),
}

/// A column that rows are merged by.
#[derive(Clone, Debug, PartialEq)]
pub struct MergeKey {
    /// Its place in the shards' rows, from 0.
    pub column: u16,
    /// `DESC`.
    pub descending: bool,
    /// `NULLS FIRST`, resolved.
    pub nulls_first: bool,
    /// Texts compare as bytes here (the planner has checked every collation in sight); otherwise a text column is an error.
    pub collation_is_bytes: bool,
}

/// Combination of rows by group.
#[derive(Clone, Debug, PartialEq)]
pub struct Aggregate {
    /// Columns of the shards' rows that make the group; empty for one group over all.
    pub group: Vec<MergeKey>,
    /// Each column of the shards' rows, in order: a group column or a partial aggregate.
    pub columns: Vec<AggregateColumn>,
    /// Trailing columns that were added and are cut off again.
    pub hidden: u16,
    /// The result's order, when it is not that of `group` (over columns of the shards' rows).
    pub order: Vec<MergeKey>,
    /// Bounds on the result's rows.
    pub window: RowWindow,
}

/// What one column is to an [`Aggregate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AggregateColumn {
    /// Same in all rows of the group.
    Group,
    /// `count`: added.
    Count,
    /// `sum`: added exactly, NULL when all are.
    Sum,
    /// `min`.
    Min {
        /// Texts compare as bytes.
        collation_is_bytes: bool,
    },
    /// `max`.
    Max {
        /// Texts compare as bytes.
        collation_is_bytes: bool,
    },
    /// `bool_and` / `every`.
    And,
    /// `bool_or`.
    Or,
}

/// Values of one execution, where a plan's sources are looked up.
pub trait Values {
    /// The literal in a slot as the scanner saw it: its decoded value.
    fn literal(&self, slot: u32) -> Option<Cow<'_, str>>;
    /// Parameter `$n` (from 1): its type, whether it is binary, and its bytes (`None`: NULL).
    fn param(&self, n: u32) -> Option<ParamValue<'_>>;
    /// Result of a [`Compute`] as text (`None` inside: NULL; outside: not computed yet).
    fn computed(&self, index: u32) -> Option<Option<&str>>;
    /// Answer of a shard to [`crate::Ask`] number `index`, as text (`None` inside: NULL; outside: not asked yet).
    fn asked(&self, index: u32) -> Option<Option<&str>>;
}

/// A bound parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParamValue<'a> {
    /// Its type.
    pub type_oid: Oid,
    /// Binary rather than text.
    pub is_binary: bool,
    /// Its bytes; `None` is NULL.
    pub bytes: Option<&'a [u8]>,
}
