//! Questions of the router's own that carry parameters, asked on a backend that the session holds.

use pg::Format;
use pool::Backend;
use wire::frontend::BindParts;

use crate::number::{Adapted, Translation};
use crate::{ExecuteError, Request};

/// Rows of text.
pub(crate) type Rows = Vec<Vec<Option<String>>>;

/// Runs a query whose parameters are texts.
///
/// # Errors
/// What PostgreSQL says, or a lost connection.
///
/// # Cancel safety
/// Not cancel safe: the backend is then closed when it is given back.
pub(crate) async fn ask_with_texts(
    backend: &mut Backend,
    query: &str,
    texts: &[&str],
) -> Result<Rows, ExecuteError> {
    let parameters: Vec<_> = texts.iter().map(|text| Some(text.as_bytes())).collect();
    let parts = BindParts {
        portal: "",
        statement: "",
        parameter_formats: &[],
        parameters: &parameters,
        result_formats: &[],
    };
    backend.settle().await?;
    let output = backend.connection.output();
    wire::frontend::parse(output, "", query, &[]);
    wire::frontend::bind(output, &parts);
    finish(backend).await
}

/// Runs a query that may name the parameters of the client's statement.
///
/// # Errors
/// What PostgreSQL says, or a lost connection.
///
/// # Cancel safety
/// Not cancel safe: the backend is then closed when it is given back.
pub(crate) async fn ask_with_request(
    backend: &mut Backend,
    query: &str,
    request: &Request<'_>,
    translation: Option<&Translation>,
) -> Result<Rows, ExecuteError> {
    let adapted = Adapted::of(request, translation)?;
    backend.settle().await?;
    let output = backend.connection.output();
    wire::frontend::parse(output, "", query, adapted.types(request));
    let (mut values, mut formats) = (Vec::new(), Vec::new());
    if let Some(bind) = request.bind {
        values.extend(adapted.parameters(bind));
        formats.extend((0..values.len()).map(|index| bind.parameter_formats.of(index)));
    }
    let parts = BindParts {
        portal: "",
        statement: "",
        parameter_formats: &formats,
        parameters: &values,
        result_formats: &[Format::Text],
    };
    wire::frontend::bind(output, &parts);
    finish(backend).await
}

async fn finish(backend: &mut Backend) -> Result<Rows, ExecuteError> {
    let output = backend.connection.output();
    wire::frontend::Message::Execute {
        portal: "",
        rows_max: 0,
    }
    .encode(output);
    wire::frontend::Message::Sync.encode(output);
    backend.expect_ready();
    backend.flush().await?;
    let mut rows = Rows::new();
    let mut failure = None;
    loop {
        let frame = backend.frame().await?;
        match frame.tag {
            b'Z' => break,
            b'D' => rows.push(read_row(&frame.body)),
            b'E' => failure = Some(crate::pump::read_diagnostic(&frame.body)),
            _ => {}
        }
    }
    match failure {
        Some(diagnostic) => Err(diagnostic
            .context(format!("shard {}", backend.shard()))
            .into()),
        None => Ok(rows),
    }
}

fn read_row(body: &[u8]) -> Vec<Option<String>> {
    let Ok(row) = wire::backend::DataRow::unchecked(body) else {
        return Vec::new();
    };
    let text =
        |value: Option<&[u8]>| value.map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    row.columns().map(text).collect()
}
