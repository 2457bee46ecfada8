//! Where a server listens.

use std::fmt;
use std::path::PathBuf;

/// The port of PostgreSQL where none is named.
const DEFAULT_PORT: u16 = 5432;

/// A place to listen on or to dial.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Address {
    /// A host (name or number) and a port.
    Tcp {
        /// The host; an IPv6 address without brackets.
        host: String,
        /// The port.
        port: u16,
    },
    /// The path of a Unix socket itself, not of its folder.
    Unix(PathBuf),
}

/// The text names no address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{text:?} is no address: expected host:port or the path of a Unix socket")]
pub struct AddressError {
    /// What was given.
    pub text: String,
}

impl Address {
    /// A host and a port.
    #[must_use]
    pub fn tcp(host: impl Into<String>, port: u16) -> Self {
        Self::Tcp {
            host: host.into(),
            port,
        }
    }
}

impl std::str::FromStr for Address {
    type Err = AddressError;

    /// `host:port`, `[v6]:port`, `host`, or an absolute path.
    fn from_str(text: &str) -> Result<Self, AddressError> {
        let error = || AddressError {
            text: text.to_owned(),
        };
        if text.starts_with('/') {
            return Ok(Self::Unix(text.into()));
        }
        let (host, port) = match text.rsplit_once(':') {
            Some((host, port)) => (host, port.parse().map_err(|_not_a_port| error())?),
            None => (text, DEFAULT_PORT),
        };
        let host = match host.strip_prefix('[') {
            Some(inner) => inner.strip_suffix(']').ok_or_else(error)?,
            None if host.contains(':') => return Err(error()),
            None => host,
        };
        if host.is_empty() {
            Err(error())
        } else {
            Ok(Self::tcp(host, port))
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_print_as_they_are_read() {
        for text in [
            "127.0.0.1:5433",
            "[::1]:5432",
            "db.example:1",
            "/run/pg/.s.PGSQL.5432",
        ] {
            assert_eq!(text.parse::<Address>().unwrap().to_string(), text);
        }
        assert_eq!("db".parse::<Address>().unwrap(), Address::tcp("db", 5432));
        for text in ["", ":1", "db:x", "::1", "[::1", "db:99999"] {
            assert!(text.parse::<Address>().is_err(), "{text}");
        }
    }
}
