//! From a statement to a plan: which shards it concerns, what each of them gets, and how their answers become one.
//!
//! Planning is pure: a plan depends on the statement's shape and on [`Context`], nothing else, so plans are cached by
//! exactly that. It promises that a plan gives what one PostgreSQL would give; what it can't plan so is refused by
//! name ([`Unsupported`]), before any effect. It must not know sockets, sessions or time.
//!
//! Read first: [`Plan`], [`Target`] and [`Route`]; then `scope` (names), `equality` (keys) and `read`. Tests:
//! `tests/golden` (statement -> printed plan) and `tests/golden/unsupported` (refusals).

mod compute;
mod context;
mod copy;
mod ddl;
mod equality;
mod error;
mod evaluate;
mod explain;
mod function;
mod key;
mod label;
mod place;
mod plan;
mod planner;
mod read;
mod scope;
mod session;
mod slot;
mod trigger;
mod types;
mod unsupported;
mod volatile;
mod write;

pub use context::{Context, Fanout, Settings, TransactionMode};
pub use copy::{
    CopyAdded, CopyFormat, CopyIn, CopyKey, CopyNull, CopyPlace, CopySource, CopyValue,
};
pub use error::PlanError;
pub use evaluate::{
    Ask, EvaluateError, Evaluated, ShardList, evaluate, evaluate_rows, shard_of_row,
};
pub use explain::{explain, explain_for};
pub use plan::{
    Aggregate, AggregateColumn, ArrayRoute, Bound, Compute, Effect, Facts, Fixed, KeySource,
    KeyTerm, Merge, MergeKey, ParamValue, Part, Plan, Planned, Route, Row, RowWindow, Target, Text,
    Tier, Values,
};
pub use planner::{plan, plan_body};
use unsupported::refuse;
pub use unsupported::{Reach, Unsupported, UnsupportedId};
pub use volatile::is_clock_word;
