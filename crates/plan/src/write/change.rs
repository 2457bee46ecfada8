//! `UPDATE`, `DELETE` and `MERGE`.

use catalog::Relation;
use sql::ast::{self, ConstValue, ExprKind};

use super::tables::{self, Needs};
use super::{Goal, Subject, Written, cascade, select, spread, trigger, verbatim};
use crate::compute::Computes;
use crate::plan::{Planned, Route};
use crate::volatile::tree::{self, Node};
use crate::volatile::{self, Finding};
use crate::{PlanError, UnsupportedId, refuse};

/// A statement that changes rows that exist.
#[derive(Clone, Copy)]
pub(super) struct Change<'a> {
    /// The table.
    pub(super) table: &'a ast::TableRef,
    /// What is assigned.
    pub(super) assignments: &'a [ast::Assignment],
    /// What is joined.
    pub(super) from: &'a [ast::FromItem],
    /// `WHERE`.
    pub(super) filter: Option<&'a ast::Expr>,
    /// `RETURNING`.
    pub(super) returning: &'a [ast::Target],
    /// The trigger event.
    pub(super) event: i16,
}

/// Plans an `UPDATE`.
///
/// # Errors
///
/// It is refused.
pub(crate) fn update(written: &Written<'_>, update: &ast::Update) -> Result<Planned, PlanError> {
    let change = Change {
        table: &update.table,
        assignments: &update.assignments,
        from: &update.from,
        filter: update.filter.as_ref(),
        returning: &update.returning,
        event: trigger::UPDATE,
    };
    plan(written, change)
}

/// Plans a `DELETE`.
///
/// # Errors
///
/// It is refused.
pub(crate) fn delete(written: &Written<'_>, delete: &ast::Delete) -> Result<Planned, PlanError> {
    let change = Change {
        table: &delete.table,
        assignments: &[],
        from: &delete.using,
        filter: delete.filter.as_ref(),
        returning: &delete.returning,
        event: trigger::DELETE,
    };
    plan(written, change)
}

/// Plans a `MERGE`: on one shard only.
///
/// # Errors
///
/// It is refused.
pub(crate) fn merge(written: &Written<'_>, merge: &ast::Merge) -> Result<Planned, PlanError> {
    let subject = Subject::find(written, &merge.table)?;
    let needs = Needs::of(written.body);
    match subject.goal {
        Goal::Alone(_) | Goal::Temporary => {
            let fires =
                |relation| trigger::check(written.cx, &subject.goal, relation, trigger::ANY);
            let draws = subject.relation.map(fires).transpose()?.unwrap_or_default();
            one_shard(written, &subject, &needs, draws)
        }
        Goal::Copies(_) => merge_copies(written, merge, &subject, &needs),
        Goal::Sharded(_) => Err(refuse(
            UnsupportedId::Merge,
            merge.table.name.parts.join("."),
        )),
    }
}

/// Every copy merges the same rows: a target row that meets two source rows is an error everywhere.
fn merge_copies(
    written: &Written<'_>,
    merge: &ast::Merge,
    subject: &Subject<'_>,
    needs: &Needs<'_>,
) -> Result<Planned, PlanError> {
    let (Goal::Copies(shards), Some(relation)) = (&subject.goal, subject.relation) else {
        return Err(refuse(UnsupportedId::Merge, "a reference table"));
    };
    let facts = needs.check_calls(written.cx, false)?;
    if needs.writes_inside() || !merge.returning.is_empty() {
        return Err(refuse(UnsupportedId::Merge, &relation.name));
    }
    trigger::check(written.cx, &subject.goal, relation, trigger::ANY)?;
    select::check_same_everywhere(written, written.body, shards, needs)?;
    for (columns, values) in &merge.inserts {
        let is_listed = |(at, column): (usize, &catalog::Column)| {
            if columns.is_empty() {
                at < values.len()
            } else {
                columns.contains(&column.name)
            }
        };
        let left_out = relation
            .columns
            .iter()
            .enumerate()
            .filter(|entry| !is_listed(*entry));
        select::check_defaults(written, left_out.map(|(_, column)| column))?;
    }
    let change = Change {
        table: &merge.table,
        assignments: &merge.updates,
        from: &[],
        filter: None,
        returning: &[],
        event: trigger::ANY,
    };
    cascade::check(written, change, relation)?;
    let has_clock = relation
        .columns
        .iter()
        .any(|column| volatile::reads_clock_words(written.cx, column.type_oid));
    if has_clock && has_clock_word(written) {
        return Err(refuse(UnsupportedId::ReferenceVolatile, &relation.name));
    }
    let mut computes = Computes::new(written.cx);
    steady_params(written, &mut computes);
    let findings = volatile::findings_in_body(written.cx, written.source, written.body);
    super::copied(written, shards, (&findings, computes), facts)
}

/// Whether a text constant anywhere in the statement means a moment that moves.
fn has_clock_word(written: &Written<'_>) -> bool {
    let mut found = false;
    tree::walk_body(written.body, &mut |node| {
        if let Node::Expr(ast::Expr {
            kind:
                ExprKind::Const(ast::Const {
                    value: ConstValue::String(word),
                    ..
                }),
            ..
        }) = node
        {
            found |= volatile::is_clock_word(word);
        }
        !found
    });
    found
}

fn plan(written: &Written<'_>, change: Change<'_>) -> Result<Planned, PlanError> {
    let subject = Subject::find(written, change.table)?;
    let needs = Needs::of(written.body);
    match (&subject.goal, subject.relation) {
        (Goal::Alone(_) | Goal::Temporary, relation) | (_, relation @ None) => {
            let fires =
                |relation| trigger::check(written.cx, &subject.goal, relation, change.event);
            let draws = relation.map(fires).transpose()?.unwrap_or_default();
            one_shard(written, &subject, &needs, draws)
        }
        (Goal::Copies(_), Some(relation)) => {
            copies(written, change, (&subject.goal, relation), &needs)
        }
        (Goal::Sharded(sharded), Some(relation)) => {
            trigger::check(written.cx, &subject.goal, relation, change.event)?;
            if needs.writes_inside() {
                return Err(refuse(
                    UnsupportedId::WriteInCte,
                    change.table.name.parts.join("."),
                ));
            }
            cascade::check(written, change, relation)?;
            spread::change(written, change, (relation, sharded), &needs)
        }
    }
}

/// All of it on one shard.
fn one_shard(
    written: &Written<'_>,
    subject: &Subject<'_>,
    needs: &Needs<'_>,
    draws: bool,
) -> Result<Planned, PlanError> {
    let mut facts = needs.check_calls(written.cx, true)?;
    facts.draws_unseen = draws;
    let shard = match subject.goal {
        Goal::Alone(shard) => shard,
        _ => written.cx.topology.authoritative_shard(),
    };
    if matches!(subject.goal, Goal::Temporary) {
        needs.are_whole_beside_temporary(written, shard)?;
        needs.inner_writes_are_on(written, shard)?;
        return Ok(super::temporary());
    }
    needs.are_whole_on(written, &[shard], UnsupportedId::UnshardedJoin)?;
    needs.inner_writes_are_on(written, shard)?;
    super::draw_unseen(written, shard, false, &mut facts)?;
    let mut planned = verbatim(Route::Shard(shard), "all its tables are on one shard");
    planned.facts = facts;
    Ok(planned)
}

/// The same change on every copy.
fn copies(
    written: &Written<'_>,
    change: Change<'_>,
    (goal, relation): (&Goal, &Relation),
    needs: &Needs<'_>,
) -> Result<Planned, PlanError> {
    let Goal::Copies(shards) = goal else {
        return Err(refuse(UnsupportedId::Statement, "a reference table"));
    };
    let facts = needs.check_calls(written.cx, false)?;
    let name = || change.table.name.parts.join(".");
    if needs.writes_inside() {
        return Err(refuse(UnsupportedId::WriteInCte, name()));
    }
    trigger::check(written.cx, goal, relation, change.event)?;
    cascade::check(written, change, relation)?;
    // A row that meets several partners is changed by, or returned with, one of them: which is PostgreSQL's choice.
    let picks =
        !change.from.is_empty() && (!change.assignments.is_empty() || !change.returning.is_empty());
    if picks {
        return Err(refuse(UnsupportedId::ReferenceRead, name()));
    }
    if !needs.reads_nothing(written.cx) || tables::with_of(written.body).is_some() {
        select::check_same_everywhere(written, written.body, shards, needs)?;
    }
    check_clock_words(written, change, relation, UnsupportedId::ReferenceVolatile)?;
    let mut computes = Computes::new(written.cx);
    steady_params(written, &mut computes);
    let findings = stored_findings(written, change);
    super::copied(written, shards, (&findings, computes), facts)
}

/// Findings wherever they decide what is stored; what `RETURNING` shows comes from one copy.
fn stored_findings(written: &Written<'_>, change: Change<'_>) -> Vec<Finding> {
    let returned: Vec<Finding> = change
        .returning
        .iter()
        .flat_map(|target| volatile::findings(written.cx, written.source, &target.expr))
        .filter(|finding| {
            matches!(
                finding.what,
                volatile::What::Fresh { .. } | volatile::What::Unproven
            )
        })
        .collect();
    let mut findings = volatile::findings_in_body(written.cx, written.source, written.body);
    findings.retain(|finding| !returned.contains(finding));
    findings
}

/// `'now'` beside a column of a date or time is read on each copy.
pub(super) fn check_clock_words(
    written: &Written<'_>,
    change: Change<'_>,
    relation: &Relation,
    id: UnsupportedId,
) -> Result<(), PlanError> {
    let has_clock = relation
        .columns
        .iter()
        .any(|column| volatile::reads_clock_words(written.cx, column.type_oid));
    let mut doubt = None;
    let assigned = change
        .assignments
        .iter()
        .map(|assignment| &assignment.value);
    for expr in assigned.chain(change.filter) {
        tree::walk_expr(expr, &mut |node| {
            let Node::Expr(inner) = node else {
                return true;
            };
            // A cast says what the text is read as, and was looked at.
            if matches!(inner.kind, ExprKind::Cast { .. }) {
                return false;
            }
            if let ExprKind::Const(ast::Const {
                value: ConstValue::String(word),
                ..
            }) = &inner.kind
                && has_clock
                && volatile::is_clock_word(word)
            {
                doubt = Some(word.clone());
            }
            true
        });
    }
    match doubt {
        Some(word) => Err(refuse(id, format!("'{word}'"))),
        None => Ok(()),
    }
}

/// Parameters that may be read as a date or a time must not be `now` and the like.
fn steady_params(written: &Written<'_>, computes: &mut Computes<'_>) {
    let mut seen = Vec::new();
    tree::walk_body(written.body, &mut |node| {
        if let Node::Expr(ast::Expr {
            kind: ExprKind::Param(number),
            ..
        }) = node
            && !seen.contains(number)
        {
            seen.push(*number);
        }
        true
    });
    for number in seen {
        let type_oid = usize::try_from(number)
            .ok()
            .and_then(|n| n.checked_sub(1))
            .and_then(|at| written.cx.param_types.get(at).copied());
        let may_be_clock = type_oid.is_none_or(|type_oid| {
            type_oid == pg::Oid::INVALID || volatile::reads_clock_words(written.cx, type_oid)
        });
        if may_be_clock {
            computes.steady(number);
        }
    }
}
