//! Where a relation's rows live, whatever the relation is. Invariant: a relation without a place is refused; none is
//! taken to be on some shard because nothing was said.

use std::collections::HashSet;
use std::sync::Arc;

use catalog::{Relation, RelationKind};
use pg::Oid;
use sql::ast::Name;
use topology::{Placement, PlacementError, Reference, ShardId, Sharded, TableName};

use crate::{Context, PlanError, Unsupported, UnsupportedId};

/// Schemas of PostgreSQL's own relations.
pub(crate) const SYSTEM_SCHEMAS: &[&str] = &["pg_catalog", "information_schema", "pg_toast"];

/// Where a relation's rows live.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// Each row on the shard of its key.
    Sharded(Arc<Sharded>),
    /// Every row on every shard of some groups.
    Reference(Arc<Reference>),
    /// All rows on this shard.
    Shard(ShardId),
    /// The same rows on each of these shards, though nobody keeps them equal by name: a materialized view over
    /// reference tables.
    Copies(Vec<ShardId>),
    /// PostgreSQL's own tables: the authoritative shard answers.
    Catalog,
    /// A temporary table of the session.
    Temporary,
    /// A view: what its definition reads decides.
    View,
}

/// A relation that a statement names.
#[derive(Clone, Debug)]
pub(crate) enum Named<'a> {
    /// A relation of the catalog.
    Known(&'a Arc<Relation>),
    /// A temporary table of the session; the catalog doesn't hold it.
    Temporary,
}

/// What `name` means here.
///
/// # Errors
///
/// Nothing has that name.
pub(crate) fn resolve<'a>(
    context: &Context<'a>,
    name: &Name,
    source: &str,
) -> Result<Named<'a>, PlanError> {
    if let [schema, _] = name.parts.as_slice()
        && schema == "pg_temp"
    {
        return Ok(Named::Temporary);
    }
    if let [table] = name.parts.as_slice()
        && context.temporary.contains(table)
    {
        return Ok(Named::Temporary);
    }
    context
        .catalog
        .relation(&name.parts, context.search_path)
        .map(Named::Known)
        .ok_or_else(|| PlanError::UndefinedTable {
            name: name.parts.join("."),
            position: name.location.and_then(|byte| character(source, byte)),
        })
}

/// The character (from 1) at a byte.
pub(crate) fn character(source: &str, byte: u32) -> Option<u32> {
    let before = source.get(..byte as usize)?;
    u32::try_from(before.chars().count() + 1).ok()
}

/// Where a relation lives.
///
/// # Errors
///
/// The topology has no place for it.
pub(crate) fn place(context: &Context<'_>, relation: &Relation) -> Result<Place, PlanError> {
    if SYSTEM_SCHEMAS.contains(&relation.schema.as_str()) {
        return Ok(Place::Catalog);
    }
    match relation.kind {
        RelationKind::View => Ok(Place::View),
        RelationKind::Materialized => materialized(context, relation),
        RelationKind::Sequence => {
            let place =
                context
                    .topology
                    .sequence(context.database, &relation.schema, &relation.name);
            Ok(Place::Shard(place.shard))
        }
        RelationKind::Table
        | RelationKind::Partitioned
        | RelationKind::Foreign
        | RelationKind::Composite
        | RelationKind::Index => Ok(table(context, relation)),
    }
}

/// A partition or child lives where its topmost parent does.
fn table(context: &Context<'_>, relation: &Relation) -> Place {
    let root = topmost(context, relation);
    let name = TableName {
        database: context.database,
        schema: &root.schema,
        table: &root.name,
    };
    let placement = context
        .topology
        .placement(name, &|column| root.column(column).is_some());
    match placement {
        Ok(Placement::Sharded(sharded)) => Place::Sharded(sharded),
        Ok(Placement::Reference(reference)) => Place::Reference(reference),
        Ok(Placement::Unsharded { shard, .. }) => Place::Shard(shard),
        // CREATE TABLE refuses a table without its group's key unless the session chose an unsharded group, of which there
        // is one: so that is where it is.
        Err(PlacementError::NoKeyColumn { .. } | PlacementError::NoKey { .. }) => {
            Place::Shard(context.topology.authoritative_shard())
        }
    }
}

fn topmost<'a>(context: &Context<'a>, relation: &'a Relation) -> &'a Relation {
    let mut root = relation;
    // Inheritance has no cycles; the bound guards against a snapshot that was read in between.
    for _ in 0..64 {
        match root
            .parents
            .first()
            .and_then(|oid| context.catalog.relations.get(oid))
        {
            Some(parent) => root = parent,
            None => break,
        }
    }
    root
}

/// A materialized view has rows of its own: those that its definition gave on the shard where it was refreshed.
fn materialized(context: &Context<'_>, relation: &Relation) -> Result<Place, PlanError> {
    if !context.is_spread() {
        return Ok(Place::Shard(context.topology.authoritative_shard()));
    }
    let mut common: Option<Vec<ShardId>> = None;
    let mut only: Option<ShardId> = None;
    for oid in base_relations(context, relation) {
        let Some(read) = context.catalog.relations.get(&oid) else {
            continue;
        };
        match place(context, read)? {
            Place::Sharded(_) => {
                let name = format!("{}.{}", relation.schema, relation.name);
                return Err(Unsupported::about(UnsupportedId::MaterializedView, name).into());
            }
            Place::Shard(shard) => only = Some(shard),
            Place::Reference(reference) => {
                let shards = common.get_or_insert_with(|| reference.shards.clone());
                shards.retain(|shard| reference.shards.contains(shard));
            }
            Place::Copies(copies) => {
                let shards = common.get_or_insert_with(|| copies.clone());
                shards.retain(|shard| copies.contains(shard));
            }
            Place::Catalog | Place::Temporary | Place::View => {}
        }
    }
    Ok(match (only, common) {
        (Some(shard), _) => Place::Shard(shard),
        (None, Some(shards)) if !shards.is_empty() => Place::Copies(shards),
        (None, _) => Place::Shard(context.topology.authoritative_shard()),
    })
}

/// Every relation that a view reads, through views.
pub(crate) fn base_relations(context: &Context<'_>, relation: &Relation) -> Vec<Oid> {
    let mut seen = HashSet::new();
    let mut found = Vec::new();
    let mut pending = relation.reads.clone();
    while let Some(oid) = pending.pop() {
        if !seen.insert(oid) {
            continue;
        }
        match context.catalog.relations.get(&oid) {
            Some(read) if read.kind == RelationKind::View => pending.extend(&read.reads),
            Some(_) => found.push(oid),
            None => {}
        }
    }
    found.sort_unstable();
    found
}
