//! What is stored, and what a place to store it must do. Invariant: numbers of revisions have no gaps and
//! begin at 1; epochs only grow.

use std::fmt;
use std::time::SystemTime;

use crate::StoreError;

/// A topology document that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// Its number, from 1.
    pub number: u64,
    /// The document as JSON text, in its canonical form.
    pub document: String,
    /// Who applied it.
    pub author: String,
    /// Why.
    pub comment: String,
    /// When.
    pub at: SystemTime,
}

/// A revision without its document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevisionSummary {
    /// Its number, from 1.
    pub number: u64,
    /// Who applied it.
    pub author: String,
    /// Why.
    pub comment: String,
    /// When.
    pub at: SystemTime,
}

/// A revision that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRevision {
    /// The document.
    pub document: topology::Document,
    /// Who applies it.
    pub author: String,
    /// Why.
    pub comment: String,
}

/// A router that is registered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Router {
    /// Its epoch; no two routers ever share one.
    pub epoch: u64,
    /// Its name, for people: host and process.
    pub name: String,
    /// When its lease ends unless it is renewed.
    pub lease_until: SystemTime,
    /// The newest revision that it has acknowledged; 0: none.
    pub acknowledged: u64,
}

/// A place to store records. Calls block; whoever has no thread to spare goes through
/// [`Store`](crate::Store).
pub trait Records: fmt::Debug + Send + Sync + 'static {
    /// The newest revision; none in a new store.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn current(&self) -> Result<Option<Revision>, StoreError>;

    /// The number of the newest revision; 0 in a new store.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn current_number(&self) -> Result<u64, StoreError>;

    /// A revision by its number.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError>;

    /// All revisions, newest first.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn history(&self) -> Result<Vec<RevisionSummary>, StoreError>;

    /// Writes a revision if `expected` is the number of the newest one (0: there is none).
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] where it is not; the store fails.
    fn put(&self, expected: u64, new: &NewRevision, at: SystemTime)
    -> Result<Revision, StoreError>;

    /// Registers a router under a new epoch.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn register_router(&self, name: &str, lease_until: SystemTime) -> Result<u64, StoreError>;

    /// Sets the end of a router's lease.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownRouter`]; the store fails.
    fn renew(&self, epoch: u64, lease_until: SystemTime) -> Result<(), StoreError>;

    /// Removes a router; removing one that is gone does nothing.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn remove_router(&self, epoch: u64) -> Result<(), StoreError>;

    /// All routers, in the order of their epochs.
    ///
    /// # Errors
    ///
    /// The store fails.
    fn routers(&self) -> Result<Vec<Router>, StoreError>;

    /// Raises what a router has acknowledged; a smaller number changes nothing.
    ///
    /// # Errors
    ///
    /// [`StoreError::UnknownRouter`]; the store fails.
    fn acknowledge(&self, epoch: u64, revision: u64) -> Result<(), StoreError>;
}

// === impl Revision ===

impl Revision {
    /// Reads the document again.
    ///
    /// # Errors
    ///
    /// It was written by a release whose documents have keys that this one does not know.
    pub fn read(&self) -> Result<topology::ReadDocument, StoreError> {
        topology::Document::read(&self.document).map_err(|mistakes| StoreError::Document {
            number: self.number,
            mistakes,
        })
    }

    /// The revision without its document.
    #[must_use]
    pub fn summary(&self) -> RevisionSummary {
        RevisionSummary {
            number: self.number,
            author: self.author.clone(),
            comment: self.comment.clone(),
            at: self.at,
        }
    }
}

// === impl Router ===

impl Router {
    /// Whether its lease has ended: it may be dead, or cut off and still serving.
    #[must_use]
    pub fn is_silent(&self, now: SystemTime) -> bool {
        self.lease_until <= now
    }
}
