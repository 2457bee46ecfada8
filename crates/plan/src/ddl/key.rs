//! Keys of tables that are about to be made: the topology's own checks, over what the statement says of the columns.

use std::collections::HashMap;

use catalog::{Collation, Relation, TypeKind};
use pg::{KeyType, Oid};
use sql::ast;
use topology::{CollationFact, ColumnFact, ColumnTypes, Sharded, TableName, UniqueConstraint};

use super::home::{self, Home};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// Columns of the table as they will be.
struct Columns(HashMap<String, ColumnFact>);

/// Checks that the index takes the key's types.
///
/// # Errors
///
/// It does not, in the topology's words.
pub(super) fn check(
    cx: &Context<'_>,
    home: &Home,
    sharded: &Sharded,
    create: &ast::CreateTable,
) -> Result<(), PlanError> {
    let mut columns = Columns(HashMap::new());
    for source in create.like.iter().chain(&create.parents) {
        if let Some(relation) = cx.catalog.relation(&source.parts, cx.search_path) {
            columns.add_all(cx, relation);
        }
    }
    for column in &create.columns {
        match fact(cx, column) {
            Some(fact) => columns.0.insert(column.name.clone(), fact),
            None if column.type_name.is_none() => None,
            // PostgreSQL will say that there is no such type.
            None => return Ok(()),
        };
    }
    let name = TableName {
        database: cx.database,
        schema: &home.schema,
        table: &home.table,
    };
    let mistakes = cx.topology.check_placement(name, sharded, &columns);
    match mistakes.first() {
        Some(mistake) => Err(refuse(UnsupportedId::KeyType, mistake.kind.to_string())),
        None => Ok(()),
    }
}

/// What the statement says of a column; `None` where a type is not known.
fn fact(cx: &Context<'_>, column: &ast::ColumnDef) -> Option<ColumnFact> {
    let type_name = column.type_name.as_ref()?;
    let shown = type_name.name.parts.join(".");
    if is_serial(type_name) {
        return Some(ColumnFact {
            key_type: KeyType::of_builtin(pg::oid::INT8),
            type_name: shown,
            collation: CollationFact::Plain,
        });
    }
    let known = cx
        .catalog
        .type_named(&type_name.name.parts, cx.search_path)?;
    let is_array = type_name.array_dimensions > 0;
    let collation = match &column.collation {
        Some(name) => named_collation(name),
        None => collation(cx, known.collation.as_ref()),
    };
    Some(ColumnFact {
        key_type: (!is_array).then(|| home::key_type(cx, known.oid)).flatten(),
        type_name: shown,
        collation,
    })
}

fn is_serial(type_name: &ast::TypeName) -> bool {
    matches!(
        type_name.name.parts.as_slice(),
        [name] if matches!(
            name.as_str(),
            "serial" | "bigserial" | "smallserial" | "serial2" | "serial4" | "serial8"
        )
    )
}

/// What is known of a collation by its name: of one that users made, nothing.
fn named_collation(name: &ast::Name) -> CollationFact {
    match name.parts.last().map_or("", String::as_str) {
        "C" | "POSIX" | "ucs_basic" | "C.utf8" | "C.UTF-8" => CollationFact::Plain,
        last if is_language(last) => CollationFact::OwnCase,
        _ => CollationFact::Nondeterministic,
    }
}

/// `de_DE`, `de-DE-x-icu`, `en_US.utf8`: PostgreSQL's own are deterministic.
fn is_language(name: &str) -> bool {
    let end = name.find(['_', '-', '.']).unwrap_or(name.len());
    let has_more = end < name.len();
    has_more && (2..=3).contains(&end) && name[..end].chars().all(|c| c.is_ascii_lowercase())
}

fn collation(cx: &Context<'_>, collation: Option<&Collation>) -> CollationFact {
    match collation {
        None => CollationFact::Plain,
        Some(known) if !known.is_deterministic => CollationFact::Nondeterministic,
        Some(known) if known.is_bytes => CollationFact::Plain,
        Some(known) if known.name.ends_with("default") && cx.catalog.ascii_case_is_plain => {
            CollationFact::Plain
        }
        Some(_) => CollationFact::OwnCase,
    }
}

/// A sharded table whose key has a column of this type, or of a domain over it.
pub(super) fn keyed_by(cx: &Context<'_>, type_oid: Oid) -> Option<String> {
    let is_of = |mut oid: Oid| {
        while oid != type_oid {
            match cx.catalog.types.get(&oid).map(|known| &known.kind) {
                Some(TypeKind::Domain(base)) => oid = *base,
                _ => return false,
            }
        }
        true
    };
    let is_keyed = |relation: &Relation| {
        let home = Home::of(cx, relation);
        let key = home.sharded().map(|sharded| sharded.key.columns());
        key.into_iter().flatten().any(|name| {
            relation
                .column(name)
                .is_some_and(|column| is_of(column.type_oid))
        })
    };
    let relations = cx.catalog.relations.values();
    let keyed = relations.filter(|relation| is_keyed(relation));
    keyed.map(|relation| relation.name.clone()).min()
}

// === impl Columns ===

impl Columns {
    fn add_all(&mut self, cx: &Context<'_>, relation: &Relation) {
        for column in &relation.columns {
            let known = cx.catalog.types.get(&column.type_oid);
            let fact = ColumnFact {
                key_type: home::key_type(cx, column.type_oid),
                type_name: known.map_or_else(String::new, |known| known.name.clone()),
                collation: collation(cx, column.collation.as_ref()),
            };
            self.0.insert(column.name.clone(), fact);
        }
    }
}

impl ColumnTypes for Columns {
    fn has_table(&self, _table: TableName<'_>) -> bool {
        true
    }

    fn column(&self, _table: TableName<'_>, column: &str) -> Option<ColumnFact> {
        self.0.get(column).cloned()
    }

    /// Constraints are looked at one by one, so that each is named.
    fn unique_constraints(&self, _table: TableName<'_>) -> Vec<UniqueConstraint> {
        Vec::new()
    }
}
