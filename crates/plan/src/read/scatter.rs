//! A query over several shards. Invariant: it is pushed only if one table's rows carry every row of the answer (the
//! anchor), each on the shard of its key, and every other sharded table is tied to that key; so each shard gives
//! exactly its own part.

use smallvec::SmallVec;
use sql::ast::{Distinct, Query, QueryBody, Select, SetOperator};
use topology::{GroupId, Sharded};

use super::edit::Edited;
use super::{Request, aggregate, order};
use crate::context::Fanout;
use crate::equality::{Fixture, Graph};
use crate::function::Class as FunctionClass;
use crate::place::Place;
use crate::plan::{
    ArrayRoute, Effect, Facts, Fixed, KeySource, Merge, Plan, Planned, Route, Target, Text, Tier,
};
use crate::scope::{Analysis, BlockId, Use};
use crate::volatile::What;
use crate::{PlanError, UnsupportedId, refuse};

/// Plans a query that needs several shards.
///
/// # Errors
///
/// The shards' answers don't make up the answer.
pub(super) fn plan(
    request: Request<'_>,
    analysis: &Analysis<'_>,
    graph: &Graph<'_>,
    facts: Facts,
) -> Result<Planned, PlanError> {
    check_traits(analysis)?;
    check_functions(analysis)?;
    if let QueryBody::SetOperation { .. } = &request.query.body {
        return union(request, analysis, facts);
    }
    let QueryBody::Select(select) = &request.query.body else {
        return Err(refuse(
            UnsupportedId::Statement,
            "VALUES over sharded tables",
        ));
    };
    let anchor = anchor(analysis, graph)?;
    let mut edited = Edited::new(request)?;
    let compute = clocks(request, analysis, &mut edited)?;
    let merge = merge(request, analysis, (graph, anchor), select, &mut edited)?;
    let target = target(analysis, graph, anchor)?;
    let relied = match &target {
        Target::Keys {
            array:
                Some(ArrayRoute {
                    source: KeySource::Text { .. },
                    ..
                }),
            ..
        } => Fixed::All,
        _ => super::fixed_by(analysis, &routes_of(&target)),
    };
    let is_edited = !edited.is_empty();
    let (tier, why) = match &target {
        Target::Keys { .. } => (Tier::SomeShards, "the listed keys tell the shards"),
        _ => (Tier::Scatter, "the shard key is not fixed"),
    };
    Ok(Planned {
        plan: Plan {
            tier,
            compute,
            target,
            text: if is_edited {
                Text::Edited(edited.finish()?)
            } else {
                Text::Verbatim
            },
            merge,
            effect: if analysis.traits.has_locking {
                Effect::Lock
            } else {
                Effect::Read
            },
            reasons: vec![format!("{why}; {} carries the rows", anchor.name)],
            notices: Vec::new(),
        },
        fixed: if is_edited { Fixed::All } else { relied },
        facts,
    })
}

fn routes_of(target: &Target) -> Vec<Route> {
    match target {
        Target::Keys { routes, .. } => routes.clone(),
        Target::One { .. } | Target::Group(_) | Target::Shards(_) | Target::Rows => Vec::new(),
    }
}

/// What no part of a query over several shards may hold.
pub(crate) fn check_traits(analysis: &Analysis<'_>) -> Result<(), PlanError> {
    let traits = analysis.traits;
    let checks = [
        (traits.has_write, UnsupportedId::WriteInCte),
        (traits.has_recursion, UnsupportedId::Recursive),
        (traits.has_full_join, UnsupportedId::FullJoin),
        (traits.has_sample, UnsupportedId::TableSample),
        (traits.has_system_column, UnsupportedId::SystemColumn),
        (traits.has_into, UnsupportedId::SelectInto),
        (traits.has_skip_locked, UnsupportedId::LimitLocking),
        (traits.has_object_cast, UnsupportedId::FunctionPlace),
    ];
    for (holds, id) in checks {
        if holds {
            return Err(refuse(id, super::table_names(analysis)));
        }
    }
    let elsewhere = analysis.uses.iter().find(|used| {
        matches!(
            used.place,
            Place::Shard(_) | Place::Catalog | Place::Temporary | Place::View
        )
    });
    match elsewhere {
        Some(used) => Err(refuse(UnsupportedId::UnshardedJoin, &used.name)),
        None => Ok(()),
    }
}

pub(crate) fn check_functions(analysis: &Analysis<'_>) -> Result<(), PlanError> {
    for call in &analysis.calls {
        match call.class {
            FunctionClass::Free => {}
            // In the outermost level each row has a value of its own on one PostgreSQL too.
            FunctionClass::Fresh if call.block == 0 => {}
            FunctionClass::Clock if !call.is_in_view => {}
            FunctionClass::Clock => {
                return Err(refuse(UnsupportedId::FunctionTime, &call.name));
            }
            FunctionClass::SetConfig => {
                return Err(refuse(UnsupportedId::FunctionEffect, &call.name));
            }
            _ => return Err(refuse(UnsupportedId::FunctionPlace, &call.name)),
        }
    }
    Ok(())
}

/// Readings of the clock, each computed once.
fn clocks(
    request: Request<'_>,
    analysis: &Analysis<'_>,
    edited: &mut Edited<'_>,
) -> Result<Vec<crate::Compute>, PlanError> {
    let expected = analysis
        .calls
        .iter()
        .filter(|call| call.class == FunctionClass::Clock)
        .count();
    let mut computes = crate::compute::Computes::new(request.context);
    let mut count = 0;
    let mut replaced = Vec::new();
    for finding in
        crate::volatile::findings_in_query(request.context, request.source, request.query)
    {
        if matches!(finding.what, What::Clock { .. }) {
            count += 1;
            let part = computes
                .finding(request.source, &finding)
                .map_err(|_error| refuse(UnsupportedId::FunctionTime, &finding.name))?;
            edited.compute(finding.span, &part, &finding.name)?;
            replaced.extend(finding.span);
        }
    }
    if let QueryBody::Select(select) = &request.query.body {
        edited.keep_names(&select.targets, &replaced)?;
    }
    if count < expected {
        return Err(refuse(UnsupportedId::FunctionTime, "the clock"));
    }
    computes.finish()
}

/// The table whose rows carry those of the answer.
pub(crate) fn anchor<'u>(
    analysis: &'u Analysis<'_>,
    graph: &Graph<'_>,
) -> Result<&'u Use, PlanError> {
    let mut refusal = None;
    for (at, used) in analysis.uses.iter().enumerate() {
        let is_candidate = matches!(used.place, Place::Sharded(_))
            && used.is_preserved
            && analysis.blocks[used.block].is_spine;
        if !is_candidate {
            continue;
        }
        match check_anchor(analysis, graph, at) {
            Ok(()) => return Ok(used),
            Err(error) => refusal = refusal.or(Some(error)),
        }
    }
    Err(refusal.unwrap_or_else(|| without_anchor(analysis)))
}

fn without_anchor(analysis: &Analysis<'_>) -> PlanError {
    let sharded = analysis
        .uses
        .iter()
        .find(|used| matches!(used.place, Place::Sharded(_)));
    let name = sharded.map_or_else(String::new, |used| used.name.clone());
    let Some(used) = sharded else {
        return refuse(UnsupportedId::Statement, name);
    };
    if analysis.blocks.iter().any(|block| block.is_opaque) {
        return refuse(UnsupportedId::SetOperation, name);
    }
    if !used.is_preserved && used.block == 0 {
        return refuse(UnsupportedId::ReferenceOuterJoin, name);
    }
    refuse(UnsupportedId::SubqueryOffKey, name)
}

pub(crate) fn check_anchor(
    analysis: &Analysis<'_>,
    graph: &Graph<'_>,
    anchor: usize,
) -> Result<(), PlanError> {
    let anchor = &analysis.uses[anchor];
    let Place::Sharded(sharded) = &anchor.place else {
        return Err(refuse(UnsupportedId::Statement, &anchor.name));
    };
    let group = &analysis.context.topology.group(sharded.group).shards;
    for other in &analysis.uses {
        match &other.place {
            Place::Sharded(of_other) => {
                let is_tied = sharded.is_colocated(of_other) && graph.is_tied(anchor, other);
                if !is_tied && !std::ptr::eq(anchor, other) {
                    return Err(untied(analysis, other));
                }
            }
            Place::Reference(reference) => {
                if super::locked_copies(analysis, other).is_some() {
                    return Err(refuse(UnsupportedId::LockReference, &other.name));
                }
                if super::lacks(&reference.shards, group) {
                    return Err(refuse(UnsupportedId::ReferenceMissing, &other.name));
                }
            }
            Place::Copies(shards) => {
                if super::lacks(shards, group) {
                    return Err(refuse(UnsupportedId::ReferenceMissing, &other.name));
                }
            }
            Place::Shard(_) | Place::Catalog | Place::Temporary | Place::View => {}
        }
    }
    let mut block = anchor.block;
    while block != 0 {
        check_local(analysis, graph, anchor, block)?;
        let Some(parent) = analysis.blocks[block].parent else {
            break;
        };
        block = parent;
    }
    check_cut(analysis)
}

fn untied(analysis: &Analysis<'_>, other: &Use) -> PlanError {
    if analysis.blocks[other.block].is_spine {
        refuse(UnsupportedId::JoinOffKey, &other.name)
    } else {
        refuse(UnsupportedId::SubqueryOffKey, &other.name)
    }
}

/// Rows of different keys don't meet in a level.
fn check_local(
    analysis: &Analysis<'_>,
    graph: &Graph<'_>,
    anchor: &Use,
    block: BlockId,
) -> Result<(), PlanError> {
    let level = &analysis.blocks[block];
    let refused = || Err(refuse(UnsupportedId::Derived, &anchor.name));
    if level.is_limited || level.is_opaque {
        return refused();
    }
    let lists = level.group.iter().chain(&level.distinct);
    for list in lists {
        if !is_keyed(graph, anchor, list) {
            return refused();
        }
    }
    for window in &level.windows {
        if !is_keyed(graph, anchor, window) {
            return Err(refuse(UnsupportedId::WindowOffKey, &anchor.name));
        }
    }
    Ok(())
}

/// Which rows a `LIMIT` leaves is up to each shard, so one over copied tables alone could differ.
fn check_cut(analysis: &Analysis<'_>) -> Result<(), PlanError> {
    for (at, block) in analysis.blocks.iter().enumerate().skip(1) {
        let has_sharded = analysis.uses.iter().any(|used| {
            matches!(used.place, Place::Sharded(_)) && is_within(analysis, used.block, at)
        });
        if block.is_limited && !has_sharded {
            return Err(refuse(
                UnsupportedId::Derived,
                "LIMIT over reference tables",
            ));
        }
    }
    Ok(())
}

fn is_within(analysis: &Analysis<'_>, mut block: BlockId, outer: BlockId) -> bool {
    loop {
        if block == outer {
            return true;
        }
        match analysis.blocks[block].parent {
            Some(parent) => block = parent,
            None => return false,
        }
    }
}

/// Whether a list holds every part of the anchor's key.
pub(crate) fn is_keyed(
    graph: &Graph<'_>,
    anchor: &Use,
    list: &[Option<crate::scope::AttributeId>],
) -> bool {
    !anchor.parts.is_empty()
        && anchor.parts.iter().all(|part| {
            let equal = graph.equals(part);
            list.iter()
                .flatten()
                .any(|attribute| equal.contains(attribute))
        })
}

fn merge<'a>(
    request: Request<'a>,
    analysis: &'a Analysis<'a>,
    (graph, anchor): (&Graph<'_>, &Use),
    select: &'a Select,
    edited: &mut Edited<'a>,
) -> Result<Merge, PlanError> {
    let level = &analysis.blocks[0];
    let window = order::window(request, analysis)?;
    let has_window = window.limit.is_some() || window.offset.is_some();
    if analysis.traits.has_locking && has_window {
        return Err(refuse(UnsupportedId::LimitLocking, &anchor.name));
    }
    if level.is_opaque {
        return Err(refuse(UnsupportedId::GroupingSets, &anchor.name));
    }
    if level
        .windows
        .iter()
        .any(|list| !is_keyed(graph, anchor, list))
    {
        return Err(refuse(UnsupportedId::WindowOffKey, &anchor.name));
    }
    if let Some(group) = &level.group
        && !is_keyed(graph, anchor, group)
    {
        return aggregate::grouped(request, (analysis, graph, anchor), select, edited);
    }
    match (&select.distinct, &level.distinct) {
        (Distinct::No, _) => {}
        (Distinct::On(_), Some(list)) if is_keyed(graph, anchor, list) => {}
        (Distinct::On(_), _) => return Err(refuse(UnsupportedId::DistinctOn, &anchor.name)),
        (Distinct::All, _) => {
            let columns = order::Columns::new(analysis, select);
            let count = columns.count().unwrap_or(0);
            let list: Vec<_> = (0..count).map(|at| columns.attribute_at(at)).collect();
            if !is_keyed(graph, anchor, &list) {
                return aggregate::distinct(request, analysis, select, edited);
            }
        }
    }
    let ordering = order::ordering(request, analysis, select, edited)?;
    if !ordering.hidden.is_empty() {
        edited.add_columns(select, &ordering.hidden)?;
    }
    order::push_window(&window, edited)?;
    if ordering.keys.is_empty() {
        return Ok(Merge::Concat { window });
    }
    let hidden = u16::try_from(ordering.hidden.len()).map_err(|_many| super::edit::unclear())?;
    Ok(Merge::Ordered {
        keys: ordering.keys,
        hidden,
        window,
    })
}

/// The shards: those of the listed keys, or all of the group.
pub(crate) fn target(
    analysis: &Analysis<'_>,
    graph: &Graph<'_>,
    anchor: &Use,
) -> Result<Target, PlanError> {
    let Place::Sharded(sharded) = &anchor.place else {
        return Err(refuse(UnsupportedId::Statement, &anchor.name));
    };
    let fanout = analysis.context.settings.fanout;
    let refused = || Err(refuse(UnsupportedId::Fanout, &anchor.name));
    if fanout == Fanout::Single {
        return refused();
    }
    if let [part] = anchor.parts.as_slice() {
        for fixture in graph.fixtures(part) {
            if let Some(target) = listed(sharded, fixture) {
                return Ok(target);
            }
        }
    }
    if fanout == Fanout::Multi {
        return refused();
    }
    Ok(group_target(sharded.group))
}

fn group_target(group: GroupId) -> Target {
    Target::Group(group)
}

fn listed(sharded: &std::sync::Arc<Sharded>, fixture: Fixture) -> Option<Target> {
    match fixture {
        Fixture::One(_) => None,
        Fixture::List(terms) => Some(Target::Keys {
            routes: terms
                .into_iter()
                .map(|term| Route::Key {
                    sharded: std::sync::Arc::clone(sharded),
                    terms: SmallVec::from_elem(term, 1),
                    is_write: false,
                })
                .collect(),
            array: None,
        }),
        Fixture::Array(term) => Some(Target::Keys {
            routes: Vec::new(),
            array: Some(ArrayRoute {
                sharded: std::sync::Arc::clone(sharded),
                source: term.source,
                key_type: term.key_type,
                expression: term.expression,
            }),
        }),
    }
}

/// `UNION ALL` of plain selects, each of which distributes over the shards of one group.
fn union(
    request: Request<'_>,
    analysis: &Analysis<'_>,
    facts: Facts,
) -> Result<Planned, PlanError> {
    let refused = || refuse(UnsupportedId::SetOperation, super::table_names(analysis));
    let query = request.query;
    let is_plain = query.with.is_none()
        && query.order_by.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locking.is_empty();
    let has_clock = analysis
        .calls
        .iter()
        .any(|call| call.class == FunctionClass::Clock);
    if !is_plain || has_clock || analysis.blocks[0].is_opaque {
        return Err(refused());
    }
    let mut branches = Vec::new();
    flatten(query, &mut branches).ok_or_else(refused)?;
    let mut group = None;
    for branch in branches {
        let alone = Analysis::of_query(analysis.context, analysis.source, analysis.slots, branch)?;
        let graph = Graph::new(&alone);
        if !alone
            .uses
            .iter()
            .any(|used| matches!(used.place, Place::Sharded(_)))
        {
            return Err(refused());
        }
        let anchor = anchor(&alone, &graph)?;
        let level = &alone.blocks[0];
        let is_simple = matches!(&branch.body, QueryBody::Select(select) if select.distinct == Distinct::No)
            && !level.is_limited
            && level
                .group
                .as_ref()
                .is_none_or(|list| is_keyed(&graph, anchor, list))
            && level
                .windows
                .iter()
                .all(|list| is_keyed(&graph, anchor, list));
        let Place::Sharded(sharded) = &anchor.place else {
            return Err(refused());
        };
        if !is_simple || group.is_some_and(|known| known != sharded.group) {
            return Err(refused());
        }
        group = Some(sharded.group);
    }
    if analysis.context.settings.fanout != Fanout::Scatter {
        return Err(refuse(UnsupportedId::Fanout, "UNION ALL"));
    }
    Ok(Planned {
        plan: Plan {
            tier: Tier::Scatter,
            compute: Vec::new(),
            target: group_target(group.ok_or_else(refused)?),
            text: Text::Verbatim,
            merge: Merge::Concat {
                window: crate::plan::RowWindow::default(),
            },
            effect: Effect::Read,
            reasons: vec!["each part of the union is spread by the shard key".to_owned()],
            notices: Vec::new(),
        },
        fixed: super::fixed_by(analysis, &[]),
        facts,
    })
}

fn flatten<'q>(query: &'q Query, branches: &mut Vec<&'q Query>) -> Option<()> {
    match &query.body {
        QueryBody::SetOperation {
            op: SetOperator::Union,
            all: true,
            left,
            right,
        } if query.order_by.is_empty()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.with.is_none() =>
        {
            flatten(left, branches)?;
            flatten(right, branches)
        }
        QueryBody::SetOperation { .. } | QueryBody::Values(_) => None,
        QueryBody::Select(_) => {
            branches.push(query);
            Some(())
        }
    }
}
