//! One client's life: what it has set, prepared and opened, and the loop that serves it.
//!
//! Invariant: between two requests nothing is in flight on any backend, and every backend outside a block that no pin holds has been
//! given back.

use std::collections::HashMap;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use catalog::Catalog;
use execute::block::Kind;
use execute::pump::Noticed;
use execute::{Hands, Pipeline, SessionSequences, Snapshot, Transaction, Wanted};
use net::Connection;
use pg::{Diagnose as _, Diagnostic, SqlState};
use tokio_util::sync::CancellationToken;
use wire::Frame;

use crate::cancel::Registration;
use crate::error::Halt;
use crate::house::House;
use crate::meaning::Meaning;
use crate::settings::Settings;
use crate::statement::{Cursor, Portal, Prepared};

/// One client.
pub(crate) struct Session {
    pub(crate) house: Arc<House>,
    pub(crate) client: Connection,
    pub(crate) transaction: Transaction,
    pub(crate) settings: Settings,
    pub(crate) meaning: Meaning,
    pub(crate) sequences: SessionSequences,
    pub(crate) prepared: HashMap<String, Prepared>,
    pub(crate) portals: HashMap<String, Portal>,
    pub(crate) cursors: HashMap<String, Cursor>,
    pub(crate) pipeline: Pipeline,
    /// After an error in the extended protocol everything up to `Sync` is skipped.
    pub(crate) is_skipping: bool,
    /// The catalog as the open block sees it, once it has changed definitions.
    pub(crate) own_catalog: Option<Arc<Catalog>>,
    /// The shards' numbers beside those of the newest catalog that a request began with.
    pub(crate) numbers: Arc<execute::Numbers>,
    /// The open block has changed definitions since its catalog was read.
    pub(crate) is_catalog_stale: bool,
    /// `ParameterStatus` values that the client has been told.
    pub(crate) reported: HashMap<String, String>,
    /// What it was told at its start.
    pub(crate) reported_first: Arc<HashMap<String, String>>,
    /// Settings may have gone back to what they were before.
    pub(crate) is_report_due: bool,
    pub(crate) noticed: Noticed,
    pub(crate) lifted: sql::Lifted,
    pub(crate) registration: Registration,
    /// A token of its own, so that waiting for the router's end is no lock that all sessions share.
    pub(crate) closing: CancellationToken,
}

impl Session {
    /// Serves the client until it leaves.
    ///
    /// # Errors
    /// Why the session ended otherwise than by the client's `Terminate`.
    ///
    /// # Cancel safety
    /// Not cancel safe; what is dropped in the middle of a statement is cancelled on its shards.
    pub(crate) async fn serve(&mut self) -> Result<(), Halt> {
        let result = self.requests().await;
        if let Err(Halt::Fatal(diagnostic)) = &result {
            wire::backend::error_response(self.client.output(), diagnostic);
            // The client may have gone; there is nobody else to tell.
            let _ = self.client.flush().await;
        }
        self.rollback_all().await;
        result
    }

    async fn requests(&mut self) -> Result<(), Halt> {
        loop {
            let Some(frame) = self.next_frame().await? else {
                return Ok(());
            };
            match frame.tag {
                // After an error in a pipeline everything up to Sync is skipped.
                b'Q' | b'F' if self.is_skipping => {}
                b'Q' => self.simple(&frame.body).await?,
                b'P' | b'B' | b'D' | b'E' | b'C' | b'H' | b'S' => self.extended(frame).await?,
                b'X' => return Ok(()),
                // Left over from a COPY that failed: the protocol says that they are ignored.
                b'd' | b'c' | b'f' => {}
                b'F' => self.function_call().await?,
                tag => {
                    let message = format!("invalid frontend message type {tag}");
                    let code = SqlState::PROTOCOL_VIOLATION;
                    return Err(Diagnostic::fatal(code, message).into());
                }
            }
        }
    }

    /// The client's next message; `None` when it has left. While it is idle, what arrives for it is passed on.
    async fn next_frame(&mut self) -> Result<Option<Frame>, Halt> {
        loop {
            let limits = wire::Limits::frontend().with_large(self.house.limits.message_bytes_max);
            match wire::decode(self.client.input(), &limits) {
                Ok(Some(frame)) => return Ok(Some(frame)),
                Ok(None) => {}
                Err(error) => {
                    let mut shown = error.to_diagnostic();
                    shown.severity = pg::Severity::Fatal;
                    return Err(shown.into());
                }
            }
            if self.client.buffered().is_empty() {
                self.client.flush().await.map_err(Halt::client)?;
                self.client.relax();
            }
            if self.wait().await? == 0 {
                return Ok(None);
            }
        }
    }

    /// Waits for the client, or for a notification on a backend that listens for it.
    async fn wait(&mut self) -> Result<usize, Halt> {
        let status = self.transaction.status();
        let listener = self
            .transaction
            .participants()
            .iter_mut()
            .find(|held| held.pins.listening && status == b'I');
        let closing = self.closing.cancelled();
        let Some(listener) = listener else {
            return tokio::select! {
                biased;
                () = closing => Err(shutting_down()),
                filled = self.client.fill() => filled.map_err(Halt::client),
            };
        };
        let backend = listener.backend();
        tokio::select! {
            biased;
            () = closing => Err(shutting_down()),
            filled = self.client.fill() => filled.map_err(Halt::client),
            frame = backend.frame() => {
                let frame = frame.map_err(|error| Halt::from(error.to_diagnostic()))?;
                if matches!(frame.tag, b'A' | b'N') {
                    frame.encode(self.client.output());
                    self.client.flush().await.map_err(Halt::client)?;
                }
                Ok(1)
            }
        }
    }

    async fn function_call(&mut self) -> Result<(), Halt> {
        let refusal = Diagnostic::error(
            SqlState::FEATURE_NOT_SUPPORTED,
            "the function call protocol is not supported",
        )
        .detail("kintsugi/function-call: a FunctionCall message names its function by number, which differs between shards")
        .hint("Call the function in a SELECT.");
        self.report(&refusal);
        self.ready().await
    }

    /// Tells the client of an error, and the open block that it failed.
    pub(crate) fn report(&mut self, diagnostic: &Diagnostic) {
        wire::backend::error_response(self.client.output(), diagnostic);
        self.transaction.fail();
    }

    /// What a request that begins now runs on.
    pub(crate) fn snapshot(&mut self) -> Result<Snapshot, Diagnostic> {
        let catalog = match &self.own_catalog {
            Some(own) => Arc::clone(own),
            None => self.house.catalogs.current(&self.meaning.database)?,
        };
        if self.numbers.version() != catalog.version {
            self.numbers = self.house.catalogs.numbers(&catalog);
        }
        Ok(Snapshot {
            catalog,
            topology: self.house.topology.load_full(),
        })
    }

    /// The session's connections and settings, for a step of execution.
    pub(crate) fn hands(&mut self) -> Hands<'_> {
        Hands {
            environment: &self.house.environment,
            client: &mut self.client,
            transaction: &mut self.transaction,
            wanted: Wanted {
                session: self.settings.session(),
                local: self.settings.local(),
            },
            noticed: &mut self.noticed,
            numbers: &self.numbers,
        }
    }

    /// Ends a request: an implicit block is committed, backends go back, and the client is told that it may go on.
    pub(crate) async fn ready(&mut self) -> Result<(), Halt> {
        if self
            .transaction
            .block()
            .is_some_and(|block| block.kind == Kind::Implicit)
        {
            self.end_implicit().await?;
        }
        if self.transaction.block().is_none() {
            self.portals.clear();
            self.transaction.release().await;
            if self.settings.is_open() {
                self.settings.commit();
            }
        }
        self.note_parameters();
        self.report_undone();
        let status = wire::backend::TransactionStatus::from_code(self.transaction.status());
        let status = status.unwrap_or_default();
        wire::backend::Message::ReadyForQuery(status).encode(self.client.output());
        Ok(())
    }

    /// Takes over what was noticed while answers were copied.
    fn note_parameters(&mut self) {
        for (name, value) in self.noticed.parameters.drain(..) {
            self.reported.insert(name, value);
        }
    }

    /// Tells the client of parameters that went back to what they were, with the transaction that set them.
    fn report_undone(&mut self) {
        if !std::mem::take(&mut self.is_report_due) {
            return;
        }
        // What the role implies is not told by the settings.
        let has_role = ["role", "session_authorization"]
            .iter()
            .any(|name| self.settings.effective(name).is_some());
        let now = |(name, first): (&String, &String)| {
            let value = self.settings.effective(&name.to_ascii_lowercase());
            let is_implied =
                has_role && (name == "is_superuser" || name == "session_authorization");
            let value = value.unwrap_or(first).to_owned();
            (!is_implied).then(|| (name.clone(), value))
        };
        let values: Vec<_> = self.reported_first.iter().filter_map(now).collect();
        self.report_parameters(&values);
    }

    /// Tells the client of every reported parameter that differs from what it was told.
    pub(crate) fn report_parameters(&mut self, values: &[(String, String)]) {
        for (name, value) in values {
            let told = self.reported.get(name);
            if told.is_some_and(|told| told != value) {
                wire::backend::Message::ParameterStatus { name, value }
                    .encode(self.client.output());
                self.reported.insert(name.clone(), value.clone());
            }
        }
    }
}

/// What PostgreSQL says when it is stopped.
fn shutting_down() -> Halt {
    let message = "terminating connection due to administrator command";
    Diagnostic::fatal(SqlState::ADMIN_SHUTDOWN, message).into()
}

/// The text of a message that is one zero-ended string.
pub(crate) fn text_of(body: &Bytes) -> Result<&str, Diagnostic> {
    let bytes = body.strip_suffix(&[0]).ok_or_else(|| {
        Diagnostic::fatal(SqlState::PROTOCOL_VIOLATION, "invalid string in message")
    })?;
    std::str::from_utf8(bytes).map_err(|error| {
        let bad = &bytes[error.valid_up_to()..];
        let shown: Vec<String> = bad
            .iter()
            .take(4)
            .map(|byte| format!("0x{byte:02x}"))
            .collect();
        let message = format!(
            "invalid byte sequence for encoding \"UTF8\": {}",
            shown.join(" ")
        );
        Diagnostic::error(SqlState::CHARACTER_NOT_IN_REPERTOIRE, message)
    })
}

impl Halt {
    /// The client's socket failed.
    pub(crate) fn client(error: io::Error) -> Self {
        Self::ClientGone(error)
    }
}
