//! Why a shard can't be reached.

use std::borrow::Cow;
use std::io;
use std::time::Duration;

use pg::{Diagnose, Diagnostic, Fault, Retry, SqlState};

use crate::{Address, ConnectionError};

/// A connection to a shard can't be made.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// Nobody answers.
    #[error("could not connect to the shard at {address}")]
    Dial {
        /// Where.
        address: Address,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// It took too long.
    #[error("connecting to the shard at {address} took longer than {after:?}")]
    Timeout {
        /// Where.
        address: Address,
        /// The time given.
        after: Duration,
    },
    /// The connection failed on the way.
    #[error("the shard at {address} broke off while the connection was made")]
    Exchange {
        /// Where.
        address: Address,
        /// Why.
        #[source]
        source: ConnectionError,
    },
    /// The shard says no.
    #[error("the shard at {address} refused the connection: {shown}")]
    Refused {
        /// Where.
        address: Address,
        /// What the shard said.
        shown: Box<Diagnostic>,
    },
    /// The shard asks for a password and there is none.
    #[error("the shard at {address} asks for a password, and none is configured for it")]
    PasswordMissing {
        /// Where.
        address: Address,
    },
    /// The shard asks for a method that isn't spoken here.
    #[error(
        "the shard at {address} asks for authentication method {method}, which is not supported"
    )]
    Method {
        /// Where.
        address: Address,
        /// The method's name or number.
        method: String,
    },
    /// The shard's part of SCRAM is wrong: it may not be the server that it should be.
    #[error("the shard at {address} did not prove that it knows the password")]
    Unproven {
        /// Where.
        address: Address,
        /// What was wrong.
        #[source]
        source: io::Error,
    },
    /// The shard sent a message that has no place in a start-up.
    #[error("the shard at {address} sent message type {tag} during start-up")]
    Unexpected {
        /// Where.
        address: Address,
        /// The message's type.
        tag: u8,
    },
}

impl ConnectError {
    /// What the shard itself said, if it said no.
    #[must_use]
    pub fn refusal(&self) -> Option<&Diagnostic> {
        match self {
            Self::Refused { shown, .. } => Some(shown),
            _ => None,
        }
    }
}

impl Diagnose for ConnectError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Dial { .. } | Self::Timeout { .. } | Self::Exchange { .. } => {
                SqlState::SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION
            }
            // The router's own login is no matter of the client's password.
            Self::Refused { shown, .. } if shown.code.class() != "28" => shown.code,
            Self::Refused { .. }
            | Self::PasswordMissing { .. }
            | Self::Method { .. }
            | Self::Unproven { .. } => SqlState::SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION,
            Self::Unexpected { .. } => SqlState::PROTOCOL_VIOLATION,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Dial { .. } | Self::Timeout { .. } | Self::Exchange { .. } => Fault::Network,
            Self::Refused { .. }
            | Self::PasswordMissing { .. }
            | Self::Method { .. }
            | Self::Unproven { .. }
            | Self::Unexpected { .. } => Fault::Backend,
        }
    }

    /// Nothing was asked of the shard yet, so trying again can't do harm; where it would only fail again
    /// it isn't worth it.
    fn retry(&self) -> Retry {
        match self {
            Self::Dial { .. } | Self::Timeout { .. } | Self::Exchange { .. } => Retry::SameSnapshot,
            Self::Refused { .. }
            | Self::PasswordMissing { .. }
            | Self::Method { .. }
            | Self::Unproven { .. }
            | Self::Unexpected { .. } => Retry::Never,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::PasswordMissing { .. } => Some(Cow::Borrowed(
                "Give the shard's password in the router's configuration.",
            )),
            Self::Method { .. } => Some(Cow::Borrowed(
                "Use scram-sha-256, md5, password or trust in pg_hba.conf.",
            )),
            Self::Dial { .. }
            | Self::Timeout { .. }
            | Self::Exchange { .. }
            | Self::Refused { .. }
            | Self::Unproven { .. }
            | Self::Unexpected { .. } => None,
        }
    }
}
