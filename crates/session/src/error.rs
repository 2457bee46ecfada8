//! How a session ends.

use std::io;

use pg::Diagnostic;

/// Why a session ended before its client said good-bye.
#[derive(Debug, thiserror::Error)]
pub enum Halt {
    /// The client's connection broke.
    #[error("the client's connection broke")]
    ClientGone(#[source] io::Error),
    /// The session can't go on; the client is told why.
    #[error("{}", .0.message)]
    Fatal(Box<Diagnostic>),
}

impl From<Diagnostic> for Halt {
    fn from(diagnostic: Diagnostic) -> Self {
        Self::Fatal(Box::new(diagnostic))
    }
}
