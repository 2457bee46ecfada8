//! Objects that are no tables: which kinds may be defined through the router, and what a trigger function may do.

use pg::Diagnostic;
use sql::ast::{self, DdlAction};

use super::home::Home;
use crate::function::{self, Class};
use crate::trigger::{self, Reads};
use crate::volatile::tree::{self, Node};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// The schema of the router's own records on the shards.
const PRIVATE_SCHEMA: &str = "kintsugi";

/// Kinds that one server holds for itself, or that would move rows past the router.
const REFUSED_KINDS: &[&str] = &[
    "DATABASE",
    "TABLESPACE",
    "PUBLICATION",
    "SUBSCRIPTION",
    "FOREIGN SERVER",
    "SERVER",
    "FOREIGN TABLE",
    "FOREIGN DATA WRAPPER",
    "USER MAPPING",
    "EVENT TRIGGER",
    "RULE",
    "SYSTEM",
    "POLICY",
];

/// Refuses a kind of object that can't be the same on every shard.
pub(super) fn check_kind(object: &str) -> Result<(), PlanError> {
    if REFUSED_KINDS.contains(&object) {
        return Err(refuse(UnsupportedId::ObjectKind, object));
    }
    Ok(())
}

/// Refuses functions that may look at tables where a shard evaluates them by itself: in checks, generated columns,
/// indexes and domains.
pub(super) fn check_proven<'e>(
    cx: &Context<'_>,
    expressions: impl IntoIterator<Item = &'e ast::Expr>,
) -> Result<(), PlanError> {
    let mut unproven = None;
    for expr in expressions.into_iter().filter(|_| cx.is_spread()) {
        tree::walk_expr(expr, &mut |node| {
            if let Node::Expr(inner) = node
                && let ast::ExprKind::Call(call) = &inner.kind
                && matches!(
                    function::classify(cx, call),
                    Class::Dynamic | Class::Unproven
                )
            {
                unproven = Some(call.name.parts.join("."));
            }
            unproven.is_none()
        });
    }
    match unproven {
        Some(name) => Err(refuse(UnsupportedId::FunctionUser, name)),
        None => Ok(()),
    }
}

/// Refuses definitions in the router's own schema.
pub(super) fn check_private(ddl: &ast::Ddl) -> Result<(), PlanError> {
    let is_private = |name: &&ast::Name| {
        name.parts.len() > 1 && name.parts[name.parts.len() - 2] == PRIVATE_SCHEMA
    };
    let is_schema_itself = match &ddl.action {
        DdlAction::Drop {
            object: "SCHEMA",
            names,
            ..
        } => names.iter().any(is_schema_name),
        DdlAction::CreateOther {
            object: "SCHEMA",
            name: Some(name),
        }
        | DdlAction::AlterOther {
            object: "SCHEMA",
            name: Some(name),
        }
        | DdlAction::Rename {
            object: "SCHEMA",
            name: Some(name),
            ..
        } => is_schema_name(name),
        _ => false,
    };
    if is_schema_itself || own_names(ddl).iter().any(is_private) {
        return Err(refuse(UnsupportedId::PrivateSchema, PRIVATE_SCHEMA));
    }
    Ok(())
}

fn is_schema_name(name: &ast::Name) -> bool {
    name.parts.last().is_some_and(|last| last == PRIVATE_SCHEMA)
}

/// The names of what the statement defines, as opposed to what it refers to.
fn own_names(ddl: &ast::Ddl) -> Vec<&ast::Name> {
    // tidy: flat match
    match &ddl.action {
        DdlAction::CreateTable(create) => vec![&create.name],
        DdlAction::CreateTableAs { name, .. }
        | DdlAction::AlterTable { name, .. }
        | DdlAction::CreateView { name, .. }
        | DdlAction::CreateSequence { name, .. }
        | DdlAction::AlterSequence { name }
        | DdlAction::CreateFunction { name } => vec![name],
        DdlAction::CreateIndex { table, .. } | DdlAction::CreateTrigger { table, .. } => {
            vec![table]
        }
        DdlAction::CreateOther { name, .. }
        | DdlAction::AlterOther { name, .. }
        | DdlAction::Rename { name, .. } => name.iter().collect(),
        DdlAction::Drop { names, .. } | DdlAction::Attribute { names, .. } => {
            names.iter().collect()
        }
    }
}

/// `SET SCHEMA`, `OWNER TO` and the alterations of other kinds.
pub(super) fn alter_other(
    cx: &Context<'_>,
    object: &str,
    name: Option<&ast::Name>,
) -> Result<(), PlanError> {
    check_kind(object)?;
    if object != "TABLE" || cx.topology.shards().len() == 1 {
        return Ok(());
    }
    // The owner of a table is changed by a sub-command of ALTER TABLE, so this one changes the schema.
    let home = name.and_then(|name| Home::named(cx, name));
    match home {
        Some(home) => Err(refuse(UnsupportedId::PlacementChange, home.table)),
        None => Ok(()),
    }
}

/// Grants, comments, statistics, and what else has no rows.
pub(super) fn attribute(ddl: &ast::Ddl, command: &str, object: &str) -> Result<(), PlanError> {
    if command == "COMMENT" || command == "GRANT" || command == "REVOKE" {
        return Ok(());
    }
    let is_policy = command.contains("POLICY") || object == "POLICY";
    if is_policy && (!ddl.queries.is_empty() || has_subselect(ddl)) {
        return Err(refuse(
            UnsupportedId::ObjectKind,
            "POLICY with a sub-select",
        ));
    }
    let refused = REFUSED_KINDS
        .iter()
        .filter(|kind| **kind != "POLICY")
        .find(|kind| command.ends_with(**kind) || object == **kind);
    match refused {
        Some(kind) => Err(refuse(UnsupportedId::ObjectKind, *kind)),
        None => Ok(()),
    }
}

fn has_subselect(ddl: &ast::Ddl) -> bool {
    let mut found = false;
    for expr in &ddl.expressions {
        tree::walk_expr(expr, &mut |node| {
            found |= matches!(node, Node::Query(_));
            !found
        });
    }
    found
}

/// A trigger of a sharded table runs on one shard: its function must not look further.
pub(super) fn create_trigger(
    cx: &Context<'_>,
    table: &ast::Name,
    function: &ast::Name,
    notices: &mut Vec<Diagnostic>,
) -> Result<(), PlanError> {
    let Some(home) = Home::named(cx, table) else {
        return Ok(());
    };
    let candidates = cx.catalog.functions_named(&function.parts, cx.search_path);
    let Some(function) = candidates
        .iter()
        .find(|function| function.arguments.is_empty())
    else {
        return Ok(());
    };
    let reads = trigger::reads(cx, function);
    match (&home.placement, reads) {
        (topology::Placement::Reference(_), Reads::Clock | Reads::Unsharded | Reads::Unproven)
            if cx.topology.shards().len() > 1 =>
        {
            notices.push(
                Diagnostic::notice(format!(
                    "writes to reference table {} that fire the trigger will be refused",
                    home.table
                ))
                .detail(format!(
                    "Function {}.{} is not proven to give the same on every copy.",
                    function.schema, function.name
                )),
            );
            Ok(())
        }
        (topology::Placement::Sharded(sharded), Reads::Unsharded | Reads::Unproven)
            if sharded.ranges.shards().len() > 1 || cx.topology.shards().len() > 1 =>
        {
            Err(refuse(
                UnsupportedId::TriggerUser,
                format!("{}.{}", function.schema, function.name),
            ))
        }
        _ => Ok(()),
    }
}
