//! The data topology: one document that says on which shard every row lives, and the one pipeline from a
//! row's key to its shard.
//!
//! ```text
//! key column(s) -> expression -> shard index -> routing value -> key range -> shard
//! ```
//!
//! **Promises.** A document is either refused with every mistake and its place, or it compiles into an
//! immutable [`Topology`] in which every question has one answer. Equal keys of one class get the same
//! routing value, whatever their type or spelling. What the router can't compute exactly it does not
//! guess: it says that a shard must be asked.
//!
//! **Must not know** where documents are stored, how SQL is parsed, sockets, time.
//!
//! **Read first** [`Document`] (as written), [`Topology`] (compiled), [`Placement`] (where a table is).
//!
//! **Tests** `src/*/tests.rs`, `tests/mistakes/` (one document a kind of mistake), `tests/vectors/`
//! (values made by independent implementations).

mod mistake;

mod document;
mod json;

mod expression;
mod id;
mod index;
mod range;
mod routing;

mod compile;
mod generate;
mod pattern;
mod placement;
mod topology;

mod assess;
mod check;
mod diff;
mod locate;
mod show;

pub use assess::{Assessment, BrokenKey, Facts, ForeignKey, NewHome, assess};
pub use check::{CollationFact, ColumnFact, ColumnTypes, UniqueConstraint};
pub use diff::{Change, Diff, KnownTable, Move, MoveCause, Moved, Subject, diff, moves_rows};
pub use document::{
    Database, Document, Function as FunctionEntry, GlobalSecondaryIndex, GsiMode, KeyRange,
    PrimaryIndex, ReadDocument, ReferenceTable, Schema, SecondaryIndex, Sequence as SequenceEntry,
    Shard as ShardEntry, ShardGroup, ShardIndex as ShardIndexEntry, Source, Table, UniqueOffKey,
};
pub use expression::{Evaluated, ExpressionError, Function, KeyColumns, KeyExpression};
pub use generate::even_hash_ranges;
pub use id::{GroupId, SHARDS_MAX, ShardId};
pub use index::{IndexFunction, ShardIndex};
pub use locate::{LocateError, Location};
pub use mistake::{GapWeight, Mistake, MistakeKind, Place, Position, Unsupported, Weight, is_near};
pub use pattern::DEFAULT_UNSHARDED_PATTERNS;
pub use placement::{
    FunctionPlace, Placement, PlacementError, Reference, SequencePlace, Sharded, TableName,
};
pub use range::{KeyRanges, Range};
pub use routing::{RoutingError, RoutingValue};
pub use topology::{Group, Shard, Topology};
