//! What goes wrong on a connection.

use std::io;

use pg::{Diagnose, Fault, Severity, SqlState};

/// A connection can't be read or written.
#[derive(Debug, thiserror::Error)]
pub enum ConnectionError {
    /// Reading failed.
    #[error("could not receive data")]
    Read(#[source] io::Error),
    /// Writing failed.
    #[error("could not send data")]
    Write(#[source] io::Error),
    /// The peer closed in the middle of a message.
    #[error("unexpected end of the connection")]
    Truncated,
    /// What the peer sent is no message.
    #[error(transparent)]
    Decode(wire::DecodeError),
}

/// Relaying from one connection to another failed.
#[derive(Debug, thiserror::Error)]
pub enum RelayError {
    /// The connection read from failed.
    #[error("the source of a relayed message failed")]
    Source(#[source] io::Error),
    /// The connection written to failed.
    #[error("the target of a relayed message failed")]
    Target(#[source] io::Error),
}

impl Diagnose for ConnectionError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Read(_) | Self::Write(_) | Self::Truncated => SqlState::CONNECTION_FAILURE,
            Self::Decode(error) => error.sqlstate(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Read(_) | Self::Write(_) | Self::Truncated => Fault::Network,
            Self::Decode(error) => error.fault(),
        }
    }

    fn severity(&self) -> Severity {
        match self {
            Self::Read(_) | Self::Write(_) | Self::Truncated => Severity::Fatal,
            Self::Decode(error) => error.severity(),
        }
    }
}

impl Diagnose for RelayError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Source(_) | Self::Target(_) => SqlState::CONNECTION_FAILURE,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Source(_) | Self::Target(_) => Fault::Network,
        }
    }
}
