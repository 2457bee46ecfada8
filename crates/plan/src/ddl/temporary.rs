//! Temporary objects. They live on the session's own backend of the authoritative shard, which is kept for the session.
//! Invariant: what is put into them, and what they run, looks only at what that shard holds whole.

use sql::ast::{self, DdlAction};

use super::object;
use crate::function::Class;
use crate::place::Place;
use crate::plan::{Effect, Facts, Merge, Planned, Route, Target, Tier};
use crate::scope::{Analysis, Use};
use crate::slot::Slots;
use crate::trigger::{self, Reads};
use crate::volatile::{self, What};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// Plans the definition of a temporary object.
///
/// # Errors
///
/// It would look at rows of other shards.
pub(super) fn plan(cx: &Context<'_>, source: &str, ddl: &ast::Ddl) -> Result<Planned, PlanError> {
    let mut facts = Facts {
        pins: true,
        unpreparable: true,
        uses_temporary: true,
        ..Facts::default()
    };
    if cx.is_spread() {
        check(cx, ddl)?;
        for query in &ddl.queries {
            check_query(cx, source, query, &mut facts)?;
        }
    }
    let shards = vec![cx.topology.authoritative_shard()];
    let mut planned = super::everywhere(shards, Effect::Define, Vec::new());
    planned.plan.tier = Tier::PassThrough;
    planned.plan.target = Target::One {
        routes: smallvec::smallvec![Route::Authority],
        split: None,
    };
    planned.plan.merge = Merge::Pass;
    planned.plan.reasons = vec!["temporary objects live on the session's own backend".to_owned()];
    planned.facts = facts;
    Ok(planned)
}

/// Whether the statement makes or changes a temporary object.
pub(super) fn is_temporary(cx: &Context<'_>, ddl: &ast::Ddl) -> bool {
    let is_known = |name: &ast::Name| is_known(cx, name);
    match &ddl.action {
        DdlAction::CreateTable(create) => {
            create.temporary || is_known(&create.name) && create.name.parts.len() > 1
        }
        DdlAction::CreateTableAs { temporary, .. }
        | DdlAction::CreateView { temporary, .. }
        | DdlAction::CreateSequence { temporary, .. } => *temporary,
        DdlAction::AlterTable { name, .. }
        | DdlAction::AlterSequence { name }
        | DdlAction::CreateIndex { table: name, .. }
        | DdlAction::CreateTrigger { table: name, .. } => is_known(name),
        DdlAction::Rename { name, .. } | DdlAction::AlterOther { name, .. } => {
            name.as_ref().is_some_and(is_known)
        }
        DdlAction::Drop { names, .. } | DdlAction::Attribute { names, .. } => {
            !names.is_empty() && names.iter().all(is_known)
        }
        DdlAction::CreateFunction { .. } | DdlAction::CreateOther { .. } => false,
    }
}

fn is_known(cx: &Context<'_>, name: &ast::Name) -> bool {
    match name.parts.as_slice() {
        [single] => cx.temporary.contains(single),
        [schema, ..] => schema == "pg_temp",
        [] => false,
    }
}

fn check(cx: &Context<'_>, ddl: &ast::Ddl) -> Result<(), PlanError> {
    match &ddl.action {
        DdlAction::CreateTable(create) => {
            if let Some(parent) = create.parents.iter().find(|name| !is_known(cx, name)) {
                let told = format!("{} is not temporary", parent.parts.join("."));
                return Err(refuse(UnsupportedId::FamilyApart, told));
            }
        }
        DdlAction::CreateTrigger { function, .. } => {
            let candidates = cx.catalog.functions_named(&function.parts, cx.search_path);
            let unproven = candidates
                .into_iter()
                .filter(|known| known.arguments.is_empty())
                .find(|known| trigger::reads(cx, known) == Reads::Unproven);
            if let Some(known) = unproven {
                let told = format!("{}.{}", known.schema, known.name);
                return Err(refuse(UnsupportedId::TriggerUser, told));
            }
        }
        _ => {}
    }
    object::check_proven(cx, &ddl.expressions)
}

/// What a temporary table is filled with, or a temporary view shows.
fn check_query(
    cx: &Context<'_>,
    source: &str,
    query: &ast::Query,
    facts: &mut Facts,
) -> Result<(), PlanError> {
    let slots = Slots::of_text(source, cx.settings.standard_conforming_strings);
    let analysis = Analysis::of_query(cx, source, &slots, query)?;
    let authority = cx.topology.authoritative_shard();
    if let Some(used) = analysis.uses.iter().find(|used| !is_whole(used, authority)) {
        return Err(refuse(UnsupportedId::TemporaryFromShards, &used.name));
    }
    if analysis.traits.has_write {
        return Err(refuse(UnsupportedId::WriteInCte, "a temporary table"));
    }
    let mut calls = analysis.calls.iter();
    if let Some(call) = calls.find(|call| call.class == Class::SetConfig) {
        return Err(refuse(UnsupportedId::FunctionEffect, &call.name));
    }
    if !analysis.traits.has_sequence {
        return Ok(());
    }
    let findings = volatile::findings_in_query(cx, source, query);
    // The session's last values are the router's to tell.
    let asked = findings
        .iter()
        .find(|finding| matches!(finding.what, What::CurrVal(_) | What::LastVal));
    if let Some(asked) = asked {
        return Err(refuse(UnsupportedId::DeferredRead, &asked.name));
    }
    facts.uses_sequence = true;
    facts.draws_unseen = true;
    facts.forgets_sequences |= findings
        .iter()
        .any(|finding| matches!(finding.what, What::SetVal(_) | What::UnknownSequence));
    Ok(())
}

/// Whether this shard has every row of the table.
fn is_whole(used: &Use, shard: topology::ShardId) -> bool {
    match &used.place {
        Place::Shard(home) => *home == shard,
        Place::Reference(reference) => reference.shards.contains(&shard),
        Place::Copies(shards) => shards.contains(&shard),
        Place::Sharded(sharded) => sharded.ranges.shards() == [shard],
        Place::Catalog | Place::Temporary => true,
        Place::View => false,
    }
}
