//! Why a command could not be carried out, in words for people: what, where, why, and what to do.

use std::error::Error;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use topology::Mistake;

use crate::topology_command::CommandError;

/// The status of a command that was refused: what it was given is wrong, and nothing was changed.
pub const REFUSED: u8 = 1;
/// The status of a command that could not be carried out.
pub const FAILED: u8 = 3;

/// A command could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// No PostgreSQL to run shards with.
    #[error("no PostgreSQL was found to run shards with")]
    Binaries(#[source] cluster::FindError),
    /// A local cluster did not start.
    #[error("a shard did not start")]
    Cluster(#[source] cluster::StartError),
    /// A local cluster did not stop.
    #[error("a shard did not stop cleanly")]
    ClusterStop(#[source] cluster::StopError),
    /// A file could not be used.
    #[error("{} could not be {action}", path.display())]
    File {
        /// What was attempted, as a participle.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The document has mistakes.
    #[error("{} can't be served", path.display())]
    Document {
        /// The file.
        path: PathBuf,
        /// All of them.
        mistakes: Vec<Mistake>,
    },
    /// The stored document has mistakes under this configuration.
    #[error("revision {number} of the topology can't be served")]
    Revision {
        /// Its number.
        number: u64,
        /// All of them.
        mistakes: Vec<Mistake>,
    },
    /// The store failed.
    #[error("the store failed")]
    Store(#[source] store::StoreError),
    /// The port can't be had.
    #[error("the router can't listen")]
    Listen(#[source] net::ListenError),
    /// A shard could not be asked.
    #[error("shard {shard} could not be asked")]
    Lease {
        /// Its uid.
        shard: Arc<str>,
        /// Why.
        #[source]
        source: pool::LeaseError,
    },
    /// A shard did not answer a question of the router.
    #[error("shard {shard} could not be made ready")]
    Backend {
        /// Its uid.
        shard: Arc<str>,
        /// Why.
        #[source]
        source: pool::BackendError,
    },
    /// The router's private schema could not be made.
    #[error("the router's schema could not be made")]
    Schema(#[source] execute::commit::PrepareShardError),
    /// The shards disagree with each other, or are too old.
    #[error("the shards can't be served as one database")]
    Shards(Vec<pool::Problem>),
    /// The router's name can't be part of a transaction's name.
    #[error("the router's name can't be used")]
    Name(#[source] execute::commit::GidError),
    /// What was asked for makes no sense with what is there.
    #[error("{what}")]
    Refused {
        /// What, and where.
        what: String,
        /// The way out.
        hint: String,
    },
    /// The router had to end.
    #[error("the router had to end: {reason}")]
    Ended {
        /// Why.
        reason: String,
    },
    /// A `topology` command failed.
    #[error("the command could not be carried out")]
    Topology(#[source] CommandError),
    /// The configuration can't be read.
    #[error("{} is no configuration of a router", path.display())]
    Config {
        /// The file.
        path: PathBuf,
        /// What, and where.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A user's verifier can't be read.
    #[error("user {user} can't log in")]
    Verifier {
        /// The user.
        user: String,
        /// Why.
        #[source]
        source: net::scram::VerifierError,
    },
    /// A catalog can't be read.
    #[error("the authoritative shard's catalog could not be read")]
    Catalog(#[source] pool::LoadError),
    /// `pg_dump` failed.
    #[error("pg_dump could not write the tables' definitions: {said}")]
    Dump {
        /// What it said.
        said: String,
    },
    /// The example could not be loaded.
    #[error("the example could not be loaded: {statement}")]
    Example {
        /// What was attempted.
        statement: String,
        /// Why.
        #[source]
        source: Box<dyn Error + Send + Sync>,
    },
    /// Signals can't be caught.
    #[error("signals can't be caught")]
    Signals(#[source] std::io::Error),
    /// The log can't be set up.
    #[error("the log can't be set up")]
    Log(#[source] telemetry::InitError),
    /// The command of `--exec` could not be run.
    #[error("`sh` could not be run")]
    Exec(#[source] std::io::Error),
}

// === impl Failure ===

impl Failure {
    /// A function that tells which file it was.
    pub fn file(
        action: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |source| Self::File {
            action,
            path,
            source,
        }
    }

    /// The status of the process.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            Self::Topology(source) if is_refusal(source) => REFUSED,
            Self::Document { .. }
            | Self::Refused { .. }
            | Self::Config { .. }
            | Self::Verifier { .. } => REFUSED,
            _ => FAILED,
        }
    }

    /// Whether a shard has no such database.
    #[must_use]
    pub fn is_missing_database(&self) -> bool {
        match self {
            Self::Lease { source, .. } => {
                pg::Diagnose::sqlstate(source) == pg::SqlState::INVALID_CATALOG_NAME
            }
            _ => false,
        }
    }

    /// The way out, where there is one to name.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Binaries(source) => Some(source.hint().to_owned()),
            Self::Cluster(source) => Some(source.hint().to_owned()),
            Self::Refused { hint, .. } => Some(hint.clone()),
            Self::Topology(source) => within(source)?.hint(),
            Self::Example { source, .. } => server_hint(&**source),
            Self::Listen(_) => Some(
                "another process may have the port: choose one with --port (0: any free) or `listen`"
                    .to_owned(),
            ),
            Self::Config { .. } => Some("every key is in docs/reference/config.md".to_owned()),
            Self::Verifier { .. } => Some(
                "a verifier is what pg_authid.rolpassword holds: SCRAM-SHA-256$4096:...".to_owned(),
            ),
            Self::Lease { source, .. } => pg::Diagnose::hint(source).map(Into::into),
            Self::Schema(source) => pg::Diagnose::hint(source).map(Into::into),
            Self::Store(source) => pg::Diagnose::hint(source).map(Into::into),
            _ => None,
        }
    }

    /// Several lines: what, why, what else is known, and the way out.
    #[must_use]
    pub fn for_people(&self) -> String {
        let mut text = format!("error: {self}\n");
        let mut cause = self.source();
        while let Some(error) = cause {
            let _ = writeln!(text, "  because: {error}");
            cause = error.source();
        }
        match self {
            Self::Document { mistakes, .. } | Self::Revision { mistakes, .. } => {
                for mistake in mistakes {
                    let _ = writeln!(text, "  {mistake}");
                    if let Some(hint) = mistake.hint() {
                        let _ = writeln!(text, "    hint: {hint}");
                    }
                }
            }
            Self::Shards(problems) => {
                for problem in problems {
                    let _ = writeln!(text, "  {problem}");
                }
            }
            Self::Cluster(source) => {
                for line in source.log_tail().unwrap_or_default().lines() {
                    let _ = writeln!(text, "  | {line}");
                }
            }
            _ => {}
        }
        if let Some(hint) = self.hint() {
            let _ = writeln!(text, "  hint: {hint}");
        }
        text
    }
}

/// The failure of a shard within that of a command.
fn within(error: &CommandError) -> Option<&Failure> {
    match error {
        CommandError::Cluster { source } => source.downcast_ref(),
        _ => None,
    }
}

fn is_refusal(error: &CommandError) -> bool {
    within(error).is_some_and(|failure| failure.status() == REFUSED)
}

/// What PostgreSQL, or the router, advises.
fn server_hint(error: &(dyn Error + 'static)) -> Option<String> {
    match error.downcast_ref::<pool::BackendError>()? {
        pool::BackendError::Server { diagnostic, .. } => diagnostic.hint.clone(),
        _ => None,
    }
}
