//! `PREPARE`, `EXECUTE` and `DEALLOCATE`: one name space with the statements of the protocol.

use std::sync::Arc;

use bytes::BytesMut;
use execute::{ExecuteError, Ran, Request};
use pg::{Diagnostic, Oid, SqlState};
use sql::ast::{ConstValue, Expr, ExprKind, Span, TypeName};
use wire::frontend::BindParts;

use crate::command::refusal;
use crate::session::Session;
use crate::statement::{Description, Mode, Prepared};

impl Session {
    pub(super) async fn sql_prepare(
        &mut self,
        name: &str,
        types: &[TypeName],
        span: Span,
        request: &Request<'_>,
    ) -> Result<Ran, ExecuteError> {
        if self.prepared.contains_key(name) {
            return Err(exists(name).into());
        }
        let mut snapshot = self.snapshot()?;
        let declared = types
            .iter()
            .map(|name| self.type_oid(name, &snapshot))
            .collect::<Result<Vec<Oid>, Diagnostic>>()?;
        let text = &request.text[span.start as usize..span.end as usize];
        let prepared = self.prepare_text(text, &declared, &mut snapshot).await?;
        self.prepared.insert(name.to_owned(), prepared);
        Ok(self.done("PREPARE"))
    }

    /// Plans and describes a text that is to be executed later.
    pub(crate) async fn prepare_text(
        &mut self,
        text: &str,
        declared: &[Oid],
        snapshot: &mut execute::Snapshot,
    ) -> Result<Prepared, ExecuteError> {
        if self.prepared.len() >= self.house.limits.prepared_max {
            let message = "too many prepared statements in one session";
            let hint = format!(
                "At most {} are kept; close those that are not needed (DEALLOCATE).",
                self.house.limits.prepared_max
            );
            let code = SqlState::CONFIGURATION_LIMIT_EXCEEDED;
            return Err(Diagnostic::error(code, message).hint(hint).into());
        }
        let shaped = self.prepare(text, declared, snapshot).await?;
        let empty = || {
            Arc::new(Description {
                parameters: Vec::new(),
                row: None,
            })
        };
        let description = shaped.description.get().cloned().unwrap_or_else(empty);
        Ok(Prepared {
            shaped,
            declared: declared.into(),
            description,
        })
    }

    pub(super) async fn sql_execute(
        &mut self,
        name: &str,
        arguments: &[Expr],
        request: &Request<'_>,
    ) -> Result<Ran, ExecuteError> {
        let Some(prepared) = self.prepared.get(name).cloned() else {
            return Err(missing(name).into());
        };
        let expected = prepared.description.parameters.len();
        if arguments.len() != expected {
            let message = format!("wrong number of parameters for prepared statement \"{name}\"");
            let detail = format!(
                "Expected {expected} parameters but got {}.",
                arguments.len()
            );
            return Err(Diagnostic::error(SqlState::SYNTAX_ERROR, message)
                .detail(detail)
                .into());
        }
        let values = arguments
            .iter()
            .zip(&prepared.description.parameters)
            .map(|(argument, expected)| value_of(argument, *expected, request))
            .collect::<Result<Vec<_>, Diagnostic>>()?;
        let parameters: Vec<_> = values
            .iter()
            .map(|value| value.as_deref().map(str::as_bytes))
            .collect();
        let formats: Vec<_> = request
            .bind
            .map(|bind| bind.result_formats.iter().collect())
            .unwrap_or_default();
        let parts = BindParts {
            portal: "",
            statement: "",
            parameter_formats: &[],
            parameters: &parameters,
            result_formats: &formats,
        };
        let mut message = BytesMut::new();
        wire::frontend::bind(&mut message, &parts);
        let body = message.split_off(5).freeze();
        let mode = Mode {
            says_columns: request.says_columns,
            rows_max: request.rows_max,
        };
        Box::pin(self.run_bound(&prepared, &body, mode)).await
    }

    pub(super) fn deallocate(&mut self, name: Option<&str>) -> Result<Ran, ExecuteError> {
        match name {
            None => {
                self.prepared.clear();
                Ok(self.done("DEALLOCATE ALL"))
            }
            Some(name) if self.prepared.remove(name).is_some() => Ok(self.done("DEALLOCATE")),
            Some(name) => Err(missing(name).into()),
        }
    }

    fn type_oid(&self, name: &TypeName, snapshot: &execute::Snapshot) -> Result<Oid, Diagnostic> {
        let path = &self.meaning.search_path;
        let found = snapshot.catalog.type_named(&name.name.parts, path);
        let oid = match (found, name.array_dimensions) {
            (Some(found), 0) => Some(found.oid),
            (Some(found), _) => Some(found.array).filter(|array| *array != Oid::INVALID),
            (None, _) => None,
        };
        oid.ok_or_else(|| {
            let message = format!("type \"{}\" does not exist", name.name.parts.join("."));
            Diagnostic::error(SqlState::UNDEFINED_OBJECT, message)
        })
    }
}

/// The text of an argument of `EXECUTE` for a parameter of this type.
fn value_of(
    argument: &Expr,
    expected: Oid,
    request: &Request<'_>,
) -> Result<Option<String>, Diagnostic> {
    let refused = || {
        let what = "an EXECUTE whose argument is an expression is not supported";
        refusal(
            "execute-expression",
            what,
            "Give the arguments as literals.",
        )
    };
    match &argument.kind {
        ExprKind::Const(constant) if !is_spelled_alike(&constant.value, expected) => Err(refused()),
        ExprKind::Const(constant) => Ok(match &constant.value {
            ConstValue::Null => None,
            ConstValue::Bool(value) => Some(value.to_string()),
            ConstValue::Integer(value) => Some(value.to_string()),
            ConstValue::Number(text) | ConstValue::String(text) => Some(text.clone()),
            ConstValue::Bits(_) => return Err(refused()),
        }),
        ExprKind::Param(n) => {
            let index = usize::try_from(*n).unwrap_or(0).wrapping_sub(1);
            match request.bind.and_then(|bind| bind.parameter(index)) {
                Some((None, _)) => Ok(None),
                Some((Some(bytes), pg::Format::Text)) => String::from_utf8(bytes.to_vec())
                    .map(Some)
                    .map_err(|_bad| refused()),
                _ => Err(refused()),
            }
        }
        _ => Err(refused()),
    }
}

/// Whether assigning the constant to the type gives what the type reads from the constant's text.
/// `1` is no interval and no boolean, and `3.7` becomes the integer 4.
fn is_spelled_alike(value: &ConstValue, expected: Oid) -> bool {
    use pg::oid;
    let is_text = matches!(expected, oid::TEXT | oid::VARCHAR);
    let is_integer = matches!(expected, oid::INT2 | oid::INT4 | oid::INT8);
    let has_fraction = matches!(expected, oid::NUMERIC | oid::FLOAT4 | oid::FLOAT8);
    match value {
        ConstValue::Null | ConstValue::String(_) => true,
        ConstValue::Bool(_) => is_text || expected == oid::BOOL,
        ConstValue::Integer(_) => is_text || is_integer || has_fraction,
        ConstValue::Number(text) => {
            let is_whole = text
                .bytes()
                .all(|byte| byte.is_ascii_digit() || byte == b'-');
            has_fraction || (is_whole && (is_text || is_integer))
        }
        ConstValue::Bits(_) => false,
    }
}

pub(crate) fn missing(name: &str) -> Diagnostic {
    let message = if name.is_empty() {
        "unnamed prepared statement does not exist".to_owned()
    } else {
        format!("prepared statement \"{name}\" does not exist")
    };
    Diagnostic::error(SqlState::INVALID_SQL_STATEMENT_NAME, message)
}

pub(crate) fn exists(name: &str) -> Diagnostic {
    let message = format!("prepared statement \"{name}\" already exists");
    Diagnostic::error(SqlState::DUPLICATE_PSTATEMENT, message)
}
