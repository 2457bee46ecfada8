//! What is refused rather than guessed, in one table. Invariant: an id never changes its meaning; clients and the
//! guide refer to it. The guide's page on supported SQL is made from this table.

use std::fmt;

use pg::{Diagnostic, SqlState};

/// A statement, or a part of one, that is refused before it has any effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsupported {
    /// Which refusal.
    pub id: UnsupportedId,
    /// What it is about: a table, a function, a clause.
    pub subject: Option<String>,
}

/// What a refusal is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Only where several shards are needed; the same on one shard is passed through.
    SeveralShards,
    /// Wherever it goes.
    Always,
}

macro_rules! refusals {
    ($($variant:ident $reach:ident $id:literal $what:literal $reason:literal $hint:literal)*) => {
        /// The stable name of a refusal.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum UnsupportedId {
            $(#[doc = concat!("`kintsugi/", $id, "`.")] $variant,)*
        }

        impl UnsupportedId {
            /// Every refusal, in the order of the guide.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The id as clients see it, without its `kintsugi/`.
            #[must_use]
            pub fn id(self) -> &'static str { // tidy: flat match
                match self { $(Self::$variant => $id,)* }
            }

            /// What is refused, as a noun in the singular.
            #[must_use]
            pub fn what(self) -> &'static str { // tidy: flat match
                match self { $(Self::$variant => $what,)* }
            }

            /// Why, as a sentence without its period.
            #[must_use]
            pub fn reason(self) -> &'static str { // tidy: flat match
                match self { $(Self::$variant => $reason,)* }
            }

            /// The way out.
            #[must_use]
            pub fn hint(self) -> &'static str { // tidy: flat match
                match self { $(Self::$variant => $hint,)* }
            }

            /// Where it applies.
            #[must_use]
            pub fn reach(self) -> Reach { // tidy: flat match
                match self { $(Self::$variant => Reach::$reach,)* }
            }
        }
    };
}

mod table;

pub use table::UnsupportedId;

// === impl Unsupported ===

impl Unsupported {
    /// A refusal.
    #[must_use]
    pub fn new(id: UnsupportedId) -> Self {
        Self { id, subject: None }
    }

    /// A refusal that names what it is about.
    #[must_use]
    pub fn about(id: UnsupportedId, subject: impl Into<String>) -> Self {
        Self {
            id,
            subject: Some(subject.into()),
        }
    }

    /// What the client is shown.
    #[must_use]
    pub fn to_diagnostic(&self) -> Diagnostic {
        Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, self.to_string())
            .detail(self.detail())
            .hint(self.hint())
    }

    /// The way out, as a sentence: PostgreSQL's hints are sentences.
    #[must_use]
    pub fn hint(&self) -> String {
        format!("{}.", self.id.hint())
    }

    /// The id and the reason.
    #[must_use]
    pub fn detail(&self) -> String {
        let (id, reason) = (self.id.id(), self.id.reason());
        match &self.subject {
            Some(subject) => format!("kintsugi/{id}: {reason} ({subject})."),
            None => format!("kintsugi/{id}: {reason}."),
        }
    }
}

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = self.id.what();
        match self.id.reach() {
            Reach::SeveralShards => write!(f, "{what} is not supported over several shards"),
            Reach::Always => write!(f, "{what} is not supported"),
        }
    }
}

impl std::error::Error for Unsupported {}

/// The error of a refusal that names what it is about.
pub(crate) fn refuse(id: UnsupportedId, subject: impl Into<String>) -> crate::PlanError {
    Unsupported::about(id, subject).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_distinct_words() {
        let mut ids: Vec<_> = UnsupportedId::ALL.iter().map(|id| id.id()).collect();
        for id in &ids {
            assert!(
                id.chars().all(|c| c.is_ascii_lowercase() || c == '-'),
                "{id}"
            );
        }
        ids.sort_unstable();
        let count = ids.len();
        ids.dedup();
        assert_eq!(ids.len(), count);
    }

    #[test]
    fn texts_are_clauses_without_a_period() {
        for id in UnsupportedId::ALL {
            for text in [id.what(), id.reason(), id.hint()] {
                assert!(!text.is_empty() && !text.ends_with('.'), "{id:?}: {text}");
            }
        }
    }
}
