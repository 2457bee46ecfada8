//! Where a session's statement runs at the moment, for whoever wants to cancel it.
//!
//! Invariant: a backend is given back only after it has left this list, and the list can't change while a cancel is on its way. So
//! a cancel never meets another session's statement.

use pool::CancelTarget;
use smallvec::SmallVec;
use tokio::sync::{Mutex, Notify};

/// The backends that a session holds.
#[derive(Debug, Default)]
pub struct Running {
    targets: Mutex<SmallVec<[CancelTarget; 2]>>,
    cancelled: Notify,
}

impl Running {
    /// Cancels what runs on every backend held, and wakes the session if it waits for one.
    ///
    /// # Cancel safety
    /// Not cancel safe: some shards may have been told.
    pub async fn cancel(&self) {
        self.cancelled.notify_waiters();
        let targets = self.targets.lock().await;
        for target in targets.iter() {
            if let Err(error) = pool::cancel::cancel(target).await {
                tracing::warn!(error = %stdx::Chain(&error), "a cancel request did not reach its shard");
            }
        }
    }

    /// Resolves when a cancel arrives.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn cancelled(&self) {
        self.cancelled.notified().await;
    }

    /// A backend is held from now on.
    pub(crate) async fn enter(&self, target: CancelTarget) {
        self.targets.lock().await.push(target);
    }

    /// Only these backends are held from now on. Waits while a cancel is on its way.
    pub(crate) async fn retain(&self, held: impl IntoIterator<Item = CancelTarget>) {
        let mut targets = self.targets.lock().await;
        targets.clear();
        targets.extend(held);
    }
}
