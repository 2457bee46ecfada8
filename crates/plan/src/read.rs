//! Reads: a query goes to one shard as it stands if every sharded table is fixed to it, else to several shards if
//! their answers make up the answer, else it is refused.

use smallvec::SmallVec;
use sql::ast::{Query, QueryBody, Span};
use topology::ShardId;

use crate::equality::Graph;
use crate::function::Class as FunctionClass;
use crate::place::Place;
use crate::plan::{
    Effect, Facts, Fixed, KeySource, Merge, Plan, Planned, Route, Target, Text, Tier,
};
use crate::scope::{Analysis, CallUse, Use};
use crate::slot::Slots;
use crate::{Context, PlanError, Unsupported, UnsupportedId, refuse};

mod aggregate;
mod edit;
mod order;
pub(crate) mod scatter;

/// A query and its text.
#[derive(Clone, Copy)]
pub(crate) struct Request<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) source: &'a str,
    pub(crate) query: &'a Query,
    /// The query's own text within the source.
    pub(crate) span: Span,
}

/// Plans a query.
///
/// # Errors
///
/// It is refused, or names what does not exist.
pub(crate) fn plan(request: Request<'_>) -> Result<Planned, PlanError> {
    let Request {
        context,
        source,
        query,
        ..
    } = request;
    let slots = Slots::of_text(source, context.settings.standard_conforming_strings);
    let analysis = Analysis::of_query(context, source, &slots, query)?;
    let graph = Graph::new(&analysis);
    let facts = facts(&analysis);
    check_effects(&analysis)?;
    if analysis.traits.has_sequence {
        return sequence_values(request, &analysis, facts);
    }
    match routes(&analysis, &graph) {
        Some(routes) => {
            if analysis.traits.has_write {
                check_writes(&analysis)?;
            }
            Ok(pass(&analysis, routes, facts))
        }
        None => scatter::plan(request, &analysis, &graph, facts),
    }
}

fn pass(analysis: &Analysis<'_>, routes: SmallVec<[Route; 1]>, facts: Facts) -> Planned {
    let effect = if analysis.traits.has_write {
        Effect::Write
    } else if analysis.traits.has_locking {
        Effect::Lock
    } else {
        Effect::Read
    };
    let reason = reason(&routes);
    let fixed = fixed_by(analysis, &routes);
    let split = (routes.len() > 1).then(|| Box::new(split(analysis)));
    Planned {
        plan: Plan {
            tier: Tier::PassThrough,
            compute: Vec::new(),
            target: Target::One { routes, split },
            text: Text::Verbatim,
            merge: Merge::Pass,
            effect,
            reasons: vec![reason.to_owned()],
            notices: Vec::new(),
        },
        fixed,
        facts,
    }
}

fn reason(routes: &[Route]) -> &'static str {
    match routes {
        [Route::Key { .. }] => "the shard key is fixed",
        [Route::Any(_)] => "every shard concerned gives the same answer",
        [Route::Shard(_)] => "all rows are on one shard",
        [Route::Authority] | [] => {
            "the authoritative shard answers for the catalog and the session"
        }
        _ => "every table is fixed to a shard",
    }
}

/// The refusal when routes disagree at run time.
pub(crate) fn split(analysis: &Analysis<'_>) -> Unsupported {
    let names = table_names(analysis);
    Unsupported::about(UnsupportedId::SplitRoutes, names)
}

/// Tables of the statement, each once.
fn table_names(analysis: &Analysis<'_>) -> String {
    let mut names: Vec<&str> = analysis
        .uses
        .iter()
        .map(|used| used.name.as_str())
        .collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// Which literals a plan depends on.
pub(crate) fn fixed_by(analysis: &Analysis<'_>, routes: &[Route]) -> Fixed {
    let has_text = routes.iter().any(|route| match route {
        // A literal in a view's definition is not one of this text.
        Route::Key { terms, .. } => terms
            .iter()
            .any(|term| matches!(term.source, KeySource::Text { .. })),
        Route::Any(_) | Route::Shard(_) | Route::Authority => false,
    });
    if has_text {
        return Fixed::All;
    }
    let relied = analysis.relied.borrow();
    let slots = relied.iter().map(|token| analysis.slots.of((*token)?));
    match slots.collect::<Option<Vec<u32>>>() {
        Some(mut slots) => {
            slots.sort_unstable();
            slots.dedup();
            Fixed::Slots(slots)
        }
        None => Fixed::All,
    }
}

fn facts(analysis: &Analysis<'_>) -> Facts {
    let has = |wanted: &[FunctionClass]| {
        analysis
            .calls
            .iter()
            .any(|call| wanted.contains(&call.class))
    };
    let uses_temporary = analysis
        .uses
        .iter()
        .any(|used| used.place == Place::Temporary);
    Facts {
        pins: has(&[FunctionClass::Pinning]) || uses_temporary,
        sets_config: has(&[FunctionClass::SetConfig]),
        unpreparable: has(&[FunctionClass::Notify]) || uses_temporary,
        uses_temporary,
        uses_sequence: analysis.traits.has_sequence,
        ..Facts::default()
    }
}

/// An effect on the session must reach the backends that the session uses later.
fn check_effects(analysis: &Analysis<'_>) -> Result<(), PlanError> {
    let reads_user_tables = analysis
        .uses
        .iter()
        .any(|used| !matches!(used.place, Place::Catalog | Place::Temporary));
    let effect = analysis
        .calls
        .iter()
        .find(|call| call.class == FunctionClass::SetConfig);
    match effect {
        Some(call) if reads_user_tables && analysis.context.is_spread() => {
            Err(refuse(UnsupportedId::FunctionEffect, &call.name))
        }
        _ => Ok(()),
    }
}

/// Where each part must go; `None` where a sharded table is not fixed to one shard.
pub(crate) fn routes(analysis: &Analysis<'_>, graph: &Graph<'_>) -> Option<SmallVec<[Route; 1]>> {
    let mut routes: SmallVec<[Route; 1]> = SmallVec::new();
    let mut push = |route: Route| {
        if !routes.iter().any(|known| is_same(known, &route)) {
            routes.push(route);
        }
    };
    for used in &analysis.uses {
        push(route(used, graph)?);
        if let Some(first) =
            locked_copies(analysis, used).and_then(|copies| copies.first().copied())
        {
            push(Route::Shard(first));
        }
    }
    if analysis.calls.iter().any(is_bound_to_authority) {
        push(Route::Authority);
    }
    if routes.is_empty() {
        let objects = analysis.traits.has_object_cast;
        let all = || {
            analysis
                .context
                .topology
                .shards()
                .iter()
                .map(|shard| shard.id)
        };
        routes.push(if objects {
            Route::Authority
        } else {
            Route::Any(all().collect())
        });
    }
    drop_implied(&mut routes);
    Some(routes)
}

/// The copies of a table whose rows are locked, the one first that all lockers meet on.
pub(crate) fn locked_copies(analysis: &Analysis<'_>, used: &Use) -> Option<Vec<ShardId>> {
    let Place::Reference(reference) = &used.place else {
        return None;
    };
    let is_locked = analysis.traits.has_locking
        && (analysis.traits.locks_all || analysis.locked.contains(&used.label));
    let shards = reference.shards.iter().copied();
    is_locked.then(|| crate::ddl::with_authority_first(analysis.context, shards))
}

/// Two tables of one index function and one key lie together.
fn is_same(a: &Route, b: &Route) -> bool {
    match (a, b) {
        (
            Route::Key {
                sharded: of_a,
                terms: a,
                is_write: a_is_stored,
            },
            Route::Key {
                sharded: of_b,
                terms: b,
                is_write: b_is_stored,
            },
        ) => of_a.is_colocated(of_b) && a == b && a_is_stored == b_is_stored,
        _ => a == b,
    }
}

/// A copy on every shard that a key may lead to says nothing more.
fn drop_implied(routes: &mut SmallVec<[Route; 1]>) {
    let keyed: Vec<Vec<ShardId>> = routes
        .iter()
        .filter_map(|route| match route {
            Route::Key { sharded, .. } => Some(sharded.ranges.shards().to_vec()),
            Route::Shard(shard) => Some(vec![*shard]),
            Route::Any(_) | Route::Authority => None,
        })
        .collect();
    routes.retain(|route| match route {
        Route::Any(copies) => !keyed.iter().any(|shards| !lacks(copies, shards)),
        Route::Key { .. } | Route::Shard(_) | Route::Authority => true,
    });
}

fn is_bound_to_authority(call: &CallUse) -> bool {
    matches!(
        call.class,
        FunctionClass::Authority | FunctionClass::Pinning | FunctionClass::Notify
    )
}

fn route(used: &Use, graph: &Graph<'_>) -> Option<Route> {
    Some(match &used.place {
        Place::Sharded(sharded) => match sharded.ranges.shards() {
            [single] => Route::Shard(*single),
            _ => Route::Key {
                sharded: std::sync::Arc::clone(sharded),
                terms: graph.fixed(used)?.into(),
                is_write: used.is_inserted,
            },
        },
        Place::Reference(reference) => Route::Any(reference.shards.clone()),
        Place::Copies(shards) => Route::Any(shards.clone()),
        Place::Shard(shard) => Route::Shard(*shard),
        Place::Catalog | Place::Temporary => Route::Authority,
        // Views are replaced by what they read.
        Place::View => return None,
    })
}

/// What a data-modifying `WITH` on one shard must not do there.
fn check_writes(analysis: &Analysis<'_>) -> Result<(), PlanError> {
    if !analysis.context.is_spread() {
        return Ok(());
    }
    for used in analysis.uses.iter().filter(|used| used.is_written) {
        let Some(relation) = &used.relation else {
            continue;
        };
        let is_copied = matches!(used.place, Place::Reference(_) | Place::Copies(_));
        let mut columns = relation.columns.iter();
        let draws = used.is_inserted
            && columns.any(|column| {
                column.identity.is_some()
                    || column
                        .default
                        .as_ref()
                        .is_some_and(|default| default.sequence.is_some())
            });
        let cascades = !relation.triggers.is_empty();
        if is_copied || draws || cascades || relation.has_rules {
            return Err(refuse(UnsupportedId::WriteInCte, &used.name));
        }
    }
    Ok(())
}

/// `SELECT nextval('s')`: a query without tables whose sequence values are drawn by the router.
fn sequence_values(
    request: Request<'_>,
    analysis: &Analysis<'_>,
    facts: Facts,
) -> Result<Planned, PlanError> {
    let QueryBody::Select(select) = &request.query.body else {
        return Err(refuse(UnsupportedId::DeferredRead, "a sequence function"));
    };
    let is_plain = select.from.is_empty()
        && request.query.with.is_none()
        && select.filter.is_none()
        && request.query.offset.is_none();
    if !is_plain || !analysis.uses.is_empty() {
        if let Some(planned) = drawn_there(request, analysis, facts) {
            return Ok(planned);
        }
        return Err(refuse(UnsupportedId::DeferredRead, "a sequence function"));
    }
    let context = request.context;
    let is_unknown = crate::volatile::findings_in_query(context, request.source, request.query)
        .iter()
        .any(|finding| {
            finding.what == crate::volatile::What::UnknownSequence
                && !finding.name.starts_with("currval")
        });
    if is_unknown && let Some(planned) = drawn_there(request, analysis, facts) {
        return Ok(planned);
    }
    let mut computes = crate::compute::Computes::new(context);
    let mut edits = edit::Edited::new(request)?;
    let mut replaced = Vec::new();
    for finding in crate::volatile::findings_in_query(context, request.source, request.query) {
        use crate::volatile::What;
        if matches!(
            finding.what,
            What::Clock { .. } | What::Fresh { .. } | What::Unproven
        ) {
            continue;
        }
        let part = computes.finding(request.source, &finding)?;
        edits.compute(finding.span, &part, &finding.name)?;
        replaced.extend(finding.span);
    }
    edits.keep_names(&select.targets, &replaced)?;
    let text = Text::Edited(edits.finish()?);
    let authority = SmallVec::from_elem(Route::Authority, 1);
    let mut planned = pass(analysis, authority, facts);
    planned.plan.compute = computes.finish_in_order();
    planned.plan.text = text;
    planned.plan.reasons = vec!["sequence values are drawn before".to_owned()];
    planned.fixed = Fixed::All;
    Ok(planned)
}

/// `SELECT setval(..., max(id)) FROM t`: where all rows are on the shard that holds the sequences, it does it all.
fn drawn_there(request: Request<'_>, analysis: &Analysis<'_>, mut facts: Facts) -> Option<Planned> {
    use crate::volatile::What;
    let authority = request.context.topology.authoritative_shard();
    let is_there = |used: &Use| match &used.place {
        Place::Shard(shard) => *shard == authority,
        Place::Reference(reference) => reference.shards.contains(&authority),
        Place::Copies(shards) => shards.contains(&authority),
        Place::Catalog => true,
        Place::Sharded(_) | Place::Temporary | Place::View => false,
    };
    let findings =
        crate::volatile::findings_in_query(request.context, request.source, request.query);
    // The session's last values are the router's to tell.
    let asks = findings
        .iter()
        .any(|finding| matches!(finding.what, What::CurrVal(_) | What::LastVal));
    if asks || analysis.traits.has_write || !analysis.uses.iter().all(is_there) {
        return None;
    }
    facts.uses_sequence = true;
    facts.draws_unseen = true;
    facts.forgets_sequences = findings
        .iter()
        .any(|finding| matches!(finding.what, What::SetVal(_) | What::UnknownSequence));
    let mut planned = pass(analysis, SmallVec::from_elem(Route::Authority, 1), facts);
    planned.plan.effect = Effect::Write;
    planned.fixed = Fixed::All;
    Some(planned)
}

/// Shards of a list that are not in another.
pub(crate) fn lacks(have: &[ShardId], need: &[ShardId]) -> bool {
    need.iter().any(|shard| !have.contains(shard))
}
