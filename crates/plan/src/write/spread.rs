//! Changes of sharded rows that no list of rows names: `UPDATE`, `DELETE` and `INSERT ... SELECT`.
//!
//! The statement is looked at as the query whose rows it changes. If its keys are fixed it goes to one shard as it is; else it
//! goes to the shards that may hold matching rows, provided that all it reads there lies with them. Invariant: the rows that a
//! shard changes are at home there before and after.

use std::sync::Arc;

use catalog::Relation;
use smallvec::SmallVec;
use sql::ast::{self, ExprKind};
use topology::Sharded;

use super::change::Change;
use super::tables::Needs;
use super::text::Edits;
use super::{Written, key};
use crate::compute::Computes;
use crate::equality::Graph;
use crate::key::Class;
use crate::plan::{
    Compute, Effect, Facts, Fixed, KeySource, KeyTerm, Merge, Plan, Planned, Route, Target, Text,
    Tier,
};
use crate::read::{self, scatter};
use crate::scope::{Analysis, Environment, Position, Use};
use crate::slot::Slots;
use crate::volatile::{self, What};
use crate::{PlanError, RowWindow, Unsupported, UnsupportedId, refuse};

/// Plans an `UPDATE` or `DELETE` of a sharded table.
pub(super) fn change(
    written: &Written<'_>,
    change: Change<'_>,
    (relation, sharded): (&Relation, &Arc<Sharded>),
    needs: &Needs<'_>,
) -> Result<Planned, PlanError> {
    let slots = slots(written);
    let mut analysis = Analysis::empty(written.cx, written.source, &slots);
    analysis.write(written.body, Environment::default(), top())?;
    let graph = Graph::new(&analysis);
    let at = analysis.uses.iter().position(|used| used.is_written);
    let at = at.ok_or_else(|| refuse(UnsupportedId::Statement, &relation.name))?;
    let assigned = assigned_key(change, sharded)?;
    let Some(routes) = read::routes(&analysis, &graph) else {
        if let Some((column, _)) = assigned.first() {
            return Err(refuse(UnsupportedId::KeyUpdate, *column));
        }
        let facts = needs.check_calls(written.cx, false)?;
        super::change::check_clock_words(written, change, relation, UnsupportedId::FunctionTime)?;
        return scattered(written, (&analysis, &graph), &analysis.uses[at], facts);
    };
    let facts = needs.check_calls(written.cx, true)?;
    let mut planned = fixed(written, &analysis, routes, facts)?;
    if !assigned.is_empty() {
        let route = new_home(
            written,
            (relation, sharded),
            &assigned,
            (&graph, &analysis.uses[at], &slots),
        )?;
        move_to(&mut planned, route, sharded);
    }
    Ok(planned)
}

/// The row stays if its new key's home is its old one's.
fn move_to(planned: &mut Planned, route: Route, sharded: &Sharded) {
    if let Target::One { routes, split } = &mut planned.plan.target {
        routes.push(route);
        let refusal = Unsupported::about(UnsupportedId::KeyUpdate, sharded.key.to_string());
        *split = Some(Box::new(refusal));
    }
    planned.fixed = Fixed::All;
}

/// Assignments to key columns, those that leave them as they are left out.
fn assigned_key<'c>(
    change: Change<'c>,
    sharded: &Sharded,
) -> Result<Vec<(&'c str, &'c ast::Expr)>, PlanError> {
    let key = sharded.key.columns();
    let own = change.table.alias.as_ref().map(|alias| &alias.name);
    let own = own.or(change.table.name.parts.last());
    let mut assigned = Vec::new();
    for assignment in change.assignments {
        let Some(column) = assignment
            .columns
            .iter()
            .find(|column| key.contains(&column.as_str()))
        else {
            continue;
        };
        if assignment.columns.len() > 1 || assignment.has_indirection {
            return Err(refuse(UnsupportedId::KeyUpdate, column));
        }
        let is_itself = match &assignment.value.kind {
            ExprKind::Column(name) => match name.parts.as_slice() {
                [part] => part == column && change.from.is_empty(),
                [qualifier, part] => part == column && Some(qualifier) == own,
                _ => false,
            },
            _ => false,
        };
        if !is_itself {
            assigned.push((column.as_str(), &assignment.value));
        }
    }
    Ok(assigned)
}

/// The route of the key that a row gets.
fn new_home(
    written: &Written<'_>,
    (relation, sharded): (&Relation, &Arc<Sharded>),
    assigned: &[(&str, &ast::Expr)],
    (graph, used, slots): (&Graph<'_>, &Use, &Slots),
) -> Result<Route, PlanError> {
    let refused = || refuse(UnsupportedId::KeyUpdate, sharded.key.to_string());
    let before = graph.fixed(used).ok_or_else(refused)?;
    let mut terms: SmallVec<[KeyTerm; 1]> = SmallVec::new();
    for (part, old) in sharded.key.parts().iter().zip(before) {
        let columns = part.columns();
        let value = assigned.iter().find(|(column, _)| columns.contains(column));
        let Some((name, value)) = value else {
            terms.push(old);
            continue;
        };
        let source = column_source(written, relation, (name, value), slots).ok_or_else(refused)?;
        let only = |asked: &str| (asked == *name).then(|| source.clone());
        let of_part = Sharded {
            key: topology::KeyColumns::new(vec![part.clone()]),
            ..(**sharded).clone()
        };
        terms.extend(key::terms(written, relation, &of_part, &only)?);
    }
    Ok(Route::Key {
        sharded: Arc::clone(sharded),
        terms,
        is_write: true,
    })
}

fn column_source(
    written: &Written<'_>,
    relation: &Relation,
    (name, value): (&str, &ast::Expr),
    slots: &Slots,
) -> Option<KeySource> {
    let class = Class::of_column(written.cx.catalog, relation.column(name)?)?;
    key::plain(written.cx, class, value, slots)
}

/// One shard; the statement goes there as it is, but for what the router knows of sequences.
fn fixed(
    written: &Written<'_>,
    analysis: &Analysis<'_>,
    routes: SmallVec<[Route; 1]>,
    mut facts: Facts,
) -> Result<Planned, PlanError> {
    let (compute, edits) = computed(written, false)?;
    facts.uses_sequence = !compute.is_empty();
    let fixed = if edits.is_empty() {
        read::fixed_by(analysis, &routes)
    } else {
        Fixed::All
    };
    let split = (routes.len() > 1).then(|| Box::new(read::split(analysis)));
    Ok(Planned {
        plan: Plan {
            tier: Tier::PassThrough,
            compute,
            target: Target::One { routes, split },
            text: text(written, &edits),
            merge: Merge::Pass,
            effect: Effect::Write,
            reasons: vec!["the shard key is fixed".to_owned()],
            notices: Vec::new(),
        },
        fixed,
        facts,
    })
}

/// The shards that may hold rows of `anchor` that match.
fn scattered(
    written: &Written<'_>,
    (analysis, graph): (&Analysis<'_>, &Graph<'_>),
    anchor: &Use,
    mut facts: Facts,
) -> Result<Planned, PlanError> {
    let (compute, edits) = computed(written, true)?;
    scatter::check_traits(analysis)?;
    scatter::check_functions(analysis)?;
    let at = analysis
        .uses
        .iter()
        .position(|used| std::ptr::eq(used, anchor))
        .unwrap_or_default();
    scatter::check_anchor(analysis, graph, at)?;
    let target = scatter::target(analysis, graph, anchor)?;
    facts.uses_sequence = compute
        .iter()
        .any(|one| !matches!(one, Compute::Expression { .. }));
    let (tier, why) = match &target {
        Target::Keys { .. } => (Tier::SomeShards, "the listed keys tell the shards"),
        _ => (
            Tier::Scatter,
            "the shard key is not fixed; every shard changes its own rows",
        ),
    };
    let routes = match &target {
        Target::Keys { routes, .. } => routes.as_slice(),
        _ => &[],
    };
    let fixed = if edits.is_empty() {
        read::fixed_by(analysis, routes)
    } else {
        Fixed::All
    };
    Ok(Planned {
        plan: Plan {
            tier,
            compute,
            target,
            text: text(written, &edits),
            merge: Merge::Concat {
                window: RowWindow::default(),
            },
            effect: Effect::Write,
            reasons: vec![why.to_owned()],
            notices: Vec::new(),
        },
        fixed,
        facts,
    })
}

/// What is one value for the statement: what the session knows of sequences, and the clock when several shards would read it.
fn computed(written: &Written<'_>, is_spread: bool) -> Result<(Vec<Compute>, Edits), PlanError> {
    let mut computes = Computes::new(written.cx);
    let mut edits = Edits::default();
    for finding in volatile::findings_in_body(written.cx, written.source, written.body) {
        match finding.what {
            What::CurrVal(_) | What::LastVal => {}
            What::Clock { .. } if is_spread && finding.span.is_none() => {
                return Err(refuse(UnsupportedId::FunctionTime, &finding.name));
            }
            What::Clock { .. } if is_spread => {}
            What::Clock { .. } | What::Fresh { .. } | What::Unproven => continue,
            What::NextVal(_) | What::SetVal(_) | What::UnknownSequence => {
                return Err(refuse(UnsupportedId::DeferredRead, &finding.name));
            }
        }
        let part = computes.finding(written.source, &finding)?;
        if let Some(span) = finding.span {
            edits.replace(span, vec![part]);
        }
    }
    edits.keep_names(written.cx, written.source, super::returning(written.body));
    Ok((computes.finish()?, edits))
}

fn text(written: &Written<'_>, edits: &Edits) -> Text {
    if edits.is_empty() {
        Text::Verbatim
    } else {
        Text::Edited(edits.cut(written.source, written.span))
    }
}

fn slots(written: &Written<'_>) -> Slots {
    Slots::of_text(
        written.source,
        written.cx.settings.standard_conforming_strings,
    )
}

fn top() -> Position {
    Position {
        parent: None,
        is_spine: true,
    }
}

/// Plans `INSERT ... SELECT` into a sharded table.
pub(super) fn insert_select(
    written: &Written<'_>,
    insert: &ast::Insert,
    (relation, sharded): (&Relation, Arc<Sharded>),
    (query, facts): (&ast::Query, Facts),
) -> Result<Planned, PlanError> {
    let slots = slots(written);
    let mut analysis = Analysis::empty(written.cx, written.source, &slots);
    let output = analysis.query(query, Environment::default(), top())?;
    let graph = Graph::new(&analysis);
    let places = key_places(insert, relation, &sharded)?;
    // Columns that aren't known would shift the places of those that are.
    let known = if output.is_open {
        &[][..]
    } else {
        output.columns.as_slice()
    };
    if let Some(routes) = read::routes(&analysis, &graph) {
        let mut planned = fixed(written, &analysis, routes, facts)?;
        if !keeps_key(&analysis, &graph, &sharded, (known, &places)) {
            let route = constant_home(written, (relation, &sharded), (query, &places), &slots)?;
            move_to(&mut planned, route, &sharded);
            let refusal = Unsupported::about(UnsupportedId::InsertSelect, &relation.name);
            if let Target::One { split, .. } = &mut planned.plan.target {
                *split = Some(Box::new(refusal));
            }
        }
        return Ok(planned);
    }
    let refused = || refuse(UnsupportedId::InsertSelect, &relation.name);
    let anchor = scatter::anchor(&analysis, &graph)?;
    check_top(&analysis, &graph, anchor).map_err(|()| refused())?;
    if !keeps_key(&analysis, &graph, &sharded, (known, &places)) {
        return Err(refused());
    }
    let planned = scattered(written, (&analysis, &graph), anchor, facts)?;
    if planned.plan.compute.is_empty() {
        Ok(planned)
    } else {
        Err(refused())
    }
}

/// For each part of the key, which column of the query gives it.
fn key_places(
    insert: &ast::Insert,
    relation: &Relation,
    sharded: &Sharded,
) -> Result<Vec<usize>, PlanError> {
    let place = |name: &str| {
        if insert.columns.is_empty() {
            relation
                .columns
                .iter()
                .position(|column| column.name == name)
        } else {
            insert
                .columns
                .iter()
                .position(|column| column.name == name && !column.has_indirection)
        }
    };
    let parts = sharded
        .key
        .parts()
        .iter()
        .map(|part| match part.columns().as_slice() {
            [name] => place(name),
            _ => None,
        });
    parts
        .collect::<Option<_>>()
        .ok_or_else(|| refuse(UnsupportedId::ComputedKey, sharded.key.to_string()))
}

/// Nothing at the outermost level brings rows of different shards together.
fn check_top(analysis: &Analysis<'_>, graph: &Graph<'_>, anchor: &Use) -> Result<(), ()> {
    let level = &analysis.blocks[0];
    let lists = level
        .group
        .iter()
        .chain(&level.distinct)
        .chain(&level.windows);
    let are_keyed = lists
        .into_iter()
        .all(|list| scatter::is_keyed(graph, anchor, list));
    if level.is_limited || level.is_opaque || !are_keyed {
        Err(())
    } else {
        Ok(())
    }
}

/// Whether each row is put under the key of the sharded row that it was made from.
fn keeps_key(
    analysis: &Analysis<'_>,
    graph: &Graph<'_>,
    sharded: &Sharded,
    (columns, places): (&[crate::scope::OutputColumn], &[usize]),
) -> bool {
    analysis.uses.iter().any(|used| {
        let crate::place::Place::Sharded(of_used) = &used.place else {
            return false;
        };
        sharded.is_colocated(of_used)
            && used.parts.len() == places.len()
            && used
                .parts
                .iter()
                .zip(places)
                .zip(sharded.key.parts())
                .all(|((part, place), own)| {
                    let given = columns.get(*place).and_then(|column| column.attribute);
                    // The column itself is copied, so the same expression over it gives the same key.
                    let is_same = match (own.as_column(), part.column, &part.expression) {
                        (Some(_), _, None) => {
                            given.is_some_and(|given| is_always(graph, part.whole, given))
                        }
                        (None, Some(column), Some(expression)) => {
                            own == expression
                                && given.is_some_and(|given| is_always(graph, column, given))
                        }
                        _ => false,
                    };
                    is_same
                        && given.is_some_and(|given| {
                            analysis.is_comparable(part.column.unwrap_or(part.whole), given)
                        })
                })
    })
}

fn is_always(graph: &Graph<'_>, one: usize, other: usize) -> bool {
    one == other || graph.reached([one]).contains(&other) && graph.reaching(one).contains(&other)
}

/// The route of the constants that the query gives as key.
fn constant_home(
    written: &Written<'_>,
    (relation, sharded): (&Relation, &Arc<Sharded>),
    (query, places): (&ast::Query, &[usize]),
    slots: &Slots,
) -> Result<Route, PlanError> {
    let refused = || refuse(UnsupportedId::InsertSelect, &relation.name);
    let ast::QueryBody::Select(select) = &query.body else {
        return Err(refused());
    };
    let has_star = select
        .targets
        .iter()
        .any(|target| matches!(target.expr.kind, ExprKind::Star(_)));
    if has_star {
        return Err(refused());
    }
    let mut sources = Vec::new();
    for (part, place) in sharded.key.parts().iter().zip(places) {
        let columns = part.columns();
        let (Some(name), Some(target)) = (columns.first(), select.targets.get(*place)) else {
            return Err(refused());
        };
        let source =
            column_source(written, relation, (name, &target.expr), slots).ok_or_else(refused)?;
        sources.push(((*name).to_owned(), source));
    }
    let source = |name: &str| {
        sources
            .iter()
            .find(|(column, _)| column == name)
            .map(|(_, source)| source.clone())
    };
    let terms = key::terms(written, relation, sharded, &source)?;
    Ok(Route::Key {
        sharded: Arc::clone(sharded),
        terms,
        is_write: true,
    })
}
