//! What can be wrong with a document. Each kind is a variant with its data, so that a message, a hint,
//! a stable id and a place can be given for every one, and so that all of them can be shown at once.

mod hint;

pub use hint::is_near;

use std::fmt;

/// One thing that is wrong with a document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// Where.
    pub place: Place,
    /// What.
    pub kind: MistakeKind,
}

/// A place in a document.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// For example `databases.app.schemas.public.tables.orders.primary_indexes[0]`; empty: the whole.
    pub path: String,
    /// Line and column, where the document was read from text.
    pub position: Option<Position>,
}

/// A line and a column, both from 1; columns count characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

/// Whether a document with this mistake may be applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weight {
    /// It may: the document is sound, yet probably not what was meant.
    Warning,
    /// It may not.
    Error,
}

/// Every kind of mistake. The texts are one clause each; what to do stands in [`Mistake::hint`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MistakeKind {
    /// The text is longer than a document may be.
    #[error("the document is longer than {bytes_max} bytes")]
    TooLarge {
        /// The limit.
        bytes_max: usize,
    },
    /// The text is not JSON.
    #[error("expected {expected}, found {found}")]
    NotJson {
        /// What JSON allows here.
        expected: &'static str,
        /// What stands here.
        found: String,
    },
    /// Objects or arrays are nested too deeply.
    #[error("nested deeper than {depth_max} levels")]
    TooDeep {
        /// The limit.
        depth_max: usize,
    },
    /// A key stands twice in one object.
    #[error("key {key:?} is already given at {first}")]
    DuplicateKey {
        /// The key.
        key: String,
        /// Where it stood first.
        first: Position,
    },
    /// A key that the format does not have.
    #[error("unknown key {key:?}")]
    UnknownKey {
        /// The key.
        key: String,
        /// What may stand here.
        known: &'static [&'static str],
    },
    /// A key that has to be there is not.
    #[error("key {key:?} is missing")]
    MissingKey {
        /// The key.
        key: &'static str,
    },
    /// A value of another JSON type.
    #[error("expected {expected}, found {found}")]
    WrongType {
        /// What belongs here.
        expected: &'static str,
        /// What stands here.
        found: &'static str,
    },
    /// A name without a character.
    #[error("a name must not be empty")]
    EmptyName,
    /// A number that is not whole or outside its limits.
    #[error("expected a whole number from {min} to {max}, found {found}")]
    NumberOutOfRange {
        /// What stands here.
        found: String,
        /// The least.
        min: u32,
        /// The most.
        max: u32,
    },
    /// A word that is not among the words allowed.
    #[error("unknown value {value:?}")]
    UnknownValue {
        /// The word.
        value: String,
        /// The words allowed.
        known: Vec<&'static str>,
    },
    /// Neither the document nor the configuration names a shard.
    #[error("no shard is declared")]
    NoShards,
    /// More shards than a topology can hold.
    #[error("{found} shards are more than the {max} that a topology can hold")]
    TooManyShards {
        /// How many there are.
        found: usize,
        /// How many there may be.
        max: usize,
    },
    /// A shard without an address.
    #[error("shard {shard:?} has no primary")]
    NoPrimary {
        /// Its uid.
        shard: String,
    },
    /// An address that is not `host:port`.
    #[error("{address:?} is not host:port")]
    BadAddress {
        /// What stands here.
        address: String,
    },
    /// An address with a user's name or password in it.
    #[error("the address holds credentials")]
    CredentialsInAddress,
    /// There is no group.
    #[error("no shard group is declared")]
    NoGroups,
    /// Two groups share a uid.
    #[error("shard group {uid:?} is declared twice")]
    DuplicateGroup {
        /// The uid.
        uid: String,
    },
    /// A shard that nobody declares.
    #[error("shard {uid:?} is not declared")]
    UnknownShard {
        /// The uid.
        uid: String,
        /// The shards that are.
        known: Vec<String>,
    },
    /// A group that nobody declares.
    #[error("shard group {uid:?} is not declared")]
    UnknownGroup {
        /// The uid.
        uid: String,
        /// The groups that are.
        known: Vec<String>,
    },
    /// An index that nobody declares.
    #[error("shard index {name:?} is not declared")]
    UnknownIndex {
        /// The name.
        name: String,
        /// The indexes that are.
        known: Vec<String>,
    },
    /// An index type that does not exist.
    #[error("unknown index type {index_type:?}")]
    UnknownIndexType {
        /// The type.
        index_type: String,
    },
    /// Part of the format that this version does not carry out.
    #[error("{} is not supported", .what.name())]
    Unsupported {
        /// Which part.
        what: Unsupported,
    },
    /// A parameter that the index type does not have.
    #[error("an index of type {index_type} has no parameter {name:?}")]
    UnknownParameter {
        /// The type.
        index_type: &'static str,
        /// The parameter.
        name: String,
        /// The parameters that it has.
        known: &'static [&'static str],
    },
    /// A parameter that the index type needs.
    #[error("an index of type {index_type} needs the parameter {name:?}")]
    MissingParameter {
        /// The type.
        index_type: &'static str,
        /// The parameter.
        name: &'static str,
    },
    /// A parameter with a value that it can't have.
    #[error("expected {expected}, found {value:?}")]
    BadParameter {
        /// What belongs here.
        expected: &'static str,
        /// What stands here.
        value: String,
    },
    /// No columns are given where the key must come from.
    #[error("no key columns: neither the table nor shard index {index:?} names any")]
    NoColumns {
        /// The index.
        index: String,
    },
    /// More or fewer columns than the index type takes.
    #[error("an index of type {index_type} takes {expected}, found {found}")]
    ColumnCount {
        /// The type.
        index_type: &'static str,
        /// For example `one column`.
        expected: String,
        /// How many there are.
        found: usize,
    },
    /// The same column twice.
    #[error("column {column:?} is named twice")]
    DuplicateColumn {
        /// The column.
        column: String,
    },
    /// An expression beside other columns.
    #[error("expression {expression:?} stands beside other columns")]
    ExpressionAmongColumns {
        /// The expression.
        expression: String,
    },
    /// Text that is neither a column name nor an expression.
    #[error("{text:?} is neither a column name nor an expression: {reason}")]
    BadExpression {
        /// The text.
        text: String,
        /// Why.
        reason: &'static str,
    },
    /// A group without ranges.
    #[error("shard group {group:?} has no key range")]
    NoRanges {
        /// The group.
        group: String,
    },
    /// A group without an index whose values are divided nevertheless.
    #[error("shard group {group:?} has no default_shard_index but divides its values")]
    DividedWithoutIndex {
        /// The group.
        group: String,
    },
    /// A bound that can't be read.
    #[error("bound {bound:?} is not {expected}")]
    BadBound {
        /// The bound.
        bound: String,
        /// What belongs here.
        expected: &'static str,
    },
    /// A range that ends where or before it begins.
    #[error("the range ends at {end}, which is not after its start {start}")]
    EmptyRange {
        /// Its start.
        start: String,
        /// Its end.
        end: String,
    },
    /// Two ranges share values.
    #[error("the range overlaps {other} from {start} on")]
    Overlap {
        /// The path of the other range.
        other: String,
        /// Where they begin to overlap.
        start: String,
    },
    /// Values that no range holds.
    #[error("no range of shard group {group:?} holds the values from {start} to {end}")]
    Gap {
        /// The group.
        group: String,
        /// The first value without a shard.
        start: String,
        /// The first value after them, or `the end`.
        end: String,
        /// Only `range` indexes may leave values out.
        weight: GapWeight,
    },
    /// A range in which the index computes no value.
    #[error("the range holds none of the values {domain} of shard index {index:?}")]
    RangeWithoutValues {
        /// The index.
        index: String,
        /// For example `0 to 1df`.
        domain: String,
    },
    /// Several groups could be the authoritative one.
    #[error("which group is authoritative is not said, and {} are unsharded", .candidates.join(", "))]
    AmbiguousAuthority {
        /// The groups.
        candidates: Vec<String>,
    },
    /// The authoritative group has more than one shard or an index.
    #[error(
        "authoritative shard group {group:?} must be one shard, unbounded and without an index"
    )]
    AuthoritySharded {
        /// The group.
        group: String,
    },
    /// The name of the implicit authoritative group is taken.
    #[error("no group is unsharded, and the name main of the implicit one is taken")]
    ImplicitGroupTaken,
    /// A table with more than one way to compute its key.
    #[error("{found} primary indexes, but a table has exactly one")]
    SeveralPrimaryIndexes {
        /// How many.
        found: usize,
    },
    /// An index on a table of an unsharded group.
    #[error("shard group {group:?} is unsharded, its tables have no primary index")]
    IndexInUnshardedGroup {
        /// The group.
        group: String,
    },
    /// A table that is sharded and copied.
    #[error("table {table:?} is among the tables and among the reference tables")]
    TableTwice {
        /// The table.
        table: String,
    },
    /// A reference table that nobody holds.
    #[error("reference table {table:?} names no shard group")]
    ReferenceNowhere {
        /// The table.
        table: String,
    },
    /// A name twice in one list.
    #[error("{name:?} is named twice")]
    DuplicateEntry {
        /// The name.
        name: String,
    },
    /// Something that has to live on one shard is put into a sharded group.
    #[error("a {what} lives on one shard, but shard group {group:?} is sharded")]
    NeedsOneShard {
        /// For example `sequence`.
        what: &'static str,
        /// The group.
        group: String,
    },
    /// A function of an unsharded group has no key to route by.
    #[error("shard group {group:?} is unsharded, so there is no key to route the function by")]
    FunctionWithoutKey {
        /// The group.
        group: String,
    },
    /// A global secondary index on a table that can't have one.
    #[error("owner table {table:?} is not a sharded table of this database's document")]
    UnknownOwner {
        /// The table.
        table: String,
    },
    /// A global secondary index on nothing.
    #[error("global secondary index {name:?} has no columns")]
    NoIndexedColumns {
        /// The name.
        name: String,
    },
    /// A table's list names a global secondary index that the database lacks.
    #[error("global secondary index {name:?} is not declared")]
    UnknownSecondaryIndex {
        /// The name.
        name: String,
    },
    /// A key column that the table does not have.
    #[error("table {table} has no column {column:?}, which its key needs")]
    NoKeyColumn {
        /// The table.
        table: String,
        /// The column.
        column: String,
    },
    /// A unique constraint that shards can't keep between them.
    #[error("{constraint:?} of table {table} is unique without the key ({key})")]
    UniqueOffKey {
        /// The table.
        table: String,
        /// The constraint or index.
        constraint: String,
        /// The key.
        key: String,
    },
    /// A key whose type the index can't take.
    #[error(
        "column {column:?} of table {table} is of type {type_name}, which {index_type} can't take: {reason}"
    )]
    KeyType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// PostgreSQL's name of the type.
        type_name: String,
        /// The index type.
        index_type: &'static str,
        /// Why.
        reason: &'static str,
    },
}

/// Whether a gap is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapWeight {
    /// In a `range` index rows may be kept out on purpose.
    Allowed,
    /// Everywhere else a value without a shard is an accident.
    Refused,
}

/// Parts of the format that are refused by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Unsupported {
    /// Index type `lookup`.
    Lookup,
    /// Index type `postgres_hash`.
    PostgresHash,
    /// Parameter `spread`.
    Spread,
    /// A global secondary index that is enabled.
    GlobalSecondaryIndex,
    /// `secondary_indexes` of a table.
    SecondaryIndexes,
    /// `unique_off_key` = `index`.
    UniqueOffKeyIndex,
}

// === impl Mistake ===

impl Mistake {
    /// Whether the document may be applied nevertheless.
    #[must_use]
    pub fn weight(&self) -> Weight {
        match &self.kind {
            MistakeKind::Gap {
                weight: GapWeight::Allowed,
                ..
            }
            | MistakeKind::RangeWithoutValues { .. } => Weight::Warning,
            _ => Weight::Error,
        }
    }

    /// What to do about it, where that can be said.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        hint::hint(&self.kind)
    }
}

impl fmt::Display for Mistake {
    /// `12:5 databases.app: unknown key "shcemas"`, without the hint.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.place)?;
        if self.weight() == Weight::Warning {
            write!(f, " warning:")?;
        }
        write!(f, " {}", self.kind)
    }
}

// === impl Place ===

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(position) = self.position {
            write!(f, "{position} ")?;
        }
        if self.path.is_empty() {
            return write!(f, "document:");
        }
        write!(f, "{}:", self.path)
    }
}

// === impl Position ===

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

// === impl Unsupported ===

impl Unsupported {
    /// The stable id, as documentation and errors name it.
    #[must_use]
    pub fn id(self) -> &'static str {
        match self {
            Unsupported::Lookup => "unsupported/index-type-lookup",
            Unsupported::PostgresHash => "unsupported/index-type-postgres-hash",
            Unsupported::Spread => "unsupported/index-spread",
            Unsupported::GlobalSecondaryIndex => "unsupported/global-secondary-index",
            Unsupported::SecondaryIndexes => "unsupported/secondary-indexes",
            Unsupported::UniqueOffKeyIndex => "unsupported/unique-off-key-index",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Unsupported::Lookup => "index type lookup",
            Unsupported::PostgresHash => "index type postgres_hash",
            Unsupported::Spread => "spreading a hot key",
            Unsupported::GlobalSecondaryIndex => "an enabled global secondary index",
            Unsupported::SecondaryIndexes => "a live global secondary index of a table",
            Unsupported::UniqueOffKeyIndex => "unique_off_key index",
        }
    }
}
