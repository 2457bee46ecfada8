//! Dialling a shard: start-up, authentication, and what the shard says of itself until it is ready.

use std::collections::BTreeMap;
use std::time::Duration;

use pg::Diagnostic;
use stdx::Secret;
use wire::backend::{Message, TransactionStatus};
use wire::startup::{CancelKey, SessionStart};
use wire::{Frame, Limits, Startup};

use crate::{Address, Connection, ConnectionError, Socket};

mod error;
mod prove;

pub use error::ConnectError;
use prove::{Proof, Step};

/// Limits of what a shard sends.
const LIMITS: Limits = Limits::backend();

/// How to log in.
#[derive(Debug, Clone)]
pub struct Login {
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, if the shard may ask for one.
    pub password: Option<Secret<String>>,
    /// Further start-up parameters: settings, `options`, `application_name`.
    pub parameters: Vec<(String, String)>,
}

/// A connection to a shard that waits for its first request.
#[derive(Debug)]
pub struct BackendConnection {
    /// The connection.
    pub connection: Connection,
    /// What the shard reported of its settings.
    pub parameters: BTreeMap<String, String>,
    /// What cancels its requests.
    pub key: CancelKey,
    /// Notices given during start-up.
    pub notices: Vec<Diagnostic>,
}

/// Dials a shard and logs in, within `timeout` in all.
///
/// # Errors
/// Nobody answers, the shard refuses, or it speaks otherwise than expected.
///
/// # Cancel safety
/// Cancel safe: a half-made connection is closed.
pub async fn connect(
    address: &Address,
    login: &Login,
    timeout: Duration,
) -> Result<BackendConnection, ConnectError> {
    tokio::time::timeout(timeout, start(address, login))
        .await
        .unwrap_or_else(|_elapsed| {
            Err(ConnectError::Timeout {
                address: address.clone(),
                after: timeout,
            })
        })
}

/// Asks a shard to cancel what the session of `key` does. That the shard did it is not told; when this
/// returns, the shard has read the wish.
///
/// # Errors
/// Nobody answers within `timeout`.
///
/// # Cancel safety
/// Cancel safe, but whether the wish was sent is then unknown.
pub async fn cancel(
    address: &Address,
    key: &CancelKey,
    timeout: Duration,
) -> Result<(), ConnectError> {
    let send = async {
        let mut connection = dial(address).await?;
        Startup::Cancel(key.clone()).encode(connection.output());
        let written = connection.flush().await;
        written.map_err(|error| ConnectError::Exchange {
            address: address.clone(),
            source: ConnectionError::Write(error),
        })?;
        // The shard closes once it has dealt with it; some reset instead, which says the same.
        connection.hangup(1).await;
        Ok(())
    };
    tokio::time::timeout(timeout, send)
        .await
        .unwrap_or_else(|_elapsed| {
            Err(ConnectError::Timeout {
                address: address.clone(),
                after: timeout,
            })
        })
}

async fn dial(address: &Address) -> Result<Connection, ConnectError> {
    let socket = Socket::dial(address)
        .await
        .map_err(|source| ConnectError::Dial {
            address: address.clone(),
            source,
        })?;
    Ok(Connection::new(socket))
}

async fn start(address: &Address, login: &Login) -> Result<BackendConnection, ConnectError> {
    let mut connection = dial(address).await?;
    let mut parameters = vec![
        ("user".to_owned(), login.user.clone()),
        ("database".to_owned(), login.database.clone()),
    ];
    parameters.extend(login.parameters.iter().cloned());
    Startup::Session(SessionStart {
        minor: 0,
        parameters,
    })
    .encode(connection.output());
    let mut backend = BackendConnection {
        connection,
        parameters: BTreeMap::new(),
        key: CancelKey {
            pid: 0,
            secret: bytes::Bytes::new(),
        },
        notices: Vec::new(),
    };
    let mut proof = Proof::new(login);
    loop {
        let frame = backend.next(address).await?;
        match backend.on(&frame, &mut proof, address)? {
            Progress::More => {}
            Progress::Ready => return Ok(backend),
        }
    }
}

/// What a message of the start-up brought.
enum Progress {
    More,
    Ready,
}

impl BackendConnection {
    async fn next(&mut self, address: &Address) -> Result<Frame, ConnectError> {
        let failed = |source| ConnectError::Exchange {
            address: address.clone(),
            source,
        };
        let written = self
            .connection
            .flush()
            .await
            .map_err(ConnectionError::Write);
        written.map_err(failed)?;
        let frame = self.connection.read_frame(&LIMITS).await.map_err(failed)?;
        frame.ok_or_else(|| failed(ConnectionError::Truncated))
    }

    fn on(
        &mut self,
        frame: &Frame,
        proof: &mut Proof<'_>,
        address: &Address,
    ) -> Result<Progress, ConnectError> {
        let message = Message::parse(frame.tag, &frame.body).map_err(|error| {
            let source = ConnectionError::Decode(error);
            ConnectError::Exchange {
                address: address.clone(),
                source,
            }
        })?;
        match message {
            Message::Authentication(asked) => match proof.on(asked, address)? {
                Step::Answer(answer) => self.connection.write(&answer),
                Step::Silent => {}
            },
            Message::ErrorResponse(shown) => {
                return Err(ConnectError::Refused {
                    address: address.clone(),
                    shown,
                });
            }
            // Before it has let us in, a server that proved nothing is told nothing and believed nothing.
            _ if !proof.is_over() => {
                return Err(ConnectError::Unexpected {
                    address: address.clone(),
                    tag: frame.tag,
                });
            }
            Message::ParameterStatus { name, value } => {
                self.parameters.insert(name.to_owned(), value.to_owned());
            }
            Message::BackendKeyData { pid, secret } => {
                self.key = CancelKey {
                    pid,
                    secret: frame.body.slice_ref(secret),
                };
            }
            Message::NoticeResponse(shown) => self.notices.push(*shown),
            Message::ReadyForQuery(TransactionStatus::Idle) => return Ok(Progress::Ready),
            _ => {
                return Err(ConnectError::Unexpected {
                    address: address.clone(),
                    tag: frame.tag,
                });
            }
        }
        Ok(Progress::More)
    }
}

#[cfg(test)]
mod tests;
