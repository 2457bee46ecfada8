//! Authentication of clients: the thin I/O around [`crate::scram`].

use pg::{Diagnose, Fault, Severity, SqlState};
use wire::Limits;
use wire::backend::{Authentication, Message};
use wire::frontend::SaslInitial;

use crate::scram::{MECHANISM, ScramError, Server, Verifier};
use crate::{Connection, ConnectionError};

/// What a client must show.
#[derive(Debug, Clone)]
pub enum Method {
    /// Nothing: for local development.
    Trust,
    /// That it knows the password of this verifier ([`Verifier::mock`] for an unknown user).
    Scram(Verifier),
}

/// A client was not let in.
#[derive(Debug, thiserror::Error)]
pub enum AuthError {
    /// Its connection failed.
    #[error(transparent)]
    Connection(ConnectionError),
    /// It left; psql does so to ask a person for the password.
    #[error("the client closed the connection during authentication")]
    Left,
    /// It sent another message than an answer.
    #[error("expected SASL response, got message type {tag}")]
    UnexpectedMessage {
        /// The message's type.
        tag: u8,
    },
    /// It chose a mechanism that wasn't offered.
    #[error("client selected an invalid SASL authentication mechanism")]
    Mechanism,
    /// It doesn't know the password, or the user doesn't exist.
    #[error("password authentication failed for user \"{user}\"")]
    WrongPassword {
        /// The user's name as the client gave it.
        user: String,
    },
    /// The exchange itself failed.
    #[error(transparent)]
    Scram(ScramError),
}

/// Asks the client for what `method` wants and says `AuthenticationOk` (queued, not flushed) at its end.
/// The caller shows the client an error.
///
/// # Errors
/// The client isn't who it says, or its connection failed.
///
/// # Cancel safety
/// Not cancel safe: a cancelled authentication can't be taken up again; close the connection.
pub async fn authenticate(
    connection: &mut Connection,
    user: &str,
    method: Method,
) -> Result<(), AuthError> {
    match method {
        Method::Trust => {}
        Method::Scram(verifier) => {
            scram(connection, verifier)
                .await
                .map_err(|error| match error {
                    AuthError::Scram(ScramError::WrongPassword) => AuthError::WrongPassword {
                        user: user.to_owned(),
                    },
                    other => other,
                })?;
        }
    }
    ask(connection, Authentication::Ok);
    Ok(())
}

async fn scram(connection: &mut Connection, verifier: Verifier) -> Result<(), AuthError> {
    let server = Server::new(verifier).map_err(AuthError::Scram)?;
    ask(
        connection,
        Authentication::Sasl {
            mechanisms: vec![MECHANISM],
        },
    );
    let body = answer(connection).await?;
    let initial = SaslInitial::parse(&body)
        .map_err(|error| AuthError::Connection(ConnectionError::Decode(error)))?;
    if initial.mechanism != MECHANISM {
        return Err(AuthError::Mechanism);
    }
    let first = if let Some(data) = initial.data {
        data.to_vec()
    } else {
        // A client without first words is asked for them by an empty challenge.
        ask(connection, Authentication::SaslContinue(b""));
        answer(connection).await?.to_vec()
    };
    let (challenge, server) = server.first(&first).map_err(AuthError::Scram)?;
    ask(
        connection,
        Authentication::SaslContinue(challenge.as_bytes()),
    );
    let body = answer(connection).await?;
    let proof = server.finish(&body).map_err(AuthError::Scram)?;
    ask(connection, Authentication::SaslFinal(proof.as_bytes()));
    Ok(())
}

fn ask(connection: &mut Connection, step: Authentication<'_>) {
    Message::Authentication(step).encode(connection.output());
}

async fn answer(connection: &mut Connection) -> Result<bytes::Bytes, AuthError> {
    let written = connection.flush().await;
    written.map_err(|error| AuthError::Connection(ConnectionError::Write(error)))?;
    let read = connection.read_frame(&Limits::frontend()).await;
    match read.map_err(AuthError::Connection)? {
        None => Err(AuthError::Left),
        Some(frame) if frame.tag == b'p' => Ok(frame.body),
        Some(frame) => Err(AuthError::UnexpectedMessage { tag: frame.tag }),
    }
}

impl Diagnose for AuthError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::Connection(error) => error.sqlstate(),
            Self::Left => SqlState::CONNECTION_FAILURE,
            Self::UnexpectedMessage { .. } | Self::Mechanism => SqlState::PROTOCOL_VIOLATION,
            Self::WrongPassword { .. } => SqlState::INVALID_PASSWORD,
            Self::Scram(error) => error.sqlstate(),
        }
    }

    fn severity(&self) -> Severity {
        Severity::Fatal
    }

    fn fault(&self) -> Fault {
        match self {
            Self::Connection(error) => error.fault(),
            Self::Left => Fault::Network,
            Self::UnexpectedMessage { .. } | Self::Mechanism | Self::WrongPassword { .. } => {
                Fault::Client
            }
            Self::Scram(error) => error.fault(),
        }
    }
}
