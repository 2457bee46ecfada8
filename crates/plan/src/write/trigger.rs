//! Triggers that a write would fire. Invariant: a trigger that could look at other rows, or that could make copies differ,
//! never fires.

use catalog::{Function, Relation};
use pg::Oid;

use super::Goal;
use crate::trigger::{self, Reads};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// Bits of `pg_trigger.tgtype`.
pub(super) const INSERT: i16 = 4;
/// As above.
pub(super) const DELETE: i16 = 8;
/// As above.
pub(super) const UPDATE: i16 = 16;
/// Any of them.
pub(super) const ANY: i16 = INSERT | DELETE | UPDATE;
const BEFORE_ROW: i16 = 1 | 2;

/// Checks the triggers of a table, and of its partitions, that fire on one of `events`. The answer says whether one of them
/// may draw from sequences unseen.
pub(super) fn check(
    cx: &Context<'_>,
    goal: &Goal,
    relation: &Relation,
    events: i16,
) -> Result<bool, PlanError> {
    let (most, id) = match goal {
        Goal::Temporary => return Ok(false),
        Goal::Alone(_) if cx.topology.shards().len() == 1 => return Ok(false),
        Goal::Alone(_) => (Reads::Unsharded, UnsupportedId::TriggerUser),
        Goal::Sharded(_) => (Reads::Clock, UnsupportedId::TriggerUser),
        Goal::Copies(_) => (Reads::RowOnly, UnsupportedId::ReferenceTrigger),
    };
    let key = match goal {
        Goal::Sharded(sharded) => sharded.key.columns(),
        _ => Vec::new(),
    };
    let mut touches = false;
    for fired in relation
        .triggers
        .iter()
        .filter(|t| t.is_enabled && t.kind & events != 0)
    {
        let refused = || refuse(id, format!("{} on {}", fired.name, relation.name));
        let function = function(cx, fired.function).ok_or_else(refused)?;
        let may_change_row = fired.kind & BEFORE_ROW == BEFORE_ROW;
        let reads = trigger::reads(cx, function);
        touches |= reads == Reads::Unsharded;
        if reads > most
            || (!key.is_empty() && may_change_row && !trigger::keeps_columns(function, &key))
        {
            return Err(refused());
        }
    }
    let children = relation
        .children
        .iter()
        .filter_map(|oid| cx.catalog.relations.get(oid));
    for child in children {
        touches |= check(cx, goal, child, events)?;
    }
    Ok(touches)
}

fn function<'a>(cx: &Context<'a>, oid: Oid) -> Option<&'a Function> {
    let schemas = cx.catalog.functions.values();
    let mut functions = schemas.flat_map(|names| names.values()).flatten();
    functions
        .find(|function| function.oid == oid)
        .map(AsRef::as_ref)
}
