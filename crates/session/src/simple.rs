//! The simple protocol: one text, any number of statements, one transaction unless they say otherwise.

use bytes::Bytes;
use execute::block::{Kind, Modes};
use execute::{ExecuteError, Flow, Position, Ran};
use pg::{Diagnose as _, Diagnostic, SqlState};

use crate::error::Halt;
use crate::session::{Session, text_of};

impl Session {
    /// Serves a `Query` message.
    pub(crate) async fn simple(&mut self, body: &Bytes) -> Result<(), Halt> {
        // What a pipeline has done since its last Sync is one transaction with the query.
        match self.step_aside().await {
            Ok(Flow::Went) => {}
            Ok(Flow::Failed(_)) => {
                self.is_skipping = true;
                return Ok(());
            }
            Err(error) => {
                self.is_skipping = true;
                return self.failed(error).await;
            }
        }
        self.prepared.remove("");
        self.portals.remove("");
        match text_of(body) {
            Ok(text) => self.statements(text).await?,
            Err(diagnostic) if diagnostic.severity >= pg::Severity::Fatal => {
                return Err(diagnostic.into());
            }
            Err(diagnostic) => self.report(&diagnostic),
        }
        self.ready().await
    }

    /// Runs the statements of a text, up to the first error.
    async fn statements(&mut self, text: &str) -> Result<(), Halt> {
        let spans = sql::split(text, self.meaning.parse_options());
        if spans.is_empty() {
            wire::backend::Message::EmptyQueryResponse.encode(self.client.output());
            return Ok(());
        }
        let count = spans.len();
        for (at, span) in spans.into_iter().enumerate() {
            if count > 1 {
                self.transaction.begin(Kind::Implicit, Modes::default());
            }
            let (start, end) = (span.start as usize, span.end as usize);
            let before = text[..start].chars().count();
            let position = match u32::try_from(before) {
                Ok(0) => Position::Same,
                Ok(count) => Position::After(count),
                Err(_) => Position::Foreign,
            };
            if !self
                .one_statement(&text[start..end], position, at + 1 == count)
                .await?
            {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Runs one statement; false when it failed, which the client has been told. The last one is said to be done when the router's
    /// own block has been committed.
    async fn one_statement(
        &mut self,
        text: &str,
        position: Position,
        is_last: bool,
    ) -> Result<bool, Halt> {
        let ran = match self.statement(text, position).await {
            Ok(Ran::Done { tag: Some(tag) }) if is_last => self
                .commit_implicit()
                .await
                .map(|()| Ran::Done { tag: Some(tag) }),
            other => other,
        };
        match ran {
            Ok(Ran::Done { tag }) => {
                self.say_tag(tag);
                Ok(true)
            }
            Ok(Ran::Suspended { .. }) => Ok(true),
            Ok(Ran::Failed) => Ok(false),
            Err(error) => {
                let error = shifted(error, position);
                self.failed(error).await?;
                Ok(false)
            }
        }
    }

    /// Says the command tag that was held back.
    pub(crate) fn say_tag(&mut self, tag: Option<Bytes>) {
        if let Some(tag) = tag {
            let tag = String::from_utf8_lossy(&tag);
            wire::backend::Message::CommandComplete { tag: &tag }.encode(self.client.output());
        }
    }

    /// Commits the router's own block, if it is open.
    async fn commit_implicit(&mut self) -> Result<(), ExecuteError> {
        let is_own = self
            .transaction
            .block()
            .is_some_and(|block| block.kind == Kind::Implicit);
        if is_own {
            self.commit_block().await
        } else {
            Ok(())
        }
    }

    /// Tells the client of an error, or ends the session when there is no client to be told.
    pub(crate) async fn failed(&mut self, error: ExecuteError) -> Result<(), Halt> {
        if error.is_client_gone() {
            return Err(Halt::client(std::io::ErrorKind::BrokenPipe.into()));
        }
        let diagnostic = error.to_diagnostic();
        self.report(&diagnostic);
        self.transaction.drop_broken().await;
        Ok(())
    }
}

/// An error raised by the router about one statement of several, with its position in the whole text.
fn shifted(error: ExecuteError, position: Position) -> ExecuteError {
    match error {
        ExecuteError::Raised(mut diagnostic) => {
            diagnostic.position = match diagnostic.position {
                Some(own) => position.in_clients_text(Some(own)),
                None => None,
            };
            ExecuteError::Raised(diagnostic)
        }
        other => other,
    }
}

/// `25P02`.
pub(crate) fn aborted() -> Diagnostic {
    Diagnostic::error(
        SqlState::IN_FAILED_SQL_TRANSACTION,
        "current transaction is aborted, commands ignored until end of transaction block",
    )
}
