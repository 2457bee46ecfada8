//! What a column gets when a row names none. Invariant: a default is left to the shard only if every shard would give what
//! PostgreSQL gives.

use catalog::{Column, TypeKind};
use pg::Oid;
use sql::ast;

use super::insert::Policy;
use super::text::Edits;
use crate::compute::Computes;
use crate::function::{self, Class};
use crate::plan::Part;
use crate::volatile::tree::{self, Node};
use crate::volatile::{self, Finding, What};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// How a column's default is given.
#[derive(Clone, Debug)]
pub(crate) enum DefaultPlan {
    /// The shard gives it.
    Leave,
    /// NULL: there is none.
    Null,
    /// The next value of a sequence.
    Draw {
        /// The sequence.
        sequence: Oid,
        /// The column is `GENERATED ALWAYS AS IDENTITY`.
        is_always: bool,
    },
    /// An expression, of which parts are computed first.
    Expression(Box<DefaultExpression>),
    /// Only PostgreSQL knows it.
    Unknown,
}

/// A default expression.
#[derive(Clone, Debug)]
pub(crate) struct DefaultExpression {
    /// `SELECT ` and the expression.
    pub(crate) text: String,
    /// The expression as a tree.
    pub(crate) expr: ast::Expr,
    /// Where the expression lies in the text.
    pub(crate) span: ast::Span,
    /// What in it depends on where and when it is computed.
    pub(crate) findings: Vec<Finding>,
}

const BEFORE: &str = "SELECT ";

/// How the default of `column` is given under `policy`. A key's is always known.
pub(crate) fn plan(cx: &Context<'_>, column: &Column, policy: Policy, is_key: bool) -> DefaultPlan {
    if let Some(identity) = column.identity {
        return DefaultPlan::Draw {
            sequence: identity.sequence,
            is_always: identity.always,
        };
    }
    if column.generated {
        return DefaultPlan::Leave;
    }
    let Some(default) = &column.default else {
        let is_domain = matches!(
            cx.catalog
                .types
                .get(&column.type_oid)
                .map(|known| &known.kind),
            Some(TypeKind::Domain(_))
        );
        return if is_domain && policy == Policy::Copies {
            DefaultPlan::Unknown
        } else {
            DefaultPlan::Null
        };
    };
    if let Some(sequence) = default.sequence {
        return DefaultPlan::Draw {
            sequence,
            is_always: false,
        };
    }
    let Some(expression) = expression(cx, &default.expression) else {
        return DefaultPlan::Unknown;
    };
    if !are_proven(cx, &expression.expr) {
        return DefaultPlan::Unknown;
    }
    let must_compute = expression
        .findings
        .iter()
        .any(|finding| policy.computes(finding.what));
    if is_key || must_compute {
        DefaultPlan::Expression(Box::new(expression))
    } else {
        DefaultPlan::Leave
    }
}

fn expression(cx: &Context<'_>, sql: &str) -> Option<DefaultExpression> {
    let text = format!("{BEFORE}{sql}");
    let mut statements = sql::parse(&text).ok()?;
    let ast::Body::Query(query) = statements.pop()?.body else {
        return None;
    };
    let ast::QueryBody::Select(mut select) = query.body else {
        return None;
    };
    let expr = select.targets.pop()?.expr;
    let findings = volatile::findings(cx, &text, &expr);
    let end = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
    let span = ast::Span {
        start: end(BEFORE.len()),
        end: end(text.len()),
    };
    Some(DefaultExpression {
        text,
        expr,
        span,
        findings,
    })
}

impl DefaultExpression {
    /// Its text with what has to be computed first taken out.
    ///
    /// # Errors
    ///
    /// Some of it can't be computed beforehand.
    pub(crate) fn computed(
        &self,
        policy: Policy,
        computes: &mut Computes<'_>,
    ) -> Result<Vec<Part>, PlanError> {
        let mut edits = Edits::default();
        for finding in self
            .findings
            .iter()
            .filter(|finding| policy.computes(finding.what))
        {
            let part = computes.finding(&self.text, finding)?;
            if let Some(span) = finding.span {
                edits.replace(span, vec![part]);
            }
        }
        Ok(edits.cut(&self.text, self.span))
    }
}

/// The refusal of a default that only PostgreSQL knows.
pub(crate) fn unknown(column: &Column, policy: Policy) -> PlanError {
    let id = match policy {
        Policy::Copies => UnsupportedId::ReferenceVolatile,
        Policy::OneShard | Policy::Spread => UnsupportedId::FunctionUser,
    };
    refuse(id, format!("the default of {:?}", column.name))
}

/// Whether the shard that makes a row draws from sequences of its own for these left-out columns.
///
/// # Errors
///
/// A default may look at sharded tables.
pub(crate) fn draw_there<'c>(
    cx: &Context<'_>,
    columns: impl IntoIterator<Item = &'c Column>,
) -> Result<bool, PlanError> {
    let mut draws = false;
    for column in columns {
        match plan(cx, column, Policy::OneShard, false) {
            DefaultPlan::Leave | DefaultPlan::Null => {}
            DefaultPlan::Draw { .. } | DefaultPlan::Expression(_) => draws = true,
            DefaultPlan::Unknown => return Err(unknown(column, Policy::OneShard)),
        }
    }
    Ok(draws)
}

/// Whether no function in a default could look at sharded tables.
fn are_proven(cx: &Context<'_>, expr: &ast::Expr) -> bool {
    let mut are_proven = true;
    tree::walk_expr(expr, &mut |node| {
        if let Node::Expr(ast::Expr {
            kind: ast::ExprKind::Call(call),
            ..
        }) = node
        {
            are_proven &= function::classify(cx, call) < Class::Dynamic;
        }
        are_proven
    });
    are_proven || cx.topology.shards().len() == 1
}

impl Policy {
    /// Whether a finding of this kind is computed before the statement.
    pub(crate) fn computes(self, what: What) -> bool {
        match what {
            What::NextVal(_)
            | What::CurrVal(_)
            | What::LastVal
            | What::SetVal(_)
            | What::UnknownSequence => true,
            What::Clock { .. } => self >= Policy::Spread,
            What::Fresh { .. } | What::Unproven => self == Policy::Copies,
        }
    }
}
