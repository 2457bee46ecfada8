//! The distributed transactions that this router has in flight. Recovery leaves them alone, since
//! whoever runs them ends them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

use super::gid::{DeciderBackend, Gid, GidError};

/// One router's life: its name, its epoch, and what it has in flight. Shared by all sessions and
/// the recovery of a process.
#[derive(Debug)]
pub struct Registry {
    router: String,
    epoch: u64,
    next: AtomicU64,
    live: Mutex<BTreeSet<u64>>,
    confirmed: Mutex<BTreeMap<Place, Vec<Gid>>>,
}

/// Where a decision row is: the database and the deciding shard.
type Place = (String, String);

/// A transaction in flight: recovery won't touch it while this lives.
#[derive(Debug)]
pub struct InFlight {
    registry: Arc<Registry>,
    gid: Gid,
}

// === impl Registry ===

impl Registry {
    /// Begins a life of a router. No two lives may have the same name and epoch.
    ///
    /// # Errors
    /// The name can't be part of a transaction's name.
    pub fn new(router: &str, epoch: u64) -> Result<Arc<Self>, GidError> {
        let backend = DeciderBackend {
            pid: 0,
            start_us: 0,
        };
        Gid::new((router, epoch), 0, "any", backend)?;
        Ok(Arc::new(Self {
            router: router.to_owned(),
            epoch,
            next: AtomicU64::new(1),
            live: Mutex::default(),
            confirmed: Mutex::default(),
        }))
    }

    /// The router's name.
    #[must_use]
    pub fn router(&self) -> &str {
        &self.router
    }

    /// The router's epoch.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Names a new transaction, before any shard hears of the name.
    ///
    /// # Errors
    /// The shard's uid can't be part of a transaction's name.
    pub fn begin(
        self: &Arc<Self>,
        decider_shard: &str,
        backend: DeciderBackend,
    ) -> Result<InFlight, GidError> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let gid = Gid::new((&self.router, self.epoch), number, decider_shard, backend)?;
        self.live.lock().insert(number);
        Ok(InFlight {
            registry: Arc::clone(self),
            gid,
        })
    }

    /// Made in this life of this router.
    #[must_use]
    pub fn is_own(&self, gid: &Gid) -> bool {
        gid.router() == self.router && gid.epoch() == self.epoch
    }

    /// Made in this life of this router, and not ended yet.
    #[must_use]
    pub fn is_in_flight(&self, gid: &Gid) -> bool {
        self.is_own(gid) && self.live.lock().contains(&gid.number())
    }

    /// How many are in flight.
    #[must_use]
    pub fn in_flight_count(&self) -> usize {
        self.live.lock().len()
    }

    /// Every participant has confirmed the commit: its row may go.
    pub(crate) fn confirm(&self, database: &str, gid: Gid) {
        let place = (database.to_owned(), gid.decider_shard().to_owned());
        self.confirmed.lock().entry(place).or_default().push(gid);
    }

    /// Takes what was confirmed.
    pub(crate) fn take_confirmed(&self, database: &str, shard: &str) -> Vec<Gid> {
        let place = (database.to_owned(), shard.to_owned());
        self.confirmed.lock().remove(&place).unwrap_or_default()
    }
}

// === impl InFlight ===

impl InFlight {
    /// The transaction's name.
    #[must_use]
    pub fn gid(&self) -> &Gid {
        &self.gid
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.registry.live.lock().remove(&self.gid.number());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_transaction_is_in_flight_while_it_is_held() {
        let registry = Registry::new("r", 7).unwrap();
        let backend = DeciderBackend {
            pid: 1,
            start_us: 2,
        };
        let first = registry.begin("s", backend).unwrap();
        let second = registry.begin("s", backend).unwrap();
        assert_ne!(first.gid(), second.gid());
        let gid = first.gid().clone();
        assert!(registry.is_in_flight(&gid));
        drop(first);
        assert!(!registry.is_in_flight(&gid) && registry.is_own(&gid));
        let other = Registry::new("r", 8).unwrap();
        assert!(!other.is_own(&gid));
        assert!(!other.is_in_flight(second.gid()));
        assert_eq!(registry.in_flight_count(), 1);
    }

    #[test]
    fn confirmed_transactions_are_taken_once() {
        let registry = Registry::new("r", 7).unwrap();
        let backend = DeciderBackend {
            pid: 1,
            start_us: 2,
        };
        let held = registry.begin("s", backend).unwrap();
        registry.confirm("d", held.gid().clone());
        assert!(registry.take_confirmed("d", "other").is_empty());
        assert_eq!(registry.take_confirmed("d", "s").len(), 1);
        assert!(registry.take_confirmed("d", "s").is_empty());
        assert!(Registry::new("a_b", 1).is_err());
    }
}
