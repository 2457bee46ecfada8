//! Exclusive use of a backend.

use std::fmt;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use crate::Backend;
use crate::shard::Shard;

/// Exclusive use of a backend. Dropping it gives the backend back: at once when its state is known and clean; after
/// `ROLLBACK` or `DISCARD ALL` when that helps; otherwise it is closed, and what still runs on it is cancelled.
pub struct Lease {
    backend: Option<Box<Backend>>,
    shard: Arc<Shard>,
}

impl Lease {
    pub(crate) fn new(backend: Box<Backend>, shard: Arc<Shard>) -> Self {
        Self {
            backend: Some(backend),
            shard,
        }
    }

    /// Takes the backend out without giving it back.
    pub(crate) fn into_backend(mut self) -> Option<Box<Backend>> {
        self.backend.take()
    }
}

impl Deref for Lease {
    type Target = Backend;

    fn deref(&self) -> &Backend {
        self.backend
            .as_ref()
            .expect("it is only taken when the lease ends")
    }
}

impl DerefMut for Lease {
    fn deref_mut(&mut self) -> &mut Backend {
        self.backend
            .as_mut()
            .expect("it is only taken when the lease ends")
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(backend) = self.backend.take() {
            self.shard.give_back(backend);
        }
    }
}

impl fmt::Debug for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Lease").field(&self.backend).finish()
    }
}
