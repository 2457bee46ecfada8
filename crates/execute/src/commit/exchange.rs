//! One simple query of the router's own, read whole. Unlike [`pool::Backend::simple`] it keeps
//! notices, by statement: a deferred trigger's belong to the client, and a warning of COMMIT tells
//! that its wait for a standby was broken off.

use pg::Diagnostic;
use pool::{Backend, BackendError};
use wire::backend::Message;

/// What one statement answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Answer {
    /// Values as text, row by row.
    pub(crate) rows: Vec<Vec<Option<String>>>,
    /// The command tag.
    pub(crate) tag: String,
    /// Notices that came before the tag.
    pub(crate) notices: Vec<Diagnostic>,
}

/// What a simple query answered: the statements that ran, and the error that ended it.
#[derive(Debug, Default)]
pub(crate) struct Exchange {
    /// One for each statement that ran to its end.
    pub(crate) answers: Vec<Answer>,
    /// Notices of the statement that failed.
    pub(crate) stray: Vec<Diagnostic>,
    /// Why it ended early.
    pub(crate) error: Option<BackendError>,
}

// === impl Answer ===

impl Answer {
    /// A value of the first row.
    pub(crate) fn value(&self, column: usize) -> Option<&str> {
        self.rows.first()?.get(column)?.as_deref()
    }

    /// Something was warned of.
    pub(crate) fn has_warning(&self) -> bool {
        let warning = |notice: &Diagnostic| notice.severity == pg::Severity::Warning;
        self.notices.iter().any(warning)
    }
}

// === impl Exchange ===

impl Exchange {
    /// Runs a simple query.
    ///
    /// # Cancel safety
    /// Not cancel safe: the backend is then closed when it is given back.
    pub(crate) async fn run(backend: &mut Backend, sql: &str) -> Self {
        let mut exchange = Self::default();
        if let Err(error) = exchange.read(backend, sql).await {
            exchange.error = Some(error);
        }
        exchange
    }

    /// One that failed before anything was sent.
    pub(crate) fn failed(error: BackendError) -> Self {
        Self {
            error: Some(error),
            ..Self::default()
        }
    }

    /// A value of the first row of a statement.
    pub(crate) fn value(&self, statement: usize, column: usize) -> Option<&str> {
        self.answers.get(statement)?.value(column)
    }

    /// Some statement warned of something.
    pub(crate) fn has_warning(&self) -> bool {
        self.answers.iter().any(Answer::has_warning)
    }

    /// The answers, when every statement succeeded.
    pub(crate) fn into_result(self) -> Result<Vec<Answer>, BackendError> {
        match self.error {
            None => Ok(self.answers),
            Some(error) => Err(error),
        }
    }

    /// Everything that PostgreSQL noted.
    pub(crate) fn take_notices(&mut self) -> Vec<Diagnostic> {
        let answers = self.answers.iter_mut();
        let mut notices: Vec<Diagnostic> = answers
            .flat_map(|answer| std::mem::take(&mut answer.notices))
            .collect();
        notices.append(&mut self.stray);
        notices
    }

    async fn read(&mut self, backend: &mut Backend, sql: &str) -> Result<(), BackendError> {
        backend.settle().await?;
        backend.expect_ready();
        wire::frontend::Message::Query { text: sql }.encode(backend.connection.output());
        backend.flush().await?;
        let mut current = Answer::default();
        loop {
            let frame = backend.frame().await?;
            let Ok(message) = Message::parse(frame.tag, &frame.body) else {
                return Err(backend.violation("malformed message"));
            };
            match message {
                Message::DataRow(row) => current.rows.push(row.columns().map(text).collect()),
                Message::CommandComplete { tag } => {
                    tag.clone_into(&mut current.tag);
                    self.answers.push(std::mem::take(&mut current));
                }
                Message::EmptyQueryResponse => self.answers.push(Answer::default()),
                Message::ErrorResponse(diagnostic) => {
                    let error = backend.server_error(diagnostic);
                    if error.is_fatal() {
                        backend.poison();
                        return Err(error);
                    }
                    self.error.get_or_insert(error);
                }
                Message::NoticeResponse(notice) => current.notices.push(*notice),
                Message::ReadyForQuery(_) => {
                    self.stray = current.notices;
                    return Ok(());
                }
                Message::RowDescription(_)
                | Message::ParameterStatus { .. }
                | Message::NotificationResponse { .. } => {}
                _ => {
                    return Err(
                        backend.violation("unexpected message in a statement of the router")
                    );
                }
            }
        }
    }
}

fn text(value: Option<&[u8]>) -> Option<String> {
    value.map(|bytes| String::from_utf8_lossy(bytes).into_owned())
}
