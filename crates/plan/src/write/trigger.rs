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

/// Checks the triggers of a table, and of its partitions, that fire on one of `events`.
pub(super) fn check(
    cx: &Context<'_>,
    goal: &Goal,
    relation: &Relation,
    events: i16,
) -> Result<(), PlanError> {
    let (most, id) = match goal {
        Goal::Alone(_) | Goal::Temporary => return Ok(()),
        Goal::Sharded(_) => (Reads::Clock, UnsupportedId::TriggerUser),
        Goal::Copies(_) => (Reads::RowOnly, UnsupportedId::ReferenceTrigger),
    };
    for fired in relation
        .triggers
        .iter()
        .filter(|t| t.is_enabled && t.kind & events != 0)
    {
        let reads = function(cx, fired.function)
            .map_or(Reads::Unproven, |function| trigger::reads(cx, function));
        if reads > most {
            return Err(refuse(id, format!("{} on {}", fired.name, relation.name)));
        }
    }
    let children = relation
        .children
        .iter()
        .filter_map(|oid| cx.catalog.relations.get(oid));
    for child in children {
        check(cx, goal, child, events)?;
    }
    Ok(())
}

fn function<'a>(cx: &Context<'a>, oid: Oid) -> Option<&'a Function> {
    let schemas = cx.catalog.functions.values();
    let mut functions = schemas.flat_map(|names| names.values()).flatten();
    functions
        .find(|function| function.oid == oid)
        .map(AsRef::as_ref)
}
