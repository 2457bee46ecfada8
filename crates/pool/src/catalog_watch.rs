//! The current snapshot of a database, kept current.
//!
//! Invariant: [`CatalogWatch::current`] never waits and never goes back to an older snapshot. While the shard is down
//! the last snapshot stays.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use catalog::Catalog;
use stdx::TaskGroup;
use tokio::sync::{Mutex, watch};

use crate::catalog_loader::fingerprint;
use crate::{CatalogLoader, Fingerprint, Identity, LoadError, Pools, Settings};

/// What to watch.
#[derive(Clone, Debug)]
pub struct WatchConfig {
    /// The pools.
    pub pools: Pools,
    /// The authoritative shard.
    pub shard: topology::ShardId,
    /// The database, and a user who may read its catalogs.
    pub identity: Identity,
    /// How often the fingerprint is taken.
    pub interval: Duration,
    /// How long to wait for a backend.
    pub lease_wait: Duration,
}

/// Holds the newest snapshot of one database, and looks every [`WatchConfig::interval`] whether definitions changed behind
/// the router's back. Ends when it is dropped.
pub struct CatalogWatch {
    inner: Arc<Inner>,
    _poll: TaskGroup,
}

struct Inner {
    config: WatchConfig,
    loader: Arc<CatalogLoader>,
    current: ArcSwap<Catalog>,
    versions: watch::Sender<u64>,
    /// Held while a refresh runs, so that there is one at a time.
    fingerprint: Mutex<Fingerprint>,
}

// === impl CatalogWatch ===

impl CatalogWatch {
    /// Loads the first snapshot and begins to watch.
    ///
    /// # Errors
    /// When the first snapshot can't be loaded.
    ///
    /// # Cancel safety
    /// Cancel safe: nothing is left running.
    pub async fn start(config: WatchConfig, loader: Arc<CatalogLoader>) -> Result<Self, LoadError> {
        let mut lease = lease(&config).await?;
        let (catalog, fingerprint) = Box::pin(loader.load(&mut lease)).await?;
        drop(lease);
        let (versions, _) = watch::channel(catalog.version);
        let inner = Arc::new(Inner {
            config,
            loader,
            current: ArcSwap::from_pointee(catalog),
            versions,
            fingerprint: Mutex::new(fingerprint),
        });
        let mut poll = TaskGroup::new();
        poll.spawn("catalog watch", Box::pin(inner.clone().poll()));
        Ok(Self { inner, _poll: poll })
    }

    /// The newest snapshot.
    #[must_use]
    pub fn current(&self) -> Arc<Catalog> {
        self.inner.current.load_full()
    }

    /// A snapshot that has everything that was committed before this call; a new one only when something changed. For
    /// whoever ran DDL.
    ///
    /// # Errors
    /// When it can't be loaded; the last snapshot stays.
    ///
    /// # Cancel safety
    /// Cancel safe: the next refresh does it.
    pub async fn refresh_now(&self) -> Result<Arc<Catalog>, LoadError> {
        Box::pin(self.inner.refresh()).await?;
        Ok(self.current())
    }

    /// Tells of new versions.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.inner.versions.subscribe()
    }
}

impl fmt::Debug for CatalogWatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CatalogWatch")
            .field("database", &self.inner.config.identity.database)
            .field("version", &*self.inner.versions.borrow())
            .finish_non_exhaustive()
    }
}

// === impl Inner ===

impl Inner {
    async fn poll(self: Arc<Self>) {
        let mut failing = false;
        loop {
            tokio::time::sleep(self.config.interval).await;
            match self.refresh().await {
                Ok(()) => failing = false,
                Err(error) if failing => {
                    tracing::debug!(error = %stdx::Chain(&error), "definitions still can't be read");
                }
                Err(error) => {
                    failing = true;
                    tracing::warn!(error = %stdx::Chain(&error), "definitions can't be read, the last ones stay");
                }
            }
        }
    }

    async fn refresh(&self) -> Result<(), LoadError> {
        let mut known = self.fingerprint.lock().await;
        let mut lease = lease(&self.config).await?;
        // Nobody's search_path or role, for the query's own sake.
        let reset = lease.apply(&Settings::empty()).await;
        reset.map_err(|source| LoadError::Query {
            database: self.config.identity.database.clone(),
            source,
        })?;
        if fingerprint(&mut lease).await? == *known {
            return Ok(());
        }
        let (catalog, newest) = self.loader.load(&mut lease).await?;
        let version = catalog.version;
        tracing::info!(database = %catalog.database, version, "definitions changed");
        self.current.store(Arc::new(catalog));
        *known = newest;
        self.versions.send_replace(version);
        Ok(())
    }
}

async fn lease(config: &WatchConfig) -> Result<crate::Lease, LoadError> {
    let leasing = config
        .pools
        .lease(config.shard, &config.identity, config.lease_wait);
    leasing.await.map_err(|source| LoadError::Lease {
        database: config.identity.database.clone(),
        source,
    })
}
