//! What foreign keys do when the rows that they refer to are changed. Invariant: no action changes a shard key, since the
//! shards carry actions out in place.

use catalog::{Constraint, ConstraintKind, Relation};
use pg::ForeignAction;
use topology::Placement;

use super::change::Change;
use super::{Written, trigger};
use crate::{PlanError, UnsupportedId, refuse};

/// What happens to rows of a table.
#[derive(Clone, PartialEq)]
enum Fate {
    /// These columns get other values.
    Changed(Vec<i16>),
    Deleted,
}

/// Refuses a statement whose effects foreign keys would carry on into another table's shard key.
pub(super) fn check(
    written: &Written<'_>,
    change: Change<'_>,
    relation: &Relation,
) -> Result<(), PlanError> {
    let mut pending = Vec::new();
    let assigned = assigned(written, change, relation);
    if !assigned.is_empty() {
        pending.push((relation, Fate::Changed(assigned)));
    }
    if change.event & trigger::DELETE != 0 {
        pending.push((relation, Fate::Deleted));
    }
    let mut seen: Vec<(pg::Oid, Fate)> = Vec::new();
    while let Some((parent, fate)) = pending.pop() {
        if seen.contains(&(parent.oid, fate.clone())) {
            continue;
        }
        let relations = written.cx.catalog.relations.values();
        let reached: Vec<(&Relation, Fate)> = relations
            .flat_map(|other| other.constraints.iter().map(move |one| (&**other, one)))
            .filter_map(|(other, one)| Some((other, carried(one, parent, &fate)?)))
            .collect();
        let keyed = reached
            .iter()
            .filter(|(other, next)| touches_key(written, other, next));
        if let Some(name) = keyed.map(|(other, _)| &other.name).min() {
            return Err(refuse(UnsupportedId::ReferenceCascade, name));
        }
        pending.extend(reached);
        seen.push((parent.oid, fate));
    }
    Ok(())
}

/// What becomes of a row whose own key is assigned is looked at elsewhere; rows that follow it share its shard.
fn assigned(written: &Written<'_>, change: Change<'_>, relation: &Relation) -> Vec<i16> {
    let own_key = key_of(written, relation);
    change
        .assignments
        .iter()
        .flat_map(|assignment| &assignment.columns)
        .filter_map(|name| relation.column(name))
        .map(|column| column.number)
        .filter(|number| !own_key.contains(number))
        .collect()
}

fn key_of(written: &Written<'_>, relation: &Relation) -> Vec<i16> {
    let Placement::Sharded(sharded) = crate::ddl::placement_of(written.cx, relation) else {
        return Vec::new();
    };
    let columns = sharded.key.columns().into_iter();
    let columns = columns.filter_map(|name| relation.column(name));
    columns.map(|column| column.number).collect()
}

/// What a foreign key does to the referring rows.
fn carried(constraint: &Constraint, parent: &Relation, fate: &Fate) -> Option<Fate> {
    let ConstraintKind::Foreign {
        table,
        columns: referenced,
        on_update,
        on_delete,
        reset,
    } = &constraint.kind
    else {
        return None;
    };
    if *table != parent.oid {
        return None;
    }
    let own = &constraint.columns;
    match fate {
        Fate::Changed(numbers) => {
            let pairs = own.iter().zip(referenced);
            let hit: Vec<i16> = pairs
                .filter(|(_, to)| numbers.contains(to))
                .map(|(from, _)| *from)
                .collect();
            match on_update {
                _ if hit.is_empty() => None,
                ForeignAction::Keep => None,
                ForeignAction::Cascade => Some(Fate::Changed(hit)),
                ForeignAction::SetNull | ForeignAction::SetDefault => {
                    Some(Fate::Changed(own.clone()))
                }
            }
        }
        Fate::Deleted => match on_delete {
            ForeignAction::Keep => None,
            ForeignAction::Cascade => Some(Fate::Deleted),
            ForeignAction::SetNull | ForeignAction::SetDefault => {
                let lost = if reset.is_empty() { own } else { reset };
                Some(Fate::Changed(lost.clone()))
            }
        },
    }
}

fn touches_key(written: &Written<'_>, other: &Relation, fate: &Fate) -> bool {
    match fate {
        Fate::Deleted => false,
        Fate::Changed(numbers) => key_of(written, other)
            .iter()
            .any(|part| numbers.contains(part)),
    }
}
