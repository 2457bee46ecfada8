//! `ON CONFLICT`: the row that is met must lie on the shard that the new row goes to.

use catalog::Relation;
use sql::ast::{self, ExprKind};
use topology::Sharded;

use super::{Goal, Written};
use crate::volatile::tree::{self, Node};
use crate::{PlanError, UnsupportedId, refuse};

/// Checks `ON CONFLICT` of an INSERT whose rows are written out.
pub(super) fn check(
    written: &Written<'_>,
    insert: &ast::Insert,
    goal: &Goal,
    relation: &Relation,
) -> Result<(), PlanError> {
    let (Some(conflict), Goal::Sharded(sharded)) = (&insert.on_conflict, goal) else {
        return Ok(());
    };
    check_arbiter(written, conflict, sharded, relation)?;
    for assignment in conflict.update.iter().flatten() {
        check_assignment(insert, assignment, sharded)?;
    }
    Ok(())
}

/// Without an arbiter every unique index counts; those without the key are checked within each shard, as the topology allows.
fn check_arbiter(
    written: &Written<'_>,
    conflict: &ast::OnConflict,
    sharded: &Sharded,
    relation: &Relation,
) -> Result<(), PlanError> {
    let mut columns: Vec<&str> = Vec::new();
    if let Some(name) = &conflict.constraint {
        let constraint = relation
            .constraints
            .iter()
            .find(|constraint| constraint.name == *name);
        let numbers = constraint.map_or(&[][..], |constraint| constraint.columns.as_slice());
        let named = numbers
            .iter()
            .filter_map(|number| relation.column_numbered(*number));
        columns.extend(named.map(|column| column.name.as_str()));
    } else if conflict.target.is_empty() {
        return Ok(());
    }
    for target in &conflict.target {
        tree::walk_expr(target, &mut |node| {
            if let Node::Expr(ast::Expr {
                kind: ExprKind::Column(name),
                ..
            }) = node
            {
                columns.extend(name.parts.last().map(String::as_str));
            }
            true
        });
    }
    let key = sharded.key.columns();
    if key.iter().all(|column| columns.contains(column)) || written.cx.topology.shards().len() == 1
    {
        return Ok(());
    }
    Err(refuse(
        UnsupportedId::ConflictOffKey,
        sharded.key.to_string(),
    ))
}

/// `SET key = EXCLUDED.key` keeps the key, since both rows have it.
fn check_assignment(
    insert: &ast::Insert,
    assignment: &ast::Assignment,
    sharded: &Sharded,
) -> Result<(), PlanError> {
    let key = sharded.key.columns();
    let assigned: Vec<&str> = assignment
        .columns
        .iter()
        .map(String::as_str)
        .filter(|column| key.contains(column))
        .collect();
    let [column] = assigned.as_slice() else {
        return match assigned.first() {
            None => Ok(()),
            Some(column) => Err(refuse(UnsupportedId::KeyUpdate, *column)),
        };
    };
    let own = insert
        .table
        .alias
        .as_ref()
        .map(|alias| &alias.name)
        .or(insert.table.name.parts.last());
    let is_kept = match &assignment.value.kind {
        ExprKind::Column(name) => match name.parts.as_slice() {
            [qualifier, part] => {
                part == column && (qualifier == "excluded" || Some(qualifier) == own)
            }
            [part] => part == column,
            _ => false,
        },
        _ => false,
    };
    if is_kept && assignment.columns.len() == 1 && !assignment.has_indirection {
        return Ok(());
    }
    Err(refuse(UnsupportedId::KeyUpdate, *column))
}

/// Whether `RETURNING` gives exactly one row for each row of `VALUES`.
pub(super) fn returns_every_row(insert: &ast::Insert, relation: &Relation) -> bool {
    const BEFORE_INSERT_ROW: i16 = 1 | 2 | 4;
    let may_skip = insert
        .on_conflict
        .as_ref()
        .is_some_and(|conflict| conflict.update.is_none() || conflict.filter.is_some());
    let may_refuse = relation
        .triggers
        .iter()
        .any(|trigger| trigger.is_enabled && trigger.kind & BEFORE_INSERT_ROW == BEFORE_INSERT_ROW);
    !may_skip && !may_refuse
}
