//! Walking a tree without matching every variant.
//!
//! Invariant: whatever is in a tree is visited, exactly once: sub-selects, common table expressions, values, subscripts,
//! what a definition carries. A new variant is entered here, and every walker sees it.

use super::{
    Assignment, Body, Call, Ddl, Distinct, Expr, ExprKind, FromItem, GroupItem, Insert,
    InsertSource, Merge, Name, OnConflict, Query, QueryBody, Select, SortKey, TableRef, Target,
    TypeName, Window, With,
};

/// Something that holds other things.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A statement, or the body of a common table expression.
    Body(&'a Body),
    /// A query.
    Query(&'a Query),
    /// An entry of `FROM`.
    From(&'a FromItem),
    /// A table: of `FROM`, or the one that a statement writes, locks, copies.
    Table(&'a TableRef),
    /// An expression.
    Expr(&'a Expr),
    /// A type in an expression.
    Type(&'a TypeName),
    /// The name of a relation that is no table reference: what a definition names, what `VACUUM` and `REFRESH` name, the
    /// new table of `SELECT INTO`.
    Name(&'a Name),
}

/// Visits `part` and everything inside, parents first. `visit` answers whether to go inside.
pub fn walk<'a>(part: Part<'a>, visit: &mut dyn FnMut(Part<'a>) -> bool) {
    if visit(part) {
        children(part, &mut |child| walk(child, visit));
    }
}

/// Every expression inside, also inside sub-selects, parents first.
pub fn for_each_expr<'a>(body: &'a Body, visit: &mut dyn FnMut(&'a Expr)) {
    walk(Part::Body(body), &mut |part| {
        if let Part::Expr(expr) = part {
            visit(expr);
        }
        true
    });
}

/// Every query inside, also sub-selects and bodies of common table expressions, outer ones first.
pub fn for_each_query<'a>(body: &'a Body, visit: &mut dyn FnMut(&'a Query)) {
    walk(Part::Body(body), &mut |part| {
        if let Part::Query(query) = part {
            visit(query);
        }
        true
    });
}

/// Every table reference inside: also names of common table expressions, which look the same.
pub fn for_each_table<'a>(body: &'a Body, visit: &mut dyn FnMut(&'a TableRef)) {
    walk(Part::Body(body), &mut |part| {
        if let Part::Table(table) = part {
            visit(table);
        }
        true
    });
}

/// The name of every relation inside, be it a table reference or named by a definition.
pub fn for_each_relation<'a>(body: &'a Body, visit: &mut dyn FnMut(&'a Name)) {
    walk(Part::Body(body), &mut |part| {
        match part {
            Part::Table(table) => visit(&table.name),
            Part::Name(name) => visit(name),
            _ => {}
        }
        true
    });
}

/// Every sub-expression of an expression, itself first; with those of its sub-selects when `into_queries`.
pub fn for_each_in<'a>(expr: &'a Expr, into_queries: bool, visit: &mut dyn FnMut(&'a Expr)) {
    walk(Part::Expr(expr), &mut |part| {
        if let Part::Expr(expr) = part {
            visit(expr);
        }
        into_queries || !matches!(part, Part::Query(_))
    });
}

/// What is directly inside `part`.
pub fn children<'a>(part: Part<'a>, visit: &mut dyn FnMut(Part<'a>)) {
    match part {
        Part::Body(body) => in_body(body, visit),
        Part::Query(query) => in_query(query, visit),
        Part::From(item) => in_from(item, visit),
        Part::Expr(expr) => in_expr(expr, visit),
        Part::Type(name) => exprs(&name.modifiers, visit),
        Part::Table(_) | Part::Name(_) => {}
    }
}

type Visit<'v, 'a> = &'v mut dyn FnMut(Part<'a>);

fn exprs<'a>(list: impl IntoIterator<Item = &'a Expr>, visit: Visit<'_, 'a>) {
    list.into_iter().for_each(|expr| visit(Part::Expr(expr)));
}

fn targets<'a>(list: &'a [Target], visit: Visit<'_, 'a>) {
    exprs(list.iter().map(|target| &target.expr), visit);
}

fn sort_keys<'a>(list: &'a [SortKey], visit: Visit<'_, 'a>) {
    exprs(list.iter().map(|key| &key.expr), visit);
}

fn names<'a>(list: &'a [Name], visit: Visit<'_, 'a>) {
    for name in list {
        visit(Part::Name(name));
    }
}

fn tables<'a>(list: &'a [TableRef], visit: Visit<'_, 'a>) {
    for table in list {
        visit(Part::Table(table));
    }
}

fn from_items<'a>(list: &'a [FromItem], visit: Visit<'_, 'a>) {
    for item in list {
        visit(Part::From(item));
    }
}

fn with<'a>(clause: Option<&'a With>, visit: Visit<'_, 'a>) {
    for cte in clause.iter().flat_map(|with| &with.ctes) {
        visit(Part::Body(&cte.body));
    }
}

fn in_body<'a>(body: &'a Body, visit: Visit<'_, 'a>) {
    match body {
        Body::Query(query) | Body::Declare { query, .. } => visit(Part::Query(query)),
        Body::Insert(insert) => in_insert(insert, visit),
        Body::Update(update) => {
            with(update.with.as_ref(), visit);
            visit(Part::Table(&update.table));
            assignments(&update.assignments, visit);
            from_items(&update.from, visit);
            exprs(&update.filter, visit);
            targets(&update.returning, visit);
        }
        Body::Delete(delete) => {
            with(delete.with.as_ref(), visit);
            visit(Part::Table(&delete.table));
            from_items(&delete.using, visit);
            exprs(&delete.filter, visit);
            targets(&delete.returning, visit);
        }
        Body::Merge(merge) => in_merge(merge, visit),
        Body::Copy(copy) => {
            if let Some(table) = &copy.table {
                visit(Part::Table(table));
            }
            if let Some(body) = &copy.query {
                visit(Part::Body(body));
            }
            exprs(&copy.filter, visit);
        }
        Body::Explain(explain) => visit(Part::Body(&explain.body)),
        Body::Prepare { body, .. } => visit(Part::Body(body)),
        Body::Execute { arguments, .. } => exprs(arguments, visit),
        Body::Lock { tables: list } | Body::Truncate { tables: list, .. } => tables(list, visit),
        Body::Refresh { view, .. } => visit(Part::Name(view)),
        Body::Maintenance { tables, .. } => names(tables, visit),
        Body::Call(call) => in_call(call, visit),
        Body::Ddl(ddl) => in_ddl(ddl, visit),
        Body::Transaction(_)
        | Body::Set(_)
        | Body::Show(_)
        | Body::SetConstraints { .. }
        | Body::Deallocate(_)
        | Body::Fetch { .. }
        | Body::Close(_)
        | Body::Notification(_)
        | Body::Discard(_)
        | Body::Do
        | Body::Other(_) => {}
    }
}

/// A definition's own structure holds copies of the expressions in its list, which are visited once.
fn in_ddl<'a>(ddl: &'a Ddl, visit: Visit<'_, 'a>) {
    names(&ddl.relations, visit);
    for query in &ddl.queries {
        visit(Part::Query(query));
    }
    exprs(&ddl.expressions, visit);
}

fn in_insert<'a>(insert: &'a Insert, visit: Visit<'_, 'a>) {
    with(insert.with.as_ref(), visit);
    visit(Part::Table(&insert.table));
    exprs(
        insert.columns.iter().flat_map(|column| &column.indirection),
        visit,
    );
    match &insert.source {
        InsertSource::Default => {}
        InsertSource::Values { rows, .. } => exprs(rows.iter().flatten(), visit),
        InsertSource::Query(query) => visit(Part::Query(query)),
    }
    if let Some(clause) = &insert.on_conflict {
        in_on_conflict(clause, visit);
    }
    targets(&insert.returning, visit);
}

fn in_on_conflict<'a>(clause: &'a OnConflict, visit: Visit<'_, 'a>) {
    exprs(&clause.target, visit);
    exprs(&clause.target_filter, visit);
    assignments(clause.update.iter().flatten(), visit);
    exprs(&clause.filter, visit);
}

fn assignments<'a>(list: impl IntoIterator<Item = &'a Assignment>, visit: Visit<'_, 'a>) {
    for assignment in list {
        exprs(&assignment.indirection, visit);
        visit(Part::Expr(&assignment.value));
    }
}

/// The values of `updates` and `inserts` are among the children.
fn in_merge<'a>(merge: &'a Merge, visit: Visit<'_, 'a>) {
    with(merge.with.as_ref(), visit);
    visit(Part::Table(&merge.table));
    visit(Part::From(&merge.source));
    visit(Part::Expr(&merge.on));
    exprs(&merge.children, visit);
    exprs(
        merge.updates.iter().flat_map(|update| &update.indirection),
        visit,
    );
    targets(&merge.returning, visit);
}

fn in_query<'a>(query: &'a Query, visit: Visit<'_, 'a>) {
    with(query.with.as_ref(), visit);
    match &query.body {
        QueryBody::Select(select) => in_select(select, visit),
        QueryBody::Values(rows) => exprs(rows.iter().flatten(), visit),
        QueryBody::SetOperation { left, right, .. } => {
            visit(Part::Query(left));
            visit(Part::Query(right));
        }
    }
    sort_keys(&query.order_by, visit);
    exprs(&query.limit, visit);
    exprs(&query.offset, visit);
}

fn in_select<'a>(select: &'a Select, visit: Visit<'_, 'a>) {
    if let Distinct::On(list) = &select.distinct {
        exprs(list, visit);
    }
    targets(&select.targets, visit);
    if let Some(name) = &select.into {
        visit(Part::Name(name));
    }
    from_items(&select.from, visit);
    exprs(&select.filter, visit);
    for item in &select.group_by {
        match item {
            GroupItem::Expr(expr) => visit(Part::Expr(expr)),
            GroupItem::Sets { children, .. } => exprs(children, visit),
        }
    }
    exprs(&select.having, visit);
    for definition in &select.windows {
        in_window(definition, visit);
    }
}

fn in_window<'a>(window: &'a Window, visit: Visit<'_, 'a>) {
    exprs(&window.partition_by, visit);
    sort_keys(&window.order_by, visit);
    exprs(&window.frame, visit);
}

fn in_from<'a>(item: &'a FromItem, visit: Visit<'_, 'a>) {
    match item {
        FromItem::Table(table) => visit(Part::Table(table)),
        FromItem::Join(join) => {
            visit(Part::From(&join.left));
            visit(Part::From(&join.right));
            exprs(&join.on, visit);
        }
        FromItem::Subquery { query, .. } => visit(Part::Query(query)),
        FromItem::Function { calls, .. } => exprs(calls, visit),
        FromItem::Sample { item, arguments } => {
            visit(Part::From(item));
            exprs(arguments, visit);
        }
        FromItem::Other { children, .. } => exprs(children, visit),
    }
}

fn in_call<'a>(call: &'a Call, visit: Visit<'_, 'a>) {
    exprs(&call.arguments, visit);
    sort_keys(&call.order_by, visit);
    exprs(&call.filter, visit);
    if let Some(window) = &call.over {
        in_window(window, visit);
    }
}

fn in_expr<'a>(expr: &'a Expr, visit: Visit<'_, 'a>) {
    match &expr.kind {
        ExprKind::Column(_)
        | ExprKind::Star(_)
        | ExprKind::Const(_)
        | ExprKind::Param(_)
        | ExprKind::SqlValue(_)
        | ExprKind::Default => {}
        ExprKind::Operator { left, right, .. } => {
            exprs(left.as_deref(), visit);
            visit(Part::Expr(right));
        }
        ExprKind::AnyAll { left, right, .. } | ExprKind::DistinctFrom { left, right, .. } => {
            visit(Part::Expr(left));
            visit(Part::Expr(right));
        }
        ExprKind::In { left, list, .. } => {
            visit(Part::Expr(left));
            exprs(list, visit);
        }
        ExprKind::Between {
            operand, low, high, ..
        } => exprs([&**operand, &**low, &**high], visit),
        ExprKind::And(list) | ExprKind::Or(list) | ExprKind::Row(list) | ExprKind::Array(list) => {
            exprs(list, visit);
        }
        ExprKind::Not(operand)
        | ExprKind::IsNull { operand, .. }
        | ExprKind::Collate { operand, .. } => {
            visit(Part::Expr(operand));
        }
        ExprKind::Call(call) => in_call(call, visit),
        ExprKind::Cast { operand, type_name } => {
            visit(Part::Expr(operand));
            visit(Part::Type(type_name));
        }
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => {
            exprs(operand.as_deref(), visit);
            exprs(branches.iter().flat_map(|(when, then)| [when, then]), visit);
            exprs(otherwise.as_deref(), visit);
        }
        ExprKind::Sublink { operand, query, .. } => {
            exprs(operand.as_deref(), visit);
            visit(Part::Query(query));
        }
        ExprKind::Other { children, .. } => exprs(children, visit),
    }
}
