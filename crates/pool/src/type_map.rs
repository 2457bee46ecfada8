//! A shard's type and relation numbers beside those of the authoritative shard.
//!
//! Invariant: numbers that came with PostgreSQL are the same everywhere (shards run one major version), so only those of
//! people's objects are held, and only where they differ.

use std::collections::HashMap;

use catalog::Catalog;
use pg::Oid;

use crate::{Backend, LoadError, catalog_loader::row::Row};

const TYPES: &str = r"
SELECT n.nspname, t.typname, t.oid FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid >= 12000 AND n.nspname !~ '^pg_(toast|temp_)'";

const RELATIONS: &str = r"
SELECT n.nspname, c.relname, c.oid FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid >= 12000 AND c.relpersistence <> 't' AND n.nspname !~ '^pg_(toast|temp_)'";

/// Translates numbers between one shard and the authoritative one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMap {
    /// The snapshot's version that it was made for.
    pub catalog_version: u64,
    types: Both,
    relations: Both,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Both {
    to_authoritative: HashMap<Oid, Oid>,
    to_shard: HashMap<Oid, Oid>,
}

// === impl TypeMap ===

impl TypeMap {
    /// Reads a shard's numbers and compares them with the snapshot's.
    ///
    /// # Errors
    /// When the query fails.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn load(backend: &mut Backend, catalog: &Catalog) -> Result<Self, LoadError> {
        let database = backend.identity().database.clone();
        let answer = backend.simple(&format!("{TYPES};{RELATIONS}")).await;
        let results = answer.map_err(|source| LoadError::Query { database, source })?;
        let rows = |at: usize| {
            let rows = results
                .get(at)
                .map_or(&[][..], |result| result.rows.as_slice());
            rows.iter().map(|values| Row {
                query: "numbers",
                values,
            })
        };
        Ok(Self {
            catalog_version: catalog.version,
            types: Both::of(rows(0), &catalog.types_by_name)?,
            relations: Both::of(rows(1), &catalog.relations_by_name)?,
        })
    }

    /// No number differs: messages need no rewriting.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.types.to_authoritative.is_empty() && self.relations.to_authoritative.is_empty()
    }

    /// The authoritative number of a type of the shard.
    #[must_use]
    pub fn type_to_authoritative(&self, oid: Oid) -> Oid {
        self.types
            .to_authoritative
            .get(&oid)
            .copied()
            .unwrap_or(oid)
    }

    /// The shard's number of an authoritative type.
    #[must_use]
    pub fn type_to_shard(&self, oid: Oid) -> Oid {
        self.types.to_shard.get(&oid).copied().unwrap_or(oid)
    }

    /// The authoritative number of a relation of the shard.
    #[must_use]
    pub fn relation_to_authoritative(&self, oid: Oid) -> Oid {
        self.relations
            .to_authoritative
            .get(&oid)
            .copied()
            .unwrap_or(oid)
    }

    /// The shard's number of an authoritative relation.
    #[must_use]
    pub fn relation_to_shard(&self, oid: Oid) -> Oid {
        self.relations.to_shard.get(&oid).copied().unwrap_or(oid)
    }
}

// === impl Both ===

impl Both {
    fn of<'a>(
        rows: impl Iterator<Item = Row<'a>>,
        names: &HashMap<String, HashMap<String, Oid>>,
    ) -> Result<Self, LoadError> {
        let mut both = Self::default();
        for row in rows {
            let shard = row.oid(2)?;
            let known = names
                .get(row.text(0))
                .and_then(|names| names.get(row.text(1)))
                .copied();
            if let Some(authoritative) = known
                && authoritative != shard
            {
                both.to_authoritative.insert(shard, authoritative);
                both.to_shard.insert(authoritative, shard);
            }
        }
        Ok(both)
    }
}
