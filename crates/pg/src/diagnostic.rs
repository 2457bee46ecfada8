//! What `ErrorResponse` and `NoticeResponse` say, and the one trait by which an error of ours becomes one.

use std::borrow::Cow;
use std::fmt;

use crate::SqlState;

/// How bad it is. The order is PostgreSQL's: later is worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Severity {
    /// For developers.
    Debug,
    /// For the server's log.
    Log,
    /// Asked for by the client.
    Info,
    /// Worth knowing.
    Notice,
    /// Probably not what was meant.
    Warning,
    /// The statement failed.
    Error,
    /// The session ends.
    Fatal,
    /// All sessions end.
    Panic,
}

/// The fields of an `ErrorResponse` or `NoticeResponse`. The seldom used ones are in [`Extra`], so that
/// a `Result` that carries one stays small.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad.
    pub severity: Severity,
    /// The SQLSTATE.
    pub code: SqlState,
    /// One line for a person.
    pub message: String,
    /// More about the cause.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Character (from 1) of the statement that it is about.
    pub position: Option<u32>,
    /// The other fields.
    pub extra: Option<Box<Extra>>,
}

/// The seldom used fields of a [`Diagnostic`].
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Extra {
    /// Character (from 1) within `internal_query`.
    pub internal_position: Option<u32>,
    /// The text of a statement that the server made itself.
    pub internal_query: Option<String>,
    /// The field "where": call stack, and for a shard's error the shard.
    pub context: Option<String>,
    /// Schema concerned.
    pub schema: Option<String>,
    /// Table concerned.
    pub table: Option<String>,
    /// Column concerned.
    pub column: Option<String>,
    /// Data type concerned.
    pub datatype: Option<String>,
    /// Constraint concerned.
    pub constraint: Option<String>,
    /// Source file that reported it.
    pub file: Option<String>,
    /// Line of that file.
    pub line: Option<u32>,
    /// Routine that reported it; clients match on some of PostgreSQL's names.
    pub routine: Option<String>,
}

/// Whose fault an error is: the label of the metric, and what decides the level of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fault {
    /// The client asked for something wrong or not supported.
    Client,
    /// A connection broke.
    Network,
    /// A limit or a deadline was met.
    Overload,
    /// A shard failed.
    Backend,
    /// The topology document doesn't allow it.
    Topology,
    /// A bug of ours.
    Router,
}

/// Whether the same request may be tried again unseen, provided that nothing was shown to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// It would fail again, or may have had an effect.
    Never,
    /// As it stands.
    SameSnapshot,
    /// After planning it anew on the newest catalog and topology.
    FreshSnapshot,
}

/// What an error type answers so that it can be shown to a client, logged and counted. Implemented
/// beside the type by exhaustive matches without a `_` arm.
pub trait Diagnose: std::error::Error {
    /// The SQLSTATE.
    fn sqlstate(&self) -> SqlState;

    /// Whose fault it is.
    fn fault(&self) -> Fault;

    /// How bad it is.
    fn severity(&self) -> Severity {
        Severity::Error
    }

    /// Whether it may be tried again.
    fn retry(&self) -> Retry {
        Retry::Never
    }

    /// More about the cause.
    fn detail(&self) -> Option<Cow<'static, str>> {
        None
    }

    /// The way out.
    fn hint(&self) -> Option<Cow<'static, str>> {
        None
    }

    /// What the client is shown.
    fn to_diagnostic(&self) -> Diagnostic {
        let mut shown = Diagnostic::new(self.severity(), self.sqlstate(), self.to_string());
        shown.detail = self.detail().map(Cow::into_owned);
        shown.hint = self.hint().map(Cow::into_owned);
        shown
    }
}

// === impl Severity ===

impl Severity {
    /// The word on the wire. PostgreSQL numbers its debug levels; ours is `DEBUG`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "DEBUG",
            Self::Log => "LOG",
            Self::Info => "INFO",
            Self::Notice => "NOTICE",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
            Self::Fatal => "FATAL",
            Self::Panic => "PANIC",
        }
    }

    /// Reads the untranslated word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Some(match word {
            "LOG" => Self::Log,
            "INFO" => Self::Info,
            "NOTICE" => Self::Notice,
            "WARNING" => Self::Warning,
            "ERROR" => Self::Error,
            "FATAL" => Self::Fatal,
            "PANIC" => Self::Panic,
            _ if word.starts_with("DEBUG") => Self::Debug,
            _ => return None,
        })
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl Diagnostic ===

impl Diagnostic {
    /// A diagnostic with its three required fields.
    #[must_use]
    pub fn new(severity: Severity, code: SqlState, message: impl Into<String>) -> Self {
        Self {
            severity,
            code,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            extra: None,
        }
    }

    /// An ERROR.
    #[must_use]
    pub fn error(code: SqlState, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    /// A FATAL error: the session ends after it.
    #[must_use]
    pub fn fatal(code: SqlState, message: impl Into<String>) -> Self {
        Self::new(Severity::Fatal, code, message)
    }

    /// A NOTICE.
    #[must_use]
    pub fn notice(message: impl Into<String>) -> Self {
        Self::new(Severity::Notice, SqlState::SUCCESSFUL_COMPLETION, message)
    }

    /// A WARNING.
    #[must_use]
    pub fn warning(code: SqlState, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// With more about the cause.
    #[must_use]
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// With the way out.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// With the character (from 1) of the statement that it is about.
    #[must_use]
    pub fn position(mut self, position: u32) -> Self {
        self.position = Some(position);
        self
    }

    /// With the field "where" (a line is added if there is one already).
    #[must_use]
    pub fn context(mut self, context: impl Into<String>) -> Self {
        let context = context.into();
        let field = &mut self.extra_mut().context;
        match field {
            Some(lines) => {
                lines.push('\n');
                lines.push_str(&context);
            }
            None => *field = Some(context),
        }
        self
    }

    /// With the routine's name, which some clients match on.
    #[must_use]
    pub fn routine(mut self, routine: impl Into<String>) -> Self {
        self.extra_mut().routine = Some(routine.into());
        self
    }

    /// With the table concerned.
    #[must_use]
    pub fn table(mut self, schema: impl Into<String>, table: impl Into<String>) -> Self {
        let extra = self.extra_mut();
        extra.schema = Some(schema.into());
        extra.table = Some(table.into());
        self
    }

    /// With the column concerned.
    #[must_use]
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.extra_mut().column = Some(column.into());
        self
    }

    /// With the constraint concerned.
    #[must_use]
    pub fn constraint(mut self, constraint: impl Into<String>) -> Self {
        self.extra_mut().constraint = Some(constraint.into());
        self
    }

    /// The seldom used fields, to be set.
    pub fn extra_mut(&mut self) -> &mut Extra {
        self.extra.get_or_insert_default()
    }

    /// Calls `each` with every field's protocol code and text, in PostgreSQL's order.
    pub fn for_each_field(&self, mut each: impl FnMut(u8, &str)) {
        let empty = Extra::default();
        let extra = self.extra.as_deref().unwrap_or(&empty);
        let number = |n: Option<u32>| n.map(|n| n.to_string());
        each(b'S', self.severity.as_str());
        each(b'V', self.severity.as_str());
        each(b'C', self.code.as_str());
        each(b'M', &self.message);
        let (position, internal, line) = (
            number(self.position),
            number(extra.internal_position),
            number(extra.line),
        );
        let rest = [
            (b'D', &self.detail),
            (b'H', &self.hint),
            (b'P', &position),
            (b'p', &internal),
            (b'q', &extra.internal_query),
            (b'W', &extra.context),
            (b's', &extra.schema),
            (b't', &extra.table),
            (b'c', &extra.column),
            (b'd', &extra.datatype),
            (b'n', &extra.constraint),
            (b'F', &extra.file),
            (b'L', &line),
            (b'R', &extra.routine),
        ];
        for (code, text) in rest {
            if let Some(text) = text {
                each(code, text);
            }
        }
    }

    /// Sets the field with this protocol code; unknown codes are ignored, as the protocol asks.
    pub fn set_field(&mut self, code: u8, text: &str) {
        let owned = || Some(text.to_owned());
        match code {
            // 'S' may be translated, so it counts only where 'V' can't be had.
            b'S' | b'V' => self.severity = Severity::parse(text).unwrap_or(self.severity),
            b'C' => self.code = SqlState::parse(text.as_bytes()).unwrap_or(self.code),
            b'M' => text.clone_into(&mut self.message),
            b'D' => self.detail = owned(),
            b'H' => self.hint = owned(),
            b'P' => self.position = text.parse().ok(),
            b'p' => self.extra_mut().internal_position = text.parse().ok(),
            b'q' => self.extra_mut().internal_query = owned(),
            b'W' => self.extra_mut().context = owned(),
            b's' => self.extra_mut().schema = owned(),
            b't' => self.extra_mut().table = owned(),
            b'c' => self.extra_mut().column = owned(),
            b'd' => self.extra_mut().datatype = owned(),
            b'n' => self.extra_mut().constraint = owned(),
            b'F' => self.extra_mut().file = owned(),
            b'L' => self.extra_mut().line = text.parse().ok(),
            b'R' => self.extra_mut().routine = owned(),
            _ => {}
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}: {}", self.severity, self.code, self.message)
    }
}

impl std::error::Error for Diagnostic {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_survives_its_code() {
        let mut full = Diagnostic::error(SqlState::UNIQUE_VIOLATION, "dup")
            .detail("d")
            .hint("h")
            .position(3)
            .context("one")
            .context("two")
            .table("s", "t")
            .column("c")
            .constraint("n")
            .routine("r");
        let extra = full.extra_mut();
        extra.internal_position = Some(7);
        extra.internal_query = Some("q".into());
        extra.datatype = Some("int4".into());
        extra.file = Some("f.c".into());
        extra.line = Some(9);
        let mut back = Diagnostic::notice("");
        full.for_each_field(|code, text| back.set_field(code, text));
        assert_eq!(back, full);
        assert_eq!(back.extra_mut().context.as_deref(), Some("one\ntwo"));
    }
}
