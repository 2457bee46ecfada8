//! Where routers keep what must outlive them: the revisions of the topology document, and who is
//! serving under which of them.
//!
//! **Promises.** A revision is written only over the one that its author saw (compare-and-set), in one
//! durable transaction; history is never rewritten; an epoch is given once. Several processes may share
//! one file.
//!
//! **Must not know** workflows, shards, what a document means beyond that it is one.
//!
//! **Read first** [`Store`] (what callers hold), [`Records`] (what a place to store must do), [`File`]
//! (`SQLite`) and [`Memory`] (for tests).
//!
//! **Tests** [`conformance`] is one suite that every [`Records`] passes; `src/file/tests.rs` has what only
//! files can suffer: several processes, reopening, damage.

mod error;
mod record;

mod file;
mod memory;

mod watch;

pub mod conformance;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

pub use error::StoreError;
pub use file::File;
pub use memory::Memory;
pub use record::{NewRevision, Records, Revision, RevisionSummary, Router};
pub use watch::Watch;

/// How often a store is asked for news.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// The records of a cluster, for asynchronous callers; cheap to clone.
#[derive(Clone, Debug)]
pub struct Store {
    records: Arc<dyn Records>,
}

// === impl Store ===

impl Store {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    ///
    /// It can't be opened, is damaged, or is not a store.
    ///
    /// # Cancel safety
    ///
    /// The file may have been made.
    pub async fn open(path: &Path) -> Result<Self, StoreError> {
        let path = path.to_owned();
        let file = tokio::task::spawn_blocking(move || File::open(&path)).await;
        let file = file.map_err(|source| StoreError::Interrupted { source })??;
        Ok(Self::over(file))
    }

    /// A store over any records.
    #[must_use]
    pub fn over(records: impl Records) -> Self {
        Self {
            records: Arc::new(records),
        }
    }

    /// The newest revision; none in a new store.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It has no effect.
    pub async fn current(&self) -> Result<Option<Revision>, StoreError> {
        self.run(<dyn Records>::current).await
    }

    /// A revision by its number; none where there is none.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It has no effect.
    pub async fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        self.run(move |records| records.revision(number)).await
    }

    /// All revisions without their documents, newest first.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It has no effect.
    pub async fn history(&self) -> Result<Vec<RevisionSummary>, StoreError> {
        self.run(<dyn Records>::history).await
    }

    /// Writes a revision over the one with the number `expected` (0: over none).
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where another revision is the newest; the store fails.
    ///
    /// # Cancel safety
    ///
    /// The revision may have been written; [`Store::current`] tells.
    pub async fn put(&self, expected: u64, new: NewRevision) -> Result<Revision, StoreError> {
        self.run(move |records| records.put(expected, &new, SystemTime::now()))
            .await
    }

    /// Registers a router and gives it an epoch that no other router ever had or will have. Its lease
    /// lasts for `lease`.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// A router that nobody keeps alive may have been registered; its lease ends by itself.
    pub async fn register_router(&self, name: String, lease: Duration) -> Result<u64, StoreError> {
        self.run(move |records| records.register_router(&name, SystemTime::now() + lease))
            .await
    }

    /// Renews a router's lease from now on.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownRouter`] where it was removed: it must stop serving; the store fails.
    ///
    /// # Cancel safety
    ///
    /// The lease may have been renewed.
    pub async fn renew(&self, epoch: u64, lease: Duration) -> Result<(), StoreError> {
        self.run(move |records| records.renew(epoch, SystemTime::now() + lease))
            .await
    }

    /// Removes a router: when it ends, or when a silent one has been fenced off the shards.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It may have been removed; removing it again does nothing.
    pub async fn remove_router(&self, epoch: u64) -> Result<(), StoreError> {
        self.run(move |records| records.remove_router(epoch)).await
    }

    /// All routers, in the order of their epochs, also those whose lease has ended.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It has no effect.
    pub async fn routers(&self) -> Result<Vec<Router>, StoreError> {
        self.run(<dyn Records>::routers).await
    }

    /// Says that a router begins no request under an older revision any more.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownRouter`] where it was removed: it must stop serving; the store fails.
    ///
    /// # Cancel safety
    ///
    /// It may have been said; saying it again does nothing.
    pub async fn acknowledge(&self, epoch: u64, revision: u64) -> Result<(), StoreError> {
        self.run(move |records| records.acknowledge(epoch, revision))
            .await
    }

    /// The routers that may still serve under a revision older than this one. One whose lease has ended
    /// is among them: it is silent, not gone.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It has no effect.
    pub async fn unacknowledged(&self, revision: u64) -> Result<Vec<Router>, StoreError> {
        let mut routers = self.routers().await?;
        routers.retain(|router| router.acknowledged < revision);
        Ok(routers)
    }

    /// Waits until every router has acknowledged the revision, at most as long as `patience`; gives the
    /// routers that have not.
    ///
    /// # Errors
    ///
    /// The store fails.
    ///
    /// # Cancel safety
    ///
    /// It has no effect.
    pub async fn wait_acknowledged(
        &self,
        revision: u64,
        patience: Duration,
    ) -> Result<Vec<Router>, StoreError> {
        let deadline = tokio::time::Instant::now() + patience;
        loop {
            let routers = self.unacknowledged(revision).await?;
            if routers.is_empty() || tokio::time::Instant::now() >= deadline {
                return Ok(routers);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Watches for revisions newer than `seen`, by whatever process they are written.
    #[must_use]
    pub fn watch(&self, seen: u64) -> Watch {
        Watch::new(self.clone(), seen)
    }

    async fn current_number(&self) -> Result<u64, StoreError> {
        self.run(<dyn Records>::current_number).await
    }

    async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&dyn Records) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let records = Arc::clone(&self.records);
        let done = tokio::task::spawn_blocking(move || work(&*records)).await;
        done.map_err(|source| StoreError::Interrupted { source })?
    }
}
