//! Statements that write rows: where each row goes, and what is computed first so that every copy gets the same.
//!
//! An unsharded table's statement goes to its shard as it is. A sharded table's rows go home by their key: an INSERT is
//! split by row, an UPDATE or DELETE goes to the shards that may hold matching rows. A reference table's statement goes to
//! every copy, after all that could differ from copy to copy was computed. Invariant: a row is never written to a shard that
//! is not its home, and copies are never written apart.

mod cascade;
mod change;
mod conflict;
pub(crate) mod default;
mod insert;
mod key;
mod select;
mod spread;
mod tables;
mod text;
mod trigger;
mod values;

use std::sync::Arc;

use catalog::{Relation, RelationKind};
use sql::ast;
use topology::{ShardId, Sharded};

use crate::compute::Computes;
use crate::ddl::with_authority_first;
use crate::place::{self, Named, Place};
use crate::plan::{Effect, Facts, Fixed, Merge, Plan, Planned, Route, Target, Text, Tier};
use crate::volatile::{self, Finding, What};
use crate::{Context, PlanError, UnsupportedId, refuse};
use text::Edits;

pub(crate) use change::{delete, merge, update};
pub(crate) use insert::{Policy, plan as insert};
pub(crate) use tables::is_whole;
pub(crate) use text::find_words;

/// A statement with its text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Written<'a> {
    /// The surroundings.
    pub(crate) cx: &'a Context<'a>,
    /// The text that positions count in.
    pub(crate) source: &'a str,
    /// Where the statement lies in it.
    pub(crate) span: ast::Span,
    /// The statement.
    pub(crate) body: &'a ast::Body,
}

/// Where the rows of the written table are.
#[derive(Clone, Debug)]
pub(crate) enum Goal {
    /// All on one shard.
    Alone(ShardId),
    /// On the session's own backend.
    Temporary,
    /// Each on the shard of its key.
    Sharded(Arc<Sharded>),
    /// All on each of these.
    Copies(Vec<ShardId>),
}

/// The table that is written.
#[derive(Clone, Debug)]
struct Subject<'a> {
    goal: Goal,
    /// As the catalog knows it; temporary tables are not in it.
    relation: Option<&'a Relation>,
}

// === impl Subject ===

impl<'a> Subject<'a> {
    /// Finds the table.
    ///
    /// # Errors
    ///
    /// There is none, or it can't be written through the router.
    fn find(written: &Written<'a>, table: &ast::TableRef) -> Result<Self, PlanError> {
        let cx = written.cx;
        let relation = match place::resolve(cx, &table.name, written.source)? {
            Named::Temporary => {
                return Ok(Self {
                    goal: Goal::Temporary,
                    relation: None,
                });
            }
            Named::Known(relation) => relation.as_ref(),
        };
        let goal = goal(cx, relation)?;
        Ok(Self {
            goal,
            relation: Some(relation),
        })
    }
}

fn goal(cx: &Context<'_>, relation: &Relation) -> Result<Goal, PlanError> {
    let authority = cx.topology.authoritative_shard();
    let qualified = || format!("{}.{}", relation.schema, relation.name);
    if relation.schema == "kintsugi" {
        return Err(refuse(UnsupportedId::PrivateSchema, qualified()));
    }
    if cx.topology.shards().len() == 1 {
        return Ok(Goal::Alone(authority));
    }
    let goal = match place::place(cx, relation)? {
        Place::View => return Err(refuse(UnsupportedId::WriteView, qualified())),
        Place::Temporary => return Ok(Goal::Temporary),
        Place::Shard(shard) => Goal::Alone(shard),
        Place::Sharded(sharded) => Goal::Sharded(sharded),
        Place::Reference(reference) => {
            Goal::Copies(with_authority_first(cx, reference.shards.clone()))
        }
        // PostgreSQL says that a materialized view can't be changed.
        Place::Copies(_) | Place::Catalog => return Ok(Goal::Alone(authority)),
    };
    if relation.kind == RelationKind::Foreign {
        return Err(refuse(UnsupportedId::ObjectKind, "FOREIGN TABLE"));
    }
    if matches!(goal, Goal::Alone(_)) {
        return Ok(goal);
    }
    if relation.has_rules {
        return Err(refuse(UnsupportedId::Rule, qualified()));
    }
    if relation.has_row_security {
        return Err(refuse(UnsupportedId::RowSecurity, qualified()));
    }
    Ok(goal)
}

/// A plan that sends the client's own text to one shard.
pub(crate) fn verbatim(route: Route, reason: impl Into<String>) -> Planned {
    Planned {
        plan: Plan {
            tier: Tier::PassThrough,
            compute: Vec::new(),
            target: Target::One {
                routes: smallvec::smallvec![route],
                split: None,
            },
            text: Text::Verbatim,
            merge: Merge::Pass,
            effect: Effect::Write,
            reasons: vec![reason.into()],
            notices: Vec::new(),
        },
        fixed: Fixed::All,
        facts: Facts::default(),
    }
}

/// A plan for the session's own backend.
pub(crate) fn temporary() -> Planned {
    let mut planned = verbatim(
        Route::Authority,
        "the table is temporary and lives on the session's own backend",
    );
    planned.facts = Facts {
        pins: true,
        unpreparable: true,
        uses_temporary: true,
        ..Facts::default()
    };
    planned
}

/// A statement on one shard may draw from sequences there: that is right on the shard that holds them, though the session's
/// `currval` is then unknown.
///
/// # Errors
///
/// The sequences are elsewhere.
pub(crate) fn draw_unseen(
    written: &Written<'_>,
    shard: ShardId,
    draws_default: bool,
    facts: &mut Facts,
) -> Result<(), PlanError> {
    let findings = volatile::findings_in_body(written.cx, written.source, written.body);
    let draw = findings.iter().find(|finding| {
        matches!(
            finding.what,
            What::NextVal(_)
                | What::CurrVal(_)
                | What::LastVal
                | What::SetVal(_)
                | What::UnknownSequence
        )
    });
    if draw.is_none() && !draws_default {
        return Ok(());
    }
    let asks = |what: What| matches!(what, What::CurrVal(_) | What::LastVal);
    if shard != written.cx.topology.authoritative_shard()
        || draw.is_some_and(|draw| asks(draw.what))
    {
        let name = draw.map_or("a sequence default", |draw| draw.name.as_str());
        return Err(refuse(UnsupportedId::DeferredRead, name));
    }
    facts.draws_unseen = true;
    facts.uses_sequence = true;
    facts.forgets_sequences = findings
        .iter()
        .any(|finding| matches!(finding.what, What::SetVal(_) | What::UnknownSequence));
    Ok(())
}

/// The same statement for every copy, with what its findings need computed.
///
/// # Errors
///
/// Something in it could differ from copy to copy.
fn copied(
    written: &Written<'_>,
    shards: &[ShardId],
    (findings, mut computes): (&[Finding], Computes<'_>),
    facts: Facts,
) -> Result<Planned, PlanError> {
    let mut edits = Edits::default();
    for finding in findings {
        let What::Clock { .. } = finding.what else {
            let is_sequence = !matches!(finding.what, What::Fresh { .. } | What::Unproven);
            let id = if is_sequence {
                UnsupportedId::DeferredRead
            } else {
                UnsupportedId::ReferenceVolatile
            };
            return Err(refuse(id, &finding.name));
        };
        let part = computes.finding(written.source, finding)?;
        if let Some(span) = finding.span {
            edits.replace(span, vec![part]);
        }
    }
    edits.keep_names(written.cx, written.source, returning(written.body));
    select::broadcast(written, shards, &edits, computes, facts)
}

/// Where the rows are that a `COPY ... FROM` writes, and the table.
///
/// # Errors
///
/// There is none, or it can't be written through the router.
pub(crate) fn goal_of<'a>(
    written: &Written<'a>,
    table: &ast::TableRef,
) -> Result<(Goal, Option<&'a Relation>), PlanError> {
    let subject = Subject::find(written, table)?;
    Ok((subject.goal, subject.relation))
}

/// Where the rows are that a `COPY ... TO` reads.
///
/// # Errors
///
/// There is no such table.
pub(crate) fn read_goal(written: &Written<'_>, table: &ast::TableRef) -> Result<Goal, PlanError> {
    let relation = match place::resolve(written.cx, &table.name, written.source)? {
        Named::Temporary => return Ok(Goal::Temporary),
        Named::Known(relation) => relation,
    };
    let authority = Goal::Alone(written.cx.topology.authoritative_shard());
    Ok(match place::place(written.cx, relation)? {
        Place::Sharded(sharded) => Goal::Sharded(sharded),
        Place::Reference(reference) => Goal::Copies(reference.shards.clone()),
        Place::Copies(shards) => Goal::Copies(shards),
        Place::Shard(shard) => Goal::Alone(shard),
        // PostgreSQL says that a view can't be copied.
        Place::Catalog | Place::Temporary | Place::View => authority,
    })
}

/// Checks the triggers that new rows fire; whether one may draw from sequences unseen.
///
/// # Errors
///
/// One could look at other rows, or make copies differ.
pub(crate) fn check_insert_triggers(
    cx: &Context<'_>,
    goal: &Goal,
    relation: &Relation,
) -> Result<bool, PlanError> {
    trigger::check(cx, goal, relation, trigger::INSERT)
}

/// The `RETURNING` of a write.
fn returning(body: &ast::Body) -> &[ast::Target] {
    match body {
        ast::Body::Insert(insert) => &insert.returning,
        ast::Body::Update(update) => &update.returning,
        ast::Body::Delete(delete) => &delete.returning,
        ast::Body::Merge(merge) => &merge.returning,
        _ => &[],
    }
}
