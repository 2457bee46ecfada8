//! A client that says what it is told to say and shows what came back.

mod answer;
mod error;
mod login;

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use pg::{Format, Oid};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use wire::{Frame, backend, frontend};

pub use answer::{Answer, Column, CopyOut, Reply};
pub use error::ClientError;

/// How long a server may stay silent.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where to connect, and as whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The user.
    pub user: String,
    /// The database.
    pub database: String,
    /// The password, where one is asked for.
    pub password: Option<String>,
    /// More start-up parameters.
    pub parameters: Vec<(String, String)>,
}

/// One connection.
#[derive(Debug)]
pub struct Client {
    socket: TcpStream,
    input: BytesMut,
    output: BytesMut,
    limits: wire::Limits,
    parameters: BTreeMap<String, String>,
    pid: i32,
    secret: Bytes,
    patience: Duration,
}

/// A statement of the extended protocol with its parameters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Extended {
    /// The statement.
    pub sql: String,
    /// Types of the parameters; [`Oid::INVALID`] leaves one to the server.
    pub types: Vec<Oid>,
    /// The parameters; `None` is NULL.
    pub parameters: Vec<Option<Vec<u8>>>,
    /// Formats of the parameters: none, one, or one each.
    pub parameter_formats: Vec<Format>,
    /// Formats of the result's columns.
    pub result_formats: Vec<Format>,
    /// Data for COPY FROM STDIN.
    pub copy_in: Option<Bytes>,
}

// === impl Address ===

impl Address {
    /// User `postgres` without a password on this machine.
    pub fn local(port: u16, database: impl Into<String>) -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port,
            user: "postgres".to_owned(),
            database: database.into(),
            password: None,
            parameters: Vec::new(),
        }
    }

    /// The URL, as psql takes it.
    #[must_use]
    pub fn url(&self) -> String {
        format!(
            "postgres://{}@{}:{}/{}",
            self.user, self.host, self.port, self.database
        )
    }
}

// === impl Client ===

impl Client {
    /// Connects and logs in.
    ///
    /// # Errors
    /// No connection, or the server refused.
    pub async fn connect(address: &Address) -> Result<Self, ClientError> {
        let socket = dial(address).await?;
        let mut client = Self {
            socket,
            input: BytesMut::new(),
            output: BytesMut::new(),
            limits: wire::Limits::backend(),
            parameters: BTreeMap::new(),
            pid: 0,
            secret: Bytes::new(),
            patience: PATIENCE,
        };
        login::login(&mut client, address).await?;
        Ok(client)
    }

    /// Changes how long the server may stay silent.
    #[must_use]
    pub fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The last value reported of a setting.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name).map(String::as_str)
    }

    /// Every setting reported, with its last value.
    #[must_use]
    pub fn parameters(&self) -> &BTreeMap<String, String> {
        &self.parameters
    }

    /// The process number that `BackendKeyData` told.
    #[must_use]
    pub fn pid(&self) -> i32 {
        self.pid
    }

    /// What cancels this session.
    #[must_use]
    pub fn cancel_key(&self) -> wire::startup::CancelKey {
        wire::startup::CancelKey {
            pid: self.pid,
            secret: self.secret.clone(),
        }
    }

    /// Runs the text by the simple protocol.
    ///
    /// # Errors
    /// The connection failed; errors of the server are in the reply.
    pub async fn simple(&mut self, sql: &str) -> Result<Reply, ClientError> {
        self.simple_copy(sql, None).await
    }

    /// Runs the text by the simple protocol, with data for its COPY FROM STDIN.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn simple_copy(
        &mut self,
        sql: &str,
        copy_in: Option<&Bytes>,
    ) -> Result<Reply, ClientError> {
        self.send(&frontend::Message::Query { text: sql });
        self.collect(copy_in, false).await
    }

    /// Runs one statement by the extended protocol in one pipeline: Parse, Describe, Bind, Execute,
    /// Sync.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn extended(&mut self, statement: &Extended) -> Result<Reply, ClientError> {
        let out = &mut self.output;
        frontend::parse(out, "", &statement.sql, &statement.types);
        self.send(&frontend::Message::Describe {
            target: frontend::Target::Statement,
            name: "",
        });
        let parameters: Vec<Option<&[u8]>> =
            statement.parameters.iter().map(Option::as_deref).collect();
        let parts = frontend::BindParts {
            portal: "",
            statement: "",
            parameter_formats: &statement.parameter_formats,
            parameters: &parameters,
            result_formats: &statement.result_formats,
        };
        frontend::bind(&mut self.output, &parts);
        self.send(&frontend::Message::Execute {
            portal: "",
            rows_max: 0,
        });
        if statement.copy_in.is_none() {
            self.send(&frontend::Message::Sync);
            return self.collect(None, false).await;
        }
        // With COPY the server must have answered before data may follow.
        self.send(&frontend::Message::Flush);
        self.collect(statement.copy_in.as_ref(), true).await
    }

    /// Puts a message into the buffer; the next receive or [`Self::flush`] sends it.
    pub fn send(&mut self, message: &frontend::Message<'_>) {
        message.encode(&mut self.output);
    }

    /// The buffer of what is to be sent, for raw bytes.
    pub fn output(&mut self) -> &mut BytesMut {
        &mut self.output
    }

    /// Sends what is buffered.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn flush(&mut self) -> Result<(), ClientError> {
        let sent = self.socket.write_all_buf(&mut self.output).await;
        sent.map_err(|source| ClientError::Socket { source })
    }

    /// Sends what is buffered and waits for the next message, whatever it is. Settings are noted.
    ///
    /// # Errors
    /// The connection failed or closed, or the server stayed silent too long.
    pub async fn receive(&mut self) -> Result<Frame, ClientError> {
        self.flush().await?;
        let patience = self.patience;
        loop {
            if let Some(frame) = wire::decode(&mut self.input, &self.limits)? {
                self.note(&frame)?;
                return Ok(frame);
            }
            let filled =
                tokio::time::timeout(patience, self.socket.read_buf(&mut self.input)).await;
            match filled {
                Err(_elapsed) => return Err(ClientError::Silent { waited: patience }),
                Ok(Ok(0)) => return Err(ClientError::Closed),
                Ok(Ok(_)) => {}
                Ok(Err(source)) => return Err(ClientError::Socket { source }),
            }
        }
    }

    /// Sends what is buffered and gathers everything up to `ReadyForQuery`. `copy_in` answers the
    /// first COPY FROM STDIN, others get `CopyFail`; `sync` says that Sync was not sent yet.
    ///
    /// # Errors
    /// The connection failed.
    pub async fn collect(
        &mut self,
        copy_in: Option<&Bytes>,
        sync: bool,
    ) -> Result<Reply, ClientError> {
        let mut reply = Reply::default();
        let (mut copy_in, mut sync) = (copy_in, sync);
        loop {
            let frame = self.receive().await?;
            let message = backend::Message::parse(frame.tag, &frame.body)?;
            let must_answer = matches!(message, backend::Message::CopyInResponse(_));
            let ends = matches!(
                message,
                backend::Message::CommandComplete { .. }
                    | backend::Message::ErrorResponse(_)
                    | backend::Message::EmptyQueryResponse
            );
            if reply.take(message) {
                return Ok(reply);
            }
            if must_answer {
                self.answer_copy(copy_in.take());
            }
            if sync && (must_answer || ends) {
                self.send(&frontend::Message::Sync);
                sync = false;
            }
        }
    }

    /// Ends the session as a client should.
    pub async fn close(mut self) {
        self.send(&frontend::Message::Terminate);
        // The server may have gone already, and that is a close as well.
        drop(self.flush().await);
    }

    fn answer_copy(&mut self, data: Option<&Bytes>) {
        match data {
            Some(data) => {
                for piece in data.chunks(8192) {
                    self.send(&frontend::Message::CopyData(piece));
                }
                self.send(&frontend::Message::CopyDone);
            }
            None => self.send(&frontend::Message::CopyFail { reason: "no data" }),
        }
    }

    fn note(&mut self, frame: &Frame) -> Result<(), ClientError> {
        match backend::Message::parse(frame.tag, &frame.body)? {
            backend::Message::ParameterStatus { name, value } => {
                self.parameters.insert(name.to_owned(), value.to_owned());
            }
            backend::Message::BackendKeyData { pid, secret } => {
                self.pid = pid;
                self.secret = Bytes::copy_from_slice(secret);
            }
            _ => {}
        }
        Ok(())
    }
}

/// Asks a server to cancel what another connection does.
///
/// # Errors
/// No connection.
pub async fn cancel(address: &Address, key: wire::startup::CancelKey) -> Result<(), ClientError> {
    let mut socket = dial(address).await?;
    let mut request = BytesMut::new();
    wire::Startup::Cancel(key).encode(&mut request);
    let sent = socket.write_all(&request).await;
    sent.map_err(|source| ClientError::Socket { source })?;
    // The server closes when the request was taken.
    drop(tokio::time::timeout(PATIENCE, socket.read_u8()).await);
    Ok(())
}

async fn dial(address: &Address) -> Result<TcpStream, ClientError> {
    let failed = |source| ClientError::Connect {
        url: address.url(),
        source,
    };
    let place = (address.host.as_str(), address.port);
    let socket = TcpStream::connect(place).await.map_err(failed)?;
    socket.set_nodelay(true).map_err(failed)?;
    Ok(socket)
}
