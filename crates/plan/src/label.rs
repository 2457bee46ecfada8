//! Names of result columns that would change when a call in them is replaced by a value. Invariant: a client sees the names that
//! PostgreSQL gives to what the client wrote.

use sql::ast::{Expr, ExprKind, Span, Target};

use crate::Context;
use crate::compute::quoted;

/// For each entry of a select list or of `RETURNING` that has no alias and in which something is replaced: where to write
/// ` AS name`, and that text.
pub(crate) fn labels(
    cx: &Context<'_>,
    source: &str,
    targets: &[Target],
    replaced: &[Span],
) -> Vec<(u32, String)> {
    let options = sql::ParseOptions {
        standard_conforming_strings: cx.settings.standard_conforming_strings,
    };
    let spans = sql::Places::new(source, options)
        .targets(targets)
        .unwrap_or_default();
    let entries = targets.iter().zip(spans).filter(|(target, span)| {
        let is_inside = |other: &Span| span.start <= other.start && other.end <= span.end;
        target.alias.is_none() && replaced.iter().any(is_inside)
    });
    entries
        .filter_map(|(target, span)| {
            name(&target.expr).map(|name| (span.end, format!(" AS {}", quoted(&name))))
        })
        .collect()
}

/// The name that PostgreSQL gives to an expression because of a call or a keyword in it.
fn name(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Call(call) => call.name.parts.last().cloned(),
        ExprKind::SqlValue(word) => Some(word.to_lowercase()),
        ExprKind::Cast { operand, type_name } => {
            name(operand).or_else(|| type_name.name.parts.last().cloned())
        }
        ExprKind::Collate { operand, .. } => name(operand),
        ExprKind::Case { otherwise, .. } => otherwise
            .as_deref()
            .and_then(name)
            .or_else(|| Some("case".to_owned())),
        _ => None,
    }
}
