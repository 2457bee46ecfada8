//! A store that ends with its process: for tests, and for a router without a file.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use crate::{NewRevision, Records, Revision, RevisionSummary, Router, StoreError};

/// A store in memory.
#[derive(Debug, Default)]
pub struct Memory {
    content: Mutex<Content>,
}

#[derive(Debug, Default)]
struct Content {
    revisions: Vec<Revision>,
    routers: BTreeMap<u64, Router>,
    last_epoch: u64,
}

// === impl Memory ===

impl Memory {
    /// Every operation leaves the content whole, so a panic elsewhere does not spoil it.
    fn lock(&self) -> MutexGuard<'_, Content> {
        self.content.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Records for Memory {
    fn current(&self) -> Result<Option<Revision>, StoreError> {
        Ok(self.lock().revisions.last().cloned())
    }

    fn current_number(&self) -> Result<u64, StoreError> {
        Ok(self.lock().number())
    }

    fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        let content = self.lock();
        Ok(content
            .revisions
            .iter()
            .find(|revision| revision.number == number)
            .cloned())
    }

    fn history(&self) -> Result<Vec<RevisionSummary>, StoreError> {
        Ok(self
            .lock()
            .revisions
            .iter()
            .rev()
            .map(Revision::summary)
            .collect())
    }

    fn put(
        &self,
        expected: u64,
        new: &NewRevision,
        at: SystemTime,
    ) -> Result<Revision, StoreError> {
        let mut content = self.lock();
        let current = content.number();
        if current != expected {
            return Err(StoreError::Conflict { expected, current });
        }
        let revision = Revision {
            number: current + 1,
            document: new.document.to_json(),
            author: new.author.clone(),
            comment: new.comment.clone(),
            at,
        };
        content.revisions.push(revision.clone());
        Ok(revision)
    }

    fn register_router(&self, name: &str, lease_until: SystemTime) -> Result<u64, StoreError> {
        let mut content = self.lock();
        content.last_epoch += 1;
        let epoch = content.last_epoch;
        let router = Router {
            epoch,
            name: name.to_owned(),
            lease_until,
            acknowledged: 0,
        };
        content.routers.insert(epoch, router);
        Ok(epoch)
    }

    fn renew(&self, epoch: u64, lease_until: SystemTime) -> Result<(), StoreError> {
        self.lock().router(epoch)?.lease_until = lease_until;
        Ok(())
    }

    fn remove_router(&self, epoch: u64) -> Result<(), StoreError> {
        self.lock().routers.remove(&epoch);
        Ok(())
    }

    fn routers(&self) -> Result<Vec<Router>, StoreError> {
        Ok(self.lock().routers.values().cloned().collect())
    }

    fn acknowledge(&self, epoch: u64, revision: u64) -> Result<(), StoreError> {
        let mut content = self.lock();
        let router = content.router(epoch)?;
        router.acknowledged = router.acknowledged.max(revision);
        Ok(())
    }
}

// === impl Content ===

impl Content {
    fn number(&self) -> u64 {
        self.revisions.last().map_or(0, |revision| revision.number)
    }

    fn router(&mut self, epoch: u64) -> Result<&mut Router, StoreError> {
        self.routers
            .get_mut(&epoch)
            .ok_or(StoreError::UnknownRouter { epoch })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_passes_the_suite() {
        crate::conformance::check(&|| Box::new(Memory::default()));
    }
}
