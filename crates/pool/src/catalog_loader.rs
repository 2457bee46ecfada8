//! Reading a database's definitions from a backend of the authoritative shard.
//!
//! All queries run in one REPEATABLE READ transaction and one round trip. PostgreSQL's deparsing functions look at the
//! newest definitions instead of the snapshot, so the fingerprint is taken before and after, and a load that met a
//! change is done again. What came with PostgreSQL is read once and shared by all later snapshots.

mod assemble;
mod part;
mod query;
pub(crate) mod row;
mod volatility;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use pg::{Diagnose, Diagnostic, Fault, Retry, SqlState};

use crate::{Backend, BackendError, ResultSet, Settings};
use part::Part;
use row::Row;

/// How often a load is done again because definitions changed meanwhile.
const ATTEMPTS_MAX: usize = 5;

/// Loads snapshots, and keeps what they share. One for the whole router.
#[derive(Debug, Default)]
pub struct CatalogLoader {
    builtin: Mutex<HashMap<BuiltinKey, Arc<Part>>>,
    last_version: AtomicU64,
}

/// Stands for all definitions of a database: another value after any of them has changed.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Fingerprint {
    builtin: String,
    own: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct BuiltinKey {
    shard: Arc<str>,
    database: Arc<str>,
    fingerprint: String,
}

/// A snapshot could not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// A query failed.
    #[error("cannot read the definitions of database {database}")]
    Query {
        /// The database.
        database: Arc<str>,
        /// Why.
        #[source]
        source: BackendError,
    },
    /// A catalog has other columns or values than those of the versions known here.
    #[error("column {column} of catalog query {query} has an unknown form")]
    Malformed {
        /// Name of the query.
        query: &'static str,
        /// Its column, from 0.
        column: usize,
    },
    /// Definitions changed during each attempt.
    #[error(
        "the definitions of database {database} changed during each of {attempts} attempts to read them"
    )]
    Unsteady {
        /// The database.
        database: Arc<str>,
        /// How many.
        attempts: usize,
    },
    /// No backend to read with.
    #[error("no backend to read the definitions of database {database} with")]
    Lease {
        /// The database.
        database: Arc<str>,
        /// Why.
        #[source]
        source: crate::LeaseError,
    },
}

impl Diagnose for LoadError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Query { source, .. } => source.sqlstate(),
            Self::Malformed { .. } => SqlState::INTERNAL_ERROR,
            Self::Unsteady { .. } => SqlState::OBJECT_IN_USE,
            Self::Lease { source, .. } => source.sqlstate(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Query { source, .. } => source.fault(),
            Self::Malformed { .. } => Fault::Router,
            Self::Unsteady { .. } => Fault::Backend,
            Self::Lease { source, .. } => source.fault(),
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Query { source, .. } => source.retry(),
            Self::Malformed { .. } => Retry::Never,
            Self::Unsteady { .. } => Retry::SameSnapshot,
            Self::Lease { source, .. } => source.retry(),
        }
    }

    fn to_diagnostic(&self) -> Diagnostic {
        match self {
            // The database that a client asks for may not exist: that is PostgreSQL's to say.
            Self::Query { source, .. } => source.to_diagnostic(),
            Self::Lease { source, .. } => source.to_diagnostic(),
            Self::Malformed { .. } | Self::Unsteady { .. } => {
                Diagnostic::error(self.sqlstate(), self.to_string())
            }
        }
    }
}

// === impl CatalogLoader ===

impl CatalogLoader {
    /// A loader that has read nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads everything. Each snapshot of this loader has a higher version than the one before. The backend is outside a transaction and stays so.
    ///
    /// # Errors
    /// When a query fails, also for a lock that DDL holds for longer than two seconds; or definitions change all the time.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn load(
        &self,
        backend: &mut Backend,
    ) -> Result<(catalog::Catalog, Fingerprint), LoadError> {
        backend
            .apply(&Settings::empty())
            .await
            .map_err(failed(backend))?;
        let mut before = fingerprint(backend).await?;
        let mut last_error = None;
        for _ in 0..ATTEMPTS_MAX {
            let result = self.attempt(backend, &before, Place::Alone).await;
            let after = fingerprint(backend).await?;
            let is_steady = after == before;
            before = after;
            match result {
                Ok(catalog) if is_steady => return Ok((catalog, before)),
                Ok(_) => last_error = None,
                Err(error) if is_steady => return Err(error),
                Err(error) => last_error = Some(error),
            }
        }
        Err(last_error.unwrap_or_else(|| LoadError::Unsteady {
            database: backend.identity().database.clone(),
            attempts: ATTEMPTS_MAX,
        }))
    }

    /// Reads everything as the transaction that is open on this backend sees it, its own changes included.
    ///
    /// # Errors
    /// When a query fails; the transaction has failed then.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn load_within(&self, backend: &mut Backend) -> Result<catalog::Catalog, LoadError> {
        let fingerprint = fingerprint(backend).await?;
        self.attempt(backend, &fingerprint, Place::Within).await
    }

    async fn attempt(
        &self,
        backend: &mut Backend,
        fingerprint: &Fingerprint,
        place: Place,
    ) -> Result<catalog::Catalog, LoadError> {
        let key = BuiltinKey {
            shard: backend.shard().clone(),
            database: backend.identity().database.clone(),
            fingerprint: fingerprint.builtin.clone(),
        };
        let cached = self.builtin.lock().get(&key).cloned();
        let builtin = if let Some(builtin) = cached {
            builtin
        } else {
            let results = run(backend, "< 16384", place).await?;
            let builtin = Arc::new(Part::read(&results, &HashMap::new())?);
            let mut kept = self.builtin.lock();
            kept.retain(|k, _| (&k.shard, &k.database) != (&key.shard, &key.database));
            kept.insert(key, builtin.clone());
            builtin
        };
        let results = run(backend, ">= 16384", place).await?;
        let own = Part::read(&results, &builtin.volatilities)?;
        let version = self.last_version.fetch_add(1, Ordering::Relaxed) + 1;
        assemble::catalog(&results, &builtin, own, version)
    }
}

/// The fingerprint of a database's definitions now; takes some milliseconds.
///
/// # Errors
/// When the query fails.
pub(crate) async fn fingerprint(backend: &mut Backend) -> Result<Fingerprint, LoadError> {
    let results = backend
        .simple(query::FINGERPRINT)
        .await
        .map_err(failed(backend))?;
    let values = results.first().and_then(|result| result.rows.first());
    let row = Row {
        query: "fingerprint",
        values: values.map_or(&[], Vec::as_slice),
    };
    match (row.optional(0), row.optional(1)) {
        (Some(builtin), Some(own)) => Ok(Fingerprint {
            builtin: builtin.to_owned(),
            own: own.to_owned(),
        }),
        _ => Err(row.malformed(0)),
    }
}

/// The answers of all catalog queries by name.
struct Answers {
    by_name: HashMap<&'static str, ResultSet>,
}

impl Answers {
    fn rows(&self, query: &'static str) -> impl Iterator<Item = Row<'_>> {
        let rows = self
            .by_name
            .get(query)
            .map_or(&[][..], |result| result.rows.as_slice());
        rows.iter().map(move |values| Row { query, values })
    }
}

const QUERIES: [(&str, &str); 14] = [
    ("database", query::DATABASE),
    ("schemas", query::SCHEMAS),
    ("collations", query::COLLATIONS),
    ("relations", query::RELATIONS),
    ("columns", query::COLUMNS),
    ("constraints", query::CONSTRAINTS),
    ("indexes", query::INDEXES),
    ("triggers", query::TRIGGERS),
    ("inheritance", query::INHERITANCE),
    ("view reads", query::VIEW_READS),
    ("types", query::TYPES),
    ("labels", query::LABELS),
    ("functions", query::FUNCTIONS),
    ("operators", query::OPERATORS),
];

/// What makes deparsed text the same whatever the server's defaults are.
const PRELUDE: [&str; 5] = [
    "SET LOCAL search_path = pg_catalog",
    "SET LOCAL quote_all_identifiers = off",
    "SET LOCAL datestyle = 'ISO, YMD'",
    "SET LOCAL lock_timeout = '2s'",
    "SET LOCAL statement_timeout = '60s'",
];

/// Where the queries run.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In a snapshot of their own.
    Alone,
    /// In the transaction that is open, which is left as it was.
    Within,
}

async fn run(backend: &mut Backend, which: &str, place: Place) -> Result<Answers, LoadError> {
    let (begin, end) = match place {
        Place::Alone => ("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", "COMMIT"),
        Place::Within => (
            "SAVEPOINT _kintsugi_catalog",
            "ROLLBACK TO SAVEPOINT _kintsugi_catalog;RELEASE SAVEPOINT _kintsugi_catalog",
        ),
    };
    let mut sql = format!("{begin};{}", PRELUDE.join(";"));
    for (_, query) in QUERIES {
        sql.push(';');
        sql.push_str(&query.replace("{which}", which));
    }
    sql.push(';');
    sql.push_str(end);
    let answer = backend.simple(&sql).await;
    let is_open = backend.transaction_status() != wire::backend::TransactionStatus::Idle;
    if place == Place::Alone && is_open && !backend.is_poisoned() {
        backend.simple("ROLLBACK").await.map_err(failed(backend))?;
    }
    let results = answer.map_err(failed(backend))?;
    let names = QUERIES.iter().map(|(name, _)| *name);
    let by_name = names
        .zip(results.into_iter().skip(1 + PRELUDE.len()))
        .collect();
    Ok(Answers { by_name })
}

fn failed(backend: &Backend) -> impl FnOnce(BackendError) -> LoadError + use<> {
    let database = backend.identity().database.clone();
    |source| LoadError::Query { database, source }
}
