//! `TRUNCATE`, `LOCK TABLE`, `REFRESH MATERIALIZED VIEW`, and `VACUUM` with its kin.

use std::collections::HashSet;

use catalog::{Relation, RelationKind};
use pg::Oid;
use sql::ast;
use topology::{Placement, ShardId};

use super::home;
use super::{every_shard, everywhere, with_authority_first};
use crate::plan::{Effect, Planned};
use crate::volatile::tree::{self, Node};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// Plans `TRUNCATE`: the shards that hold rows. With `CASCADE` other tables may be reached, and `RESTART IDENTITY` restarts the
/// authority's sequences: then every shard.
///
/// # Errors
///
/// A table is in the router's own schema.
pub(crate) fn truncate(
    cx: &Context<'_>,
    tables: &[ast::TableRef],
    (restart_identity, cascade): (bool, bool),
) -> Result<Planned, PlanError> {
    check_private(tables)?;
    let shards = if cascade || restart_identity {
        every_shard(cx)
    } else {
        shards_of(cx, tables.iter().map(|table| &table.name))
    };
    let mut planned = everywhere(shards, Effect::Write, Vec::new());
    planned.facts.forgets_sequences = restart_identity;
    Ok(planned)
}

/// Plans `LOCK TABLE`: the shards that hold rows, in one fixed order, so that two lockers never wait for each other.
///
/// # Errors
///
/// A table is in the router's own schema.
pub(crate) fn lock(cx: &Context<'_>, tables: &[ast::TableRef]) -> Result<Planned, PlanError> {
    check_private(tables)?;
    let shards = shards_of(cx, tables.iter().map(|table| &table.name));
    Ok(everywhere(shards, Effect::Lock, Vec::new()))
}

/// Plans `REFRESH MATERIALIZED VIEW`: on every shard, when each of them holds all that the view reads.
///
/// # Errors
///
/// The view reads rows that other shards hold.
pub(crate) fn refresh(
    cx: &Context<'_>,
    view: &ast::Name,
    no_data: bool,
) -> Result<Planned, PlanError> {
    let shards = every_shard(cx);
    let relation = cx.catalog.relation(&view.parts, cx.search_path);
    let is_copied = relation.is_none_or(|relation| is_copied_relation(cx, relation));
    if shards.len() > 1 && !is_copied && !no_data {
        return Err(refuse(
            UnsupportedId::MaterializedView,
            view.parts.join("."),
        ));
    }
    Ok(everywhere(shards, Effect::Write, Vec::new()))
}

/// Plans `VACUUM`, `ANALYZE`, `CLUSTER`, `REINDEX` and `CHECKPOINT`: every shard, each by itself.
pub(crate) fn maintain(cx: &Context<'_>, command: &str, tables: &[ast::Name]) -> Planned {
    let is_by_table = !tables.is_empty() && (command == "VACUUM" || command == "ANALYZE");
    let shards = if is_by_table {
        shards_of(cx, tables.iter())
    } else {
        every_shard(cx)
    };
    everywhere(shards, Effect::Maintain, Vec::new())
}

fn check_private(tables: &[ast::TableRef]) -> Result<(), PlanError> {
    let is_private = |table: &ast::TableRef| {
        let parts = &table.name.parts;
        parts.len() > 1 && parts[parts.len() - 2] == "kintsugi"
    };
    if tables.iter().any(is_private) {
        return Err(refuse(UnsupportedId::PrivateSchema, "kintsugi"));
    }
    Ok(())
}

/// The shards that hold rows of these relations, through views; the authority for names that mean nothing, so that it says so.
fn shards_of<'a>(cx: &Context<'_>, names: impl Iterator<Item = &'a ast::Name>) -> Vec<ShardId> {
    let mut shards = Vec::new();
    for name in names {
        match cx.catalog.relation(&name.parts, cx.search_path) {
            Some(relation) => collect_shards(cx, relation, &mut HashSet::new(), &mut shards),
            None => shards.push(cx.topology.authoritative_shard()),
        }
    }
    with_authority_first(cx, shards)
}

fn collect_shards(
    cx: &Context<'_>,
    relation: &Relation,
    seen: &mut HashSet<Oid>,
    shards: &mut Vec<ShardId>,
) {
    if !seen.insert(relation.oid) {
        return;
    }
    if matches!(relation.kind, RelationKind::View) {
        shards.push(cx.topology.authoritative_shard());
    } else {
        shards.extend(home::placement_of(cx, relation).shards());
    }
    for oid in relation.reads.iter().chain(&relation.children) {
        if let Some(read) = cx.catalog.relations.get(oid) {
            collect_shards(cx, read, seen, shards);
        }
    }
}

/// Whether each shard of the cluster holds all rows that a relation shows.
fn is_copied_relation(cx: &Context<'_>, relation: &Relation) -> bool {
    if matches!(
        relation.kind,
        RelationKind::View | RelationKind::Materialized
    ) {
        return relation.reads.iter().all(|oid| {
            cx.catalog
                .relations
                .get(oid)
                .is_some_and(|read| is_copied_relation(cx, read))
        });
    }
    let every = cx.topology.shards().len();
    match home::placement_of(cx, relation) {
        Placement::Reference(reference) => reference.shards.len() == every,
        Placement::Sharded(_) | Placement::Unsharded { .. } => every == 1,
    }
}

/// Whether a query gives the same rows on every shard of the cluster.
pub(super) fn is_copied_query(cx: &Context<'_>, query: &ast::Query) -> bool {
    let mut is_copied = crate::volatile::findings_in_query(cx, "", query).is_empty();
    tree::walk_query(query, &mut |node| {
        if let Node::Table(table) = node {
            let relation = cx.catalog.relation(&table.name.parts, cx.search_path);
            is_copied &= relation.is_some_and(|relation| is_copied_relation(cx, relation));
        }
        is_copied
    });
    is_copied
}
