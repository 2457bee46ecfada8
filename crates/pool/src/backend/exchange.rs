//! Statements of the router's own, and reading whole messages.

use std::io;

use wire::backend::Message;

use super::Backend;
use crate::BackendError;

/// The longest message that is read whole.
const LIMITS: wire::Limits = wire::Limits::backend().with_large(256 << 20);

/// What one statement answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResultSet {
    /// Names of the columns; none for a statement without rows.
    pub columns: Vec<String>,
    /// Values as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// The command tag, such as `SELECT 2`; empty for an empty statement.
    pub tag: String,
}

// === impl ResultSet ===

impl ResultSet {
    /// The first value of the first row.
    #[must_use]
    pub fn value(&self) -> Option<&str> {
        self.rows.first()?.first()?.as_deref()
    }
}

// === impl Backend ===

impl Backend {
    /// Runs a simple query of the router's own and reads all of it; several statements give several results. Notices
    /// are dropped.
    ///
    /// # Errors
    /// The first error that PostgreSQL reports; the backend stays usable unless the error is fatal.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn simple(&mut self, sql: &str) -> Result<Vec<ResultSet>, BackendError> {
        self.settle().await?;
        self.write_query(sql);
        self.read_results().await
    }

    /// Waits for one whole message. `ReadyForQuery` and `ParameterStatus` are noted here.
    ///
    /// # Errors
    /// When the connection is lost or the message is too long.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn frame(&mut self) -> Result<wire::Frame, BackendError> {
        loop {
            if let Some(frame) = self.buffered_frame()? {
                return Ok(frame);
            }
            match self.connection.fill().await {
                Ok(0) => return Err(self.lost(io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => {}
                Err(error) => return Err(self.lost(error)),
            }
        }
    }

    /// Sends what is in the output buffer.
    ///
    /// # Errors
    /// When the connection is lost.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn flush(&mut self) -> Result<(), BackendError> {
        match self.connection.flush().await {
            Ok(()) => Ok(()),
            Err(error) => Err(self.lost(error)),
        }
    }

    /// The shard's error as an error of ours.
    #[must_use]
    pub fn server_error(&self, diagnostic: Box<pg::Diagnostic>) -> BackendError {
        BackendError::Server {
            shard: self.shard.clone(),
            diagnostic,
        }
    }

    /// The connection is lost: poisons the backend.
    pub fn lost(&mut self, source: io::Error) -> BackendError {
        self.poison();
        BackendError::Lost {
            shard: self.shard.clone(),
            source,
        }
    }

    /// The shard sent something out of place: poisons the backend.
    pub fn violation(&mut self, reason: &'static str) -> BackendError {
        self.poison();
        BackendError::Protocol {
            shard: self.shard.clone(),
            reason,
        }
    }

    /// The next whole message if it is in the buffer already.
    pub(crate) fn buffered_frame(&mut self) -> Result<Option<wire::Frame>, BackendError> {
        let frame = match self.connection.try_frame(&LIMITS) {
            Ok(Some(frame)) => frame,
            Ok(None) => return Ok(None),
            Err(_too_long) => return Err(self.violation("length of a message out of bounds")),
        };
        if matches!(frame.tag, b'Z' | b'S') {
            match Message::parse(frame.tag, &frame.body) {
                Ok(Message::ReadyForQuery(status)) => self.note_ready(status),
                Ok(Message::ParameterStatus { name, value }) => self.note_parameter(name, value),
                _ => return Err(self.violation("malformed message")),
            }
        }
        Ok(Some(frame))
    }

    pub(super) fn write_query(&mut self, sql: &str) {
        self.expect_ready();
        wire::frontend::Message::Query { text: sql }.encode(self.connection.output());
    }

    /// Flushes, then reads the answer to one simple query that was written before, up to its `ReadyForQuery`.
    ///
    /// # Errors
    /// As [`Backend::simple`].
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn read_results(&mut self) -> Result<Vec<ResultSet>, BackendError> {
        self.flush().await?;
        let mut results = Vec::new();
        let mut current = ResultSet::default();
        let mut failure = None;
        loop {
            let frame = self.frame().await?;
            let Ok(message) = Message::parse(frame.tag, &frame.body) else {
                return Err(self.violation("malformed message"));
            };
            match message {
                Message::RowDescription(fields) => {
                    current.columns = fields.iter().map(|field| field.name.to_owned()).collect();
                }
                Message::DataRow(row) => current.rows.push(row.columns().map(text).collect()),
                Message::CommandComplete { tag } => {
                    tag.clone_into(&mut current.tag);
                    results.push(std::mem::take(&mut current));
                }
                Message::EmptyQueryResponse => results.push(ResultSet::default()),
                Message::ErrorResponse(diagnostic) => {
                    let error = self.server_error(diagnostic);
                    if error.is_fatal() {
                        self.poison();
                        return Err(error);
                    }
                    failure.get_or_insert(error);
                }
                Message::ReadyForQuery(_) => return failure.map_or(Ok(results), Err),
                Message::ParameterStatus { .. }
                | Message::NoticeResponse(_)
                | Message::NotificationResponse { .. } => {}
                _ => return Err(self.violation("unexpected message in a statement of the router")),
            }
        }
    }
}

fn text(value: Option<&[u8]>) -> Option<String> {
    value.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
