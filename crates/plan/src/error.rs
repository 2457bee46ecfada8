//! Why a statement has no plan.

use std::borrow::Cow;

use pg::{Diagnose, Diagnostic, Fault, Retry, SqlState};

use crate::Unsupported;

/// Why a statement has no plan.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// It is refused; see the id.
    #[error("{0}")]
    Unsupported(Box<Unsupported>),
    /// It names a relation that the catalog does not have. A newer catalog may have it.
    #[error("relation \"{name}\" does not exist")]
    UndefinedTable {
        /// As written.
        name: String,
        /// Character, from 1.
        position: Option<u32>,
    },
    /// It calls a function that the catalog does not have. A newer catalog may have it.
    #[error("function {name} does not exist")]
    UndefinedFunction {
        /// As written.
        name: String,
        /// Character, from 1.
        position: Option<u32>,
    },
    /// What PostgreSQL itself would say.
    #[error("{}", .0.message)]
    Postgres(Box<Diagnostic>),
}

// === impl PlanError ===

impl From<Unsupported> for PlanError {
    fn from(refusal: Unsupported) -> Self {
        Self::Unsupported(Box::new(refusal))
    }
}

impl PlanError {
    /// The character (from 1) that it is about.
    #[must_use]
    pub fn position(&self) -> Option<u32> {
        match self {
            Self::Unsupported(_) => None,
            Self::UndefinedTable { position, .. } | Self::UndefinedFunction { position, .. } => {
                *position
            }
            Self::Postgres(diagnostic) => diagnostic.position,
        }
    }
}

impl Diagnose for PlanError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Unsupported(_) => SqlState::FEATURE_NOT_SUPPORTED,
            Self::UndefinedTable { .. } => SqlState::UNDEFINED_TABLE,
            Self::UndefinedFunction { .. } => SqlState::UNDEFINED_FUNCTION,
            Self::Postgres(diagnostic) => diagnostic.code,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Unsupported(_)
            | Self::UndefinedTable { .. }
            | Self::UndefinedFunction { .. }
            | Self::Postgres(_) => Fault::Client,
        }
    }

    fn retry(&self) -> Retry {
        match self {
            Self::UndefinedTable { .. } | Self::UndefinedFunction { .. } => Retry::FreshSnapshot,
            Self::Unsupported(_) | Self::Postgres(_) => Retry::Never,
        }
    }

    fn detail(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unsupported(refusal) => Some(refusal.detail().into()),
            Self::UndefinedTable { .. } | Self::UndefinedFunction { .. } => None,
            Self::Postgres(diagnostic) => diagnostic.detail.clone().map(Cow::Owned),
        }
    }

    fn hint(&self) -> Option<Cow<'static, str>> {
        match self {
            Self::Unsupported(refusal) => Some(refusal.hint().into()),
            Self::UndefinedTable { .. } => None,
            Self::UndefinedFunction { .. } => Some(
                "No function matches the given name and argument types. You might need to add explicit type casts."
                    .into(),
            ),
            Self::Postgres(diagnostic) => diagnostic.hint.clone().map(Cow::Owned),
        }
    }

    fn to_diagnostic(&self) -> Diagnostic {
        if let Self::Postgres(diagnostic) = self {
            return (**diagnostic).clone();
        }
        let mut shown = Diagnostic::error(self.sqlstate(), self.to_string());
        shown.detail = Diagnose::detail(self).map(Cow::into_owned);
        shown.hint = Diagnose::hint(self).map(Cow::into_owned);
        shown.position = self.position();
        shown
    }
}
