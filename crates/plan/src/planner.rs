//! The way in: each kind of statement to the module that plans it.

use sql::ast::{Body, Span, Statement};

use crate::read::{self, Request};
use crate::write::{self, Written};
use crate::{
    Context, PlanError, Planned, Unsupported, UnsupportedId, copy, ddl, function, session,
};

/// Plans a statement. `source` is the text that it was parsed from. `EXPLAIN`, `PREPARE` and `DECLARE` give the plan
/// of the statement inside; transaction control and `SET` are the session's own and are not planned.
///
/// # Errors
///
/// The statement is refused, or names what does not exist.
pub fn plan(
    statement: &Statement,
    source: &str,
    context: &Context<'_>,
) -> Result<Planned, PlanError> {
    plan_body(&statement.body, (source, statement.span), context)
}

/// Plans a statement that stands inside another, or a part of one: `span` is where its own text lies in `source`.
///
/// # Errors
///
/// As [`plan`].
pub fn plan_body(
    body: &Body,
    (source, span): (&str, Span),
    context: &Context<'_>,
) -> Result<Planned, PlanError> {
    let written = Written {
        cx: context,
        source,
        span,
        body,
    };
    if let Body::Insert(_) | Body::Update(_) | Body::Delete(_) | Body::Merge(_) = body {
        session::check_write(context, body)?;
    }
    match body {
        Body::Query(query) => read::plan(Request {
            context,
            source,
            query,
            span,
        }),
        Body::Declare { query, span, .. } => read::plan(Request {
            context,
            source,
            query,
            span: *span,
        }),
        Body::Call(call) => function::call(context, call),
        Body::Do => function::block(context),
        Body::Explain(explain) => plan_body(&explain.body, (source, explain.span), context),
        Body::Prepare { body, span, .. } => plan_body(body, (source, *span), context),
        Body::Insert(insert) => write::insert(&written, insert),
        Body::Update(update) => write::update(&written, update),
        Body::Delete(delete) => write::delete(&written, delete),
        Body::Merge(merge) => write::merge(&written, merge),
        Body::Copy(copy) => copy::plan(&written, copy, &|inner, span| {
            plan_body(inner, (source, span), context)
        }),
        Body::Ddl(definition) => ddl::plan(context, source, definition),
        Body::Truncate {
            tables,
            restart_identity,
            cascade,
        } => ddl::truncate(context, tables, (*restart_identity, *cascade)),
        Body::Lock { tables } => ddl::lock(context, tables),
        Body::Refresh { view, no_data, .. } => ddl::refresh(context, view, *no_data),
        Body::Maintenance { command, tables } => Ok(ddl::maintain(context, command, tables)),
        _ => Err(Unsupported::new(UnsupportedId::Statement).into()),
    }
}
