//! One statement: found, checked against the block, run, and what it leaves behind noted.

use std::sync::Arc;

use execute::block::Kind;
use execute::{ExecuteError, Executor, Hands, Position, Ran, Request, Snapshot, Wanted};
use pg::{Diagnose as _, Diagnostic};
use plan::{Effect, Facts};
use sql::ast::{Body, Transaction as Control};

use crate::command::set::config_changes;
use crate::error::Halt;
use crate::session::Session;
use crate::simple::aborted;
use crate::statement::{Action, Shaped};

impl Session {
    /// Runs one statement of the simple protocol.
    ///
    /// # Errors
    /// What the client has not been told yet.
    pub(crate) async fn statement(
        &mut self,
        text: &str,
        position: Position,
    ) -> Result<Ran, ExecuteError> {
        self.freshen_catalog().await?;
        let mut snapshot = self.snapshot()?;
        let shaped = self.shape(text, &mut snapshot).await?;
        let lifted = std::mem::take(&mut self.lifted);
        let request = Session::simple_request(text, position, &lifted);
        let ran = self.act(&shaped, &request, &snapshot).await;
        self.lifted = lifted;
        ran
    }

    /// Does what a shape's action says, for one request.
    ///
    /// # Errors
    /// What the client has not been told yet.
    pub(crate) async fn act(
        &mut self,
        shaped: &Arc<Shaped>,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        let Some(statement) = &shaped.statement else {
            return Ok(Ran::Done { tag: None });
        };
        self.check_block(&statement.body)?;
        if matches!(statement.body, Body::Lock { .. }) && self.transaction.block().is_none() {
            let message = "LOCK TABLE can only be used in transaction blocks";
            let code = pg::SqlState::NO_ACTIVE_SQL_TRANSACTION;
            return Err(Diagnostic::error(code, message).into());
        }
        match &shaped.action {
            Action::Refuse(refusal) => Err((**refusal).clone().into()),
            Action::Command => Box::pin(self.command(&statement.body, request, snapshot)).await,
            Action::Run(planned) => {
                let (plan, facts) = (&planned.plan, planned.facts);
                let changes = if facts.sets_config {
                    config_changes(&statement.body, request)?
                } else {
                    Vec::new()
                };
                if let Body::Copy(copy) = &statement.body {
                    self.check_binary_copy(copy).await?;
                }
                self.say_notices(&plan.notices);
                let ran = self
                    .executor(snapshot)
                    .lend()
                    .run(plan, facts, request)
                    .await?;
                self.leave_behind(plan.effect, facts, &changes).await?;
                Ok(ran)
            }
        }
    }

    /// In a failed block only its end and `ROLLBACK TO` are allowed.
    pub(crate) fn check_block(&self, body: &Body) -> Result<(), Diagnostic> {
        let is_failed = self
            .transaction
            .block()
            .is_some_and(|block| block.is_failed);
        let ends = matches!(
            body,
            Body::Transaction(
                Control::Commit { .. } | Control::Rollback { .. } | Control::RollbackTo(_)
            )
        );
        if is_failed && !ends {
            Err(aborted())
        } else {
            Ok(())
        }
    }

    pub(crate) fn say_notices(&mut self, notices: &[Diagnostic]) {
        let level = self
            .settings
            .effective("client_min_messages")
            .unwrap_or("notice");
        let least = least_severity(level);
        for notice in notices.iter().filter(|notice| notice.severity >= least) {
            wire::backend::notice_response(self.client.output(), notice);
        }
    }

    /// What is lent to an [`Executor`].
    pub(crate) fn executor<'a>(&'a mut self, snapshot: &'a Snapshot) -> Workbench<'a> {
        Workbench {
            hands: Hands {
                environment: &self.house.environment,
                client: &mut self.client,
                transaction: &mut self.transaction,
                wanted: Wanted {
                    session: self.settings.session(),
                    local: self.settings.local(),
                },
                noticed: &mut self.noticed,
                numbers: &self.numbers,
            },
            sequences: &mut self.sequences,
            snapshot,
        }
    }

    /// Notes what a statement left behind in the session.
    pub(crate) async fn leave_behind(
        &mut self,
        effect: Effect,
        facts: Facts,
        changes: &[(String, bool)],
    ) -> Result<(), ExecuteError> {
        if effect == Effect::Define {
            self.defined().await?;
        }
        self.read_back_settings(changes).await?;
        if facts.forgets_sequences || effect == Effect::Define {
            self.house.environment.sequences.forget_all();
        }
        if facts.draws_unseen {
            self.sequences.note_unseen();
        }
        if facts.pins {
            self.note_pins().await?;
        }
        Ok(())
    }

    /// Definitions have changed: the open block sees its own catalog from its next statement on.
    async fn defined(&mut self) -> Result<(), ExecuteError> {
        let Some(block) = self.transaction.block_mut() else {
            self.house.catalogs.refresh(&self.meaning.database).await?;
            return Ok(());
        };
        block.has_defined = true;
        self.is_catalog_stale = true;
        Ok(())
    }

    /// Reads the catalog as the open block sees it, once its definitions have changed.
    pub(crate) async fn freshen_catalog(&mut self) -> Result<(), ExecuteError> {
        let is_usable = self
            .transaction
            .block()
            .is_some_and(|block| !block.is_failed);
        if !self.is_catalog_stale || !is_usable {
            return Ok(());
        }
        let authority = self.house.topology.load().authoritative_shard();
        if let Some(participant) = self.transaction.participant(authority) {
            participant.settle_ahead().await?;
            let own = self.house.catalogs.load_on(participant.backend()).await?;
            self.numbers = self.own_numbers(&own, authority).await?;
            self.own_catalog = Some(own);
            self.is_catalog_stale = false;
        }
        Ok(())
    }

    /// The numbers that the open block's backends have for its own catalog.
    async fn own_numbers(
        &mut self,
        catalog: &Arc<catalog::Catalog>,
        authority: topology::ShardId,
    ) -> Result<Arc<execute::Numbers>, ExecuteError> {
        let count = self.house.environment.shard_names.len();
        let numbers = execute::Numbers::new(Arc::clone(catalog), authority, count);
        for participant in self.transaction.participants() {
            if participant.shard == authority {
                continue;
            }
            participant.settle_ahead().await?;
            let loaded = pool::TypeMap::load_within(participant.backend(), catalog).await;
            let mut map = loaded.map_err(|error| error.to_diagnostic())?;
            map.assume_settled();
            numbers.note(participant.shard, map);
        }
        Ok(Arc::new(numbers))
    }

    /// Looks what session state the statement left on the backends at hand: those that hold some stay with the session.
    pub(crate) async fn note_pins(&mut self) -> Result<(), ExecuteError> {
        const LOCKS: &str = "SELECT count(*) FROM pg_catalog.pg_locks \
                             WHERE locktype = 'advisory' AND pid = pg_catalog.pg_backend_pid()";
        const TEMPORARY: &str = "SELECT relname FROM pg_catalog.pg_class \
                                 WHERE relnamespace = pg_catalog.pg_my_temp_schema()";
        let is_failed = self
            .transaction
            .block()
            .is_some_and(|block| block.is_failed);
        if is_failed {
            return Ok(());
        }
        let mut temporary = Vec::new();
        for participant in self.transaction.participants() {
            participant.settle_ahead().await?;
            let locks = participant.backend().simple(LOCKS).await?;
            let locks = locks.first().and_then(pool::ResultSet::value);
            participant.pins.advisory = locks.is_some_and(|count| count != "0");
            let names = participant.backend().simple(TEMPORARY).await?;
            let names = names
                .into_iter()
                .flat_map(|result| result.rows)
                .flatten()
                .flatten();
            let before = temporary.len();
            temporary.extend(names);
            participant.pins.temporary = temporary.len() > before;
        }
        self.meaning.temporary = temporary;
        Ok(())
    }

    /// Commits the router's own block at the end of a request. What goes wrong is told to the client.
    pub(crate) async fn end_implicit(&mut self) -> Result<(), Halt> {
        let is_failed = self
            .transaction
            .block()
            .is_some_and(|block| block.is_failed);
        if is_failed {
            self.rollback_block().await;
            return Ok(());
        }
        if let Err(error) = self.commit_block().await {
            let diagnostic = error.to_diagnostic();
            wire::backend::error_response(self.client.output(), &diagnostic);
        }
        Ok(())
    }

    /// Commits the open block.
    ///
    /// # Errors
    /// It was rolled back, or its outcome isn't known; the client has not been told yet.
    pub(crate) async fn commit_block(&mut self) -> Result<(), ExecuteError> {
        let has_defined = self
            .transaction
            .block()
            .is_some_and(|block| block.has_defined);
        let committed = self.transaction.commit(&self.house.environment).await;
        let is_committed = committed.is_ok();
        self.block_ended(is_committed).await;
        if has_defined {
            self.house.catalogs.refresh(&self.meaning.database).await?;
        }
        let notices = committed?;
        self.say_notices(&notices);
        Ok(())
    }

    /// Rolls the open block back.
    pub(crate) async fn rollback_block(&mut self) {
        self.transaction.rollback().await;
        self.block_ended(false).await;
    }

    /// What ends with a block, whichever way it ended.
    async fn block_ended(&mut self, is_committed: bool) {
        if is_committed {
            self.settings.commit();
            self.meaning.update(&self.settings);
            self.is_report_due = true;
        } else {
            self.undo_settings();
        }
        self.own_catalog = None;
        self.is_catalog_stale = false;
        self.portals.clear();
        self.cursors
            .retain(|_, cursor| cursor.is_held && is_committed);
        let is_kept = |held: &execute::Participant| held.pins.any();
        if is_committed {
            let session = self.settings.session().clone();
            for held in self
                .transaction
                .participants()
                .iter_mut()
                .filter(|held| is_kept(held))
            {
                held.backend().assume_settings(session.clone());
            }
        }
        self.transaction.release().await;
    }

    /// The settings that the transaction has changed are as they were before it.
    pub(crate) fn undo_settings(&mut self) {
        self.settings.rollback();
        self.meaning.update(&self.settings);
        self.is_report_due = true;
    }

    /// Everything that the session holds goes back, at its end.
    pub(crate) async fn rollback_all(&mut self) {
        if self.transaction.block().is_some() {
            self.transaction.rollback().await;
        }
        self.transaction.release_all().await;
    }

    /// The block that is open was opened by the client.
    pub(crate) fn is_in_explicit_block(&self) -> bool {
        self.transaction
            .block()
            .is_some_and(|block| block.kind == Kind::Explicit)
    }
}

/// The least severity that `client_min_messages` lets through.
fn least_severity(level: &str) -> pg::Severity {
    match level {
        "log" => pg::Severity::Log,
        "notice" | "info" => pg::Severity::Notice,
        "warning" => pg::Severity::Warning,
        "error" => pg::Severity::Error,
        _ => pg::Severity::Debug,
    }
}

/// What an [`Executor`] borrows of its session.
pub(crate) struct Workbench<'a> {
    hands: Hands<'a>,
    sequences: &'a mut execute::SessionSequences,
    snapshot: &'a Snapshot,
}

impl<'a> Workbench<'a> {
    /// An executor at this workbench.
    pub(crate) fn lend(&mut self) -> Executor<'_, 'a> {
        Executor {
            hands: &mut self.hands,
            snapshot: self.snapshot,
            sequences: self.sequences,
        }
    }
}
