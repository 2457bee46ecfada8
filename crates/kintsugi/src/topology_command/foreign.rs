//! The foreign keys of the catalog, as a document is judged by them.

use catalog::{Catalog, Constraint, ConstraintKind, Relation};
use pg::ForeignAction;
use topology::{ForeignKey, TableName};

use super::ClusterFacts;

// === impl ClusterFacts ===

impl ClusterFacts {
    /// Every foreign key, each once: those of partitions are their topmost parent's.
    #[must_use]
    pub fn foreign_keys(&self) -> Vec<ForeignKey> {
        let mut keys = Vec::new();
        for (database, catalog) in &self.catalogs {
            let relations = catalog.relations.values();
            let all = relations.flat_map(|relation| {
                let constraints = relation.constraints.iter();
                constraints.map(move |constraint| (&**relation, constraint))
            });
            keys.extend(all.filter_map(|one| foreign_key(database, catalog, one)));
        }
        let ends = |key: &ForeignKey| {
            let tables = [key.child.clone(), key.parent.clone()];
            let columns = [key.columns.clone(), key.referenced.clone()];
            (key.database.clone(), tables, columns)
        };
        keys.sort_by_cached_key(|key| (ends(key), key.name.clone()));
        keys.dedup_by(|a, b| {
            let is_alike = (a.on_update, a.on_delete, &a.reset, a.computes_defaults)
                == (b.on_update, b.on_delete, &b.reset, b.computes_defaults);
            is_alike && ends(a) == ends(b)
        });
        keys
    }

    /// Tables that may be meant by a name that there is not: misspelt, or in another place. A few.
    #[must_use]
    pub fn near(&self, name: TableName<'_>) -> Vec<String> {
        let tables = self.tables();
        let near = tables.iter().filter(|known| {
            let is_home = known.database == name.database && known.schema == name.schema;
            known.name == name.table || is_home && topology::is_near(name.table, &known.name)
        });
        near.take(3)
            .map(|known| format!("{}.{}.{}", known.database, known.schema, known.name))
            .collect()
    }

    /// The schema and name of the topmost parent of a table that exists: that is where its rows are.
    #[must_use]
    pub fn root(&self, name: TableName<'_>) -> Option<(String, String)> {
        let catalog = self.catalogs.get(name.database)?;
        let oid = catalog
            .relations_by_name
            .get(name.schema)?
            .get(name.table)?;
        Some(topmost(catalog, catalog.relations.get(oid)?))
    }
}

fn foreign_key(
    database: &str,
    catalog: &Catalog,
    (relation, constraint): (&Relation, &Constraint),
) -> Option<ForeignKey> {
    let ConstraintKind::Foreign {
        table,
        columns,
        on_update,
        on_delete,
        reset,
    } = &constraint.kind
    else {
        return None;
    };
    let parent = catalog.relations.get(table)?;
    let names = |relation: &Relation, numbers: &[i16]| {
        let column = |number: &i16| relation.column_numbered(*number).map(|c| c.name.clone());
        numbers.iter().filter_map(column).collect::<Vec<String>>()
    };
    let own = names(relation, &constraint.columns);
    let lost = names(relation, reset);
    let resets = |action: ForeignAction| action == ForeignAction::SetDefault;
    let defaulted = if lost.is_empty() { &own } else { &lost };
    let computes_defaults = resets(*on_update)
        && own.iter().any(|name| is_computed(relation, name))
        || resets(*on_delete) && defaulted.iter().any(|name| is_computed(relation, name));
    Some(ForeignKey {
        name: constraint.name.clone(),
        database: database.to_owned(),
        child: topmost(catalog, relation),
        columns: own,
        parent: topmost(catalog, parent),
        referenced: names(parent, columns),
        on_update: *on_update,
        on_delete: *on_delete,
        reset: lost,
        computes_defaults,
    })
}

/// Whether a column's default may differ from shard to shard.
fn is_computed(relation: &Relation, name: &str) -> bool {
    relation.column(name).is_none_or(|column| {
        let default = column.default.as_ref();
        column.identity.is_some()
            || default.is_some_and(|known| known.volatility != catalog::Volatility::Immutable)
    })
}

/// A partition or child lives where its topmost parent does.
fn topmost(catalog: &Catalog, relation: &Relation) -> (String, String) {
    let mut root = relation;
    // Inheritance has no cycles; the bound guards against a snapshot that was read in between.
    for _ in 0..64 {
        let parent = root.parents.first();
        let Some(parent) = parent.and_then(|oid| catalog.relations.get(oid)) else {
            break;
        };
        root = parent;
    }
    (root.schema.clone(), root.name.clone())
}
