//! Which prepared statements a backend holds.

use std::collections::HashMap;
use std::fmt;

/// A prepared statement's number, the same on every backend of the process. Its name on the wire is its `Display`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StatementId(pub u64);

/// The statements that one backend holds, bounded; the least recently used one goes first.
#[derive(Debug)]
pub struct Prepared {
    used_at: HashMap<StatementId, u64>,
    clock: u64,
    capacity: usize,
}

impl fmt::Display for StatementId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "_kintsugi_{}", self.0)
    }
}

// === impl Prepared ===

impl Prepared {
    /// Room for `capacity` statements, at least one.
    #[must_use]
    pub fn new(capacity: usize) -> Self {
        Self {
            used_at: HashMap::new(),
            clock: 0,
            capacity: capacity.max(1),
        }
    }

    /// Whether the backend holds it; if so it counts as used now.
    pub fn touch(&mut self, id: StatementId) -> bool {
        self.clock += 1;
        match self.used_at.get_mut(&id) {
            Some(used_at) => {
                *used_at = self.clock;
                true
            }
            None => false,
        }
    }

    /// Notes that the backend holds it now. The statement that had to make room is returned: the caller sends
    /// `Close` for it.
    pub fn insert(&mut self, id: StatementId) -> Option<StatementId> {
        let evicted = (self.used_at.len() >= self.capacity && !self.used_at.contains_key(&id))
            .then(|| {
                self.used_at
                    .iter()
                    .min_by_key(|(_, used_at)| **used_at)
                    .map(|(id, _)| *id)
            })
            .flatten();
        if let Some(evicted) = evicted {
            self.used_at.remove(&evicted);
        }
        self.clock += 1;
        self.used_at.insert(id, self.clock);
        evicted
    }

    /// Notes that the backend doesn't hold it, because its `Parse` failed or it was closed.
    pub fn remove(&mut self, id: StatementId) -> bool {
        self.used_at.remove(&id).is_some()
    }

    /// Notes that the backend holds none (`DISCARD ALL`, `DEALLOCATE ALL`).
    pub fn clear(&mut self) {
        self.used_at.clear();
    }

    /// How many it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.used_at.len()
    }

    /// It holds none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.used_at.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_one_makes_room() {
        let mut prepared = Prepared::new(2);
        assert_eq!(prepared.insert(StatementId(1)), None);
        assert_eq!(prepared.insert(StatementId(2)), None);
        assert!(prepared.touch(StatementId(1)));
        assert_eq!(prepared.insert(StatementId(3)), Some(StatementId(2)));
        assert!(!prepared.touch(StatementId(2)));
        assert_eq!(prepared.insert(StatementId(3)), None);
        assert_eq!(prepared.len(), 2);
        assert!(prepared.remove(StatementId(3)));
        prepared.clear();
        assert!(prepared.is_empty());
    }
}
