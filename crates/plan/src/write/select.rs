//! `INSERT ... SELECT`.

use std::sync::Arc;

use catalog::Relation;
use sql::ast::{self, Body, Query, QueryBody};
use topology::ShardId;

use super::default::{self, DefaultPlan};
use super::insert::Policy;
use super::tables::Needs;
use super::text::Edits;
use super::{Goal, Subject, Written, conflict, spread, trigger, values, verbatim};
use crate::compute::Computes;
use crate::function;
use crate::plan::{Effect, Facts, Fixed, Merge, Plan, Planned, Route, Target, Text, Tier};
use crate::volatile;
use crate::volatile::tree::{self, Node};
use crate::{PlanError, UnsupportedId, refuse};

/// Plans an `INSERT` whose rows come from a query.
pub(super) fn plan(
    written: &Written<'_>,
    insert: &ast::Insert,
    (subject, relation): (&Subject<'_>, &Relation),
    (query, needs, mut facts): (&Query, &Needs<'_>, Facts),
) -> Result<Planned, PlanError> {
    match &subject.goal {
        Goal::Alone(shard) => {
            facts.draws_unseen |=
                trigger::check(written.cx, &subject.goal, relation, trigger::INSERT)?;
            alone(written, insert, (relation, *shard), facts)
        }
        Goal::Temporary => Ok(super::temporary()),
        Goal::Copies(shards) => {
            trigger::check(written.cx, &subject.goal, relation, trigger::INSERT)?;
            let goal = (&subject.goal, relation);
            match values::plan(written, insert, goal, (query, facts)) {
                Some(planned) if needs.reads_nothing(written.cx) => planned,
                _ => copies(written, insert, (relation, shards), (needs, facts)),
            }
        }
        Goal::Sharded(sharded) => {
            trigger::check(written.cx, &subject.goal, relation, trigger::INSERT)?;
            conflict::check(written, insert, &subject.goal, relation)?;
            if let Some(planned) =
                values::plan(written, insert, (&subject.goal, relation), (query, facts))
            {
                return planned;
            }
            check_sharded(written, insert, relation)?;
            spread::insert_select(
                written,
                insert,
                (relation, Arc::clone(sharded)),
                (query, facts),
            )
        }
    }
}

/// On one shard PostgreSQL does it all, sequences included when it is the one that holds them.
fn alone(
    written: &Written<'_>,
    insert: &ast::Insert,
    (relation, shard): (&Relation, ShardId),
    mut facts: Facts,
) -> Result<Planned, PlanError> {
    let draws_default = default::draw_there(written.cx, left_out(insert, relation))?;
    super::draw_unseen(written, shard, draws_default, &mut facts)?;
    let mut planned = verbatim(Route::Shard(shard), "all its tables are on one shard");
    planned.facts = facts;
    Ok(planned)
}

/// Every copy selects for itself, so all of it must be the same everywhere.
fn copies(
    written: &Written<'_>,
    insert: &ast::Insert,
    (relation, shards): (&Relation, &[ShardId]),
    (needs, facts): (&Needs<'_>, Facts),
) -> Result<Planned, PlanError> {
    check_same_everywhere(written, written.body, shards, needs)?;
    check_defaults(written, left_out(insert, relation))?;
    let findings = volatile::findings_in_body(written.cx, written.source, written.body);
    super::copied(
        written,
        shards,
        (&findings, Computes::new(written.cx)),
        facts,
    )
}

/// Left-out columns of a row that every copy makes for itself must get the same everywhere.
pub(super) fn check_defaults<'c>(
    written: &Written<'_>,
    left_out: impl IntoIterator<Item = &'c catalog::Column>,
) -> Result<(), PlanError> {
    for column in left_out {
        match default::plan(written.cx, column, Policy::Copies, false) {
            DefaultPlan::Leave | DefaultPlan::Null => {}
            DefaultPlan::Draw { .. } | DefaultPlan::Expression(_) | DefaultPlan::Unknown => {
                return Err(default::unknown(column, Policy::Copies));
            }
        }
    }
    Ok(())
}

/// What the shards can't do for themselves when they make the rows.
fn check_sharded(
    written: &Written<'_>,
    insert: &ast::Insert,
    relation: &Relation,
) -> Result<(), PlanError> {
    for column in left_out(insert, relation) {
        match default::plan(written.cx, column, Policy::Spread, false) {
            DefaultPlan::Leave | DefaultPlan::Null => {}
            DefaultPlan::Draw { .. } | DefaultPlan::Expression(_) | DefaultPlan::Unknown => {
                let name = format!("the default of {:?}", column.name);
                return Err(refuse(UnsupportedId::InsertSelect, name));
            }
        }
    }
    let identity = relation
        .columns
        .iter()
        .find(|column| column.identity.is_some());
    if let (Some(column), Some(false)) = (identity, insert.overriding_system) {
        return Err(refuse(UnsupportedId::OverridingUser, &column.name));
    }
    let conflict = insert.on_conflict.iter().flat_map(|conflict| {
        let updates = conflict.update.iter().flatten();
        updates
            .map(|assignment| &assignment.value)
            .chain(&conflict.filter)
    });
    let returned = insert.returning.iter().map(|target| &target.expr);
    let mut has_query = insert.with.is_some();
    for expr in conflict.chain(returned) {
        tree::walk_expr(expr, &mut |node| {
            has_query |= matches!(node, Node::Query(_));
            !has_query
        });
    }
    if has_query {
        return Err(refuse(UnsupportedId::SubqueryOffKey, &relation.name));
    }
    Ok(())
}

/// Columns that the statement names no value for.
pub(super) fn left_out<'r>(
    insert: &ast::Insert,
    relation: &'r Relation,
) -> Vec<&'r catalog::Column> {
    let width = match &insert.source {
        ast::InsertSource::Query(query) => query_width(query),
        _ => None,
    };
    let is_listed = |at: usize, column: &catalog::Column| {
        if insert.columns.is_empty() {
            width.is_none_or(|width| at < width)
        } else {
            insert
                .columns
                .iter()
                .any(|listed| listed.name == column.name)
        }
    };
    let columns = relation.columns.iter().enumerate();
    columns
        .filter(|(at, column)| !is_listed(*at, column))
        .map(|(_, column)| column)
        .collect()
}

/// How many columns a query gives; `None` when a star hides it.
fn query_width(query: &Query) -> Option<usize> {
    match &query.body {
        QueryBody::Select(select) => {
            let is_star = |target: &ast::Target| matches!(target.expr.kind, ast::ExprKind::Star(_));
            (!select.targets.iter().any(is_star)).then_some(select.targets.len())
        }
        QueryBody::Values(rows) => rows.first().map(Vec::len),
        QueryBody::SetOperation { left, .. } => query_width(left),
    }
}

/// What a statement reads is on every one of the shards, and each would make the same of it, whatever order its rows lie in.
pub(super) fn check_same_everywhere(
    written: &Written<'_>,
    body: &Body,
    shards: &[ShardId],
    needs: &Needs<'_>,
) -> Result<(), PlanError> {
    const ORDERLESS: &[&str] = &["count", "bool_and", "bool_or", "every"];
    needs.are_whole_on(written, shards, UnsupportedId::ReferenceRead)?;
    let mut doubt = None;
    tree::walk_body(body, &mut |node| {
        match node {
            Node::Query(query) => {
                if let Some(what) = depends_on_order(query) {
                    doubt.get_or_insert(what.to_owned());
                }
            }
            Node::Expr(ast::Expr {
                kind: ast::ExprKind::Call(call),
                ..
            }) => {
                let name = call.name.parts.last().map_or("", String::as_str);
                let is_ordered = call.over.is_some()
                    || (function::is_aggregate(written.cx, &call.name)
                        && !ORDERLESS.contains(&name));
                if is_ordered {
                    doubt.get_or_insert_with(|| format!("{name}()"));
                }
            }
            _ => {}
        }
        true
    });
    match doubt {
        Some(what) => Err(refuse(UnsupportedId::ReferenceRead, what)),
        None => Ok(()),
    }
}

/// What in a query picks rows, or one of several equal values, by an order that copies need not share.
fn depends_on_order(query: &Query) -> Option<&'static str> {
    if query.limit.is_some() || query.offset.is_some() {
        return Some("LIMIT");
    }
    match &query.body {
        QueryBody::SetOperation { all: false, .. } => {
            Some("a set operation that removes duplicates")
        }
        QueryBody::Select(select) => {
            if select.distinct != ast::Distinct::No {
                return Some("DISTINCT");
            }
            if !select.group_by.is_empty() {
                return Some("GROUP BY");
            }
            let is_sample = |item: &ast::FromItem| matches!(item, ast::FromItem::Sample { .. });
            select.from.iter().any(is_sample).then_some("TABLESAMPLE")
        }
        QueryBody::SetOperation { .. } | QueryBody::Values(_) => None,
    }
}

/// A statement that goes to every copy with what its findings need computed.
pub(super) fn broadcast(
    written: &Written<'_>,
    shards: &[ShardId],
    edits: &Edits,
    computes: Computes<'_>,
    mut facts: Facts,
) -> Result<Planned, PlanError> {
    facts.uses_sequence = computes.uses_sequence();
    let text = if edits.is_empty() {
        Text::Verbatim
    } else {
        Text::Edited(edits.cut(written.source, written.span))
    };
    Ok(Planned {
        plan: Plan {
            tier: Tier::Broadcast,
            compute: computes.finish()?,
            target: Target::Shards(shards.to_vec()),
            text,
            merge: Merge::Copies,
            effect: Effect::Write,
            reasons: vec!["every copy of the reference table does the same".to_owned()],
            notices: Vec::new(),
        },
        fixed: Fixed::All,
        facts,
    })
}
