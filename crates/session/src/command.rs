//! What a session does itself: transaction control, cursors, notifications; and where the other commands are.

mod copy;
mod discard;
mod explain;
pub(crate) mod prepare;
pub(crate) mod set;
mod transaction;

use bytes::Bytes;
use execute::{ExecuteError, Ran, Request, Snapshot};
use pg::{Diagnostic, SqlState};
use plan::{Effect, Facts};
use sql::ast::{Body, Notification};

use crate::session::Session;
use crate::statement::Cursor;

impl Session {
    /// Runs a command of the session's own.
    ///
    /// # Errors
    /// What the client has not been told yet.
    pub(crate) async fn command(
        &mut self,
        body: &Body,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        match body {
            Body::Transaction(control) => self.control(control, request).await,
            Body::Set(set) => self.set(set, request, snapshot).await,
            Body::Show(_) => {
                self.on_authority(request, snapshot, Effect::Read, Facts::default())
                    .await
            }
            Body::SetConstraints { .. } => self.set_constraints(request).await,
            Body::Prepare {
                name, types, span, ..
            } => self.sql_prepare(name, types, *span, request).await,
            Body::Execute { name, arguments } => self.sql_execute(name, arguments, request).await,
            Body::Deallocate(name) => self.deallocate(name.as_deref()),
            Body::Declare { name, hold, .. } => {
                self.declare((name, *hold), body, request, snapshot).await
            }
            Body::Fetch { cursor, .. } => {
                self.on_cursor((Some(cursor), body), request, snapshot)
                    .await
            }
            Body::Close(cursor) => {
                self.on_cursor((cursor.as_deref(), body), request, snapshot)
                    .await
            }
            Body::Notification(notification) => {
                self.notification(notification, request, snapshot).await
            }
            Body::Discard(target) => self.discard(*target).await,
            Body::Explain(explain) => self.explain(explain, request, snapshot).await,
            _ => Err(refusal("command", "this command is not supported", "").into()),
        }
    }

    /// A command without rows is done.
    #[expect(clippy::unused_self, reason = "reads as what the session does")]
    pub(crate) fn done(&mut self, tag: &'static str) -> Ran {
        Ran::Done {
            tag: Some(Bytes::from_static(tag.as_bytes())),
        }
    }

    /// Passes a request to the authoritative shard.
    pub(crate) async fn on_authority(
        &mut self,
        request: &Request<'_>,
        snapshot: &Snapshot,
        effect: Effect,
        facts: Facts,
    ) -> Result<Ran, ExecuteError> {
        let authority = snapshot.topology.authoritative_shard();
        self.executor(snapshot)
            .lend()
            .pass(authority, request, effect, facts)
            .await
    }

    async fn set_constraints(&mut self, request: &Request<'_>) -> Result<Ran, ExecuteError> {
        if !self.is_in_explicit_block() {
            let message = "SET CONSTRAINTS can only be used in transaction blocks";
            let warning = Diagnostic::warning(SqlState::NO_ACTIVE_SQL_TRANSACTION, message);
            self.say_notices(&[warning]);
            return Ok(self.done("SET CONSTRAINTS"));
        }
        let hands = &mut self.hands();
        hands.transaction.everywhere(request.text).await?;
        Ok(self.done("SET CONSTRAINTS"))
    }

    async fn declare(
        &mut self,
        (name, hold): (&str, bool),
        body: &Body,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        let context = self.meaning.context(snapshot, request.types);
        let end = u32::try_from(request.text.len()).unwrap_or(u32::MAX);
        let whole = sql::ast::Span { start: 0, end };
        let planned = plan::plan_body(body, (request.text, whole), &context)?;
        let one = matches!(planned.plan.target, plan::Target::One { .. })
            && planned.plan.text == plan::Text::Verbatim
            && planned.plan.merge == plan::Merge::Pass;
        if !one {
            let what = "a cursor over several shards is not supported";
            let why =
                "Name the shard key in the cursor's query, or read the rows without a cursor.";
            return Err(refusal("cursor-over-shards", what, why).into());
        }
        let mut workbench = self.executor(snapshot);
        let mut executor = workbench.lend();
        let shards = executor.resolve(&planned.plan.target, request, &[]).await?;
        let shard = executor.choose(&shards);
        let facts = Facts {
            unpreparable: hold || planned.facts.unpreparable,
            ..planned.facts
        };
        let ran = executor.pass(shard, request, Effect::Read, facts).await?;
        if ran != Ran::Failed {
            self.cursors.insert(
                name.to_owned(),
                Cursor {
                    shard,
                    is_held: hold,
                },
            );
            if hold && let Some(participant) = self.transaction.participant(shard) {
                participant.pins.held_cursor = true;
            }
        }
        Ok(ran)
    }

    async fn on_cursor(
        &mut self,
        (name, body): (Option<&str>, &Body),
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        let authority = snapshot.topology.authoritative_shard();
        let Some(name) = name else {
            self.cursors.clear();
            self.hands().transaction.everywhere("CLOSE ALL").await?;
            for participant in self.transaction.participants() {
                participant.pins.held_cursor = false;
            }
            return Ok(self.done("CLOSE CURSOR ALL"));
        };
        let shard = match (self.cursors.get(name), self.portals.get(name)) {
            (Some(cursor), _) => cursor.shard,
            // What the extended protocol has bound is a cursor to SQL, too.
            (None, Some(portal)) => portal.shard.ok_or_else(crate::extended::portal_cut)?,
            (None, None) => authority,
        };
        let is_close = matches!(body, Body::Close(_));
        let ran = self
            .executor(snapshot)
            .lend()
            .pass(shard, request, Effect::Read, Facts::default())
            .await?;
        if is_close && ran != Ran::Failed {
            self.cursors.remove(name);
            let is_held = |cursor: &Cursor| cursor.is_held && cursor.shard == shard;
            let is_pinned = self.cursors.values().any(is_held);
            if let Some(participant) = self.transaction.participant(shard) {
                participant.pins.held_cursor &= is_pinned;
            }
        }
        Ok(ran)
    }

    async fn notification(
        &mut self,
        notification: &Notification,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        let facts = Facts {
            unpreparable: true,
            ..Facts::default()
        };
        let ran = self
            .on_authority(request, snapshot, Effect::Write, facts)
            .await?;
        let authority = snapshot.topology.authoritative_shard();
        if let Some(participant) = self.transaction.participant(authority) {
            match notification {
                Notification::Listen(_) => participant.pins.listening = true,
                Notification::Unlisten(None) => participant.pins.listening = false,
                Notification::Unlisten(Some(_)) | Notification::Notify { .. } => {}
            }
        }
        Ok(ran)
    }
}

/// A refusal of the session's own.
pub(crate) fn refusal(id: &str, what: &str, hint: &str) -> Diagnostic {
    let shown =
        Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, what).detail(format!("kintsugi/{id}"));
    if hint.is_empty() {
        shown
    } else {
        shown.hint(hint)
    }
}
