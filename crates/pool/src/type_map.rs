//! A shard's type, relation and column numbers beside those of the authoritative shard.
//!
//! Invariant: numbers that came with PostgreSQL are the same everywhere (shards run one major version), so only those of
//! people's objects are held, and only where they differ.

use std::collections::{HashMap, HashSet};

use catalog::Catalog;
use pg::Oid;

use crate::{Backend, LoadError, Settings, catalog_loader::row::Row};

/// People's objects have numbers from here on.
const FIRST_OWN: u32 = 16384;

const TYPES: &str = r"
SELECT n.nspname, t.typname, t.oid FROM pg_catalog.pg_type t
JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace
WHERE t.oid >= 12000 AND n.nspname !~ '^pg_(toast|temp_)'";

const RELATIONS: &str = r"
SELECT n.nspname, c.relname, c.oid FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.oid >= 12000 AND c.relpersistence <> 't' AND n.nspname !~ '^pg_(toast|temp_)'";

const COLUMNS: &str = "
SELECT a.attrelid, a.attname, a.attnum FROM pg_catalog.pg_attribute a
JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.oid >= 16384 AND c.relpersistence <> 't'
  AND c.relkind IN ('r', 'p', 'v', 'm', 'f')";

/// Ranges whose values hold numbers of types, because those of their subtype do.
const RANGES: &str = "
SELECT pg_catalog.unnest(ARRAY[r.rngtypid, r.rngmultitypid]) FROM pg_catalog.pg_range r
JOIN pg_catalog.pg_type s ON s.oid = r.rngsubtype
WHERE r.rngsubtype >= 16384 AND (s.typtype IN ('c', 'd', 'r') OR s.typelem <> 0)";

/// Definitions that the authoritative shard has committed may still wait here among these.
const PENDING: &str = "SELECT gid FROM pg_catalog.pg_prepared_xacts
WHERE database = pg_catalog.current_database()";

/// Translates numbers between one shard and the authoritative one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TypeMap {
    /// The snapshot's version that it was made for.
    pub catalog_version: u64,
    types: Both,
    relations: Both,
    /// By the shard's number of the relation and of the column.
    columns: HashMap<(Oid, i16), i16>,
    /// Types of the authoritative shard that this one lacks.
    lacking: HashSet<Oid>,
    /// Types of this shard that the authoritative one lacks, by this shard's numbers.
    strange: HashSet<Oid>,
    /// Ranges of this shard over types whose values hold numbers.
    nested_ranges: HashSet<Oid>,
    /// Prepared transactions that were open when the numbers were read: what they define is not in the map.
    pending: Vec<String>,
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
        let reset = backend.apply(&Settings::empty()).await;
        reset.map_err(|source| LoadError::Query { database, source })?;
        Self::load_within(backend, catalog).await
    }

    /// As [`TypeMap::load`], in whatever transaction the backend has open and as that transaction sees it.
    ///
    /// # Errors
    /// When the query fails.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn load_within(backend: &mut Backend, catalog: &Catalog) -> Result<Self, LoadError> {
        let database = backend.identity().database.clone();
        let failed = |source| LoadError::Query { database, source };
        // What is pending is asked first: what is settled before that is seen by the queries after it.
        let sql = format!("{PENDING};{TYPES};{RELATIONS};{COLUMNS};{RANGES}");
        let ask = backend.simple(&sql);
        let results = ask.await.map_err(failed)?;
        let rows = |at: usize| {
            let rows = results
                .get(at)
                .map_or(&[][..], |result| result.rows.as_slice());
            rows.iter().map(|values| Row {
                query: "numbers",
                values,
            })
        };
        let mut map = Self {
            catalog_version: catalog.version,
            types: Both::of(rows(1), &catalog.types_by_name)?,
            relations: Both::of(rows(2), &catalog.relations_by_name)?,
            pending: rows(0).map(|row| row.text(0).to_owned()).collect(),
            ..Self::default()
        };
        map.compare_types(rows(1), catalog)?;
        for row in rows(4) {
            map.nested_ranges.insert(row.oid(0)?);
        }
        for row in rows(3) {
            let (relation, number) = (row.oid(0)?, row.number(2)?);
            let known = catalog
                .relations
                .get(&map.relation_to_authoritative(relation));
            if let Some(column) = known.and_then(|known| known.column(row.text(1)))
                && column.number != number
            {
                map.columns.insert((relation, number), column.number);
            }
        }
        Ok(map)
    }

    /// No number differs: messages need no rewriting.
    #[must_use]
    pub fn is_identity(&self) -> bool {
        self.types.to_authoritative.is_empty()
            && self.relations.to_authoritative.is_empty()
            && self.columns.is_empty()
            && self.lacking.is_empty()
            && self.strange.is_empty()
    }

    /// Everything that the authoritative shard had committed is in the map.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.pending.is_empty()
    }

    /// Only what was pending at an earlier reading too can still bring definitions of that reading's version.
    pub fn settle_after(&mut self, earlier: &Self) {
        self.pending.retain(|gid| earlier.pending.contains(gid));
    }

    /// The open transaction's own view: nothing that others prepared belongs to it.
    pub fn assume_settled(&mut self) {
        self.pending.clear();
    }

    /// The shard has this type of the authoritative one.
    #[must_use]
    pub fn has_type(&self, authoritative: Oid) -> bool {
        !self.lacking.contains(&authoritative)
    }

    /// The authoritative shard has this type of the shard.
    #[must_use]
    pub fn is_known_type(&self, shards: Oid) -> bool {
        !self.strange.contains(&shards)
    }

    /// Values of this type of the authoritative shard are ranges that hold numbers of types.
    #[must_use]
    pub fn is_nested_range(&self, authoritative: Oid) -> bool {
        self.nested_ranges
            .contains(&self.type_to_shard(authoritative))
    }

    fn compare_types<'a>(
        &mut self,
        rows: impl Iterator<Item = Row<'a>>,
        catalog: &Catalog,
    ) -> Result<(), LoadError> {
        let mut seen = HashSet::new();
        for row in rows {
            let shards = row.oid(2)?;
            let names = catalog.types_by_name.get(row.text(0));
            match names.and_then(|names| names.get(row.text(1))) {
                Some(authoritative) => {
                    seen.insert(*authoritative);
                }
                None => {
                    self.strange.insert(shards);
                }
            }
        }
        let own = |oid: &Oid| oid.0 >= FIRST_OWN && !seen.contains(oid);
        self.lacking = catalog.types.keys().copied().filter(own).collect();
        Ok(())
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

    /// The authoritative number of a column, by the shard's numbers of its relation and of itself.
    #[must_use]
    pub fn column_to_authoritative(&self, relation: Oid, column: i16) -> i16 {
        self.columns
            .get(&(relation, column))
            .copied()
            .unwrap_or(column)
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
