//! What came back, sorted by statement and otherwise untouched.

use bytes::Bytes;
use pg::{Diagnostic, Format, Oid};
use wire::backend::{self, TransactionStatus};

/// Everything up to one `ReadyForQuery`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Reply {
    /// One for each statement that answered.
    pub answers: Vec<Answer>,
    /// Types of parameters, when they were described.
    pub parameter_types: Option<Vec<Oid>>,
    /// Where the session stands.
    pub status: TransactionStatus,
    /// Notices, in order.
    pub notices: Vec<Diagnostic>,
    /// Settings reported, in order.
    pub settings: Vec<(String, String)>,
    /// Channels and payloads of notifications, in order.
    pub notifications: Vec<(String, String)>,
    /// Columns described that no row or tag has claimed yet.
    columns: Option<Vec<Column>>,
    /// Rows and COPY data that no tag has claimed yet.
    open: Answer,
}

/// What one statement answered.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// The columns, if there are any.
    pub columns: Option<Vec<Column>>,
    /// The rows; `None` is NULL.
    pub rows: Vec<Vec<Option<Bytes>>>,
    /// The command tag.
    pub tag: Option<String>,
    /// The error instead.
    pub error: Option<Box<Diagnostic>>,
    /// The row limit was met.
    pub is_suspended: bool,
    /// The statement was empty.
    pub is_empty: bool,
    /// What COPY TO STDOUT gave.
    pub copy_out: Option<CopyOut>,
}

/// One column of a `RowDescription`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// Its name.
    pub name: String,
    /// Its type.
    pub type_oid: Oid,
    /// The type's modifier.
    pub typmod: i32,
    /// The table it comes from.
    pub table: Oid,
    /// Its number in that table.
    pub number: i16,
    /// The format of its values.
    pub format: Format,
}

/// The data of a COPY TO STDOUT.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CopyOut {
    /// Formats as told.
    pub formats: backend::CopyFormats,
    /// The pieces, as they came.
    pub pieces: Vec<Bytes>,
}

// === impl Reply ===

impl Reply {
    /// Takes the next message in; true at the end.
    pub(super) fn take(&mut self, message: backend::Message<'_>) -> bool {
        match message {
            backend::Message::ReadyForQuery(status) => {
                self.status = status;
                return true;
            }
            backend::Message::RowDescription(fields) => {
                self.columns = Some(fields.iter().map(Column::from).collect());
            }
            backend::Message::NoData => self.columns = None,
            backend::Message::DataRow(row) => {
                let values = row.columns().map(|value| value.map(Bytes::copy_from_slice));
                self.open.rows.push(values.collect());
            }
            backend::Message::CopyOutResponse(formats) => {
                self.open.copy_out = Some(CopyOut {
                    formats,
                    pieces: Vec::new(),
                });
            }
            backend::Message::CopyData(piece) => {
                let copy_out = self.open.copy_out.get_or_insert_default();
                copy_out.pieces.push(Bytes::copy_from_slice(piece));
            }
            backend::Message::CommandComplete { tag } => {
                self.open.tag = Some(tag.to_owned());
                self.finish();
            }
            backend::Message::EmptyQueryResponse => {
                self.open.is_empty = true;
                self.finish();
            }
            backend::Message::PortalSuspended => {
                self.open.is_suspended = true;
                self.finish();
            }
            backend::Message::ErrorResponse(diagnostic) => {
                self.open.error = Some(diagnostic);
                self.finish();
            }
            other => self.take_aside(other),
        }
        false
    }

    /// What belongs to no statement.
    fn take_aside(&mut self, message: backend::Message<'_>) {
        match message {
            backend::Message::ParameterDescription { types } => self.parameter_types = Some(types),
            backend::Message::NoticeResponse(notice) => self.notices.push(*notice),
            backend::Message::ParameterStatus { name, value } => {
                self.settings.push((name.to_owned(), value.to_owned()));
            }
            backend::Message::NotificationResponse {
                channel, payload, ..
            } => {
                self.notifications
                    .push((channel.to_owned(), payload.to_owned()));
            }
            _ => {}
        }
    }

    fn finish(&mut self) {
        let mut answer = std::mem::take(&mut self.open);
        answer.columns = self.columns.take();
        self.answers.push(answer);
    }

    /// The first error.
    #[must_use]
    pub fn error(&self) -> Option<&Diagnostic> {
        self.answers
            .iter()
            .find_map(|answer| answer.error.as_deref())
    }

    /// The first answer's rows as text, NULL as `None`.
    #[must_use]
    pub fn texts(&self) -> Vec<Vec<Option<String>>> {
        let rows = self
            .answers
            .first()
            .map(|answer| answer.rows.as_slice())
            .unwrap_or_default();
        let text = |value: &Bytes| String::from_utf8_lossy(value).into_owned();
        rows.iter()
            .map(|row| row.iter().map(|value| value.as_ref().map(text)).collect())
            .collect()
    }
}

// === impl Column ===

impl From<&backend::Field<'_>> for Column {
    fn from(field: &backend::Field<'_>) -> Self {
        Self {
            name: field.name.to_owned(),
            type_oid: field.type_oid,
            typmod: field.typmod,
            table: field.table,
            number: field.column,
            format: field.format,
        }
    }
}
