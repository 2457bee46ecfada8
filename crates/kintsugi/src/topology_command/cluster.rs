//! What the subcommands need of the shards: the catalog, whether tables have rows, and the few changes
//! that applying a document makes.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::future::Future;
use std::sync::Arc;

use topology::{
    CollationFact, ColumnFact, ColumnTypes, KnownTable, NewHome, Subject, TableName,
    UniqueConstraint,
};

use super::Fence;

/// A shard failed; whatever the implementation knows about it.
pub type ClusterError = Box<dyn Error + Send + Sync>;

/// The shards, as the subcommands use them.
pub trait Cluster: Send + Sync {
    /// The catalog of every database that a document may name, and which tables have rows on any shard
    /// of the cluster.
    fn facts(&self) -> impl Future<Output = Result<ClusterFacts, ClusterError>> + Send;

    /// Puts fences on empty tables, each in one transaction a shard that also makes sure that the table
    /// is still empty there. Where one fails, those that were put are taken away again.
    fn fence(&self, fences: &[Fence]) -> impl Future<Output = Result<(), ClusterError>> + Send;

    /// Takes the fences away.
    fn unfence(&self, fences: &[Fence]) -> impl Future<Output = Result<(), ClusterError>> + Send;

    /// Creates tables, as the authoritative shard defines them, where they are to live.
    fn create(&self, homes: &[NewHome]) -> impl Future<Output = Result<(), ClusterError>> + Send;
}

/// What the shards say.
#[derive(Clone, Debug, Default)]
pub struct ClusterFacts {
    /// The catalog of each database.
    pub catalogs: BTreeMap<String, Arc<catalog::Catalog>>,
    /// Database, schema and name of the tables that have a row on some shard.
    pub populated: BTreeSet<(String, String, String)>,
}

// === impl ClusterFacts ===

impl ClusterFacts {
    /// Every ordinary and partitioned table outside PostgreSQL's and the router's own schemas.
    #[must_use]
    pub fn tables(&self) -> Vec<KnownTable> {
        let mut tables = Vec::new();
        for (database, catalog) in &self.catalogs {
            let relations = catalog.relations.values();
            tables.extend(
                relations
                    .filter(|relation| is_table(relation))
                    .map(|relation| KnownTable {
                        database: database.clone(),
                        schema: relation.schema.clone(),
                        name: relation.name.clone(),
                        columns: relation
                            .columns
                            .iter()
                            .map(|column| column.name.clone())
                            .collect(),
                    }),
            );
        }
        tables.sort_by(|a, b| {
            (&a.database, &a.schema, &a.name).cmp(&(&b.database, &b.schema, &b.name))
        });
        tables
    }

    /// Whether there is anything that a document must not strand.
    #[must_use]
    pub fn is_populated(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Authority => !self.tables().is_empty(),
            Subject::Table {
                database,
                schema,
                name,
            } => self
                .populated
                .contains(&(database.clone(), schema.clone(), name.clone())),
            Subject::Sequence {
                database,
                schema,
                name,
            } => self.relation(database, schema, name).is_some(),
        }
    }

    fn relation(
        &self,
        database: &str,
        schema: &str,
        name: &str,
    ) -> Option<(&catalog::Catalog, &catalog::Relation)> {
        let catalog = self.catalogs.get(database)?;
        let oid = catalog.relations_by_name.get(schema)?.get(name)?;
        Some((catalog, catalog.relations.get(oid)?))
    }
}

impl ColumnTypes for ClusterFacts {
    fn unique_constraints(&self, table: TableName<'_>) -> Vec<UniqueConstraint> {
        let found = self.relation(table.database, table.schema, table.table);
        let Some((_, relation)) = found else {
            return Vec::new();
        };
        // Primary keys and unique constraints are unique indexes too.
        let unique = relation.indexes.iter().filter(|index| index.unique);
        let unique = unique.map(|index| {
            let column = |number: &i16| relation.column_numbered(*number).map(|c| c.name.clone());
            UniqueConstraint {
                name: index.name.clone(),
                columns: index.columns.iter().map(column).collect(),
            }
        });
        // Whether an exclusion compares the key by equality is not known here.
        let exclusions = relation.constraints.iter();
        let exclusions = exclusions.filter(|one| one.kind == catalog::ConstraintKind::Exclusion);
        let exclusions = exclusions.map(|one| UniqueConstraint {
            name: one.name.clone(),
            columns: vec![None],
        });
        unique.chain(exclusions).collect()
    }

    fn has_table(&self, table: TableName<'_>) -> bool {
        self.relation(table.database, table.schema, table.table)
            .is_some()
    }

    fn column(&self, table: TableName<'_>, column: &str) -> Option<ColumnFact> {
        let (catalog, relation) = self.relation(table.database, table.schema, table.table)?;
        let column = relation.column(column)?;
        Some(ColumnFact {
            key_type: key_type(catalog, column),
            type_name: type_name(catalog, column.type_oid),
            collation: collation(catalog, column.collation.as_ref()),
        })
    }
}

fn is_table(relation: &catalog::Relation) -> bool {
    let is_system = relation.schema.starts_with("pg_")
        || matches!(relation.schema.as_str(), "information_schema" | "kintsugi");
    let kind = matches!(
        relation.kind,
        catalog::RelationKind::Table | catalog::RelationKind::Partitioned
    );
    kind && !is_system && relation.persistence != 't'
}

fn key_type(catalog: &catalog::Catalog, column: &catalog::Column) -> Option<pg::KeyType> {
    let base = catalog.base_type(column.type_oid);
    if let Some(key_type) = pg::KeyType::of_builtin(base) {
        return Some(key_type.with_typmod(column.type_modifier));
    }
    let is_enum = matches!(
        catalog.types.get(&base).map(|t| &t.kind),
        Some(catalog::TypeKind::Enum(_))
    );
    is_enum.then_some(pg::KeyType::ENUM)
}

fn type_name(catalog: &catalog::Catalog, type_oid: pg::Oid) -> String {
    let known = catalog.types.get(&type_oid).map(|known| known.name.clone());
    known
        .or_else(|| type_oid.type_name().map(str::to_owned))
        .unwrap_or_else(|| type_oid.to_string())
}

/// A collation that came with PostgreSQL tells its language by its name; of any other the way in which it
/// changes case is not known.
fn collation(catalog: &catalog::Catalog, collation: Option<&catalog::Collation>) -> CollationFact {
    let Some(collation) = collation else {
        return CollationFact::Plain;
    };
    if !collation.is_deterministic {
        return CollationFact::Nondeterministic;
    }
    let plain = match collation
        .name
        .rsplit('.')
        .next()
        .unwrap_or_default()
        .trim_matches('"')
    {
        _ if collation.is_bytes => true,
        "default" => catalog.ascii_case_is_plain,
        name => {
            let own = ["tr", "az", "lt"]
                .iter()
                .any(|language| name.starts_with(language));
            collation.name.starts_with("pg_catalog.") && !own
        }
    };
    if plain {
        CollationFact::Plain
    } else {
        CollationFact::OwnCase
    }
}
