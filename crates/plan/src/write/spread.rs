//! Changes of sharded rows that no list of rows names: only the shards that may hold matching rows do them.

use std::sync::Arc;

use catalog::Relation;
use sql::ast;
use topology::Sharded;

use super::Written;
use super::change::Change;
use super::tables::Needs;
use crate::plan::{Facts, Planned};
use crate::{PlanError, UnsupportedId, refuse};

/// Plans `INSERT ... SELECT` into a sharded table.
pub(super) fn insert_select(
    _written: &Written<'_>,
    insert: &ast::Insert,
    (_relation, _sharded): (&Relation, Arc<Sharded>),
    (_query, _facts): (&ast::Query, Facts),
) -> Result<Planned, PlanError> {
    Err(refuse(
        UnsupportedId::InsertSelect,
        insert.table.name.parts.join("."),
    ))
}

/// Plans an `UPDATE` or `DELETE` of a sharded table.
pub(super) fn change(
    _written: &Written<'_>,
    change: Change<'_>,
    (_relation, _sharded): (&Relation, &Arc<Sharded>),
    _needs: &Needs<'_>,
) -> Result<Planned, PlanError> {
    Err(refuse(
        UnsupportedId::Statement,
        change.table.name.parts.join("."),
    ))
}
