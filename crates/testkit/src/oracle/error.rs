//! Why the oracle could not do its work; differences between engines are no errors of the oracle.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

use crate::client::ClientError;

/// The oracle could not run.
#[derive(Debug, Error)]
pub enum OracleError {
    /// A line of a case file that means nothing.
    #[error("{}:{line}: {what}", file.display())]
    Line {
        /// The file.
        file: PathBuf,
        /// The line.
        line: usize,
        /// What is wrong with it.
        what: &'static str,
    },
    /// Two cases are the same.
    #[error("{second} repeats {first}")]
    Repeated {
        /// The first.
        first: String,
        /// The second.
        second: String,
    },
    /// A file could not be read or written.
    #[error("can't use {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The topology of the fixture is wrong.
    #[error("the fixture's topology is wrong: {mistakes}")]
    Topology {
        /// What is wrong.
        mistakes: String,
    },
    /// No PostgreSQL.
    #[error("no PostgreSQL")]
    Find(#[from] cluster::FindError),
    /// A server did not start.
    #[error("a server did not start")]
    Start(#[from] cluster::StartError),
    /// The router did not start.
    #[error("the router did not start: {output}")]
    Router {
        /// The end of what it printed.
        output: String,
    },
    /// psql could not load a dump without errors.
    #[error("{target}: the dump does not load: {errors}")]
    Dump {
        /// On which target.
        target: String,
        /// The lines that it printed.
        errors: String,
    },
    /// A statement of the fixture, or of the oracle's own, failed.
    #[error("{target}: {code} {message} in: {sql}")]
    Statement {
        /// On which target.
        target: String,
        /// The SQLSTATE.
        code: String,
        /// The message.
        message: String,
        /// The statement.
        sql: String,
    },
    /// The conversation with a server broke down.
    #[error("{target}: the conversation broke down")]
    Client {
        /// Which target.
        target: String,
        /// How.
        #[source]
        source: ClientError,
    },
}
