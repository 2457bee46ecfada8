//! `SET`, `RESET`, `SET TRANSACTION`, and `set_config` wherever it is called.
//!
//! PostgreSQL decides whether a value is acceptable: a setting is tried on a backend before it is noted, so a bad one fails
//! at `SET`. What is noted is the text that the backend then shows.

use execute::{ExecuteError, Ran, Request, Snapshot};
use pg::{Diagnostic, SqlState};
use sql::ast::{Body, Call, ConstValue, Expr, ExprKind, Set};

use crate::command::refusal;
use crate::command::transaction::modes_of;
use crate::session::Session;

/// Settings of the router's own, and the values that they take; an empty list takes any.
const OWN: [(&str, &[&str]); 3] = [
    ("kintsugi.default_shard_group", &[]),
    ("kintsugi.transaction_mode", &["atomic", "single"]),
    ("kintsugi.fanout", &["scatter", "multi", "single"]),
];

/// Settings of the design that nothing looks at yet are refused, not ignored.
const NOT_YET: [&str; 5] = [
    "kintsugi.shard",
    "kintsugi.target",
    "kintsugi.snapshot",
    "kintsugi.statement_deadline",
    "kintsugi.ddl_check",
];

impl Session {
    pub(super) async fn set(
        &mut self,
        set: &Set,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        match set {
            Set::Variable {
                name,
                values: Some(values),
                local,
            } => {
                check_own(name, values)?;
                if *local && self.transaction.block().is_none() {
                    self.warn_outside_block("SET LOCAL");
                    return Ok(self.done("SET"));
                }
                self.try_setting(name, request.text, *local, snapshot)
                    .await?;
                Ok(self.done("SET"))
            }
            Set::Variable {
                name,
                values: None,
                local,
            } => {
                let sql = self.reset_sql(name, *local);
                self.try_setting(name, &sql, *local, snapshot).await?;
                if !*local {
                    self.settings.reset(name);
                    self.after_setting();
                }
                Ok(self.done("SET"))
            }
            Set::FromCurrent(name) => {
                self.try_setting(name, request.text, false, snapshot)
                    .await?;
                Ok(self.done("SET"))
            }
            Set::Reset(name) => {
                let sql = self.reset_sql(name, false);
                self.try_setting(name, &sql, false, snapshot).await?;
                self.settings.reset(name);
                self.after_setting();
                Ok(self.done("RESET"))
            }
            Set::ResetAll => {
                self.settings.reset_all();
                self.settle_backends(snapshot).await?;
                Ok(self.done("RESET"))
            }
            Set::Transaction(modes) => self.set_transaction(&modes_of(modes), request).await,
            Set::SessionCharacteristics(_) => {
                for name in [
                    "default_transaction_isolation",
                    "default_transaction_read_only",
                    "default_transaction_deferrable",
                ] {
                    self.try_setting(name, request.text, false, snapshot)
                        .await?;
                }
                Ok(self.done("SET"))
            }
            Set::Snapshot(_) => {
                let what = "imported snapshots are not supported";
                Err(refusal("set-snapshot", what, "").into())
            }
        }
    }

    /// Runs `sql`, which sets `name`, where it has to be in force, and notes the value that PostgreSQL shows afterwards.
    async fn try_setting(
        &mut self,
        name: &str,
        sql: &str,
        local: bool,
        snapshot: &Snapshot,
    ) -> Result<(), ExecuteError> {
        let authority = snapshot.topology.authoritative_shard();
        if self.transaction.in_block().is_empty() {
            self.executor(snapshot).lend().enlist(authority).await?;
        }
        let places = match self.transaction.in_block() {
            places if places.is_empty() => {
                let held = self.transaction.shards().position(|held| held == authority);
                held.into_iter().collect()
            }
            places => places,
        };
        let mut shown = None;
        for place in places {
            let participant = &mut self.transaction.participants()[place];
            participant.settle_ahead().await?;
            let backend = participant.backend();
            backend.note_custom(name);
            backend.simple(sql).await?;
            let ask = format!("SELECT current_setting({}, true)", sql::quote_literal(name));
            let results = backend.simple(&ask).await?;
            shown = results
                .first()
                .and_then(|result| result.value().map(str::to_owned));
        }
        if name.eq_ignore_ascii_case("client_encoding") {
            check_encoding(shown.as_deref())?;
        }
        if let Some(value) = &shown {
            self.settings.set(name, value, local);
        }
        self.after_setting();
        Ok(())
    }

    /// What follows from changed settings: names mean something else, the backends at hand have them, the client is told.
    fn after_setting(&mut self) {
        self.meaning.update(&self.settings);
        let session = self.settings.session().clone();
        let in_block = self.transaction.block().is_some();
        let mut values = Vec::new();
        for participant in self.transaction.participants() {
            let backend = participant.backend();
            if !in_block {
                backend.assume_settings(session.clone());
            }
            values = backend
                .parameters
                .iter()
                .map(|(n, v)| (n.clone(), v.clone()))
                .collect();
        }
        self.report_parameters(&values);
    }

    /// Brings the settings of the backends at hand into line with the session's.
    pub(super) async fn settle_backends(
        &mut self,
        snapshot: &Snapshot,
    ) -> Result<(), ExecuteError> {
        let wanted = self.settings.session().clone();
        for place in self.transaction.in_block() {
            let participant = &mut self.transaction.participants()[place];
            participant.settle_ahead().await?;
            let backend = participant.backend();
            if let Some(sql) = wanted.statements_from(backend.settings()) {
                backend.simple(&sql).await?;
            }
        }
        if self.transaction.block().is_none() {
            let authority = snapshot.topology.authoritative_shard();
            let place = self.executor(snapshot).lend().enlist(authority).await?;
            self.transaction.participants()[place]
                .backend()
                .apply(&wanted)
                .await?;
        }
        self.after_setting();
        Ok(())
    }

    fn reset_sql(&self, name: &str, local: bool) -> String {
        let quoted = sql::quote_literal(name);
        match self.settings.startup(name) {
            Some(value) => {
                format!(
                    "SELECT set_config({quoted}, {}, {local})",
                    sql::quote_literal(value)
                )
            }
            None if local => format!("SET LOCAL {} TO DEFAULT", setting_name(name)),
            None => format!("RESET {}", setting_name(name)),
        }
    }

    async fn set_transaction(
        &mut self,
        modes: &execute::block::Modes,
        request: &Request<'_>,
    ) -> Result<Ran, ExecuteError> {
        if !self.is_in_explicit_block() {
            self.warn_outside_block("SET TRANSACTION");
            return Ok(self.done("SET"));
        }
        // Shards that are in the block already say what PostgreSQL says; those to come get it with their BEGIN.
        self.transaction.everywhere(request.text).await?;
        if let Some(block) = self.transaction.block_mut() {
            block.modes.overlay(modes.clone());
        }
        Ok(self.done("SET"))
    }

    fn warn_outside_block(&mut self, command: &str) {
        let message = format!("{command} can only be used in transaction blocks");
        let code = SqlState::NO_ACTIVE_SQL_TRANSACTION;
        self.say_notices(&[Diagnostic::warning(code, message)]);
    }

    /// Notes what calls of `set_config` in the statement that has just run have changed.
    pub(crate) async fn read_back_settings(
        &mut self,
        changes: &[(String, bool)],
    ) -> Result<(), ExecuteError> {
        for (name, local) in changes {
            let ask = format!("SELECT current_setting({}, true)", sql::quote_literal(name));
            let mut shown = None;
            if let Some(participant) = self.transaction.participants().last_mut() {
                participant.settle_ahead().await?;
                participant.backend().note_custom(name);
                let results = participant.backend().simple(&ask).await?;
                shown = results
                    .first()
                    .and_then(|result| result.value().map(str::to_owned));
            }
            let Some(value) = shown else { continue };
            if *local && self.transaction.block().is_none() {
                continue;
            }
            self.settings.set(name, &value, *local);
            let (name, value) = (sql::quote_literal(name), sql::quote_literal(&value));
            let everywhere = format!("SELECT set_config({name}, {value}, {local})");
            self.transaction.everywhere(&everywhere).await?;
        }
        if !changes.is_empty() {
            self.after_setting();
        }
        Ok(())
    }
}

/// Names that calls of `set_config` in a statement change, and whether only for the transaction.
///
/// # Errors
/// A name that is neither a literal nor a parameter: nobody could tell afterwards what was changed.
pub(crate) fn config_changes(
    body: &Body,
    request: &Request<'_>,
) -> Result<Vec<(String, bool)>, Diagnostic> {
    let (mut changes, mut is_unclear) = (Vec::new(), false);
    sql::ast::walk::for_each_expr(body, &mut |expr| {
        let ExprKind::Call(call) = &expr.kind else {
            return;
        };
        if call
            .name
            .parts
            .last()
            .is_some_and(|name| name == "set_config")
        {
            match change_of(call, request) {
                Some(change) => changes.push(change),
                None => is_unclear = true,
            }
        }
    });
    if is_unclear {
        let what = "set_config with a computed name is not supported";
        let hint = "Give the setting's name and the third argument as literals or parameters.";
        return Err(refusal("set-config-name", what, hint));
    }
    Ok(changes)
}

fn change_of(call: &Call, request: &Request<'_>) -> Option<(String, bool)> {
    let [name, _, local] = call.arguments.as_slice() else {
        return None;
    };
    let local = value_of(local, request)?.to_ascii_lowercase();
    let local = matches!(local.as_str(), "t" | "true" | "on" | "1" | "yes" | "\u{1}");
    Some((value_of(name, request)?, local))
}

fn value_of(expr: &Expr, request: &Request<'_>) -> Option<String> {
    match &expr.kind {
        ExprKind::Const(constant) => match &constant.value {
            ConstValue::String(text) => Some(text.clone()),
            ConstValue::Bool(value) => Some(value.to_string()),
            _ => None,
        },
        ExprKind::Param(n) => {
            let index = usize::try_from(*n).ok()?.checked_sub(1)?;
            let (value, _) = request.bind?.parameter(index)?;
            String::from_utf8(value?.to_vec()).ok()
        }
        ExprKind::Cast { operand, .. } => value_of(operand, request),
        _ => None,
    }
}

/// A setting's name as SQL; its dots separate parts.
fn setting_name(name: &str) -> String {
    let parts: Vec<String> = name.split('.').map(sql::quote_ident).collect();
    parts.join(".")
}

fn check_own(name: &str, values: &[String]) -> Result<(), Diagnostic> {
    if !name.starts_with("kintsugi.") {
        return Ok(());
    }
    if NOT_YET.contains(&name) {
        let what = format!("the setting \"{name}\" is not supported");
        return Err(refusal("setting", &what, ""));
    }
    let Some((_, allowed)) = OWN.iter().find(|(own, _)| *own == name) else {
        let message = format!("unrecognized configuration parameter \"{name}\"");
        let known: Vec<&str> = OWN.iter().map(|(own, _)| *own).collect();
        return Err(
            Diagnostic::error(SqlState::UNDEFINED_OBJECT, message).hint(format!(
                "The router's own settings are {}.",
                known.join(", ")
            )),
        );
    };
    match values {
        [value] if allowed.is_empty() || allowed.contains(&value.as_str()) => Ok(()),
        _ => {
            let given = values.join(", ");
            let message = format!("invalid value for parameter \"{name}\": \"{given}\"");
            Err(
                Diagnostic::error(SqlState::INVALID_PARAMETER_VALUE, message)
                    .hint(format!("Available values: {}.", allowed.join(", "))),
            )
        }
    }
}

fn check_encoding(value: Option<&str>) -> Result<(), Diagnostic> {
    match value {
        Some("UTF8") | None => Ok(()),
        Some(other) => {
            let what = format!("client encoding {other} is not supported");
            Err(refusal(
                "client-encoding",
                &what,
                "Use client_encoding UTF8.",
            ))
        }
    }
}
