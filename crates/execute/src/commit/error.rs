//! Why a transaction over several shards was not committed, or isn't known to be.

use std::borrow::Cow;

use pg::{Diagnose, Diagnostic, Fault, SqlState};
use pool::BackendError;

use super::gid::{Gid, GidError};
use super::machine::Request;

/// A commit that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CommitError {
    /// Two shards hold what can't be prepared (temporary tables, LISTEN, NOTIFY ...). Everything
    /// was rolled back.
    #[error("shards {} and {} can both not be prepared", shards[0], shards[1])]
    Unpreparable {
        /// Their uids.
        shards: [String; 2],
    },
    /// A shard said no, or was lost before anything was decided. Everything was rolled back.
    #[error("shard {shard} could not {}", attempt(*request))]
    Failed {
        /// Its uid.
        shard: String,
        /// What it was asked.
        request: Request,
        /// What happened.
        #[source]
        failure: Failure,
    },
    /// The connection was lost while the commit was decided, and what was decided could not be
    /// found out in time. Recovery goes on; the client has to look.
    #[error("connection to shard {shard} was lost during COMMIT, and the outcome is not known")]
    Unknown {
        /// Its uid.
        shard: String,
        /// The transaction, when several shards were written.
        gid: Option<Box<Gid>>,
        /// What happened.
        #[source]
        failure: Failure,
    },
}

/// What happened to a request.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// An error of the shard or of its connection.
    #[error(transparent)]
    Backend(BackendError),
    /// The transaction had failed before.
    #[error("the transaction was rolled back")]
    RolledBack,
    /// A resolver had taken the transaction for abandoned, and was first.
    #[error("another router settled the transaction while it was being committed")]
    Overtaken,
    /// The shard did not tell which backend it is.
    #[error("the shard does not tell when its backend started")]
    Unidentified,
    /// The shard's uid can't be part of a transaction's name.
    #[error(transparent)]
    Name(GidError),
}

fn attempt(request: Request) -> &'static str {
    match request {
        Request::Commit => "commit",
        Request::Rollback | Request::RollbackPrepared => "roll back",
        Request::Identify | Request::Prepare => "prepare the transaction",
        Request::Decide | Request::Settle => "commit the decision",
        Request::CommitPrepared | Request::Finish => "finish the commit",
    }
}

impl Failure {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Backend(error) => error.sqlstate(),
            Self::RolledBack => SqlState::TRANSACTION_ROLLBACK,
            Self::Overtaken => SqlState::T_R_SERIALIZATION_FAILURE,
            Self::Unidentified => SqlState::INSUFFICIENT_PRIVILEGE,
            Self::Name(_) => SqlState::FEATURE_NOT_SUPPORTED,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Backend(error) => error.fault(),
            Self::RolledBack => Fault::Client,
            Self::Overtaken | Self::Unidentified => Fault::Backend,
            Self::Name(_) => Fault::Topology,
        }
    }
}

impl Diagnose for CommitError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Unpreparable { .. } => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Failed { failure, .. } => failure.sqlstate(),
            Self::Unknown { .. } => SqlState::TRANSACTION_RESOLUTION_UNKNOWN,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unpreparable { .. } => Fault::Client,
            Self::Failed { failure, .. } => failure.fault(),
            Self::Unknown { .. } => Fault::Network,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unpreparable { .. } => Some(
                "kintsugi/two-unpreparable: a transaction that used temporary tables, LISTEN, NOTIFY \
                 or a cursor WITH HOLD cannot be prepared, and only one shard can do without."
                    .into(),
            ),
            Self::Failed { failure, .. } => Some(failure.to_string().into()),
            Self::Unknown { gid, .. } => {
                gid.as_ref().map(|gid| format!("The transaction is {gid}.").into())
            }
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unpreparable { .. } => {
                Some("Keep such statements in a transaction of one shard.".into())
            }
            Self::Failed { .. } => Some("Nothing of the transaction was kept.".into()),
            Self::Unknown { .. } => Some(
                "It is on all shards or on none. Look whether its rows are there before it is \
                 tried again."
                    .into(),
            ),
        }
    }

    /// PostgreSQL's own error at COMMIT is shown as it is, with the shard as its context.
    fn to_diagnostic(&self) -> Diagnostic {
        if let Self::Failed {
            failure: Failure::Backend(error @ BackendError::Server { .. }),
            ..
        } = self
        {
            return error.to_diagnostic();
        }
        let mut shown = Diagnostic::error(self.sqlstate(), self.to_string());
        shown.detail = self.detail().map(Cow::into_owned);
        shown.hint = self.hint().map(Cow::into_owned);
        shown
    }
}
