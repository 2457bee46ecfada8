//! The way in: each kind of statement to the module that plans it.

use sql::ast::{Body, Statement};

use crate::{Context, PlanError, Planned, Unsupported, UnsupportedId, ddl};

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
    plan_body(&statement.body, source, context)
}

fn plan_body(body: &Body, source: &str, context: &Context<'_>) -> Result<Planned, PlanError> {
    match body {
        Body::Explain(explain) => plan_body(&explain.body, source, context),
        Body::Prepare { body, .. } => plan_body(body, source, context),
        Body::Ddl(definition) => ddl::plan(context, definition),
        Body::Truncate {
            tables,
            restart_identity,
            cascade,
        } => ddl::truncate(context, tables, (*restart_identity, *cascade)),
        Body::Lock { tables } => ddl::lock(context, tables),
        Body::Refresh { view, no_data, .. } => ddl::refresh(context, view, *no_data),
        Body::Maintenance { command, tables } => ddl::maintain(context, command, tables),
        _ => Err(Unsupported::new(UnsupportedId::Statement).into()),
    }
}
