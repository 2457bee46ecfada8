//! The catalogs of the databases that clients use, each watched from its first client on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use execute::Numbers;
use parking_lot::RwLock;
use pg::Diagnostic;
use pool::{Backend, CatalogLoader, CatalogWatch, Identity, LoadError, Pools, WatchConfig};
use tokio::sync::Mutex;
use topology::ShardId;

/// How often a database is looked at for definitions that changed behind the router's back.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long reading a catalog waits for a backend.
const LEASE_WAIT: Duration = Duration::from_secs(10);

/// The catalogs of all databases in use.
#[derive(Debug)]
pub struct Catalogs {
    pools: Pools,
    authority: ShardId,
    loader: Arc<CatalogLoader>,
    watches: RwLock<HashMap<Arc<str>, Arc<CatalogWatch>>>,
    /// By database, for the newest catalog that somebody asked for.
    numbers: RwLock<HashMap<Arc<str>, Arc<Numbers>>>,
    /// Held while a database is opened, so that it is loaded once.
    opening: Mutex<()>,
}

// === impl Catalogs ===

impl Catalogs {
    /// No database is open yet.
    #[must_use]
    pub fn new(pools: Pools, authority: ShardId) -> Self {
        Self {
            pools,
            authority,
            loader: Arc::new(CatalogLoader::new()),
            watches: RwLock::default(),
            numbers: RwLock::default(),
            opening: Mutex::new(()),
        }
    }

    /// Opens a database for its first client.
    ///
    /// # Errors
    /// Its catalog can't be loaded, such as when there is no such database.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn open(&self, identity: &Identity) -> Result<(), LoadError> {
        if self.watch(&identity.database).is_some() {
            return Ok(());
        }
        let _guard = self.opening.lock().await;
        if self.watch(&identity.database).is_some() {
            return Ok(());
        }
        let config = WatchConfig {
            pools: self.pools.clone(),
            shard: self.authority,
            identity: identity.clone(),
            interval: INTERVAL,
            lease_wait: LEASE_WAIT,
        };
        let watch = CatalogWatch::start(config, Arc::clone(&self.loader)).await?;
        self.watches
            .write()
            .insert(Arc::clone(&identity.database), Arc::new(watch));
        Ok(())
    }

    /// The newest snapshot of a database that is open.
    ///
    /// # Errors
    /// It is not open.
    pub fn current(&self, database: &str) -> Result<Arc<Catalog>, Diagnostic> {
        let watch = self.watch(database).ok_or_else(|| not_open(database))?;
        Ok(watch.current())
    }

    /// The shards' numbers beside a snapshot's, shared by the sessions that use that snapshot.
    #[must_use]
    pub fn numbers(&self, catalog: &Arc<Catalog>) -> Arc<Numbers> {
        let database = catalog.database.as_str();
        let known = self.numbers.read().get(database).cloned();
        if let Some(known) = known.filter(|known| known.version() == catalog.version) {
            return known;
        }
        let mut all = self.numbers.write();
        let is_newest = |known: &Arc<Numbers>| known.version() > catalog.version;
        let fresh = || {
            let count = self.pools.shards().count();
            Arc::new(Numbers::new(Arc::clone(catalog), self.authority, count))
        };
        match all.get(database) {
            Some(known) if known.version() == catalog.version => Arc::clone(known),
            // Somebody is ahead already: the older snapshot's numbers are used by few and for a moment.
            Some(known) if is_newest(known) => fresh(),
            _ => {
                let fresh = fresh();
                all.insert(database.into(), Arc::clone(&fresh));
                fresh
            }
        }
    }

    /// A snapshot that has everything committed before this call.
    ///
    /// # Errors
    /// It can't be loaded; the last one stays.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn refresh(&self, database: &str) -> Result<(), Diagnostic> {
        let watch = self.watch(database).ok_or_else(|| not_open(database))?;
        let refreshed = watch.refresh_now().await;
        refreshed
            .map(drop)
            .map_err(|error| pg::Diagnose::to_diagnostic(&error))
    }

    /// The catalog as an open transaction sees it.
    ///
    /// # Errors
    /// It can't be loaded; the transaction has failed then.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn load_on(&self, backend: &mut Backend) -> Result<Arc<Catalog>, Diagnostic> {
        let loaded = self.loader.load_within(backend).await;
        loaded
            .map(Arc::new)
            .map_err(|error| pg::Diagnose::to_diagnostic(&error))
    }

    fn watch(&self, database: &str) -> Option<Arc<CatalogWatch>> {
        self.watches.read().get(database).cloned()
    }
}

fn not_open(database: &str) -> Diagnostic {
    let message = format!("database \"{database}\" is not open");
    Diagnostic::error(pg::SqlState::INTERNAL_ERROR, message)
}
