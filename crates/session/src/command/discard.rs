//! `DISCARD`.

use execute::{ExecuteError, Ran};
use pg::{Diagnostic, SqlState};
use sql::ast::DiscardTarget;

use crate::session::Session;

impl Session {
    pub(super) async fn discard(&mut self, target: DiscardTarget) -> Result<Ran, ExecuteError> {
        match target {
            DiscardTarget::All => self.discard_all().await,
            DiscardTarget::Plans => Ok(self.done("DISCARD PLANS")),
            DiscardTarget::Sequences => {
                self.sequences.discard();
                Ok(self.done("DISCARD SEQUENCES"))
            }
            DiscardTarget::Temp => {
                for participant in self.transaction.participants() {
                    if participant.pins.temporary {
                        participant.settle_ahead().await?;
                        participant.backend().simple("DISCARD TEMP").await?;
                        participant.pins.temporary = false;
                    }
                }
                self.meaning.temporary.clear();
                Ok(self.done("DISCARD TEMP"))
            }
        }
    }

    async fn discard_all(&mut self) -> Result<Ran, ExecuteError> {
        if self.transaction.block().is_some() {
            let message = "DISCARD ALL cannot run inside a transaction block";
            return Err(Diagnostic::error(SqlState::ACTIVE_SQL_TRANSACTION, message).into());
        }
        self.prepared.clear();
        self.portals.clear();
        self.cursors.clear();
        self.sequences.discard();
        self.transaction.release_all().await;
        self.settings.reset_role();
        self.settings.reset_all();
        self.meaning.temporary.clear();
        let snapshot = self.snapshot()?;
        self.settle_backends(&snapshot).await?;
        Ok(self.done("DISCARD ALL"))
    }
}
