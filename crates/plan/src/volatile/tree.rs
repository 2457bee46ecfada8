//! Visits every expression, table and query of a statement, outermost first. Invariant: nothing is left out; a kind of node
//! that is added to the tree fails to compile here.

use sql::ast::{
    Body, Call, Expr, ExprKind, FromItem, GroupItem, InsertSource, Query, QueryBody, Select,
    SortKey, Target, Window, With,
};

/// What is visited.
#[derive(Clone, Copy)]
pub(crate) enum Node<'a> {
    /// An expression.
    Expr(&'a Expr),
    /// A table in `FROM`, or the target of a write.
    Table(&'a sql::ast::TableRef),
    /// A query, before its parts.
    Query(&'a Query),
    /// A statement inside `WITH`, before its parts.
    Body(&'a Body),
}

/// The visitor: whether to go inside what it was shown.
pub(crate) type Visit<'v, 'a> = &'v mut dyn FnMut(Node<'a>) -> bool;

/// Visits an expression and all inside.
pub(crate) fn walk_expr<'a>(expr: &'a Expr, visit: Visit<'_, 'a>) {
    if !visit(Node::Expr(expr)) {
        return;
    }
    if let ExprKind::Sublink { operand, query, .. } = &expr.kind {
        walk_all(operand.as_deref(), visit);
        walk_query(query, visit);
        return;
    }
    if let ExprKind::Call(call) = &expr.kind {
        walk_call(call, visit);
        return;
    }
    for child in children(expr) {
        walk_expr(child, visit);
    }
}

/// Visits a query and all inside.
pub(crate) fn walk_query<'a>(query: &'a Query, visit: Visit<'_, 'a>) {
    if !visit(Node::Query(query)) {
        return;
    }
    walk_with(query.with.as_ref(), visit);
    match &query.body {
        QueryBody::Select(select) => walk_select(select, visit),
        QueryBody::Values(rows) => walk_all(rows.iter().flatten(), visit),
        QueryBody::SetOperation { left, right, .. } => {
            walk_query(left, visit);
            walk_query(right, visit);
        }
    }
    walk_sort(&query.order_by, visit);
    walk_all(query.limit.iter().chain(&query.offset), visit);
}

/// Visits a statement and all inside; what is not a query or a write has no parts here.
pub(crate) fn walk_body<'a>(body: &'a Body, visit: Visit<'_, 'a>) {
    if !visit(Node::Body(body)) {
        return;
    }
    match body {
        Body::Query(query) => walk_query(query, visit),
        Body::Insert(insert) => walk_insert(insert, visit),
        Body::Update(update) => {
            walk_with(update.with.as_ref(), visit);
            visit(Node::Table(&update.table));
            walk_all(
                update
                    .assignments
                    .iter()
                    .map(|assignment| &assignment.value),
                visit,
            );
            walk_from(&update.from, visit);
            walk_all(&update.filter, visit);
            walk_targets(&update.returning, visit);
        }
        Body::Delete(delete) => {
            walk_with(delete.with.as_ref(), visit);
            visit(Node::Table(&delete.table));
            walk_from(&delete.using, visit);
            walk_all(&delete.filter, visit);
            walk_targets(&delete.returning, visit);
        }
        Body::Merge(merge) => {
            walk_with(merge.with.as_ref(), visit);
            visit(Node::Table(&merge.table));
            walk_from(std::slice::from_ref(&merge.source), visit);
            walk_expr(&merge.on, visit);
            walk_all(&merge.children, visit);
            walk_targets(&merge.returning, visit);
        }
        Body::Copy(copy) => {
            if let Some(table) = &copy.table {
                visit(Node::Table(table));
            }
            if let Some(query) = &copy.query {
                walk_body(query, visit);
            }
            walk_all(&copy.filter, visit);
        }
        _ => {}
    }
}

fn walk_insert<'a>(insert: &'a sql::ast::Insert, visit: Visit<'_, 'a>) {
    walk_with(insert.with.as_ref(), visit);
    visit(Node::Table(&insert.table));
    match &insert.source {
        InsertSource::Default => {}
        InsertSource::Values { rows, .. } => walk_all(rows.iter().flatten(), visit),
        InsertSource::Query(query) => walk_query(query, visit),
    }
    if let Some(conflict) = &insert.on_conflict {
        walk_all(
            conflict
                .target
                .iter()
                .chain(&conflict.target_filter)
                .chain(&conflict.filter),
            visit,
        );
        let updates = conflict.update.iter().flatten();
        walk_all(updates.map(|assignment| &assignment.value), visit);
    }
    walk_targets(&insert.returning, visit);
}

/// Visits the statements of a `WITH`.
pub(crate) fn walk_with<'a>(with: Option<&'a With>, visit: Visit<'_, 'a>) {
    for cte in with.into_iter().flat_map(|with| &with.ctes) {
        walk_body(&cte.body, visit);
    }
}

fn walk_select<'a>(select: &'a Select, visit: Visit<'_, 'a>) {
    if let sql::ast::Distinct::On(keys) = &select.distinct {
        walk_all(keys, visit);
    }
    walk_targets(&select.targets, visit);
    walk_from(&select.from, visit);
    walk_all(&select.filter, visit);
    for item in &select.group_by {
        match item {
            GroupItem::Expr(expr) => walk_expr(expr, visit),
            GroupItem::Sets { children, .. } => walk_all(children, visit),
        }
    }
    walk_all(&select.having, visit);
    for window in &select.windows {
        walk_window(window, visit);
    }
}

/// Visits the items of a `FROM`.
pub(crate) fn walk_from<'a>(items: &'a [FromItem], visit: Visit<'_, 'a>) {
    for item in items {
        match item {
            FromItem::Table(table) => {
                visit(Node::Table(table));
            }
            FromItem::Join(join) => {
                walk_from(std::slice::from_ref(&join.left), visit);
                walk_from(std::slice::from_ref(&join.right), visit);
                walk_all(&join.on, visit);
            }
            FromItem::Subquery { query, .. } => walk_query(query, visit),
            FromItem::Function { calls, .. } => walk_all(calls, visit),
            FromItem::Sample { item, arguments } => {
                walk_from(std::slice::from_ref(item), visit);
                walk_all(arguments, visit);
            }
            FromItem::Other { children, .. } => walk_all(children, visit),
        }
    }
}

fn walk_targets<'a>(targets: &'a [Target], visit: Visit<'_, 'a>) {
    walk_all(targets.iter().map(|target| &target.expr), visit);
}

fn walk_sort<'a>(keys: &'a [SortKey], visit: Visit<'_, 'a>) {
    walk_all(keys.iter().map(|key| &key.expr), visit);
}

fn walk_window<'a>(window: &'a Window, visit: Visit<'_, 'a>) {
    walk_all(window.partition_by.iter().chain(&window.frame), visit);
    walk_sort(&window.order_by, visit);
}

fn walk_call<'a>(call: &'a Call, visit: Visit<'_, 'a>) {
    walk_all(call.arguments.iter().chain(&call.filter), visit);
    walk_sort(&call.order_by, visit);
    if let Some(window) = &call.over {
        walk_window(window, visit);
    }
}

fn walk_all<'a>(exprs: impl IntoIterator<Item = &'a Expr>, visit: Visit<'_, 'a>) {
    for expr in exprs {
        walk_expr(expr, visit);
    }
}

/// The expressions directly inside; sub-selects and calls are visited by their own functions.
pub(crate) fn children(expr: &Expr) -> Vec<&Expr> {
    // tidy: flat match
    match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Star(_)
        | ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::SqlValue(_)
        | ExprKind::Default
        | ExprKind::Call(_)
        | ExprKind::Sublink { .. } => Vec::new(),
        ExprKind::Operator { left, right, .. } => left
            .iter()
            .chain(std::iter::once(right))
            .map(AsRef::as_ref)
            .collect(),
        ExprKind::AnyAll { left, right, .. } | ExprKind::DistinctFrom { left, right, .. } => {
            vec![left, right]
        }
        ExprKind::In { left, list, .. } => std::iter::once(&**left).chain(list).collect(),
        ExprKind::Between {
            operand, low, high, ..
        } => vec![operand, low, high],
        ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Row(list) | ExprKind::Array(list) => {
            list.iter().collect()
        }
        ExprKind::Not(operand)
        | ExprKind::IsNull { operand, .. }
        | ExprKind::Cast { operand, .. }
        | ExprKind::Collate { operand, .. } => vec![operand],
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => operand
            .iter()
            .map(AsRef::as_ref)
            .chain(branches.iter().flat_map(|(when, then)| [when, then]))
            .chain(otherwise.iter().map(AsRef::as_ref))
            .collect(),
        ExprKind::Other { children, .. } => children.iter().collect(),
    }
}
