//! What the router keeps of a session, so that no backend knows it: prepared statements, and cursors over shards.

use sql::ast::{self, Body, Expr, ExprKind};

use crate::volatile::tree::{self, Node};
use crate::{Context, PlanError, Reach, Unsupported, UnsupportedId};

/// Refuses a look at the session anywhere in a write.
pub(crate) fn check_write(cx: &Context<'_>, body: &Body) -> Result<(), PlanError> {
    let mut checked = Ok(());
    tree::walk_body(body, &mut |node| {
        checked = match node {
            Node::Table(table) => check_table(cx, &table.name),
            Node::Expr(expr) => match &expr.kind {
                ExprKind::Call(call) => check_call(cx, call),
                _ => check_cursor(cx, expr),
            },
            Node::Query(_) | Node::Body(_) => Ok(()),
        };
        checked.is_ok()
    });
    checked
}

/// Refuses PostgreSQL's views of a session; a table that somebody named so is none.
pub(crate) fn check_table(cx: &Context<'_>, name: &ast::Name) -> Result<(), PlanError> {
    let parts = name.parts.as_slice();
    let Some(id) = refused(cx, name) else {
        return Ok(());
    };
    let is_builtin = match cx.catalog.relation(parts, cx.search_path) {
        Some(relation) => relation.schema == "pg_catalog",
        None => parts.len() == 1 || parts[parts.len() - 2] == "pg_catalog",
    };
    let is_hidden = parts.len() == 1 && cx.temporary.contains(&parts[0]);
    if is_builtin && !is_hidden {
        return Err(Unsupported::about(id, parts.join(".")).into());
    }
    Ok(())
}

/// Refuses the functions behind those views.
pub(crate) fn check_call(cx: &Context<'_>, call: &ast::Call) -> Result<(), PlanError> {
    match refused(cx, &call.name) {
        Some(id) => Err(Unsupported::about(id, call.name.parts.join(".")).into()),
        None => Ok(()),
    }
}

/// Refuses `WHERE CURRENT OF`.
pub(crate) fn check_cursor(cx: &Context<'_>, expr: &Expr) -> Result<(), PlanError> {
    match &expr.kind {
        ExprKind::Other {
            node: "CurrentOfExpr",
            ..
        } if cx.is_spread() => Err(Unsupported::new(UnsupportedId::CurrentOf).into()),
        _ => Ok(()),
    }
}

fn refused(cx: &Context<'_>, name: &ast::Name) -> Option<UnsupportedId> {
    let id = match name.parts.last()?.as_str() {
        "pg_prepared_statements" | "pg_prepared_statement" => UnsupportedId::SessionView,
        "pg_cursors" | "pg_cursor" => UnsupportedId::CursorView,
        _ => return None,
    };
    (id.reach() == Reach::Always || cx.is_spread()).then_some(id)
}
