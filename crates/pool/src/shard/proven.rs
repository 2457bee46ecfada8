//! Which values of settings a shard has accepted before.

use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use parking_lot::Mutex;

use crate::Identity;

/// Most values that are remembered; then it starts anew.
const VALUES_MAX: usize = 10_000;

/// Settings and values that one shard has accepted from one identity, as hashes.
#[derive(Debug, Default)]
pub(crate) struct Proven {
    hashes: Mutex<HashSet<u64>>,
}

impl Proven {
    pub(crate) fn insert(&self, identity: &Identity, name: &str, value: &str) {
        let mut hashes = self.hashes.lock();
        if hashes.len() >= VALUES_MAX {
            hashes.clear();
        }
        hashes.insert(hash(identity, name, value));
    }

    pub(crate) fn contains(&self, identity: &Identity, name: &str, value: &str) -> bool {
        self.hashes.lock().contains(&hash(identity, name, value))
    }

    /// One of them was refused: nothing is believed any more.
    pub(crate) fn clear(&self) {
        self.hashes.lock().clear();
    }
}

fn hash(identity: &Identity, name: &str, value: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (identity, name, value).hash(&mut hasher);
    hasher.finish()
}
