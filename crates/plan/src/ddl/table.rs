//! `CREATE TABLE` in its forms.

use pg::Diagnostic;
use sql::ast::{self, ConstraintKind, CreateTable};
use topology::{Placement, TableName};

use super::home::{self, Home};
use super::{constraint, constraint::Subject, key};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// Checks `CREATE TABLE`.
pub(super) fn create(
    cx: &Context<'_>,
    create: &CreateTable,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    let Some(schema) = home::creation_schema(cx, &create.name) else {
        return Ok(());
    };
    let Some(table) = create.name.parts.last() else {
        return Ok(());
    };
    if create.if_not_exists
        && cx
            .catalog
            .relation(&create.name.parts, cx.search_path)
            .is_some()
    {
        return Ok(());
    }
    let columns = columns(cx, create);
    let has_column = |column: &str| columns.iter().any(|known| known == column);
    let home = Home {
        placement: match inherited(cx, create, (&schema, table)) {
            Some(placement) => placement,
            None => place(cx, (&schema, table), &has_column)?,
        },
        schema,
        table: table.clone(),
    };
    check_family(cx, &home, create)?;
    check_key(cx, &home, create, &has_column)?;
    let subject = Subject {
        home: &home,
        name: &create.name,
        existing: None,
    };
    for column in &create.columns {
        for demanded in &column.constraints {
            constraint::check(cx, &subject, demanded, notices)?;
        }
    }
    for demanded in &create.constraints {
        constraint::check(cx, &subject, demanded, notices)?;
    }
    check_like(cx, &subject, create, notices)
}

/// A partition or child that is not declared lives where its parent does.
fn inherited(
    cx: &Context<'_>,
    create: &CreateTable,
    (schema, table): (&str, &str),
) -> Option<Placement> {
    let name = TableName {
        database: cx.database,
        schema,
        table,
    };
    let parent = create.parents.first()?;
    let is_declared = cx.topology.declared(name).is_some();
    Home::named(cx, parent)
        .filter(|_| !is_declared)
        .map(|home| home.placement)
}

/// Where a new table goes.
fn place(
    cx: &Context<'_>,
    (schema, table): (&str, &str),
    has_column: &dyn Fn(&str) -> bool,
) -> Result<Placement, PlacementRefusal> {
    let name = TableName {
        database: cx.database,
        schema,
        table,
    };
    if let Some(group) = cx.default_group
        && cx.topology.declared(name).is_none()
    {
        return cx
            .topology
            .placement_in(group, name, has_column)
            .map_err(PlacementRefusal);
    }
    cx.topology
        .placement(name, has_column)
        .map_err(PlacementRefusal)
}

/// A table that has no place.
struct PlacementRefusal(topology::PlacementError);

impl From<PlacementRefusal> for PlanError {
    fn from(refusal: PlacementRefusal) -> Self {
        refuse(UnsupportedId::NoShardKey, refusal.0.to_string())
    }
}

/// Names of all columns: own, of `LIKE` sources, and of parents.
fn columns(cx: &Context<'_>, create: &CreateTable) -> Vec<String> {
    let mut columns: Vec<String> = create
        .columns
        .iter()
        .map(|column| column.name.clone())
        .collect();
    for source in create.like.iter().chain(&create.parents) {
        if let Some(relation) = cx.catalog.relation(&source.parts, cx.search_path) {
            columns.extend(relation.columns.iter().map(|column| column.name.clone()));
        }
    }
    columns
}

/// Partitions and inheriting tables live with their parents.
fn check_family(cx: &Context<'_>, home: &Home, create: &CreateTable) -> Result<(), PlanError> {
    for parent in &create.parents {
        if let Some(parent) = Home::named(cx, parent) {
            same_home(cx, home, &parent)?;
        }
    }
    Ok(())
}

/// Refuses two tables of one family that are placed differently.
pub(super) fn same_home(cx: &Context<'_>, child: &Home, parent: &Home) -> Result<(), PlanError> {
    let is_same = match (&child.placement, &parent.placement) {
        (Placement::Sharded(child), Placement::Sharded(parent)) => {
            child.group == parent.group
                && child.index.function == parent.index.function
                && child.key == parent.key
        }
        (child, parent) => child == parent,
    };
    if is_same || cx.topology.shards().len() == 1 {
        return Ok(());
    }
    Err(refuse(
        UnsupportedId::FamilyApart,
        format!(
            "{} is {}, {} is {} or spread by another key",
            child.table,
            child.kind(),
            parent.table,
            parent.kind()
        ),
    ))
}

/// The key's columns are there, of types that the index takes.
fn check_key(
    cx: &Context<'_>,
    home: &Home,
    create: &CreateTable,
    has_column: &dyn Fn(&str) -> bool,
) -> Result<(), PlanError> {
    let Some(sharded) = home.sharded() else {
        return Ok(());
    };
    let key = sharded.key.columns();
    if let Some(missing) = key.iter().find(|column| !has_column(column)) {
        return Err(refuse(
            UnsupportedId::NoShardKey,
            format!("{}, which lacks {missing:?}", home.table),
        ));
    }
    let generated = create.columns.iter().find(|column| {
        let mut demanded = column.constraints.iter();
        key.contains(&column.name.as_str())
            && demanded.any(|known| matches!(known.kind, ConstraintKind::Generated(_)))
    });
    match generated {
        Some(column) => Err(refuse(
            UnsupportedId::GeneratedKey,
            format!("{} of {}", column.name, home.table),
        )),
        None => key::check(cx, home, sharded, create),
    }
}

/// `LIKE ... INCLUDING INDEXES` copies unique constraints: what the source has must be allowed here.
fn check_like(
    cx: &Context<'_>,
    subject: &Subject<'_>,
    create: &CreateTable,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    for source in &create.like {
        let Some(relation) = cx.catalog.relation(&source.parts, cx.search_path) else {
            continue;
        };
        for index in relation.indexes.iter().filter(|index| index.unique) {
            let columns: Vec<Option<String>> = index
                .columns
                .iter()
                .map(|number| {
                    relation
                        .column_numbered(*number)
                        .map(|column| column.name.clone())
                })
                .collect();
            constraint::unique(cx, subject, &columns, Some(&index.name), notices)?;
        }
    }
    Ok(())
}

/// Refuses `CREATE TABLE AS EXECUTE`, which is the only form without a query.
pub(super) fn check_execute(ddl: &ast::Ddl) -> Result<(), PlanError> {
    let is_made_of_rows = matches!(ddl.action, ast::DdlAction::CreateTableAs { .. });
    if is_made_of_rows && ddl.queries.is_empty() {
        let name = created_name(ddl);
        return Err(refuse(UnsupportedId::CreateTableAsExecute, name));
    }
    Ok(())
}

/// Checks `CREATE TABLE AS`, `SELECT INTO` and `CREATE MATERIALIZED VIEW`.
pub(super) fn create_as(
    cx: &Context<'_>,
    ddl: &ast::Ddl,
    materialized: bool,
    no_data: bool,
) -> Result<(), PlanError> {
    if cx.topology.shards().len() == 1 || (materialized && no_data) {
        return Ok(());
    }
    if !materialized && no_data {
        return create_empty(cx, ddl);
    }
    if !materialized {
        return Err(refuse(UnsupportedId::CreateTableAs, created_name(ddl)));
    }
    let is_same_everywhere = ddl
        .queries
        .iter()
        .all(|query| super::maintain::is_copied_query(cx, query));
    if is_same_everywhere {
        return Ok(());
    }
    Err(refuse(UnsupportedId::MaterializedView, created_name(ddl)))
}

fn created_name(ddl: &ast::Ddl) -> String {
    match &ddl.action {
        ast::DdlAction::CreateTableAs { name, .. } => name.parts.join("."),
        _ => String::new(),
    }
}

/// `CREATE TABLE ... AS ... WITH NO DATA` makes a table like any other, of the query's columns.
fn create_empty(cx: &Context<'_>, ddl: &ast::Ddl) -> Result<(), PlanError> {
    let ast::DdlAction::CreateTableAs { name, .. } = &ddl.action else {
        return Ok(());
    };
    let (Some(schema), Some(table)) = (home::creation_schema(cx, name), name.parts.last()) else {
        return Ok(());
    };
    let columns: Option<Vec<String>> = ddl.queries.first().and_then(column_names);
    let columns = columns.ok_or_else(|| refuse(UnsupportedId::CreateTableAs, table))?;
    let has_column = |column: &str| columns.iter().any(|known| known == column);
    let placement = place(cx, (&schema, table), &has_column)?;
    let lacks = match &placement {
        Placement::Sharded(sharded) => !sharded
            .key
            .columns()
            .iter()
            .all(|column| has_column(column)),
        Placement::Reference(_) | Placement::Unsharded { .. } => false,
    };
    if lacks {
        return Err(refuse(UnsupportedId::NoShardKey, table));
    }
    Ok(())
}

/// The names of a query's columns, when each is plain.
fn column_names(query: &ast::Query) -> Option<Vec<String>> {
    let ast::QueryBody::Select(select) = &query.body else {
        return None;
    };
    let name = |target: &ast::Target| {
        target.alias.clone().or_else(|| match &target.expr.kind {
            ast::ExprKind::Column(name) => name.parts.last().cloned(),
            _ => None,
        })
    };
    select.targets.iter().map(name).collect()
}
