//! Waiting for new revisions. The store is asked again and again, because that works across processes and
//! for every kind of store; one question costs a few microseconds.

use crate::{POLL_INTERVAL, Revision, Store, StoreError};

/// A watch over the revisions of a store.
#[derive(Debug)]
pub struct Watch {
    store: Store,
    seen: u64,
}

// === impl Watch ===

impl Watch {
    pub(crate) fn new(store: Store, seen: u64) -> Self {
        Self { store, seen }
    }

    /// The newest revision, as soon as there is one newer than the last that was given. Revisions in
    /// between are passed over.
    ///
    /// # Errors
    ///
    /// The store fails; the watch can be used further.
    ///
    /// # Cancel safety
    ///
    /// No revision is lost.
    pub async fn next(&mut self) -> Result<Revision, StoreError> {
        loop {
            if self.store.current_number().await? > self.seen
                && let Some(revision) = self.store.current().await?
            {
                self.seen = revision.number;
                return Ok(revision);
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }
}
