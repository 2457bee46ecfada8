//! Cancelling what a session does: the key that a client got at its start leads to what its session runs at the moment.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};

use bytes::Bytes;
use execute::Running;
use parking_lot::Mutex;
use wire::startup::CancelKey;

/// Every session that can be cancelled.
#[derive(Debug, Default)]
pub struct Cancels {
    next: AtomicI32,
    sessions: Mutex<HashMap<CancelKey, Arc<Running>>>,
}

/// A session's place in the register; it leaves when this is dropped.
#[derive(Debug)]
pub struct Registration {
    cancels: Arc<Cancels>,
    key: CancelKey,
}

// === impl Cancels ===

impl Cancels {
    /// Registers a session under a fresh key.
    pub fn register(self: &Arc<Self>, running: &Arc<Running>) -> Registration {
        let pid = self
            .next
            .fetch_add(1, Ordering::Relaxed)
            .rem_euclid(i32::MAX - 1)
            + 1;
        let mut secret = [0; 4];
        let random = ring::rand::SystemRandom::new();
        // Without randomness no key is safe to give out; an empty one never matches.
        let secret = match ring::rand::SecureRandom::fill(&random, &mut secret) {
            Ok(()) => Bytes::copy_from_slice(&secret),
            Err(_) => Bytes::new(),
        };
        let key = CancelKey { pid, secret };
        self.sessions
            .lock()
            .insert(key.clone(), Arc::clone(running));
        Registration {
            cancels: Arc::clone(self),
            key,
        }
    }

    /// Cancels what the session with this key runs now; an unknown key does nothing. Returns when every shard has been told.
    ///
    /// # Cancel safety
    /// Not cancel safe: some shards may have been told.
    pub async fn cancel(&self, key: &CancelKey) {
        if key.secret.is_empty() {
            return;
        }
        let running = self.sessions.lock().get(key).cloned();
        if let Some(running) = running {
            running.cancel().await;
        }
    }

    /// Cancels what every session runs now, one after the other.
    ///
    /// # Cancel safety
    /// Not cancel safe: some shards may have been told.
    pub async fn cancel_all(&self) {
        let all: Vec<_> = self.sessions.lock().values().cloned().collect();
        for running in all {
            running.cancel().await;
        }
    }
}

// === impl Registration ===

impl Registration {
    /// What the client is told.
    pub fn key(&self) -> &CancelKey {
        &self.key
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.cancels.sessions.lock().remove(&self.key);
    }
}
