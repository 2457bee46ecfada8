//! Why there is no answer to show.

use std::io;
use std::time::Duration;

use thiserror::Error;

/// The conversation broke down.
#[derive(Debug, Error)]
pub enum ClientError {
    /// Nobody answered.
    #[error("can't connect to {url}")]
    Connect {
        /// Where.
        url: String,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// The socket failed.
    #[error("the connection failed")]
    Socket {
        /// How.
        #[source]
        source: io::Error,
    },
    /// The server closed the connection.
    #[error("the server closed the connection")]
    Closed,
    /// The server said nothing.
    #[error("the server said nothing for {waited:?}")]
    Silent {
        /// How long was waited.
        waited: Duration,
    },
    /// The server refused the login, or ended the session at its start.
    #[error("the server refused the session: {} {}", diagnostic.code, diagnostic.message)]
    Refused {
        /// What it said.
        diagnostic: Box<pg::Diagnostic>,
    },
    /// A message that doesn't belong here.
    #[error("unexpected message {tag:?} {during}")]
    Unexpected {
        /// Its type.
        tag: char,
        /// When.
        during: &'static str,
    },
    /// A message that can't be read.
    #[error("the server's message can't be read")]
    Decode(#[from] wire::DecodeError),
    /// The server's proof of knowing the password is wrong.
    #[error("the server can't prove that it knows the password")]
    Proof {
        /// Why.
        #[source]
        source: io::Error,
    },
    /// A password is asked for and none was given.
    #[error("the server asks for a password in a way that isn't served here")]
    Password,
}
