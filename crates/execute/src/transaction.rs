//! One session's transaction over the shards: which backends it holds, and what they must be given.
//!
//! A shard is enlisted when a statement first needs it. Outside a block a participant is given back as soon as the statement is
//! over; inside, it is kept until the block ends; a pinned one is kept as long as its state lives.
//!
//! Invariant: every participant of an open block has been given `BEGIN`, the live savepoints and the settings before its
//! first statement, so that no shard can tell that it came late.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use pg::Diagnostic;
use pool::{Backend, Identity, Lease, Pools};
use topology::ShardId;

use crate::block::{Block, Kind, Modes};
use crate::commit;
use crate::pump::{Expect, Script};
use crate::{Environment, ExecuteError, Running};

/// Why a backend stays with its session after the transaction.
#[expect(clippy::struct_excessive_bools, reason = "any combination is possible")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pins {
    /// Temporary tables.
    pub temporary: bool,
    /// `LISTEN`.
    pub listening: bool,
    /// Session-level advisory locks.
    pub advisory: bool,
    /// Cursors `WITH HOLD`.
    pub held_cursor: bool,
}

/// A backend that the session holds.
#[derive(Debug)]
pub struct Participant {
    /// Its shard.
    pub shard: ShardId,
    /// The backend.
    pub lease: Lease,
    /// It may have written in this transaction.
    pub wrote: bool,
    /// It did what `PREPARE TRANSACTION` refuses (temporary tables, LISTEN, NOTIFY, held cursors), so it must be the decider.
    pub cannot_prepare: bool,
    /// Why it stays.
    pub pins: Pins,
    /// It has been given `BEGIN`.
    in_block: bool,
    /// Answers to what was written ahead of the next statement.
    pub(crate) ahead: Script,
}

/// The settings that a backend must have when it is enlisted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    /// Of the session.
    pub session: &'a pool::Settings,
    /// Of `SET LOCAL`.
    pub local: &'a pool::Settings,
}

/// A session's transaction.
#[derive(Debug)]
pub struct Transaction {
    pools: Pools,
    identity: Identity,
    wait: Duration,
    running: Arc<Running>,
    participants: Vec<Participant>,
    block: Option<Block>,
}

// === impl Pins ===

impl Pins {
    /// Any reason.
    #[must_use]
    pub fn any(self) -> bool {
        self != Self::default()
    }
}

// === impl Participant ===

impl Participant {
    /// The backend.
    pub fn backend(&mut self) -> &mut Backend {
        &mut self.lease
    }

    /// What the pump has to expect first: the answers to what was written ahead.
    pub fn take_ahead(&mut self) -> Script {
        std::mem::take(&mut self.ahead)
    }

    /// Reads the answers to what was written ahead, for callers that read the next answer themselves.
    ///
    /// # Errors
    /// What PostgreSQL says to `BEGIN` or a setting, or a lost connection.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub async fn settle_ahead(&mut self) -> Result<(), ExecuteError> {
        self.lease.settle().await?;
        for _ in std::mem::take(&mut self.ahead) {
            self.lease.read_results().await?;
        }
        Ok(())
    }

    /// Notes what a statement is about to do here.
    pub fn note(&mut self, effect: plan::Effect, facts: plan::Facts) {
        self.wrote |= effect >= plan::Effect::Write;
        self.cannot_prepare |= facts.unpreparable || facts.uses_temporary;
    }

    /// Writes a statement of the router's own ahead of the next one; its answer is swallowed.
    fn write_ahead(&mut self, sql: &str) {
        wire::frontend::Message::Query { text: sql }.encode(self.lease.connection.output());
        self.lease.expect_ready();
        self.ahead.push_back(Expect::SkipQuery);
    }
}

// === impl Transaction ===

impl Transaction {
    /// No block, no backends.
    #[must_use]
    pub fn new(pools: Pools, identity: Identity, wait: Duration) -> Self {
        let running = Arc::default();
        Self {
            pools,
            identity,
            wait,
            running,
            participants: Vec::new(),
            block: None,
        }
    }

    /// Where its statement runs at the moment.
    #[must_use]
    pub fn running(&self) -> &Arc<Running> {
        &self.running
    }

    /// Who the backends are logged in as.
    #[must_use]
    pub fn identity(&self) -> &Identity {
        &self.identity
    }

    /// How long it waits for a backend.
    #[must_use]
    pub fn wait(&self) -> Duration {
        self.wait
    }

    /// The shards' pools.
    #[must_use]
    pub fn pools(&self) -> &Pools {
        &self.pools
    }

    /// The status byte that the client is told.
    #[must_use]
    pub fn status(&self) -> u8 {
        match &self.block {
            Some(block) if block.is_failed => b'E',
            Some(Block {
                kind: Kind::Explicit,
                ..
            }) => b'T',
            _ => b'I',
        }
    }

    /// The open block.
    #[must_use]
    pub fn block(&self) -> Option<&Block> {
        self.block.as_ref()
    }

    /// The open block, to be changed.
    pub fn block_mut(&mut self) -> Option<&mut Block> {
        self.block.as_mut()
    }

    /// Opens a block; shards hear of it when they are enlisted. An implicit block that is open becomes explicit.
    pub fn begin(&mut self, kind: Kind, modes: Modes) {
        match &mut self.block {
            Some(block) if kind == Kind::Explicit => block.kind = Kind::Explicit,
            Some(_) => {}
            None => self.block = Some(Block::new(kind, modes)),
        }
    }

    /// Notes that a statement failed: an open block is failed now.
    pub fn fail(&mut self) {
        if let Some(block) = &mut self.block {
            block.is_failed = true;
        }
    }

    /// The backends held.
    pub fn participants(&mut self) -> &mut Vec<Participant> {
        &mut self.participants
    }

    /// Shards of the backends held.
    pub fn shards(&self) -> impl Iterator<Item = ShardId> + '_ {
        self.participants
            .iter()
            .map(|participant| participant.shard)
    }

    /// Whether a backend of this shard is held.
    #[must_use]
    pub fn holds(&self, shard: ShardId) -> bool {
        self.shards().any(|held| held == shard)
    }

    /// The participant of a shard that is held.
    pub fn participant(&mut self, shard: ShardId) -> Option<&mut Participant> {
        self.participants
            .iter_mut()
            .find(|participant| participant.shard == shard)
    }

    /// The place of the participant on `shard`, leasing a backend when none is held. What the backend needs first (settings, `BEGIN`,
    /// savepoints) is written to its output, unsent; [`Participant::take_ahead`] says which answers come before the statement's.
    ///
    /// # Errors
    /// No backend could be had, or it refused the session's settings.
    ///
    /// # Cancel safety
    /// Not cancel safe once it has begun to apply settings; the backend is then closed when it is dropped.
    pub async fn enlist(
        &mut self,
        environment: &Environment,
        shard: ShardId,
        wanted: Wanted<'_>,
    ) -> Result<usize, ExecuteError> {
        let index = if let Some(index) = self
            .participants
            .iter()
            .position(|held| held.shard == shard)
        {
            index
        } else {
            self.check_isolation(environment, shard, wanted)?;
            let lease = self.lease(shard, wanted.session).await?;
            self.running.enter(lease.cancel_target()).await;
            self.participants.push(Participant {
                shard,
                lease,
                wrote: false,
                cannot_prepare: false,
                pins: Pins::default(),
                in_block: false,
                ahead: Script::new(),
            });
            self.participants.len() - 1
        };
        let participant = &mut self.participants[index];
        if participant.in_block {
            return Ok(index);
        }
        if participant.lease.settings() != wanted.session {
            participant.lease.apply_ahead(wanted.session).await?;
        }
        if let Some(block) = &self.block {
            for (name, _) in wanted.local.iter() {
                participant.lease.note_custom(name);
            }
            participant.write_ahead(&opening(block, wanted.local));
            participant.in_block = true;
        }
        Ok(index)
    }

    /// Waits for a backend, unless the client cancels.
    async fn lease(
        &self,
        shard: ShardId,
        settings: &pool::Settings,
    ) -> Result<Lease, ExecuteError> {
        tokio::select! {
            biased;
            lease = self.pools.lease_for(shard, &self.identity, settings, self.wait) => Ok(lease?),
            () = self.running.cancelled() => Err(ExecuteError::Cancelled),
        }
    }

    /// Above READ COMMITTED every shard of a transaction would need the same snapshot.
    fn check_isolation(
        &self,
        environment: &Environment,
        shard: ShardId,
        wanted: Wanted<'_>,
    ) -> Result<(), ExecuteError> {
        let Some(block) = &self.block else {
            return Ok(());
        };
        let level = block
            .modes
            .isolation
            .as_deref()
            .or_else(|| wanted.local.value("transaction_isolation"))
            .or_else(|| wanted.session.value("default_transaction_isolation"))
            .unwrap_or("read committed");
        let is_second = self.participants.iter().any(|held| held.in_block);
        if is_second && !matches!(level, "read committed" | "read uncommitted") {
            let shard = environment.shard_name(shard);
            return Err(ExecuteError::Isolation {
                level: level.to_owned(),
                shard,
            });
        }
        Ok(())
    }

    /// Participants that are in the open block, by place.
    #[must_use]
    pub fn in_block(&self) -> Vec<usize> {
        let places = self.participants.iter().enumerate();
        places
            .filter(|(_, held)| held.in_block)
            .map(|(place, _)| place)
            .collect()
    }

    /// Notes that the participants have left the block, after its commit or rollback.
    fn left_block(&mut self) {
        for participant in &mut self.participants {
            participant.in_block = false;
            participant.wrote = false;
            participant.cannot_prepare = false;
            participant.ahead.clear();
        }
    }

    /// Notes that a participant that ran a statement outside any block is in one now (see [`Kind::Implicit`]).
    pub fn joined_block(&mut self, place: usize) {
        self.participants[place].in_block = true;
    }

    /// Runs a command of the block's own (a savepoint, `SET CONSTRAINTS` ...) on every shard that is in it.
    ///
    /// # Errors
    /// What the first shard that objects says; the block has failed then.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn everywhere(&mut self, command: &str) -> Result<(), ExecuteError> {
        if self.block.as_ref().is_some_and(|block| block.is_lost) {
            return Err(ExecuteError::Lost);
        }
        for participant in self.participants.iter_mut().filter(|held| held.in_block) {
            participant.settle_ahead().await?;
            participant.lease.simple(command).await?;
        }
        Ok(())
    }

    /// Ends the open block with its changes. Notices for the client come back.
    ///
    /// # Errors
    /// It was rolled back everywhere, or its outcome isn't known; the error tells which.
    ///
    /// # Cancel safety
    /// Not cancel safe: dropped, it leaves the outcome to recovery.
    pub async fn commit(
        &mut self,
        environment: &Environment,
    ) -> Result<Vec<Diagnostic>, ExecuteError> {
        if let Err(error) = self.settle_block().await {
            self.rollback().await;
            return Err(error);
        }
        self.block = None;
        // A cancel that comes now would leave a part of the commit undone.
        self.running.retain([]).await;
        let mut enlisted: Vec<_> = self
            .participants
            .iter_mut()
            .filter(|held| held.in_block)
            .map(|held| commit::Enlisted {
                wrote: held.wrote,
                can_prepare: !held.cannot_prepare,
                backend: &mut held.lease,
            })
            .collect();
        let committed = if enlisted.is_empty() {
            Ok(Vec::new())
        } else {
            environment
                .committer
                .commit(&mut enlisted)
                .await
                .map(|done| done.notices)
        };
        self.left_block();
        let held: Vec<_> = self
            .participants
            .iter()
            .map(|held| held.lease.cancel_target())
            .collect();
        self.running.retain(held).await;
        Ok(committed?)
    }

    /// Reads what is still to be answered by the shards in the block.
    async fn settle_block(&mut self) -> Result<(), ExecuteError> {
        for participant in self.participants.iter_mut().filter(|held| held.in_block) {
            participant.settle_ahead().await?;
        }
        Ok(())
    }

    /// Ends the open block without its changes.
    ///
    /// # Cancel safety
    /// Not cancel safe: a backend in the middle of its rollback is closed.
    pub async fn rollback(&mut self) {
        self.block = None;
        for participant in self.participants.iter_mut().filter(|held| held.in_block) {
            // A backend in the middle of an answer can't be asked to roll back; its pool cancels what runs and closes it.
            let expected = participant.lease.ready_expected() as usize;
            let is_free = expected == participant.ahead.len();
            let ended = is_free
                && participant.settle_ahead().await.is_ok()
                && participant.lease.simple("ROLLBACK").await.is_ok();
            if !ended {
                participant.lease.poison();
            }
        }
        self.left_block();
        self.participants.retain(|held| !held.lease.is_poisoned());
    }

    /// Gives back every backend that nothing holds. Those in an unknown state are closed by their pool.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn release(&mut self) {
        if self.block.is_some() || self.participants.is_empty() {
            return;
        }
        let stays = |held: &Participant| held.pins.any() && !held.lease.is_poisoned();
        let kept = self.participants.iter().filter(|held| stays(held));
        self.running
            .retain(kept.map(|held| held.lease.cancel_target()))
            .await;
        self.participants.retain(stays);
    }

    /// Gives back the backends whose state is not known any more: their pool closes them. A block that loses one has failed.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn drop_broken(&mut self) {
        let is_broken = |held: &Participant| {
            held.lease.is_poisoned()
                || held.lease.connection.is_closed()
                || held.lease.ready_expected() > 0
        };
        if !self.participants.iter().any(is_broken) {
            return;
        }
        if let Some(block) = &mut self.block {
            block.is_failed = true;
            block.is_lost |= self
                .participants
                .iter()
                .any(|held| held.in_block && is_broken(held));
        }
        for held in self.participants.iter_mut().filter(|held| is_broken(held)) {
            held.lease.poison();
        }
        let kept = self.participants.iter().filter(|held| !is_broken(held));
        self.running
            .retain(kept.map(|held| held.lease.cancel_target()))
            .await;
        self.participants.retain(|held| !is_broken(held));
    }

    /// Gives every backend back, pinned ones too; they are cleaned first.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn release_all(&mut self) {
        self.running.retain([]).await;
        self.block = None;
        for participant in &mut self.participants {
            if participant.pins.any() {
                participant.lease.require_discard();
            }
        }
        self.participants.clear();
    }
}

/// What a backend is given when it enters `block`.
fn opening(block: &Block, local: &pool::Settings) -> String {
    let mut sql = block.replay();
    if !local.is_empty() {
        for (name, value) in local.iter() {
            let (name, value) = (sql::quote_literal(name), sql::quote_literal(value));
            let _ = write!(sql, "; SELECT set_config({name}, {value}, true)");
        }
    }
    sql
}
