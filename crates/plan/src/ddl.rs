//! Definitions: which are allowed, and that each runs on every shard.
//!
//! Every definition runs on every shard of the cluster, the authoritative one first, in one atomic commit. So views, function
//! bodies, row types and foreign keys to reference tables resolve wherever rows live, every shard's schema can be compared with
//! the authority's as a whole, and a shard that joins a group later has all its tables. The price is an empty table on shards
//! that hold none of its rows. Invariant: rows are read and written by the topology alone, so that empty copy is never looked at.

mod alter;
mod constraint;
mod foreign;
mod home;
mod key;
mod maintain;
mod object;
mod table;
mod temporary;

use pg::Diagnostic;
use sql::ast::{self, DdlAction};
use topology::ShardId;

use crate::plan::{Effect, Facts, Fixed, Merge, Plan, Planned, Target, Text, Tier};
use crate::{Context, PlanError, Unsupported, UnsupportedId};

pub(crate) use home::placement_of;
pub(crate) use maintain::{lock, maintain, refresh, truncate};

/// Plans a definition statement.
///
/// # Errors
///
/// It is refused: it would break what the topology promises, or can't be done on several shards at once.
pub(crate) fn plan(cx: &Context<'_>, source: &str, ddl: &ast::Ddl) -> Result<Planned, PlanError> {
    object::check_private(ddl)?;
    table::check_execute(ddl)?;
    if temporary::is_temporary(cx, ddl) {
        return temporary::plan(cx, source, ddl);
    }
    let mut notices = Vec::new();
    check(cx, ddl, &mut notices)?;
    let shards = every_shard(cx);
    if ddl.outside_transaction && shards.len() > 1 {
        return Err(Unsupported::new(UnsupportedId::OutsideTransaction).into());
    }
    Ok(everywhere(shards, Effect::Define, notices))
}

fn check(cx: &Context<'_>, ddl: &ast::Ddl, notices: &mut Vec<Diagnostic>) -> Result<(), PlanError> {
    match &ddl.action {
        DdlAction::CreateTable(create) => table::create(cx, create, notices),
        DdlAction::CreateTableAs {
            materialized,
            no_data,
            ..
        } => table::create_as(cx, ddl, *materialized, *no_data),
        DdlAction::AlterTable {
            name,
            commands,
            object,
        } => alter::alter(cx, (name, object), commands, notices),
        DdlAction::CreateIndex {
            table,
            unique,
            columns,
            name,
            ..
        } => {
            object::check_proven(cx, &ddl.expressions)?;
            constraint::create_index(cx, table, *unique, (columns, name.as_deref()), notices)
        }
        DdlAction::CreateTrigger { table, function } => {
            object::create_trigger(cx, table, function, notices)
        }
        DdlAction::Rename {
            object,
            name,
            part,
            to,
        } => alter::rename(cx, object, name.as_ref(), part.as_deref(), to),
        DdlAction::Drop {
            object: "TYPE" | "DOMAIN",
            names,
            ..
        } => names.iter().try_for_each(|name| alter::keep_type(cx, name)),
        DdlAction::CreateOther {
            object: "DOMAIN", ..
        }
        | DdlAction::AlterOther {
            object: "DOMAIN", ..
        } => object::check_proven(cx, &ddl.expressions),
        DdlAction::Drop { object, .. } | DdlAction::CreateOther { object, .. } => {
            object::check_kind(object)
        }
        DdlAction::AlterOther { object, name } => object::alter_other(cx, object, name.as_ref()),
        DdlAction::Attribute {
            command, object, ..
        } => object::attribute(ddl, command, object),
        DdlAction::CreateView { .. }
        | DdlAction::CreateSequence { .. }
        | DdlAction::AlterSequence { .. }
        | DdlAction::CreateFunction { .. } => Ok(()),
    }
}

/// Every shard of the cluster, the authoritative one first.
pub(crate) fn every_shard(cx: &Context<'_>) -> Vec<ShardId> {
    with_authority_first(cx, cx.topology.shards().iter().map(|shard| shard.id))
}

/// These shards in ascending order, each once, the authoritative one first when it is among them.
pub(crate) fn with_authority_first(
    cx: &Context<'_>,
    shards: impl IntoIterator<Item = ShardId>,
) -> Vec<ShardId> {
    let authority = cx.topology.authoritative_shard();
    let mut shards: Vec<ShardId> = shards.into_iter().collect();
    shards.sort_unstable_by_key(|shard| (*shard != authority, *shard));
    shards.dedup();
    shards
}

/// The client's own text on each of these shards.
pub(crate) fn everywhere(
    shards: Vec<ShardId>,
    effect: Effect,
    notices: Vec<Diagnostic>,
) -> Planned {
    let reasons = vec![match shards.len() {
        1 => "there is one shard".to_owned(),
        count => format!("all {count} shards do the same, or none"),
    }];
    Planned {
        plan: Plan {
            tier: Tier::Broadcast,
            compute: Vec::new(),
            target: Target::Shards(shards),
            text: Text::Verbatim,
            merge: Merge::Copies,
            effect,
            reasons,
            notices,
        },
        fixed: Fixed::All,
        facts: Facts::default(),
    }
}
