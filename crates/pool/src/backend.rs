//! One connection to PostgreSQL and what is known of its state.
//!
//! Invariant: whatever sends something that is answered by `ReadyForQuery` counts it in [`Backend::expect_ready`]
//! before, whatever writes messages of the extended protocol says so with [`Backend::open_batch`], and whatever reads a
//! `ReadyForQuery` calls [`Backend::note_ready`]. So a backend that is dropped in the
//! middle of an answer is known to be in the middle, and is never given to anybody else.

mod exchange;
mod open;

pub use exchange::ResultSet;
pub(crate) use open::{Opening, open};

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::time::Instant;
use wire::backend::TransactionStatus;

use crate::settings::is_repeatable;
use crate::shard::Proven;
use crate::{BackendError, CancelTarget, Identity, Prepared, Settings};

/// A connection to PostgreSQL. Reached through a [`crate::Lease`].
#[derive(Debug)]
pub struct Backend {
    /// The socket and its buffers; statements are relayed on it.
    pub connection: net::Connection,
    /// The prepared statements that it holds.
    pub prepared: Prepared,
    /// `ParameterStatus` values as last reported.
    pub parameters: BTreeMap<String, String>,
    /// When its process started, in microseconds since 1970, once it was asked: with the process id, what
    /// tells it from every other that there was or will be.
    pub started_us: Option<i64>,
    pub(crate) shard: Arc<str>,
    pub(crate) identity: Identity,
    pub(crate) cancel: CancelTarget,
    pub(crate) expires_at: Instant,
    pub(crate) idle_since: Instant,
    pub(crate) proven: Arc<Proven>,
    transaction_status: TransactionStatus,
    ready_expected: u32,
    /// Messages of the extended protocol were written since the last `Sync`.
    has_open_batch: bool,
    settings: Settings,
    /// The settings that were written ahead, until their answers have been read.
    unsettled: Option<Settings>,
    condition: Condition,
    /// Names of the custom settings that were ever set here; they can be emptied but never be unknown again.
    custom: BTreeSet<Box<str>>,
}

/// What has to happen before the next lease, worst last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Condition {
    /// Nothing.
    Clean,
    /// `DISCARD ALL`.
    NeedsDiscard,
    /// It can only be closed.
    Poisoned,
}

impl Backend {
    /// The shard's uid.
    #[must_use]
    pub fn shard(&self) -> &Arc<str> {
        &self.shard
    }

    /// Who is logged in, and in which database.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// PostgreSQL's process.
    #[must_use]
    pub fn process_id(&self) -> i32 {
        self.cancel.key.pid
    }

    /// What is needed to cancel what runs on it: see [`crate::cancel`].
    #[must_use]
    pub fn cancel_target(&self) -> CancelTarget {
        self.cancel.clone()
    }

    /// What the last `ReadyForQuery` said.
    #[must_use]
    pub fn transaction_status(&self) -> TransactionStatus {
        self.transaction_status
    }

    /// How many `ReadyForQuery` are still to come.
    #[must_use]
    pub fn ready_expected(&self) -> u32 {
        self.ready_expected
    }

    /// The session settings that are applied, those written ahead included.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        self.unsettled.as_ref().unwrap_or(&self.settings)
    }

    /// Notes that one more `ReadyForQuery` will come (a `Query`, `Sync` or `FunctionCall` was written).
    pub fn expect_ready(&mut self) {
        self.has_open_batch = false;
        self.ready_expected += 1;
    }

    /// Notes that messages of the extended protocol were written whose `Sync` is not written yet. Until it is, the backend
    /// may run a statement and hold a transaction that its last status byte doesn't tell of.
    pub fn open_batch(&mut self) {
        self.has_open_batch = true;
    }

    /// Nothing runs, nothing is to be answered, and no transaction is open.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.ready_expected == 0
            && !self.has_open_batch
            && self.transaction_status == TransactionStatus::Idle
    }

    /// Notes a `ReadyForQuery` with this status.
    pub fn note_ready(&mut self, status: TransactionStatus) {
        self.transaction_status = status;
        self.ready_expected = self.ready_expected.saturating_sub(1);
    }

    /// Notes a `ParameterStatus`.
    pub fn note_parameter(&mut self, name: &str, value: &str) {
        match self.parameters.get_mut(name) {
            Some(old) if old == value => {}
            Some(old) => value.clone_into(old),
            None => {
                self.parameters.insert(name.to_owned(), value.to_owned());
            }
        }
    }

    /// Notes that the client itself changed settings here: they are these now.
    pub fn assume_settings(&mut self, settings: Settings) {
        self.note_custom_of(&settings);
        self.settings = settings;
    }

    /// Notes that a custom setting (one with a dot in its name) was set here in any way, `SET LOCAL` too. PostgreSQL shows
    /// it as empty from then on where it was unknown before, whatever resets it, so the backend is only given to sessions
    /// that have it among their settings: see [`crate::Pools::lease_for`].
    pub fn note_custom(&mut self, name: &str) {
        if name.contains('.') && !self.custom.contains(name) {
            self.custom.insert(name.into());
        }
    }

    /// No custom setting was set here that is not among these settings.
    #[must_use]
    pub fn suits(&self, settings: &Settings) -> bool {
        self.custom
            .iter()
            .all(|name| settings.value(name).is_some())
    }

    /// Its state is not known any more: it is closed instead of being given back.
    pub fn poison(&mut self) {
        self.condition = Condition::Poisoned;
    }

    /// It holds session state that only `DISCARD ALL` removes (temporary tables, LISTEN, held cursors, session
    /// advisory locks, a setting that isn't tracked): that is run before the next lease.
    pub fn require_discard(&mut self) {
        self.condition = self.condition.max(Condition::NeedsDiscard);
    }

    /// It will be closed when it is given back.
    #[must_use]
    pub fn is_poisoned(&self) -> bool {
        self.condition == Condition::Poisoned
    }

    /// Makes the session settings equal to `wanted` in at most one round trip. Outside of transactions only, since a
    /// rollback would undo it.
    ///
    /// # Errors
    /// What PostgreSQL says to a value; then nothing has changed.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn apply(&mut self, wanted: &Settings) -> Result<(), BackendError> {
        self.settle().await?;
        let Some(sql) = wanted.statements_from(&self.settings) else {
            return Ok(());
        };
        if self.transaction_status != TransactionStatus::Idle {
            stdx::never!("settings of the session applied inside a transaction");
            self.poison();
        }
        self.note_custom_of(wanted);
        self.simple(&sql).await?;
        for (name, value) in wanted.additions_from(&self.settings) {
            self.proven.insert(&self.identity, name, value);
        }
        self.settings = wanted.clone();
        Ok(())
    }

    /// As [`Backend::apply`], without a round trip where each changed value has been accepted by this shard before:
    /// then the change is only written to the output buffer, ahead of the statement that the caller writes next, and
    /// the caller calls [`Backend::settle`] before it reads that statement's answer.
    ///
    /// # Errors
    /// As [`Backend::apply`].
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn apply_ahead(&mut self, wanted: &Settings) -> Result<(), BackendError> {
        if *wanted == *self.settings() {
            return Ok(());
        }
        self.settle().await?;
        let is_proven = wanted.additions_from(&self.settings).all(|(name, value)| {
            is_repeatable(name) && self.proven.contains(&self.identity, name, value)
        });
        if !is_proven {
            return self.apply(wanted).await;
        }
        if let Some(sql) = wanted.statements_from(&self.settings) {
            self.note_custom_of(wanted);
            self.write_query(&sql);
            self.unsettled = Some(wanted.clone());
        }
        Ok(())
    }

    /// Reads the answers of settings that were written ahead; nothing to do otherwise. Flushes the output first.
    ///
    /// # Errors
    /// What PostgreSQL said to a value, against what it said before. What was sent after it ran with other settings:
    /// its answer must not be shown. The backend is poisoned.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn settle(&mut self) -> Result<(), BackendError> {
        if self.unsettled.is_none() {
            return Ok(());
        }
        let result = self.read_results().await;
        let settled = self.unsettled.take();
        match result {
            Ok(_) => {
                self.settings = settled.unwrap_or_default();
                Ok(())
            }
            Err(error) => {
                self.proven.clear();
                self.poison();
                Err(error)
            }
        }
    }

    /// What to do with it when it is given back.
    pub(crate) fn fate(&mut self) -> Fate {
        let is_open = !self.connection.is_closed();
        let is_silent = is_open
            && self.unsettled.is_none()
            && self.connection.buffered().is_empty()
            && self.connection.output().is_empty();
        match self.condition {
            _ if is_open && (self.ready_expected > 0 || self.has_open_batch) => {
                Fate::CancelAndClose
            }
            _ if self.cancel.under_way.load(Ordering::SeqCst) > 0 => Fate::Close,
            Condition::Poisoned => Fate::Close,
            _ if !is_silent => Fate::Close,
            Condition::Clean if self.transaction_status == TransactionStatus::Idle => Fate::Keep,
            Condition::Clean | Condition::NeedsDiscard => Fate::Clean,
        }
    }

    /// Ends an open transaction and removes session state.
    pub(crate) async fn clean(&mut self) -> Result<(), BackendError> {
        if self.transaction_status != TransactionStatus::Idle {
            self.simple("ROLLBACK").await?;
        }
        if self.condition == Condition::NeedsDiscard {
            self.simple("DISCARD ALL").await?;
            self.prepared.clear();
            self.settings = Settings::empty();
        }
        self.condition = Condition::Clean;
        Ok(())
    }

    fn note_custom_of(&mut self, settings: &Settings) {
        for (name, _) in settings.iter() {
            self.note_custom(name);
        }
    }

    /// Tells PostgreSQL that this is the end, if that can be said without waiting.
    pub(crate) fn say_goodbye(&mut self) {
        if self.ready_expected == 0 && self.condition != Condition::Poisoned {
            let output = self.connection.output();
            output.clear();
            wire::frontend::Message::Terminate.encode(output);
            // The socket is closed next; PostgreSQL sees that too.
            self.connection.try_flush().ok();
        }
    }

    /// Looks whether PostgreSQL said something while the backend was idle: what is harmless is taken in; an error or the
    /// end means that it is of no use. Costs nothing but a look at the reactor's flag while nothing has come.
    pub(crate) fn is_alive(&mut self) -> bool {
        loop {
            match self.connection.try_fill() {
                Ok(0) => return false,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(_) => return false,
            }
        }
        while let Ok(Some(frame)) = self.buffered_frame() {
            if !matches!(frame.tag, b'S' | b'N' | b'A') {
                return false;
            }
        }
        // Half a message: its rest will come, but not to somebody who waits for an answer of his own.
        self.connection.buffered().is_empty()
    }
}

/// See [`Backend::fate`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// Back to the idle ones.
    Keep,
    /// To be cleaned, then back.
    Clean,
    /// Closed.
    Close,
    /// A statement still runs: it is cancelled, then the connection is closed.
    CancelAndClose,
}
