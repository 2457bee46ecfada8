//! Copies one backend's answer to the client, message by message, without looking into rows.
//!
//! What is to come is a [`Script`]: the router knows what it sent, so it knows what each answer is for. Messages that answer
//! the router's own statements are swallowed, the client's are passed on, and the router's own messages are put in between where
//! their turn comes. A run of messages that goes to the client is moved in one piece, and a message larger than the buffer
//! is passed on in parts.
//!
//! ```text
//!   client <- output <-- Say(bytes)
//!                    <-- Pass / Rows / Query <-- backend input
//!             nothing <-- Skip / SkipQuery   <-- backend input
//! ```
//!
//! After an error the backend skips to the next `Sync`, and so does the script: every entry up to the next
//! [`Expect::Ready`] falls away.

mod copied;
mod translated;

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;

use bytes::{BufMut as _, Bytes};
use net::Connection;
use pg::{Diagnostic, SqlState};
use pool::{Backend, StatementId};
use wire::backend::TransactionStatus;

use crate::Position;
use crate::number::{Inside, Translation};

/// Above this many bytes the client's output is flushed before more is read.
pub(crate) const FLUSH_SIZE: usize = 64 * 1024;

/// So much of a pipelining client's input is read while it waits for an answer.
pub(crate) const READ_AHEAD: usize = 64 * 1024;

/// What comes next from the backend, or goes next to the client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// One message, swallowed.
    Skip,
    /// `ParseComplete` of a statement that the router prepares for itself: swallowed, and the backend holds the statement now.
    Parsed(StatementId),
    /// One message, passed on.
    Pass,
    /// The description of a portal: columns are passed on, that there are none is swallowed.
    Columns,
    /// Rows up to the message that ends an `Execute`, all passed on.
    Rows,
    /// Everything up to `ReadyForQuery`, swallowed with it: a statement of the router's own. An error in it ends the pump.
    SkipQuery,
    /// Everything up to `ReadyForQuery`, passed on: a simple query of the client's.
    Query,
    /// `ReadyForQuery`, swallowed: the session says its own.
    Ready,
    /// A message of the router's own.
    Say(Bytes),
    /// No message: the rows of the next [`Expect::Rows`] have numbers of types inside.
    Inside((Translation, Inside)),
}

/// What is expected, in order.
pub type Script = VecDeque<Expect>;

/// How a pump ended when the connections held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pumped {
    /// The script is at its end.
    Done,
    /// The backend raised an error, which was passed on. The script went on to its next [`Expect::Ready`], or is empty when
    /// there was none: then the backend still waits for `Sync`.
    Failed {
        /// The error's SQLSTATE.
        code: SqlState,
        /// The script held a `Ready` (or a query's end), and it was reached.
        is_synced: bool,
    },
}

/// Why a pump could not go on.
#[derive(Debug, thiserror::Error)]
pub enum PumpError {
    /// The client can't be reached any more.
    #[error("the client has gone")]
    ClientGone,
    /// The backend can't be reached any more.
    #[error("the connection to shard {shard} was lost")]
    BackendGone {
        /// The shard's uid.
        shard: Arc<str>,
        /// What happened to it.
        #[source]
        source: io::Error,
    },
    /// A statement of the router's own failed, or the shard ended the session.
    #[error("the shard raised an error: {}", .0.message)]
    Own(Box<Diagnostic>),
    /// The shard's numbers of types could not be told as the authoritative shard's.
    #[error("{}", .0.message)]
    Number(Box<Diagnostic>),
    /// The backend said something that the protocol doesn't allow here.
    #[error("the shard answered with message {tag:?} where the protocol has none")]
    Unexpected {
        /// The message's tag.
        tag: char,
    },
}

/// What the pump noticed about the backend while it copied.
#[derive(Clone, Debug, Default)]
pub struct Noticed {
    /// Prepared statements that made room for others on the backend: they are still to be closed there.
    pub evicted: Vec<StatementId>,
    /// Parameters that changed by the client's own statement.
    pub parameters: Vec<(String, String)>,
    /// Command tags of the client's statements, in order (the last few).
    pub tag: Option<Bytes>,
}

/// The two connections and what is noticed on the way.
pub struct Pump<'a> {
    /// The client.
    pub client: &'a mut Connection,
    /// The backend.
    pub backend: &'a mut Backend,
    /// What was noticed.
    pub noticed: &'a mut Noticed,
    /// Where the text that the backend got stands in the client's: errors point into the client's.
    pub position: Position,
    /// The command tag is noted and not passed on: it is said when the transaction has committed.
    pub holds_tag: bool,
    /// A `Sync` that the client sent ahead of its COPY data is lost on a backend that copies (the protocol says so), and the
    /// client sends another after the data. Set when the script's next `Ready` stands for such a `Sync`.
    pub sync_follows_copy: bool,
    /// How the shard's numbers become those that the client knows.
    pub translation: Option<Translation>,
    /// In which columns of the rows at hand there are numbers of types.
    pub inside: Option<Inside>,
}

/// What to do with the message at hand.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Fate {
    Pass,
    Swallow,
}

// === impl PumpError ===

impl PumpError {
    /// This backend can't be reached any more.
    pub(crate) fn gone(backend: &Backend, source: io::Error) -> Self {
        Self::BackendGone {
            shard: Arc::clone(backend.shard()),
            source,
        }
    }
}

// === impl Pump ===

impl Pump<'_> {
    /// Copies until the script is at its end. The client's output may still hold bytes: the caller flushes.
    ///
    /// # Errors
    /// See [`PumpError`]. The backend is then in an unknown state.
    ///
    /// # Cancel safety
    /// Not cancel safe: a message may have been copied in part.
    pub async fn run(&mut self, script: &mut Script) -> Result<Pumped, PumpError> {
        let mut failed: Option<SqlState> = None;
        loop {
            while let Some(Expect::Say(_) | Expect::Inside(_)) = script.front() {
                match script.pop_front() {
                    Some(Expect::Say(bytes)) => self.client.write(&bytes),
                    Some(Expect::Inside((translation, inside))) => {
                        (self.translation, self.inside) = (Some(translation), Some(inside));
                    }
                    _ => {}
                }
            }
            let Some(expected) = script.front() else {
                return Ok(failed.map_or(Pumped::Done, |code| Pumped::Failed {
                    code,
                    is_synced: true,
                }));
            };
            let is_last_of_entry = self.message(expected.clone(), &mut failed).await?;
            match is_last_of_entry {
                Step::Stay => {}
                Step::Next => {
                    script.pop_front();
                }
                Step::SkipToReady(code) => {
                    failed = Some(code);
                    let is_own = |entry: &Expect| {
                        matches!(entry, Expect::Ready | Expect::Query | Expect::SkipQuery)
                    };
                    while script.front().is_some_and(|entry| !is_own(entry)) {
                        script.pop_front();
                    }
                    if script.is_empty() {
                        return Ok(Pumped::Failed {
                            code,
                            is_synced: false,
                        });
                    }
                }
            }
        }
    }

    /// Handles one message of the backend under the given expectation.
    async fn message(
        &mut self,
        expected: Expect,
        failed: &mut Option<SqlState>,
    ) -> Result<Step, PumpError> {
        let (tag, length) = self.header().await?;
        match tag {
            // Asynchronous messages are no answer to anything.
            b'N' | b'A' => {
                let fate = if expected == Expect::SkipQuery {
                    Fate::Swallow
                } else {
                    Fate::Pass
                };
                self.take(length, fate).await?;
                Ok(Step::Stay)
            }
            b'S' => {
                self.parameter(length, expected != Expect::SkipQuery)
                    .await?;
                Ok(Step::Stay)
            }
            b'E' => self.error(expected, length, failed).await,
            b'Z' => self.ready(&expected, length).await,
            b'G' if expected != Expect::SkipQuery => {
                self.take(length, Fate::Pass).await?;
                self.copy_in().await?;
                if expected == Expect::Rows {
                    // What PostgreSQL says to the end of the data waits for a Sync or this.
                    wire::frontend::Message::Flush.encode(self.backend.connection.output());
                    self.flush_backend().await?;
                }
                Ok(Step::Stay)
            }
            _ => self.answer(&expected, tag, length).await,
        }
    }

    async fn answer(
        &mut self,
        expected: &Expect,
        tag: u8,
        length: usize,
    ) -> Result<Step, PumpError> {
        if tag == b'T'
            && self.translation.is_some()
            && matches!(
                expected,
                Expect::Pass | Expect::Columns | Expect::Query | Expect::Rows
            )
        {
            self.columns(length).await?;
            let is_whole = matches!(expected, Expect::Pass | Expect::Columns);
            return Ok(if is_whole { Step::Next } else { Step::Stay });
        }
        match expected {
            Expect::Skip => {
                self.take(length, Fate::Swallow).await?;
                Ok(Step::Next)
            }
            Expect::Parsed(id) => {
                self.take(length, Fate::Swallow).await?;
                self.noticed
                    .evicted
                    .extend(self.backend.prepared.insert(*id));
                Ok(Step::Next)
            }
            Expect::Pass => {
                self.take(length, Fate::Pass).await?;
                Ok(Step::Next)
            }
            Expect::Columns => {
                let fate = if tag == b'T' {
                    Fate::Pass
                } else {
                    Fate::Swallow
                };
                self.take(length, fate).await?;
                Ok(Step::Next)
            }
            Expect::Rows if tag == b'D' => {
                self.rows().await?;
                Ok(Step::Stay)
            }
            Expect::Rows | Expect::Query => {
                if tag == b'D' {
                    self.rows().await?;
                    return Ok(Step::Stay);
                }
                if tag == b'C' {
                    self.note_tag(length).await?;
                }
                let is_held = tag == b'C' && self.holds_tag;
                let fate = if is_held { Fate::Swallow } else { Fate::Pass };
                self.take(length, fate).await?;
                let ends = matches!(tag, b'C' | b'I' | b's') && *expected == Expect::Rows;
                if ends {
                    self.inside = None;
                }
                Ok(if ends { Step::Next } else { Step::Stay })
            }
            Expect::SkipQuery => {
                self.take(length, Fate::Swallow).await?;
                Ok(Step::Stay)
            }
            Expect::Ready | Expect::Say(_) | Expect::Inside(_) => {
                Err(PumpError::Unexpected { tag: tag.into() })
            }
        }
    }

    async fn ready(&mut self, expected: &Expect, length: usize) -> Result<Step, PumpError> {
        self.whole(length).await?;
        let code = self.input().get(5).copied().unwrap_or_default();
        let status = TransactionStatus::from_code(code).unwrap_or_default();
        self.take(length, Fate::Swallow).await?;
        self.backend.note_ready(status);
        match expected {
            Expect::Ready | Expect::Query | Expect::SkipQuery => Ok(Step::Next),
            _ => Err(PumpError::Unexpected { tag: 'Z' }),
        }
    }

    async fn error(
        &mut self,
        expected: Expect,
        length: usize,
        failed: &mut Option<SqlState>,
    ) -> Result<Step, PumpError> {
        self.whole(length).await?;
        let mut diagnostic = read_diagnostic(&self.input()[5..length]);
        self.take(length, Fate::Swallow).await?;
        if expected == Expect::SkipQuery {
            return Err(PumpError::Own(Box::new(diagnostic)));
        }
        // The end of a shard's session is no end of the client's, and nothing comes after it.
        if diagnostic.severity >= pg::Severity::Fatal {
            diagnostic.severity = pg::Severity::Error;
            let diagnostic = diagnostic.context(format!("shard {}", self.backend.shard()));
            return Err(PumpError::Own(Box::new(diagnostic)));
        }
        let code = diagnostic.code;
        diagnostic.position = self.position.in_clients_text(diagnostic.position);
        diagnostic = diagnostic.context(format!("shard {}", self.backend.shard()));
        wire::backend::error_response(self.client.output(), &diagnostic);
        if expected == Expect::Query {
            *failed = Some(code);
            return Ok(Step::Stay);
        }
        Ok(Step::SkipToReady(code))
    }

    async fn parameter(&mut self, length: usize, is_clients: bool) -> Result<(), PumpError> {
        self.whole(length).await?;
        if is_clients {
            let body = &self.input()[5..length];
            let mut parts = body.split(|&byte| byte == 0);
            let mut text =
                || String::from_utf8_lossy(parts.next().unwrap_or_default()).into_owned();
            let (name, value) = (text(), text());
            self.backend.note_parameter(&name, &value);
            self.noticed.parameters.push((name, value));
        }
        let fate = if is_clients {
            Fate::Pass
        } else {
            Fate::Swallow
        };
        self.take(length, fate).await
    }

    async fn note_tag(&mut self, length: usize) -> Result<(), PumpError> {
        self.whole(length).await?;
        let body = &self.input()[5..length];
        let tag = body.strip_suffix(&[0]).unwrap_or(body);
        self.noticed.tag = Some(Bytes::copy_from_slice(tag));
        Ok(())
    }

    fn input(&self) -> &[u8] {
        self.backend.connection.buffered()
    }

    /// Passes on every complete row that is buffered, in one piece.
    async fn rows(&mut self) -> Result<(), PumpError> {
        if let Some(inside) = self.inside.clone() {
            return self.translated_row(&inside).await;
        }
        let buffered = self.backend.connection.buffered();
        let mut end = 0;
        while let Some((b'D', length)) = header_of(&buffered[end..]) {
            if buffered.len() < end + length {
                break;
            }
            end += length;
        }
        if end == 0 {
            // Not even one is whole: pass it on in parts.
            let (_, length) = self.header().await?;
            return self.take(length, Fate::Pass).await;
        }
        let relayed = self.client.relay(&mut self.backend.connection, end).await;
        relayed.map_err(|_closed| PumpError::ClientGone)
    }

    /// The next message's tag and whole length.
    async fn header(&mut self) -> Result<(u8, usize), PumpError> {
        loop {
            if let Some(header) = header_of(self.input()) {
                return Ok(header);
            }
            self.fill().await?;
        }
    }

    /// Waits until the message at hand is buffered whole.
    async fn whole(&mut self, length: usize) -> Result<(), PumpError> {
        while self.input().len() < length {
            self.fill().await?;
        }
        Ok(())
    }

    /// Takes the message at hand, in parts when it is large.
    async fn take(&mut self, length: usize, fate: Fate) -> Result<(), PumpError> {
        let mut rest = length;
        while rest > 0 {
            if self.input().is_empty() {
                self.fill().await?;
            }
            let count = rest.min(self.input().len());
            if fate == Fate::Pass {
                let (client, backend) = (&mut *self.client, &self.backend.connection);
                client.output().put_slice(&backend.buffered()[..count]);
                self.relieve().await?;
            }
            self.backend.connection.consume(count);
            rest -= count;
        }
        Ok(())
    }

    /// Lets the client catch up, so that nothing piles up here.
    async fn relieve(&mut self) -> Result<(), PumpError> {
        if self.client.output().len() >= FLUSH_SIZE {
            self.client
                .flush()
                .await
                .map_err(|_closed| PumpError::ClientGone)?;
        }
        Ok(())
    }

    /// Reads more from the backend, while watching that the client is still there.
    async fn fill(&mut self) -> Result<(), PumpError> {
        match self
            .backend
            .connection
            .try_flush()
            .and_then(|()| self.backend.connection.try_fill())
        {
            Ok(0) => {
                return Err(PumpError::gone(
                    self.backend,
                    io::ErrorKind::UnexpectedEof.into(),
                ));
            }
            Ok(_) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(PumpError::gone(self.backend, error)),
        }
        // The client should see what there is before the wait.
        self.client
            .flush()
            .await
            .map_err(|_closed| PumpError::ClientGone)?;
        tokio::select! {
            biased;
            filled = self.backend.connection.fill_while_flushing() => match filled {
                Ok(0) => Err(PumpError::gone(self.backend, io::ErrorKind::UnexpectedEof.into())),
                Ok(_) => Ok(()),
                Err(error) => Err(PumpError::gone(self.backend, error)),
            },
            () = self.client.hangup(READ_AHEAD) => Err(PumpError::ClientGone),
        }
    }

    async fn flush_backend(&mut self) -> Result<(), PumpError> {
        let flushed = self.backend.connection.flush().await;
        flushed.map_err(|error| PumpError::gone(self.backend, error))
    }
}

/// Where the script goes after a message.
enum Step {
    Stay,
    Next,
    SkipToReady(SqlState),
}

/// Tag and whole length (tag included) of the message that begins `bytes`.
pub(crate) fn header_of(bytes: &[u8]) -> Option<(u8, usize)> {
    let (&tag, rest) = bytes.split_first()?;
    let length: [u8; 4] = rest.get(..4)?.try_into().ok()?;
    Some((tag, 1 + (u32::from_be_bytes(length).max(4)) as usize))
}

/// Whether a run of messages holds an error.
pub(crate) fn holds_error(mut bytes: &[u8]) -> bool {
    while let Some((tag, length)) = header_of(bytes) {
        if tag == b'E' {
            return true;
        }
        bytes = bytes.get(length..).unwrap_or_default();
    }
    false
}

/// Reads the body of an `ErrorResponse`.
pub(crate) fn read_diagnostic(body: &[u8]) -> Diagnostic {
    match wire::backend::Message::parse(b'E', body) {
        Ok(wire::backend::Message::ErrorResponse(diagnostic)) => *diagnostic,
        _ => Diagnostic::error(
            SqlState::INTERNAL_ERROR,
            "the shard sent an error that can't be read",
        ),
    }
}
