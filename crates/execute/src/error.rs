//! What can go wrong while a statement runs.

use std::borrow::Cow;

use pg::{Diagnose, Diagnostic, Fault, Retry, SqlState};

use crate::pump::PumpError;

/// A statement could not be run to its end.
#[derive(Debug, thiserror::Error)]
pub enum ExecuteError {
    /// No backend could be leased.
    #[error(transparent)]
    Lease(#[from] pool::LeaseError),
    /// A backend failed, or PostgreSQL said no to a statement of the router's own.
    #[error(transparent)]
    Backend(#[from] pool::BackendError),
    /// The answer of a backend could not be copied.
    #[error(transparent)]
    Pump(#[from] PumpError),
    /// The client cancelled while it waited for a backend.
    #[error("canceling statement due to user request")]
    Cancelled,
    /// A shard's part of the transaction was lost.
    #[error("the transaction lost its connection to a shard and can only be rolled back")]
    Lost,
    /// The transaction was not committed, or isn't known to be.
    #[error(transparent)]
    Commit(#[from] crate::commit::CommitError),
    /// The statement can't be planned.
    #[error(transparent)]
    Plan(#[from] plan::PlanError),
    /// The statement has no place to go.
    #[error(transparent)]
    Evaluate(#[from] plan::EvaluateError),
    /// PostgreSQL's own error, or one that it would raise.
    #[error("{}", .0.message)]
    Raised(Box<Diagnostic>),
    /// The statement needs a second shard in a transaction whose isolation level would need one snapshot over both.
    #[error("a transaction at isolation level {level} cannot use a second shard")]
    Isolation {
        /// The level.
        level: String,
        /// The second shard.
        shard: String,
    },
}

impl From<Diagnostic> for ExecuteError {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Raised(Box::new(diagnostic))
    }
}

impl ExecuteError {
    /// The client has gone: there is nobody to tell.
    #[must_use]
    pub fn is_client_gone(&self) -> bool {
        matches!(self, Self::Pump(PumpError::ClientGone))
    }
}

impl Diagnose for ExecuteError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Lease(error) => error.sqlstate(),
            Self::Backend(error) => error.sqlstate(),
            Self::Pump(error) => error.sqlstate(),
            Self::Raised(diagnostic) => diagnostic.code,
            Self::Isolation { .. } => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Cancelled => SqlState::QUERY_CANCELED,
            Self::Lost => SqlState::IN_FAILED_SQL_TRANSACTION,
            Self::Commit(error) => error.sqlstate(),
            Self::Plan(error) => error.sqlstate(),
            Self::Evaluate(error) => error.sqlstate(),
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Lease(error) => error.fault(),
            Self::Backend(error) => error.fault(),
            Self::Pump(error) => error.fault(),
            Self::Evaluate(error) => error.fault(),
            Self::Commit(error) => error.fault(),
            Self::Plan(error) => error.fault(),
            Self::Lost => Fault::Backend,
            Self::Raised(_) | Self::Isolation { .. } | Self::Cancelled => Fault::Client,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::Lease(error) => error.retry(),
            Self::Backend(error) => error.retry(),
            Self::Evaluate(error) => error.retry(),
            Self::Commit(error) => error.retry(),
            Self::Plan(error) => error.retry(),
            Self::Pump(_)
            | Self::Raised(_)
            | Self::Isolation { .. }
            | Self::Cancelled
            | Self::Lost => Retry::Never,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Lease(error) => error.detail(),
            Self::Backend(error) => error.detail(),
            Self::Pump(error) => error.detail(),
            Self::Evaluate(error) => error.detail(),
            Self::Commit(error) => error.detail(),
            Self::Plan(error) => error.detail(),
            Self::Cancelled | Self::Lost => None,
            Self::Raised(diagnostic) => diagnostic.detail.clone().map(Cow::from),
            Self::Isolation { shard, .. } => Some(
                format!(
                    "kintsugi/isolation-over-shards: the statement needs shard {shard} as well, and no snapshot spans shards"
                )
                .into(),
            ),
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Lease(error) => error.hint(),
            Self::Backend(error) => error.hint(),
            Self::Evaluate(error) => error.hint(),
            Self::Commit(error) => error.hint(),
            Self::Plan(error) => error.hint(),
            Self::Pump(_) | Self::Cancelled | Self::Lost => None,
            Self::Raised(diagnostic) => diagnostic.hint.clone().map(Cow::from),
            Self::Isolation { .. } => Some(
                "Use READ COMMITTED, or keep the transaction on one shard by naming its key."
                    .into(),
            ),
        }
    }

    fn to_diagnostic(&self) -> Diagnostic {
        match self {
            Self::Raised(diagnostic)
            | Self::Pump(PumpError::Own(diagnostic) | PumpError::Number(diagnostic)) => {
                (**diagnostic).clone()
            }
            Self::Backend(error) => error.to_diagnostic(),
            Self::Evaluate(error) => error.to_diagnostic(),
            Self::Commit(error) => error.to_diagnostic(),
            Self::Plan(error) => error.to_diagnostic(),
            Self::Lease(_)
            | Self::Pump(_)
            | Self::Isolation { .. }
            | Self::Cancelled
            | Self::Lost => {
                let mut shown = Diagnostic::error(self.sqlstate(), self.to_string());
                shown.detail = self.detail().map(Cow::into_owned);
                shown.hint = self.hint().map(Cow::into_owned);
                shown
            }
        }
    }
}

impl Diagnose for PumpError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::ClientGone | Self::BackendGone { .. } => SqlState::CONNECTION_FAILURE,
            Self::Own(diagnostic) | Self::Number(diagnostic) => diagnostic.code,
            Self::Unexpected { .. } => SqlState::PROTOCOL_VIOLATION,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::ClientGone => Fault::Network,
            Self::BackendGone { .. } | Self::Own(_) | Self::Unexpected { .. } => Fault::Backend,
            Self::Number(_) => Fault::Client,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::BackendGone { source, .. } => Some(source.to_string().into()),
            Self::ClientGone | Self::Own(_) | Self::Number(_) | Self::Unexpected { .. } => None,
        }
    }
}
