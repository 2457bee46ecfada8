//! Cases that are messages, line by line: what drivers do beyond one statement at a time.
//!
//! ```text
//! P s1 SELECT $1::int8              Parse; `-` is the unnamed statement; `P s1 (int8,text) ...`
//! B p1 s1 12 \N                     Bind with text parameters; `B/b p1 s1 ...` wants binary results
//! D S s1        D P p1              Describe
//! E p1 0                            Execute with a row limit
//! C S s1        C P p1              Close
//! d a,b         c         f why     CopyData with a line end, CopyDone, CopyFail
//! Q SELECT 1                        Query; then everything up to ReadyForQuery
//! S                                 Sync; then everything up to ReadyForQuery
//! H 2                               Flush; then two messages
//! ```

use pg::{Format, Oid};
use wire::backend;
use wire::frontend::{self, Target as About};

use super::error::OracleError;
use super::run::{Step, Trace, refusal_id, show_error, show_value, status_letter, type_oid};
use super::target::Target;
use crate::client::{Client, ClientError};

/// Runs a script; each line that waits for answers is a step.
///
/// # Errors
/// The target can't be reached, or a line means nothing.
pub async fn run(target: &mut Target, lines: &[String]) -> Result<Trace, OracleError> {
    let mut client = target.session().await?;
    let mut trace = Trace::default();
    for line in lines {
        let Some(until) = send(&mut client, line) else {
            continue;
        };
        let mut step = Step::default();
        if let Err(error) = receive(&mut client, target, until, &mut step).await? {
            step.broken = Some(error.to_string());
        }
        let ends = step.broken.is_some() || step.refused.is_some();
        trace.steps.push(step);
        if ends {
            break;
        }
    }
    client.close().await;
    Ok(trace)
}

#[derive(Debug, Clone, Copy)]
enum Until {
    Ready,
    Count(usize),
}

/// Puts the line's message into the buffer; what has to be waited for then.
fn send(client: &mut Client, line: &str) -> Option<Until> {
    let (kind, rest) = line.split_once(' ').unwrap_or((line, ""));
    let word = |at: usize| rest.split_whitespace().nth(at).unwrap_or("");
    match kind {
        "P" => parse(client, rest),
        "B" | "B/b" => bind(client, rest, kind == "B/b"),
        "D" => client.send(&frontend::Message::Describe {
            target: about(word(0)),
            name: name(word(1)),
        }),
        "C" => client.send(&frontend::Message::Close {
            target: about(word(0)),
            name: name(word(1)),
        }),
        "E" => {
            let rows_max = word(1).parse().unwrap_or(0);
            client.send(&frontend::Message::Execute {
                portal: name(word(0)),
                rows_max,
            });
        }
        "d" => client.send(&frontend::Message::CopyData(format!("{rest}\n").as_bytes())),
        "c" => client.send(&frontend::Message::CopyDone),
        "f" => client.send(&frontend::Message::CopyFail { reason: rest }),
        "Q" => {
            client.send(&frontend::Message::Query { text: rest });
            return Some(Until::Ready);
        }
        "S" => {
            client.send(&frontend::Message::Sync);
            return Some(Until::Ready);
        }
        "H" => {
            client.send(&frontend::Message::Flush);
            return Some(Until::Count(word(0).parse().unwrap_or(0)));
        }
        // A raw message type with an empty body, to see what a misfit does.
        _ => {
            let tag = kind.as_bytes().first().copied().unwrap_or(b'?');
            client.output().extend_from_slice(&[tag, 0, 0, 0, 4]);
        }
    }
    None
}

fn about(word: &str) -> About {
    if word == "P" {
        About::Portal
    } else {
        About::Statement
    }
}

fn name(word: &str) -> &str {
    if word == "-" { "" } else { word }
}

fn parse(client: &mut Client, rest: &str) {
    let (statement, mut sql) = rest.split_once(' ').unwrap_or((rest, ""));
    let mut types: Vec<Oid> = Vec::new();
    let declared = sql
        .strip_prefix('(')
        .and_then(|typed| typed.split_once(") "));
    if let Some((names, rest)) = declared
        && !names.to_ascii_lowercase().starts_with("select")
    {
        types = names.split(',').map(|name| type_oid(name.trim())).collect();
        sql = rest;
    }
    frontend::parse(client.output(), name(statement), sql, &types);
}

fn bind(client: &mut Client, rest: &str, binary: bool) {
    let mut words = rest.split(' ');
    let portal = name(words.next().unwrap_or(""));
    let statement = name(words.next().unwrap_or(""));
    let parameters: Vec<Option<&[u8]>> = words
        .filter(|word| !word.is_empty())
        .map(|word| (word != "\\N").then_some(word.as_bytes()))
        .collect();
    let result_formats: &[Format] = if binary { &[Format::Binary] } else { &[] };
    let parts = frontend::BindParts {
        portal,
        statement,
        parameter_formats: &[],
        parameters: &parameters,
        result_formats,
    };
    frontend::bind(client.output(), &parts);
}

async fn receive(
    client: &mut Client,
    target: &mut Target,
    until: Until,
    step: &mut Step,
) -> Result<Result<(), ClientError>, OracleError> {
    let mut left = match until {
        Until::Ready => usize::MAX,
        Until::Count(count) => count,
    };
    while left > 0 {
        let frame = match client.receive().await {
            Ok(frame) => frame,
            Err(error) => return Ok(Err(error)),
        };
        let message = match backend::Message::parse(frame.tag, &frame.body) {
            Ok(message) => message,
            Err(error) => return Ok(Err(error.into())),
        };
        if let backend::Message::ErrorResponse(error) = &message {
            step.refused = step.refused.take().or_else(|| refusal_id(error));
        }
        if let Some(line) = show(target, &message).await? {
            step.parameters.push(line);
            left -= 1;
        }
        if let backend::Message::ReadyForQuery(status) = message {
            step.status = status_letter(status);
            break;
        }
    }
    Ok(Ok(()))
}

/// A message as one line; nothing for what may come at any time.
async fn show(
    target: &mut Target,
    message: &backend::Message<'_>,
) -> Result<Option<String>, OracleError> {
    Ok(Some(match message {
        backend::Message::NoticeResponse(_)
        | backend::Message::ParameterStatus { .. }
        | backend::Message::NotificationResponse { .. } => return Ok(None),
        backend::Message::ErrorResponse(error) => format!("Error {}", show_error(error)),
        backend::Message::CommandComplete { tag } => format!("Complete {tag}"),
        backend::Message::ReadyForQuery(status) => format!("Ready {}", status_letter(*status)),
        backend::Message::DataRow(row) => {
            let values = row
                .columns()
                .map(|value| show_value(value.map(bytes::Bytes::copy_from_slice).as_ref()));
            format!("Row {}", values.collect::<Vec<_>>().join(", "))
        }
        backend::Message::RowDescription(fields) => {
            let mut columns = Vec::new();
            for field in fields {
                let type_name = target.type_name(field.type_oid).await?;
                columns.push(format!("{} {type_name} {:?}", field.name, field.format));
            }
            format!("Columns {}", columns.join(", "))
        }
        backend::Message::ParameterDescription { types } => {
            let mut names = Vec::new();
            for oid in types {
                names.push(target.type_name(*oid).await?);
            }
            format!("Parameters {}", names.join(", "))
        }
        backend::Message::CopyData(piece) => {
            format!(
                "CopyData {}",
                show_value(Some(&bytes::Bytes::copy_from_slice(piece)))
            )
        }
        other => format!("{}", char::from(other.tag())),
    }))
}
