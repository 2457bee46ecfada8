//! What can go wrong with a store.

use std::borrow::Cow;
use std::path::PathBuf;

use pg::{Diagnose, Fault, Retry, SqlState};

/// An operation on a store failed.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// Another revision is the newest than the one that was to be replaced.
    #[error("revision {expected} was to be replaced, but revision {current} is the newest")]
    Conflict {
        /// The number that the caller saw.
        expected: u64,
        /// The newest number.
        current: u64,
    },
    /// The router was removed, or never registered.
    #[error("no router is registered under epoch {epoch}")]
    UnknownRouter {
        /// Its epoch.
        epoch: u64,
    },
    /// A stored document can't be read by this release.
    #[error("the document of revision {number} can't be read")]
    Document {
        /// The revision.
        number: u64,
        /// Why.
        mistakes: Vec<topology::Mistake>,
    },
    /// The file is no store of ours.
    #[error("{} is not a store of Kintsugi", path.display())]
    Foreign {
        /// The file.
        path: PathBuf,
    },
    /// The file is a store that a newer release wrote.
    #[error("{} has format {found}, this release knows formats up to {known}", path.display())]
    TooNew {
        /// The file.
        path: PathBuf,
        /// Its format.
        found: i64,
        /// The newest format known.
        known: i64,
    },
    /// The file is damaged.
    #[error("{} is damaged: {report}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What `SQLite` says.
        report: String,
    },
    /// The file could not be opened.
    #[error("the store {} could not be opened", path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// `SQLite` could not carry out an operation.
    #[error("the store could not {operation}")]
    Sqlite {
        /// What was attempted.
        operation: &'static str,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The runtime ended while the store was at work.
    #[error("the store was interrupted")]
    Interrupted {
        /// Why.
        #[source]
        source: tokio::task::JoinError,
    },
}

impl Diagnose for StoreError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Conflict { .. } => SqlState::T_R_SERIALIZATION_FAILURE,
            Self::UnknownRouter { .. } | Self::Interrupted { .. } => SqlState::ADMIN_SHUTDOWN,
            Self::Document { .. } | Self::Foreign { .. } | Self::TooNew { .. } => {
                SqlState::CONFIG_FILE_ERROR
            }
            Self::Damaged { .. } => SqlState::DATA_CORRUPTED,
            Self::Open { .. } | Self::Sqlite { .. } => SqlState::IO_ERROR,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Conflict { .. } => Fault::Client,
            Self::Document { .. } => Fault::Topology,
            Self::UnknownRouter { .. }
            | Self::Interrupted { .. }
            | Self::Foreign { .. }
            | Self::TooNew { .. }
            | Self::Damaged { .. }
            | Self::Open { .. }
            | Self::Sqlite { .. } => Fault::Router,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Conflict { .. }
            | Self::UnknownRouter { .. }
            | Self::Interrupted { .. }
            | Self::Document { .. }
            | Self::Foreign { .. }
            | Self::TooNew { .. }
            | Self::Damaged { .. }
            | Self::Open { .. }
            | Self::Sqlite { .. } => Retry::Never,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Conflict { .. } => {
                Some("look at what changed with `kintsugi topology diff`, then apply again".into())
            }
            Self::Document { .. } | Self::TooNew { .. } => {
                Some("use the release that wrote it, or a newer one".into())
            }
            Self::Foreign { .. } => Some("name another file as the store".into()),
            Self::Damaged { .. } => Some("restore the file from a backup".into()),
            Self::UnknownRouter { .. }
            | Self::Interrupted { .. }
            | Self::Open { .. }
            | Self::Sqlite { .. } => None,
        }
    }
}
