//! Unique constraints and foreign keys: what each shard can check for itself, and what only all shards together could.

use catalog::Relation;
use pg::Diagnostic;
use sql::ast::{self, ConstraintKind};
use topology::{KeyExpression, Placement, Sharded, UniqueOffKey};

use super::home::{self, Home};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// The table that gets a constraint.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    /// Where it is.
    pub(super) home: &'a Home,
    /// As the statement names it.
    pub(super) name: &'a ast::Name,
    /// As the catalog knows it, when it exists.
    pub(super) existing: Option<&'a Relation>,
}

/// Checks one constraint of `CREATE TABLE` or `ALTER TABLE`.
pub(super) fn check(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    constraint: &ast::Constraint,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    let name = constraint.name.as_deref();
    match &constraint.kind {
        ConstraintKind::Primary(columns) | ConstraintKind::Unique(columns) => {
            let columns: Vec<Option<String>> = columns.iter().cloned().map(Some).collect();
            unique(cx, subject, &columns, name, notices)
        }
        ConstraintKind::Exclude => unique(cx, subject, &[], name, notices),
        ConstraintKind::Foreign {
            columns,
            table,
            referenced,
        } => foreign(cx, subject, (columns, table, referenced), notices),
        ConstraintKind::NotNull
        | ConstraintKind::Null
        | ConstraintKind::Default(_)
        | ConstraintKind::Identity { .. }
        | ConstraintKind::Generated(_)
        | ConstraintKind::Check(_)
        | ConstraintKind::UsingIndex(_)
        | ConstraintKind::Attribute => Ok(()),
    }
}

/// Checks `CREATE INDEX`.
pub(super) fn create_index(
    cx: &Context<'_>,
    table: &ast::Name,
    is_unique: bool,
    (columns, name): (&[Option<String>], Option<&str>),
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    let Some(relation) = cx.catalog.relation(&table.parts, cx.search_path) else {
        return Ok(());
    };
    if !is_unique {
        return Ok(());
    }
    let home = Home::of(cx, relation);
    let subject = Subject {
        home: &home,
        name: table,
        existing: Some(relation),
    };
    unique(cx, &subject, columns, name, notices)
}

/// A unique constraint holds over all shards when it holds the key; else the topology says what becomes of it.
pub(super) fn unique(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    columns: &[Option<String>],
    name: Option<&str>,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    let Some(sharded) = subject.home.sharded() else {
        return Ok(());
    };
    let key = sharded.key.columns();
    let holds = |part: &&str| columns.iter().flatten().any(|column| column == part);
    if key.iter().all(holds)
        || sharded.ranges.shards().len() == 1 && cx.topology.shards().len() == 1
    {
        return Ok(());
    }
    let table = &subject.home.table;
    let what = name.map_or_else(
        || "a unique constraint".to_owned(),
        |name| format!("unique constraint {name:?}"),
    );
    let key = sharded.key.to_string();
    match sharded.unique_off_key {
        UniqueOffKey::Local => {
            notices.push(
                Diagnostic::notice(format!("{what} of {table} holds within each shard only"))
                    .detail(format!("It does not name the shard key ({key}).")),
            );
            Ok(())
        }
        UniqueOffKey::Refuse | UniqueOffKey::Index => Err(refuse(
            UnsupportedId::UniqueOffKey,
            format!("{what} of {table}, whose shard key is {key}"),
        )),
    }
}

/// A foreign key is PostgreSQL's own where every shard holds both ends.
fn foreign(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    (columns, table, referenced): (&[String], &ast::Name, &[String]),
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    if table.parts.last() == subject.name.parts.last() && is_itself(cx, subject, table) {
        self_reference(subject, (columns, referenced), notices);
        return Ok(());
    }
    let Some(parent) = cx.catalog.relation(&table.parts, cx.search_path) else {
        return Ok(());
    };
    let parent_home = Home::of(cx, parent);
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
            let referenced = referenced_columns(parent, referenced);
            if !names_key((child, other), columns, &referenced) {
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
