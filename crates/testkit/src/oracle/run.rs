//! Running a case on one target, and what is seen of it: text that can be compared and shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use bytes::Bytes;
use pg::{Diagnostic, Format, Oid};
use wire::backend::TransactionStatus;

use super::case::{Body, Case, Statement};
use super::error::OracleError;
use super::script;
use super::target::Target;
use super::tuples;
use crate::client::{Answer, Client, ClientError, Column, Extended, Reply};

/// How long a statement of a case may take.
const STATEMENT_WITHIN: Duration = Duration::from_secs(6);

/// The protocol and formats that a case is run with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lane {
    /// The simple protocol.
    Simple,
    /// The extended protocol, parameters as text, results binary.
    Extended,
    /// The extended protocol, parameters binary, results as text; for cases with parameters.
    Binary,
}

/// What was seen of a case.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Trace {
    /// One for each statement, or for each line of a script.
    pub steps: Vec<Step>,
}

/// What was seen of one statement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Step {
    /// One for each answer.
    pub answers: Vec<Shown>,
    /// Where the session stands afterwards.
    pub status: char,
    /// Types of the parameters, where they were described.
    pub parameters: Vec<String>,
    /// The id of a refusal.
    pub refused: Option<String>,
    /// The conversation broke down: why.
    pub broken: Option<String>,
}

/// An answer as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Shown {
    /// Names and types.
    pub columns: Vec<(String, String)>,
    /// Values.
    pub rows: Vec<Vec<String>>,
    /// The tag, or what stands for it.
    pub tag: String,
    /// SQLSTATE and constraint of an error.
    pub error: String,
    /// The message of an error, for people; not compared.
    pub message: String,
    /// What COPY gave, line by line.
    pub copy_out: Vec<String>,
}

// === impl Lane ===

impl Lane {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Simple, Self::Extended, Self::Binary];

    /// Its name in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Extended => "extended",
            Self::Binary => "binary",
        }
    }

    /// Whether the case is run with it.
    #[must_use]
    pub fn takes(self, case: &Case) -> bool {
        if matches!(case.body, Body::Script(_)) {
            return self == Self::Simple;
        }
        match self {
            Self::Simple => case.flags.simple && !case.has_parameters(),
            Self::Extended => case.flags.extended,
            Self::Binary => case.flags.extended && case.has_parameters(),
        }
    }
}

// === impl Trace ===

impl Trace {
    /// The first refusal: which statement, and its id.
    #[must_use]
    pub fn refusal(&self) -> Option<(usize, &str)> {
        self.steps
            .iter()
            .enumerate()
            .find_map(|(at, step)| step.refused.as_deref().map(|id| (at, id)))
    }
}

/// Runs a case; binary parameters are made by the target itself, which is plain PostgreSQL or knows
/// the same types.
///
/// # Errors
/// The target can't be reached at all. A session that breaks down is part of the trace.
pub async fn run(target: &mut Target, case: &Case, lane: Lane) -> Result<Trace, OracleError> {
    match &case.body {
        Body::Statements(statements) => {
            let results = match (lane, case.flags.text) {
                (Lane::Extended, false) => Format::Binary,
                _ => Format::Text,
            };
            run_statements(target, statements, lane, results).await
        }
        Body::Script(lines) => script::run(target, lines).await,
    }
}

/// Runs what cleans up after a case; its failures are no business of the comparison.
///
/// # Errors
/// The target can't be reached.
pub async fn clean_up(target: &Target, case: &Case) -> Result<(), OracleError> {
    let statements = case
        .cleanup
        .iter()
        .filter(|statement| !statement.sql.is_empty());
    let mut session = None;
    for statement in statements {
        let client = match &mut session {
            Some(client) => client,
            none => none.insert(target.session().await?),
        };
        if client.simple(&statement.sql).await.is_err() {
            break;
        }
    }
    Ok(())
}

async fn run_statements(
    target: &mut Target,
    statements: &[Statement],
    lane: Lane,
    results: Format,
) -> Result<Trace, OracleError> {
    let mut sessions: BTreeMap<&str, Client> = BTreeMap::new();
    let mut trace = Trace::default();
    for statement in statements {
        let session = statement.session.as_str();
        if !sessions.contains_key(session) {
            let client = target.session().await?.with_patience(STATEMENT_WITHIN);
            sessions.insert(session, client);
        }
        let extended = match lane {
            Lane::Simple => None,
            Lane::Extended | Lane::Binary => {
                Some(extended(target, statement, lane, results).await?)
            }
        };
        let client = sessions.get_mut(session).expect("it was opened above");
        let reply = if let Some(extended) = &extended {
            client.extended(extended).await
        } else {
            let copy_in = statement.copy_in.clone().map(Bytes::from);
            client.simple_copy(&statement.sql, copy_in.as_ref()).await
        };
        let step = show(target, reply).await?;
        let ends = step.broken.is_some() || step.refused.is_some();
        trace.steps.push(step);
        if ends {
            break;
        }
    }
    for client in sessions.into_values() {
        client.close().await;
    }
    Ok(trace)
}

/// The statement with its parameters in the lane's formats.
async fn extended(
    target: &mut Target,
    statement: &Statement,
    lane: Lane,
    results: Format,
) -> Result<Extended, OracleError> {
    let mut made = Extended {
        sql: statement.sql.clone(),
        copy_in: statement.copy_in.clone().map(Bytes::from),
        result_formats: vec![results],
        ..Extended::default()
    };
    for parameter in &statement.parameters {
        made.types.push(type_oid(&parameter.type_name));
        let as_binary = lane == Lane::Binary && parameter.type_name != "-";
        made.parameter_formats.push(if as_binary {
            Format::Binary
        } else {
            Format::Text
        });
        made.parameters.push(match &parameter.text {
            None => None,
            Some(text) if as_binary => Some(target.binary(&parameter.type_name, text).await?),
            Some(text) => Some(text.as_bytes().to_vec()),
        });
    }
    Ok(made)
}

/// The number of a type by the name used in case files: `int8`, `int8[]`, `-`.
#[must_use]
pub fn type_oid(name: &str) -> Oid {
    let element = name.strip_suffix("[]");
    let found = Oid::from_type_name(element.unwrap_or(name));
    let found = if element.is_some() {
        found.and_then(Oid::array)
    } else {
        found
    };
    found.unwrap_or(Oid::INVALID)
}

// === what is seen ===

async fn show(target: &mut Target, reply: Result<Reply, ClientError>) -> Result<Step, OracleError> {
    let reply = match reply {
        Ok(reply) => reply,
        Err(error) => {
            return Ok(Step {
                broken: Some(error.to_string()),
                ..Step::default()
            });
        }
    };
    let mut step = Step {
        status: status_letter(reply.status),
        ..Step::default()
    };
    for oid in reply.parameter_types.iter().flatten() {
        step.parameters.push(target.type_name(*oid).await?);
    }
    step.refused = reply.error().and_then(refusal_id);
    for answer in &reply.answers {
        step.answers.push(show_answer(target, answer).await?);
    }
    Ok(step)
}

/// The letter of `ReadyForQuery`.
#[must_use]
pub fn status_letter(status: TransactionStatus) -> char {
    char::from(status.code())
}

/// The stable id in an error that refuses: `unsupported/...` or `kintsugi/...`.
#[must_use]
pub fn refusal_id(error: &Diagnostic) -> Option<String> {
    if error.code.as_str() != "0A000" {
        return None;
    }
    let context = error.extra.as_ref().and_then(|extra| extra.context.clone());
    let texts = [
        Some(error.message.clone()),
        error.detail.clone(),
        error.hint.clone(),
        context,
    ];
    texts.iter().flatten().find_map(|text| {
        let at = text
            .find("unsupported/")
            .or_else(|| text.find("kintsugi/"))?;
        let is_id = |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '_' | '-');
        Some(text[at..].chars().take_while(|c| is_id(*c)).collect())
    })
}

async fn show_answer(target: &mut Target, answer: &Answer) -> Result<Shown, OracleError> {
    let mut shown = Shown::default();
    for column in answer.columns.iter().flatten() {
        shown
            .columns
            .push((column.name.clone(), show_type(target, column).await?));
    }
    let show_row =
        |row: &Vec<Option<Bytes>>| row.iter().map(|value| show_value(value.as_ref())).collect();
    shown.rows = answer.rows.iter().map(show_row).collect();
    shown.tag = match &answer.tag {
        Some(tag) => tag.clone(),
        None if answer.is_suspended => "(suspended)".to_owned(),
        None if answer.is_empty => "(empty)".to_owned(),
        None => String::new(),
    };
    if let Some(error) = &answer.error {
        shown.error = show_error(error);
        shown.message.clone_from(&error.message);
    }
    if let Some(copy_out) = &answer.copy_out {
        let whole: Vec<u8> = copy_out.pieces.concat();
        let overall = copy_out.formats.overall;
        shown.copy_out = match overall {
            Format::Text => whole.split(|byte| *byte == b'\n').map(show_bytes).collect(),
            Format::Binary => tuples::cut(&whole).into_iter().map(show_bytes).collect(),
        };
        let formats = format!("{overall:?} of {} columns", copy_out.formats.columns.len());
        shown.columns.push(("copy".to_owned(), formats));
    }
    Ok(shown)
}

async fn show_type(target: &mut Target, column: &Column) -> Result<String, OracleError> {
    let mut name = target.type_name(column.type_oid).await?;
    if column.typmod != -1 {
        write!(name, "({})", column.typmod).expect("a string takes everything");
    }
    if column.format == Format::Binary {
        name.push_str(" binary");
    }
    Ok(name)
}

/// SQLSTATE, and the constraint if one is named.
#[must_use]
pub fn show_error(error: &Diagnostic) -> String {
    let constraint = error
        .extra
        .as_ref()
        .and_then(|extra| extra.constraint.as_deref());
    match constraint {
        Some(constraint) => format!("{} {constraint}", error.code),
        None => error.code.to_string(),
    }
}

/// A value as people read it: text as it is, bytes in hex.
#[must_use]
pub fn show_value(value: Option<&Bytes>) -> String {
    value.map_or_else(|| "NULL".to_owned(), |value| show_bytes(value))
}

fn show_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text)
            if !text
                .chars()
                .any(|c| c.is_control() && !matches!(c, '\n' | '\t')) =>
        {
            format!("'{text}'")
        }
        _ => bytes.iter().fold("\\x".to_owned(), |mut hex, byte| {
            write!(hex, "{byte:02x}").expect("a string takes everything");
            hex
        }),
    }
}
