//! What can go wrong between the router and a shard.

use std::borrow::Cow;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use pg::{Diagnose, Diagnostic, Fault, Retry, Severity, SqlState};

/// A backend could not be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot connect to shard {shard}")]
pub struct ConnectError {
    /// Uid of the shard.
    pub shard: Arc<str>,
    /// Why.
    #[source]
    pub source: net::ConnectError,
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
    /// The router has not looked yet whether the shard can be served.
    #[error("shard {shard} was not looked at yet")]
    Held {
        /// Uid of the shard.
        shard: Arc<str>,
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
        use net::ConnectError as Source;
        match &self.source {
            Source::Dial { .. }
            | Source::Timeout { .. }
            | Source::Exchange { .. }
            | Source::Unexpected { .. } => true,
            Source::PasswordMissing { .. } | Source::Method { .. } | Source::Unproven { .. } => {
                false
            }
            Source::Refused { shown, .. } => {
                matches!(shown.code.class(), "57" | "53" | "58" | "XX")
            }
        }
    }

    /// The server is well but has no more room.
    pub(crate) fn is_full(&self) -> bool {
        let refusal = self.source.refusal();
        refusal.is_some_and(|shown| shown.code == SqlState::TOO_MANY_CONNECTIONS)
    }
}

impl Diagnose for ConnectError {
    fn sqlstate(&self) -> SqlState {
        self.source.sqlstate()
    }

    fn fault(&self) -> Fault {
        self.source.fault()
    }

    fn retry(&self) -> Retry {
        self.source.retry()
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        Some(stdx::Chain(&self.source).to_string().into())
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        if self.is_full() {
            return Some(
                "Raise max_connections on the shard, or lower the router's limit of backends per shard.".into(),
            );
        }
        let of_source = self.source.hint();
        of_source.or_else(|| {
            self.concerns_shard().then(|| {
                "Statements that need other shards only still work. The router keeps trying.".into()
            })
        })
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
            Self::Held { .. } => SqlState::CONNECTION_FAILURE,
            Self::Exhausted { .. } => SqlState::TOO_MANY_CONNECTIONS,
            Self::UnknownShard { .. } => SqlState::INTERNAL_ERROR,
            Self::ShuttingDown => SqlState::ADMIN_SHUTDOWN,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Connect(source) | Self::Down { source, .. } => source.fault(),
            Self::Held { .. } => Fault::Network,
            Self::Exhausted { .. } | Self::ShuttingDown => Fault::Overload,
            Self::UnknownShard { .. } => Fault::Router,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Connect(source) | Self::Down { source, .. } => source.retry(),
            Self::Held { .. } | Self::Exhausted { .. } => Retry::SameSnapshot,
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
                let why = stdx::Chain(&source.source);
                Some(format!("{why}; next attempt in {} ms", retry_in.as_millis()).into())
            }
            Self::Held { .. }
            | Self::Exhausted { .. }
            | Self::UnknownShard { .. }
            | Self::ShuttingDown => None,
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
            Self::Held { .. } => Some(
                "It was down when the router started; it is looked at as soon as it is back."
                    .into(),
            ),
            Self::UnknownShard { .. } | Self::ShuttingDown => None,
        }
    }
}
