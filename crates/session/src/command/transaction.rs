//! `BEGIN`, `COMMIT`, `ROLLBACK`, savepoints.

use execute::block::{Kind, Modes};
use execute::{ExecuteError, Ran, Request};
use pg::{Diagnostic, SqlState};
use sql::ast::{Transaction as Control, TransactionModes};

use crate::command::refusal;
use crate::session::Session;

impl Session {
    pub(super) async fn control(
        &mut self,
        control: &Control,
        request: &Request<'_>,
    ) -> Result<Ran, ExecuteError> {
        match control {
            Control::Begin(modes) => {
                let word = request.text.get(..5).unwrap_or_default();
                let is_start = word.eq_ignore_ascii_case("start");
                let tag = if is_start {
                    "START TRANSACTION"
                } else {
                    "BEGIN"
                };
                Ok(self.begin(modes_of(modes), tag))
            }
            Control::Commit { chain } => self.commit(*chain).await,
            Control::Rollback { chain } => self.rollback(*chain).await,
            Control::Savepoint(name) => self.savepoint(name).await,
            Control::Release(name) => self.release(name).await,
            Control::RollbackTo(name) => self.rollback_to(name).await,
            Control::Prepare(_) | Control::CommitPrepared(_) | Control::RollbackPrepared(_) => {
                let what = "two-phase commands of the client are not supported";
                let hint =
                    "The router itself commits over several shards in two phases; use COMMIT.";
                Err(refusal("client-two-phase", what, hint).into())
            }
        }
    }

    fn begin(&mut self, modes: Modes, tag: &'static str) -> Ran {
        if self.is_in_explicit_block() {
            let message = "there is already a transaction in progress";
            let code = SqlState::ACTIVE_SQL_TRANSACTION;
            self.say_notices(&[Diagnostic::warning(code, message)]);
        } else {
            self.open_block(modes);
        }
        self.done(tag)
    }

    fn open_block(&mut self, modes: Modes) {
        self.transaction.begin(Kind::Explicit, modes);
        self.settings.begin();
    }

    async fn commit(&mut self, chain: bool) -> Result<Ran, ExecuteError> {
        let modes = self.end_of_block("COMMIT", chain)?;
        let is_failed = self
            .transaction
            .block()
            .is_some_and(|block| block.is_failed);
        if is_failed {
            self.rollback_block().await;
        } else if self.transaction.block().is_some() {
            self.commit_block().await?;
        }
        if chain {
            self.open_block(modes);
        }
        Ok(self.done(if is_failed { "ROLLBACK" } else { "COMMIT" }))
    }

    async fn rollback(&mut self, chain: bool) -> Result<Ran, ExecuteError> {
        let modes = self.end_of_block("ROLLBACK", chain)?;
        if self.transaction.block().is_some() {
            self.rollback_block().await;
        }
        if chain {
            self.open_block(modes);
        }
        Ok(self.done("ROLLBACK"))
    }

    /// The modes of the block that is about to end; a warning (with `AND CHAIN` an error) when the client has opened none.
    fn end_of_block(&mut self, command: &str, chain: bool) -> Result<Modes, Diagnostic> {
        if self.is_in_explicit_block() {
            return Ok(self
                .transaction
                .block()
                .map(|block| block.modes.clone())
                .unwrap_or_default());
        }
        let code = SqlState::NO_ACTIVE_SQL_TRANSACTION;
        if chain {
            let message = format!("{command} AND CHAIN can only be used in transaction blocks");
            return Err(Diagnostic::error(code, message));
        }
        self.say_notices(&[Diagnostic::warning(
            code,
            "there is no transaction in progress",
        )]);
        Ok(Modes::default())
    }

    async fn savepoint(&mut self, name: &str) -> Result<Ran, ExecuteError> {
        self.require_block("SAVEPOINT")?;
        let command = format!("SAVEPOINT {}", sql::quote_ident(name));
        self.transaction.everywhere(&command).await?;
        if let Some(block) = self.transaction.block_mut() {
            block.savepoint(name);
        }
        self.settings.savepoint(name);
        Ok(self.done("SAVEPOINT"))
    }

    async fn release(&mut self, name: &str) -> Result<Ran, ExecuteError> {
        self.require_block("RELEASE SAVEPOINT")?;
        self.require_savepoint(name)?;
        let command = format!("RELEASE SAVEPOINT {}", sql::quote_ident(name));
        self.transaction.everywhere(&command).await?;
        if let Some(block) = self.transaction.block_mut() {
            let _ = block.release(name);
        }
        self.settings.release(name);
        Ok(self.done("RELEASE"))
    }

    async fn rollback_to(&mut self, name: &str) -> Result<Ran, ExecuteError> {
        self.require_block("ROLLBACK TO SAVEPOINT")?;
        self.require_savepoint(name)?;
        let command = format!("ROLLBACK TO SAVEPOINT {}", sql::quote_ident(name));
        self.transaction.everywhere(&command).await?;
        if let Some(block) = self.transaction.block_mut() {
            let _ = block.rollback_to(name);
        }
        self.settings.rollback_to(name);
        self.meaning.update(&self.settings);
        self.is_report_due = true;
        self.is_catalog_stale |= self.own_catalog.is_some();
        Ok(self.done("ROLLBACK"))
    }

    fn require_block(&self, command: &str) -> Result<(), Diagnostic> {
        if self.is_in_explicit_block() {
            return Ok(());
        }
        let message = format!("{command} can only be used in transaction blocks");
        Err(Diagnostic::error(
            SqlState::NO_ACTIVE_SQL_TRANSACTION,
            message,
        ))
    }

    fn require_savepoint(&self, name: &str) -> Result<(), Diagnostic> {
        if self
            .transaction
            .block()
            .is_some_and(|block| block.has_savepoint(name))
        {
            return Ok(());
        }
        let message = format!("savepoint \"{name}\" does not exist");
        Err(Diagnostic::error(
            SqlState::S_E_INVALID_SPECIFICATION,
            message,
        ))
    }
}

pub(super) fn modes_of(modes: &TransactionModes) -> Modes {
    Modes {
        isolation: modes.isolation.clone(),
        read_only: modes.read_only,
        deferrable: modes.deferrable,
    }
}
