//! Constraints: what each shard can check for itself, and what only all shards together could.

use catalog::Relation;
use pg::Diagnostic;
use sql::ast::{self, ConstraintKind};
use topology::UniqueOffKey;

use super::foreign::{self, Actions, Foreign};
use super::home::Home;
use super::object;
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
            on_update,
            on_delete,
            reset,
        } => {
            let foreign = Foreign {
                columns,
                table,
                referenced,
                actions: Actions {
                    on_update: *on_update,
                    on_delete: *on_delete,
                    reset,
                },
            };
            foreign::check(cx, subject, foreign, notices)
        }
        ConstraintKind::Check(expr) | ConstraintKind::Generated(expr) => {
            object::check_proven(cx, [expr])
        }
        ConstraintKind::NotNull
        | ConstraintKind::Null
        | ConstraintKind::Default(_)
        | ConstraintKind::Identity { .. }
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
