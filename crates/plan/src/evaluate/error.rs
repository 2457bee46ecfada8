//! Why a target has no shards.

use std::borrow::Cow;

use pg::{Diagnose, Fault, SqlState};

use crate::{Unsupported, UnsupportedId};

/// Why a target has no shards.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EvaluateError {
    /// The routes name different shards.
    #[error("{0}")]
    Refused(Box<Unsupported>),
    /// A key that is to be stored is in no range of its group.
    #[error("no key range of shard group \"{group}\" holds the key ({key})")]
    NoRange {
        /// The key.
        key: String,
        /// The group.
        group: String,
    },
    /// A key that is to be stored is NULL.
    #[error("null value in shard key \"{key}\" violates not-null constraint")]
    NullKey {
        /// The key column or expression.
        key: String,
    },
}

// === impl EvaluateError ===

impl EvaluateError {
    pub(super) fn key_unknown() -> Self {
        Self::Refused(Box::new(Unsupported::new(UnsupportedId::KeyUnknown)))
    }
}

impl Diagnose for EvaluateError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Refused(_) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::NoRange { .. } => SqlState::CHECK_VIOLATION,
            Self::NullKey { .. } => SqlState::NOT_NULL_VIOLATION,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Refused(_) | Self::NullKey { .. } => Fault::Client,
            Self::NoRange { .. } => Fault::Topology,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Refused(refusal) => Some(refusal.detail().into()),
            Self::NoRange { .. } | Self::NullKey { .. } => None,
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Refused(refusal) => Some(refusal.hint().into()),
            Self::NoRange { .. } => Some("Add a key range for it to the topology.".into()),
            Self::NullKey { .. } => {
                Some("Every row of a sharded table needs its shard key.".into())
            }
        }
    }
}
