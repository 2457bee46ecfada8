//! What can go wrong between the router and a shard.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use pg::{Diagnose, Diagnostic, Fault, Retry, Severity, SqlState};

/// A backend could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// The network or the kernel said no.
    #[error("cannot reach shard {shard} at {endpoint}")]
    Unreachable {
        /// Uid of the shard.
        shard: Arc<str>,
        /// Its address.
        endpoint: String,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Nothing came back in time.
    #[error("shard {shard} at {endpoint} did not answer within {} ms", waited.as_millis())]
    Timeout {
        /// Uid of the shard.
        shard: Arc<str>,
        /// Its address.
        endpoint: String,
        /// The limit.
        waited: Duration,
    },
    /// PostgreSQL refused the login, or is starting, stopping or full.
    #[error("shard {shard} refused a connection: {}", diagnostic.message)]
    Refused {
        /// Uid of the shard.
        shard: Arc<str>,
        /// What it said.
        diagnostic: Box<Diagnostic>,
    },
    /// The shard asked for a way of authentication that the router can't follow.
    #[error("cannot log in at shard {shard}: {reason}")]
    Authentication {
        /// Uid of the shard.
        shard: Arc<str>,
        /// Why.
        reason: String,
    },
    /// It doesn't speak as PostgreSQL does.
    #[error("shard {shard} broke the protocol at login: {reason}")]
    Protocol {
        /// Uid of the shard.
        shard: Arc<str>,
        /// How.
        reason: &'static str,
    },
}

/// An open backend failed.
#[derive(Debug, thiserror::Error)]
pub enum BackendError {
    /// PostgreSQL answered with an error. It is shown as it is, with the shard added to its context.
    #[error("shard {shard}: {}", diagnostic.message)]
    Server {
        /// Uid of the shard.
        shard: Arc<str>,
        /// What it said.
        diagnostic: Box<Diagnostic>,
    },
    /// The connection broke.
    #[error("connection to shard {shard} was lost")]
    Lost {
        /// Uid of the shard.
        shard: Arc<str>,
        /// How.
        #[source]
        source: io::Error,
    },
    /// It doesn't speak as PostgreSQL does.
    #[error("shard {shard} broke the protocol: {reason}")]
    Protocol {
        /// Uid of the shard.
        shard: Arc<str>,
        /// How.
        reason: &'static str,
    },
}

/// No backend could be leased.
#[derive(Clone, Debug, thiserror::Error)]
pub enum LeaseError {
    /// Opening one failed.
    #[error(transparent)]
    Connect(Arc<ConnectError>),
    /// Opening one failed a moment ago, and the next attempt is not due yet.
    #[error("shard {shard} is down")]
    Down {
        /// Uid of the shard.
        shard: Arc<str>,
        /// When the next attempt is due.
        retry_in: Duration,
        /// Why the last attempt failed.
        #[source]
        source: Arc<ConnectError>,
    },
    /// All are in use and none became free in time.
    #[error("no free backend on shard {shard} within {} ms: all {limit} are in use", waited.as_millis())]
    Exhausted {
        /// Uid of the shard.
        shard: Arc<str>,
        /// Most backends.
        limit: usize,
        /// How long the request waited.
        waited: Duration,
    },
    /// The pool has no such shard.
    #[error("the pool knows no {shard}")]
    UnknownShard {
        /// The number.
        shard: topology::ShardId,
    },
    /// The router is shutting down.
    #[error("the router is shutting down")]
    ShuttingDown,
}

// === impl ConnectError ===

impl ConnectError {
    /// It says something about the whole shard, not about one user or database.
    pub(crate) fn concerns_shard(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Protocol { .. } => true,
            Self::Authentication { .. } => false,
            Self::Refused { diagnostic, .. } => {
                matches!(diagnostic.code.class(), "57" | "53" | "58" | "XX")
            }
        }
    }

    /// The server is well but has no more room.
    pub(crate) fn is_full(&self) -> bool {
        matches!(self, Self::Refused { diagnostic, .. } if diagnostic.code == SqlState::TOO_MANY_CONNECTIONS)
    }
}

impl Diagnose for ConnectError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } | Self::Protocol { .. } => {
                SqlState::SQLCLIENT_UNABLE_TO_ESTABLISH_SQLCONNECTION
            }
            // Class 28 would tell the client that its own password is wrong.
            Self::Refused { diagnostic, .. } if diagnostic.code.class() == "28" => {
                SqlState::SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION
            }
            Self::Refused { diagnostic, .. } => diagnostic.code,
            Self::Authentication { .. } => {
                SqlState::SQLSERVER_REJECTED_ESTABLISHMENT_OF_SQLCONNECTION
            }
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => Fault::Network,
            Self::Refused { .. } | Self::Protocol { .. } | Self::Authentication { .. } => {
                Fault::Backend
            }
        }
    }

    fn retry(&self) -> Retry {
        Retry::SameSnapshot
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unreachable { source, .. } => Some(source.to_string().into()),
            Self::Refused { diagnostic, .. } => diagnostic.detail.clone().map(Cow::from),
            Self::Timeout { .. } | Self::Authentication { .. } | Self::Protocol { .. } => None,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unreachable { .. } | Self::Timeout { .. } => {
                Some("Statements that need other shards only still work. The router keeps trying.".into())
            }
            Self::Authentication { .. } => {
                Some("Check the router's credentials for this shard, and the shard's pg_hba.conf.".into())
            }
            Self::Refused { diagnostic, .. } if diagnostic.code == SqlState::TOO_MANY_CONNECTIONS => {
                Some("Raise max_connections on the shard, or lower the router's limit of backends per shard.".into())
            }
            Self::Refused { .. } | Self::Protocol { .. } => None,
        }
    }
}

// === impl BackendError ===

impl BackendError {
    /// The connection can't be used any more.
    #[must_use]
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::Server { diagnostic, .. } => diagnostic.severity >= Severity::Fatal,
            Self::Lost { .. } | Self::Protocol { .. } => true,
        }
    }
}

impl Diagnose for BackendError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Server { diagnostic, .. } => diagnostic.code,
            Self::Lost { .. } => SqlState::CONNECTION_FAILURE,
            Self::Protocol { .. } => SqlState::PROTOCOL_VIOLATION,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Server { .. } => Fault::Client,
            Self::Lost { .. } => Fault::Network,
            Self::Protocol { .. } => Fault::Backend,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Lost { source, .. } => Some(source.to_string().into()),
            Self::Server { .. } | Self::Protocol { .. } => None,
        }
    }

    fn to_diagnostic(&self) -> Diagnostic {
        match self {
            Self::Server { shard, diagnostic } => {
                let mut shown = (**diagnostic).clone();
                let context = shown.extra_mut().context.take();
                let place = format!("shard {shard}");
                shown.extra_mut().context = Some(
                    context.map_or_else(|| place.clone(), |context| format!("{context}\n{place}")),
                );
                // One shard's end is not the end of the client's session.
                shown.severity = shown.severity.min(Severity::Error);
                shown
            }
            Self::Lost { .. } | Self::Protocol { .. } => {
                let mut shown = Diagnostic::error(self.sqlstate(), self.to_string());
                shown.detail = self.detail().map(Cow::into_owned);
                shown
            }
        }
    }
}

// === impl LeaseError ===

impl Diagnose for LeaseError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Connect(source) | Self::Down { source, .. } => source.sqlstate(),
            Self::Exhausted { .. } => SqlState::TOO_MANY_CONNECTIONS,
            Self::UnknownShard { .. } => SqlState::INTERNAL_ERROR,
            Self::ShuttingDown => SqlState::ADMIN_SHUTDOWN,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Connect(source) | Self::Down { source, .. } => source.fault(),
            Self::Exhausted { .. } | Self::ShuttingDown => Fault::Overload,
            Self::UnknownShard { .. } => Fault::Router,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Connect(source) | Self::Down { source, .. } => source.retry(),
            Self::Exhausted { .. } => Retry::SameSnapshot,
            Self::UnknownShard { .. } => Retry::FreshSnapshot,
            Self::ShuttingDown => Retry::Never,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Connect(source) => source.detail(),
            Self::Down {
                source, retry_in, ..
            } => {
                let why = source
                    .detail()
                    .map_or_else(String::new, |detail| format!(": {detail}"));
                Some(format!("{source}{why}; next attempt in {} ms", retry_in.as_millis()).into())
            }
            Self::Exhausted { .. } | Self::UnknownShard { .. } | Self::ShuttingDown => None,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Connect(source) | Self::Down { source, .. } => source.hint(),
            Self::Exhausted { .. } => Some(
                "Keep transactions short, or raise the router's limit of backends per shard \
                 (and max_connections on the shard)."
                    .into(),
            ),
            Self::UnknownShard { .. } | Self::ShuttingDown => None,
        }
    }
}
