//! Where a table that a definition names is, or will be.

use catalog::{Relation, TypeKind};
use pg::{KeyClass, KeyType};
use sql::ast;
use topology::{KeyExpression, Placement, Sharded};

use crate::Context;
use crate::place::{self, Place};

/// A table with its place. Invariant: `schema` and `table` are as the catalog spells them.
#[derive(Clone, Debug)]
pub(super) struct Home {
    /// Its schema.
    pub(super) schema: String,
    /// Its name.
    pub(super) table: String,
    /// Where its rows live.
    pub(super) placement: Placement,
}

// === impl Home ===

impl Home {
    /// The home of a table that exists.
    pub(super) fn of(cx: &Context<'_>, relation: &Relation) -> Self {
        Self {
            schema: relation.schema.clone(),
            table: relation.name.clone(),
            placement: placement_of(cx, relation),
        }
    }

    /// The home of the table that a name means; `None` when there is none.
    pub(super) fn named(cx: &Context<'_>, name: &ast::Name) -> Option<Self> {
        cx.catalog
            .relation(&name.parts, cx.search_path)
            .map(|relation| Self::of(cx, relation))
    }

    /// How its rows are spread, when they are.
    pub(super) fn sharded(&self) -> Option<&Sharded> {
        match &self.placement {
            Placement::Sharded(sharded) => Some(sharded),
            _ => None,
        }
    }

    /// In one word, for messages.
    pub(super) fn kind(&self) -> &'static str {
        match &self.placement {
            Placement::Sharded(_) => "sharded",
            Placement::Reference(_) => "a reference table",
            Placement::Unsharded { .. } => "unsharded",
        }
    }

    /// Every shard that holds rows of `self` holds those of `other` too, with all their partners.
    pub(super) fn is_copied_wherever(&self, other: &Self) -> bool {
        let holders = self.placement.shards();
        other
            .placement
            .shards()
            .iter()
            .all(|shard| holders.contains(shard))
    }
}

/// Where the rows of a relation that exists live; what has no rows of its own counts as the authority's.
pub(crate) fn placement_of(cx: &Context<'_>, relation: &Relation) -> Placement {
    let unsharded = |shard| Placement::Unsharded {
        group: cx.topology.authoritative_group(),
        shard,
    };
    match place::place(cx, relation) {
        Ok(Place::Sharded(sharded)) => Placement::Sharded(sharded),
        Ok(Place::Reference(reference)) => Placement::Reference(reference),
        Ok(Place::Shard(shard)) => unsharded(shard),
        Ok(Place::Copies(_) | Place::Catalog | Place::Temporary | Place::View) | Err(_) => {
            unsharded(cx.topology.authoritative_shard())
        }
    }
}

/// The schema that a new object of this name is made in; `None` when PostgreSQL will say that there is none.
pub(super) fn creation_schema(cx: &Context<'_>, name: &ast::Name) -> Option<String> {
    match name.parts.as_slice() {
        [_] => cx
            .search_path
            .iter()
            .find(|schema| *schema != "pg_catalog" && cx.catalog.schemas.contains(schema))
            .cloned(),
        [schema, _] | [_, schema, _] => Some(schema.clone()),
        _ => None,
    }
}

/// The key type of a column's type: its base type's, or that of enums.
pub(super) fn key_type(cx: &Context<'_>, type_oid: pg::Oid) -> Option<KeyType> {
    let base = cx.catalog.base_type(type_oid);
    if let Some(TypeKind::Enum(_)) = cx.catalog.types.get(&base).map(|known| &known.kind) {
        return Some(KeyType::ENUM);
    }
    KeyType::of_builtin(base)
}

/// The class of a key part's column in a table that exists; `None` for expressions of several columns.
pub(super) fn part_class(
    cx: &Context<'_>,
    relation: &Relation,
    part: &KeyExpression,
) -> Option<KeyClass> {
    let column = relation.column(part.as_column()?)?;
    key_type(cx, column.type_oid).map(|known| known.class)
}
