//! What the tables, types and functions of one database are, as a snapshot.
//!
//! A [`Catalog`] is read from the authoritative shard and never changes; a newer one replaces it and carries a higher
//! [`Catalog::version`]. Names are resolved here by PostgreSQL's rules for `search_path`. This crate must not know how
//! a snapshot was loaded, nor where rows live.
//!
//! Read first: [`Catalog`], [`Relation`]. Tests: beside the module.

mod snapshot;

pub use snapshot::{
    Catalog, Collation, Column, Constraint, ConstraintKind, Default, Function, FunctionKind,
    Identity, Index, Relation, RelationKind, Trigger, Type, TypeKind, Volatility,
};
