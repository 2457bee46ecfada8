//! Listening for clients.

use std::path::PathBuf;
use std::{fs, io};

use tokio::net::{TcpListener, UnixListener};

use crate::{Address, Socket};

/// A place where clients arrive.
#[derive(Debug)]
pub struct Listener {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Tcp(TcpListener),
    /// The path is removed when the listener goes.
    Unix {
        listener: UnixListener,
        path: PathBuf,
    },
}

/// Listening failed.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The address can't be had.
    #[error("can't listen on {address}")]
    Bind {
        /// The address.
        address: Address,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Somebody else listens on the Unix socket.
    #[error("another process listens on {address}")]
    Taken {
        /// The address.
        address: Address,
    },
}

impl Listener {
    /// Begins to listen; port 0 takes any free one. A Unix socket that a dead process left is replaced.
    ///
    /// # Errors
    /// The address can't be had.
    pub async fn bind(address: &Address) -> Result<Self, ListenError> {
        let failed = |source| ListenError::Bind {
            address: address.clone(),
            source,
        };
        let inner = match address {
            Address::Tcp { host, port } => Inner::Tcp(
                TcpListener::bind((host.as_str(), *port))
                    .await
                    .map_err(failed)?,
            ),
            Address::Unix(path) => {
                if Socket::dial(address).await.is_ok() {
                    return Err(ListenError::Taken {
                        address: address.clone(),
                    });
                }
                match fs::remove_file(path) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => {
                        return Err(failed(error));
                    }
                    _ => {}
                }
                let listener = UnixListener::bind(path).map_err(failed)?;
                Inner::Unix {
                    listener,
                    path: path.clone(),
                }
            }
        };
        Ok(Self { inner })
    }

    /// Where it listens: the port that was taken if any was asked for.
    ///
    /// # Errors
    /// The system doesn't tell.
    pub fn address(&self) -> io::Result<Address> {
        match &self.inner {
            Inner::Tcp(listener) => {
                let own = listener.local_addr()?;
                Ok(Address::tcp(own.ip().to_string(), own.port()))
            }
            Inner::Unix { path, .. } => Ok(Address::Unix(path.clone())),
        }
    }

    /// The next client.
    ///
    /// # Errors
    /// Accepting failed; that is the client's end or a lack of descriptors, and the next call may succeed.
    ///
    /// # Cancel safety
    /// Cancel safe: no client is lost.
    pub async fn accept(&self) -> io::Result<Socket> {
        match &self.inner {
            Inner::Tcp(listener) => {
                let (stream, _) = listener.accept().await?;
                Socket::from_tcp(stream)
            }
            Inner::Unix { listener, .. } => Ok(Socket::Unix(listener.accept().await?.0)),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Inner::Unix { path, .. } = &self.inner {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_unix_socket_is_not_taken_twice_and_goes_with_its_listener() {
        let folder = std::env::temp_dir().join(format!("net-listener-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let address = Address::Unix(folder.join("s"));
        let listener = Listener::bind(&address).await.unwrap();
        let again = Listener::bind(&address).await.unwrap_err();
        assert!(matches!(again, ListenError::Taken { .. }));
        drop(listener);
        assert!(!folder.join("s").exists());
        fs::remove_dir_all(folder).unwrap();
    }

    #[tokio::test]
    async fn any_free_port_is_told() {
        let listener = Listener::bind(&Address::tcp("127.0.0.1", 0)).await.unwrap();
        let address = listener.address().unwrap();
        let (dialled, accepted) = tokio::join!(Socket::dial(&address), listener.accept());
        assert!(dialled.unwrap().peer().starts_with("127.0.0.1:"));
        assert!(matches!(accepted.unwrap(), Socket::Tcp(_)));
    }
}
