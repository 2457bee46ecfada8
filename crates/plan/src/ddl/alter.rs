//! `ALTER TABLE` and `RENAME`: what the topology names stays what it is.

use catalog::{Relation, RelationKind};
use pg::Diagnostic;
use sql::ast::{self, AlterCommand, ConstraintKind};
use topology::{Placement, TableName};

use super::constraint::{self, Subject};
use super::home::{self, Home};
use super::key;
use super::table;
use crate::volatile::{self, What};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// Checks the sub-commands of `ALTER TABLE`.
pub(super) fn alter(
    cx: &Context<'_>,
    (name, object): (&ast::Name, &str),
    commands: &[AlterCommand],
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    if object != "TABLE" {
        return super::object::check_kind(object);
    }
    let Some(relation) = cx.catalog.relation(&name.parts, cx.search_path) else {
        return Ok(());
    };
    let home = Home::of(cx, relation);
    let subject = Subject {
        home: &home,
        name,
        existing: Some(relation),
    };
    commands
        .iter()
        .try_for_each(|command| check(cx, &subject, command, notices))
}

fn check(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    command: &AlterCommand,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    match command {
        AlterCommand::AddColumn(column) => {
            keep_place(cx, subject, &column.name)?;
            add_column(cx, subject, column, notices)
        }
        AlterCommand::DropColumn(column) => keep_key(subject, column, "dropped"),
        AlterCommand::AlterType { column, using, .. } => {
            keep_key(subject, column, "given another type")?;
            using
                .as_ref()
                .map_or(Ok(()), |using| same_for_all(cx, subject, using))
        }
        AlterCommand::AddConstraint(demanded) => constraint::check(cx, subject, demanded, notices),
        AlterCommand::AttachPartition(other) => match Home::named(cx, other) {
            Some(partition) => table::same_home(cx, &partition, subject.home),
            None => Ok(()),
        },
        AlterCommand::Inherit(other) => match Home::named(cx, other) {
            Some(parent) => table::same_home(cx, subject.home, &parent),
            None => Ok(()),
        },
        AlterCommand::Other { name, target } => match (*name, target) {
            ("SetExpression", Some(column)) => {
                keep_key(subject, column, "given another expression")
            }
            _ => Ok(()),
        },
        AlterCommand::DetachPartition { .. } | AlterCommand::SetDefault { .. } => Ok(()),
    }
}

/// A new column's default fills the rows that exist, on each shard by itself.
fn add_column(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    column: &ast::ColumnDef,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    for demanded in &column.constraints {
        constraint::check(cx, subject, demanded, notices)?;
        match &demanded.kind {
            ConstraintKind::Default(value) => same_for_all(cx, subject, value)?,
            ConstraintKind::Identity { .. } => numbered_apart(cx, subject, column)?,
            _ => {}
        }
    }
    let is_serial = column.type_name.as_ref().is_some_and(|type_name| {
        type_name
            .name
            .parts
            .last()
            .is_some_and(|last| last.contains("serial"))
    });
    if is_serial {
        numbered_apart(cx, subject, column)
    } else {
        Ok(())
    }
}

fn is_on_authority_alone(cx: &Context<'_>, subject: &Subject<'_>) -> bool {
    subject.home.placement.shards() == [cx.topology.authoritative_shard()]
}

/// Rows that exist would be numbered by each shard's own sequence.
fn numbered_apart(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    column: &ast::ColumnDef,
) -> Result<(), PlanError> {
    if is_on_authority_alone(cx, subject) {
        return Ok(());
    }
    Err(refuse(
        UnsupportedId::VolatileDefinition,
        format!("the sequence of {}.{}", subject.home.table, column.name),
    ))
}

/// An expression that is evaluated for the rows that exist must give the same wherever they are.
fn same_for_all(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    value: &ast::Expr,
) -> Result<(), PlanError> {
    if is_on_authority_alone(cx, subject) {
        return Ok(());
    }
    let is_copied = matches!(subject.home.placement, Placement::Reference(_));
    let apart = volatile::findings(cx, "", value)
        .into_iter()
        .find(|finding| match finding.what {
            What::Fresh { .. } => is_copied,
            _ => true,
        });
    let Some(finding) = apart else {
        return Ok(());
    };
    Err(refuse(
        UnsupportedId::VolatileDefinition,
        format!("{} in {}", finding.name, subject.home.table),
    ))
}

/// A table that the topology does not declare is placed by its columns: a new one must not change where its rows are.
fn keep_place(cx: &Context<'_>, subject: &Subject<'_>, added: &str) -> Result<(), PlanError> {
    let Some(relation) = subject.existing.filter(|_| cx.is_spread()) else {
        return Ok(());
    };
    let name = TableName {
        database: cx.database,
        schema: &relation.schema,
        table: &relation.name,
    };
    let has_column = |column: &str| column == added || relation.column(column).is_some();
    let is_own = matches!(
        relation.kind,
        RelationKind::Table | RelationKind::Partitioned
    ) && relation.parents.is_empty()
        && relation.column(added).is_none();
    let after = cx.topology.placement(name, &has_column);
    let is_moved = after.is_ok_and(|after| match (&after, &subject.home.placement) {
        (Placement::Unsharded { shard: after, .. }, Placement::Unsharded { shard, .. }) => {
            after != shard
        }
        (after, before) => after != before,
    });
    if is_own && is_moved {
        let told = format!("{} with a column {added}", relation.name);
        return Err(refuse(UnsupportedId::PlacementChange, told));
    }
    Ok(())
}

fn keep_key(subject: &Subject<'_>, column: &str, what: &str) -> Result<(), PlanError> {
    let is_key = subject
        .home
        .sharded()
        .is_some_and(|sharded| sharded.key.columns().contains(&column));
    if !is_key {
        return Ok(());
    }
    Err(refuse(
        UnsupportedId::KeyColumnChange,
        format!("{}.{column} can't be {what}", subject.home.table),
    ))
}

/// Checks `ALTER ... RENAME`.
pub(super) fn rename(
    cx: &Context<'_>,
    object: &str,
    name: Option<&ast::Name>,
    part: Option<&str>,
    to: &str,
) -> Result<(), PlanError> {
    match (object, name) {
        ("SCHEMA", Some(name)) => rename_schema(cx, name),
        ("VALUE", Some(name)) => keep_type(cx, name),
        ("DATABASE", _) => super::object::check_kind("DATABASE"),
        (_, Some(name)) => {
            let Some(relation) = cx.catalog.relation(&name.parts, cx.search_path) else {
                return super::object::check_kind(object);
            };
            if object == "COLUMN" || object == "ATTRIBUTE" {
                let home = Home::of(cx, relation);
                let subject = Subject {
                    home: &home,
                    name,
                    existing: Some(relation),
                };
                keep_key(&subject, part.unwrap_or_default(), "renamed")?;
                return keep_place(cx, &subject, to);
            }
            if is_renamed_table(object) {
                rename_table(cx, relation, to)
            } else {
                Ok(())
            }
        }
        (_, None) => super::object::check_kind(object),
    }
}

/// The values of a type by which rows are placed stay what they are.
pub(super) fn keep_type(cx: &Context<'_>, name: &ast::Name) -> Result<(), PlanError> {
    let known = cx.catalog.type_named(&name.parts, cx.search_path);
    let keyed = known
        .filter(|_| cx.is_spread())
        .and_then(|known| key::keyed_by(cx, known.oid));
    match keyed {
        Some(table) => Err(refuse(
            UnsupportedId::KeyColumnChange,
            format!("type {} of the key of {table}", name.parts.join(".")),
        )),
        None => Ok(()),
    }
}

fn is_renamed_table(object: &str) -> bool {
    matches!(object, "TABLE" | "FOREIGN TABLE")
}

/// A table may take another name if that name has the same place.
fn rename_table(cx: &Context<'_>, relation: &Relation, to: &str) -> Result<(), PlanError> {
    let name = TableName {
        database: cx.database,
        schema: &relation.schema,
        table: to,
    };
    let before = home::placement_of(cx, relation);
    let after = cx
        .topology
        .placement(name, &|column| relation.column(column).is_some());
    if after.is_ok_and(|after| after == before) || cx.topology.shards().len() == 1 {
        return Ok(());
    }
    Err(refuse(
        UnsupportedId::PlacementChange,
        format!("{} to {to}", relation.name),
    ))
}

/// The topology names tables by schema, so a schema with declared tables keeps its name.
fn rename_schema(cx: &Context<'_>, name: &ast::Name) -> Result<(), PlanError> {
    let schema = name.parts.last().map_or("", String::as_str);
    let document = cx.topology.document();
    let is_declared = document
        .databases
        .get(cx.database)
        .is_some_and(|database| database.schemas.contains_key(schema));
    if !is_declared {
        return Ok(());
    }
    Err(refuse(
        UnsupportedId::PlacementChange,
        format!("schema {schema}"),
    ))
}
