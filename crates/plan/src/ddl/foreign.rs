//! Foreign keys: which of them each shard can check for itself, and which of their actions keep rows where they belong.

use catalog::Relation;
use pg::{Diagnostic, ForeignAction};
use sql::ast;
use topology::{KeyExpression, Placement, Sharded};

use super::constraint::Subject;
use super::home::{self, Home};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// A foreign key as a statement demands it.
#[derive(Clone, Copy)]
pub(super) struct Foreign<'a> {
    /// Its columns.
    pub(super) columns: &'a [String],
    /// The referenced table.
    pub(super) table: &'a ast::Name,
    /// The referenced columns; empty for the primary key.
    pub(super) referenced: &'a [String],
    /// What it does to referring rows.
    pub(super) actions: Actions<'a>,
}

/// What a foreign key does to referring rows.
#[derive(Clone, Copy)]
pub(super) struct Actions<'a> {
    /// `ON UPDATE`.
    pub(super) on_update: ForeignAction,
    /// `ON DELETE`.
    pub(super) on_delete: ForeignAction,
    /// The columns that `ON DELETE SET NULL` names; empty for all.
    pub(super) reset: &'a [String],
}

/// A foreign key is PostgreSQL's own where every shard holds both ends.
pub(super) fn check(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    foreign: Foreign<'_>,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    let Foreign {
        columns,
        table,
        referenced,
        ..
    } = foreign;
    if table.parts.last() == subject.name.parts.last() && is_itself(cx, subject, table) {
        self_reference(subject, (columns, referenced), notices);
        let own = subject
            .existing
            .map(|relation| referenced_columns(relation, referenced));
        let referenced = own.as_deref().unwrap_or(referenced);
        return check_actions(cx, subject, foreign, (subject.home, referenced));
    }
    let Some(parent) = cx.catalog.relation(&table.parts, cx.search_path) else {
        return Ok(());
    };
    let parent_home = Home::of(cx, parent);
    let named = referenced_columns(parent, referenced);
    check_actions(cx, subject, foreign, (&parent_home, &named))?;
    let child = &subject.home.placement;
    match (child, &parent_home.placement) {
        (_, Placement::Reference(_)) if parent_home.is_copied_wherever(subject.home) => Ok(()),
        (Placement::Unsharded { shard: child, .. }, Placement::Unsharded { shard, .. })
            if child == shard =>
        {
            Ok(())
        }
        (Placement::Sharded(child), Placement::Sharded(other))
            if child.is_colocated(other) && same_classes(cx, subject, parent, (child, other)) =>
        {
            if !names_key((child, other), columns, &named) {
                notices.push(per_shard_notice(subject, &parent_home.table));
            }
            Ok(())
        }
        _ if cx.topology.shards().len() == 1 => Ok(()),
        _ => Err(refuse(
            UnsupportedId::ForeignKey,
            format!(
                "{}, {}, to {}, {}",
                subject.home.table,
                subject.home.kind(),
                parent_home.table,
                parent_home.kind()
            ),
        )),
    }
}

/// An action is each shard's own: it must not change a key, whose row would then be on another's ground, nor compute
/// values that differ from copy to copy. A key that refers to a key is safe from updates, which don't change keys.
fn check_actions(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    foreign: Foreign<'_>,
    (parent, referenced): (&Home, &[String]),
) -> Result<(), PlanError> {
    if !cx.is_spread() {
        return Ok(());
    }
    let Actions {
        on_update,
        on_delete,
        reset,
    } = foreign.actions;
    let key = subject.home.sharded().map(|sharded| sharded.key.columns());
    let is_key = |column: &String| key.iter().flatten().any(|part| part == column);
    let parent_key = parent.sharded().map(|sharded| sharded.key.columns());
    let is_fixed = |column: &String| parent_key.iter().flatten().any(|part| part == column);
    let refused = |what: &str, action: ForeignAction| {
        let told = format!("ON {what} {} of {}", action.as_sql(), subject.home.table);
        Err(refuse(UnsupportedId::ForeignKeyAction, told))
    };
    let columns = foreign.columns;
    let moves = match on_update {
        ForeignAction::Keep => false,
        ForeignAction::Cascade => columns
            .iter()
            .enumerate()
            .any(|(at, column)| is_key(column) && !referenced.get(at).is_some_and(is_fixed)),
        ForeignAction::SetNull | ForeignAction::SetDefault => {
            let all_fixed = !referenced.is_empty() && referenced.iter().all(is_fixed);
            columns.iter().any(is_key) && !all_fixed
        }
    };
    if moves || on_update == ForeignAction::SetDefault && !is_default_plain(cx, subject, columns) {
        return refused("UPDATE", on_update);
    }
    let lost = if reset.is_empty() { columns } else { reset };
    let strands = on_delete.resets() && lost.iter().any(is_key);
    if strands || on_delete == ForeignAction::SetDefault && !is_default_plain(cx, subject, lost) {
        return refused("DELETE", on_delete);
    }
    Ok(())
}

/// Whether the defaults of these columns are constants; those of a table that is being made are not looked at.
fn is_default_plain(cx: &Context<'_>, subject: &Subject<'_>, columns: &[String]) -> bool {
    let is_alone = subject.home.placement.shards() == [cx.topology.authoritative_shard()];
    let is_plain = |name: &String| {
        let column = subject.existing.and_then(|table| table.column(name));
        column.is_some_and(|column| {
            let default = column.default.as_ref();
            column.identity.is_none()
                && default.is_none_or(|known| known.volatility == catalog::Volatility::Immutable)
        })
    };
    is_alone || columns.iter().all(is_plain)
}

fn is_itself(cx: &Context<'_>, subject: &Subject<'_>, table: &ast::Name) -> bool {
    match table.parts.as_slice() {
        [_] => subject.existing.is_none_or(|known| {
            cx.catalog
                .relation(&table.parts, cx.search_path)
                .is_none_or(|found| found.oid == known.oid)
        }),
        [schema, _] | [_, schema, _] => *schema == subject.home.schema,
        _ => false,
    }
}

fn self_reference(
    subject: &Subject<'_>,
    (columns, referenced): (&[String], &[String]),
    notices: &mut Vec<Diagnostic>,
) {
    if let Some(sharded) = subject.home.sharded() {
        let same = referenced.is_empty() || names_key((sharded, sharded), columns, referenced);
        if !same {
            notices.push(per_shard_notice(subject, &subject.home.table));
        }
    }
}

fn per_shard_notice(subject: &Subject<'_>, parent: &str) -> Diagnostic {
    Diagnostic::notice(format!(
        "the foreign key of {} to {parent} is checked within each shard",
        subject.home.table
    ))
    .detail("It does not name the shard key: both rows must have the same key.")
}

fn referenced_columns(parent: &Relation, named: &[String]) -> Vec<String> {
    if !named.is_empty() {
        return named.to_vec();
    }
    let primary = parent
        .constraints
        .iter()
        .find(|constraint| constraint.kind == catalog::ConstraintKind::Primary);
    let numbers = primary.map_or(&[][..], |constraint| constraint.columns.as_slice());
    numbers
        .iter()
        .filter_map(|number| parent.column_numbered(*number))
        .map(|column| column.name.clone())
        .collect()
}

/// Whether rows that the foreign key joins have the same key.
fn names_key(
    (child, parent): (&Sharded, &Sharded),
    columns: &[String],
    referenced: &[String],
) -> bool {
    let pairs_up = |child: &str, parent: &str| {
        columns
            .iter()
            .zip(referenced)
            .any(|(from, to)| from == child && to == parent)
    };
    child
        .key
        .parts()
        .iter()
        .zip(parent.key.parts())
        .all(
            |(child, parent)| match (child.as_column(), parent.as_column()) {
                (Some(child), Some(parent)) => pairs_up(child, parent),
                _ => {
                    child == parent
                        && child
                            .columns()
                            .iter()
                            .all(|column| pairs_up(column, column))
                }
            },
        )
}

/// Keys of two tables are of the same classes; of a table that is being made the statement's own types are checked elsewhere,
/// and PostgreSQL compares a foreign key's columns itself.
fn same_classes(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    parent: &Relation,
    (child, other): (&Sharded, &Sharded),
) -> bool {
    let Some(relation) = subject.existing else {
        return true;
    };
    let class = |relation: &Relation, part: &KeyExpression| home::part_class(cx, relation, part);
    child
        .key
        .parts()
        .iter()
        .zip(other.key.parts())
        .all(|(mine, theirs)| class(relation, mine) == class(parent, theirs))
}
