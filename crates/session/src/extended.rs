//! The extended protocol: prepared statements, portals, pipelines, errors up to `Sync`.

use bytes::Bytes;
use execute::{ExecuteError, Flow, Preparable, Ran, Request};
use pg::{Diagnose as _, Diagnostic, SqlState};
use plan::{Merge, Target, Text};
use wire::Frame;
use wire::frontend::{Message, Target as What};

use crate::command::prepare::{exists, missing};
use crate::error::Halt;
use crate::session::Session;
use crate::statement::{Action, Mode, Portal, PortalState, Prepared};

/// A pipeline that has gathered so many bytes for its backend is sent before it grows further.
const GATHER_BYTES_MAX: usize = 64 * 1024;

impl Session {
    /// Serves one message of the extended protocol.
    pub(crate) async fn extended(&mut self, frame: Frame) -> Result<(), Halt> {
        if frame.tag == b'S' {
            return self.sync().await;
        }
        if self.is_skipping {
            return Ok(());
        }
        let served = match Message::parse(frame.tag, &frame.body) {
            Ok(message) => self.message(&message, &frame.body).await,
            Err(error) => Err(error.to_diagnostic().into()),
        };
        match served {
            Ok(Flow::Went) => Ok(()),
            Ok(Flow::Failed(_)) => {
                self.is_skipping = true;
                Ok(())
            }
            Err(error) => {
                self.is_skipping = true;
                self.fail_pipeline(error).await
            }
        }
    }

    async fn message(&mut self, message: &Message<'_>, body: &Bytes) -> Result<Flow, ExecuteError> {
        match message {
            Message::Parse(parse) => {
                let types: Vec<_> = parse.types.iter().collect();
                self.parse(parse.name, parse.query, &types).await
            }
            Message::Bind(bind) => self.bind(bind, body).await,
            Message::Describe {
                target: What::Statement,
                name,
            } => self.describe_statement(name),
            Message::Describe {
                target: What::Portal,
                name,
            } => self.describe_portal(name).await,
            Message::Execute { portal, rows_max } => self.execute(portal, *rows_max).await,
            Message::Close { target, name } => self.close(*target, name).await,
            Message::Flush => self.flush().await,
            _ => Ok(Flow::Went),
        }
    }

    async fn parse(
        &mut self,
        name: &str,
        text: &str,
        types: &[pg::Oid],
    ) -> Result<Flow, ExecuteError> {
        if name.is_empty() {
            self.prepared.remove("");
        } else if self.prepared.contains_key(name) {
            return Err(exists(name).into());
        }
        if self.is_catalog_stale {
            let flow = self.step_aside().await?;
            if flow != Flow::Went {
                return Ok(flow);
            }
            self.freshen_catalog().await?;
        }
        let mut snapshot = self.snapshot()?;
        if self.find_prepared(text, types, &snapshot).is_none() {
            let flow = self.step_aside().await?;
            if flow != Flow::Went {
                return Ok(flow);
            }
        }
        let prepared = self.prepare_text(text, types, &mut snapshot).await?;
        if let Some(statement) = &prepared.shaped.statement {
            self.check_block(&statement.body)?;
        }
        if let Action::Refuse(refusal) = &prepared.shaped.action {
            return Err((**refusal).clone().into());
        }
        self.prepared.insert(name.to_owned(), prepared);
        self.say(&wire::backend::Message::ParseComplete);
        Ok(Flow::Went)
    }

    async fn bind(
        &mut self,
        bind: &wire::frontend::Bind<'_>,
        body: &Bytes,
    ) -> Result<Flow, ExecuteError> {
        let Some(prepared) = self.prepared.get(bind.statement).cloned() else {
            return Err(missing(bind.statement).into());
        };
        let prepared = self.fresh(prepared, bind.statement).await?;
        let expected = prepared.description.parameters.len();
        if bind.parameter_count() != expected {
            let message = format!(
                "bind message supplies {} parameters, but prepared statement \"{}\" requires {expected}",
                bind.parameter_count(),
                bind.statement
            );
            return Err(Diagnostic::error(SqlState::PROTOCOL_VIOLATION, message).into());
        }
        if let Some(statement) = &prepared.shaped.statement {
            self.check_block(&statement.body)?;
        }
        if !bind.portal.is_empty() && self.portals.contains_key(bind.portal) {
            let message = format!("cursor \"{}\" already exists", bind.portal);
            return Err(Diagnostic::error(SqlState::DUPLICATE_CURSOR, message).into());
        }
        let shard = self.short_road(&prepared, bind).await?;
        if let Some(shard) = shard {
            let mut pipeline = std::mem::take(&mut self.pipeline);
            let statement = Preparable {
                id: prepared.shaped.id,
                text: &prepared.shaped.text,
                types: &prepared.declared,
                parameters: &prepared.description.parameters,
                row: prepared.description.row.as_ref(),
            };
            let flow = pipeline
                .bind(&mut self.hands(), shard, statement, body)
                .await;
            self.pipeline = pipeline;
            let flow = flow?;
            if flow != Flow::Went {
                return Ok(flow);
            }
            if let Action::Run(planned) = &prepared.shaped.action
                && let Some(participant) = self.transaction.participant(shard)
            {
                participant.note(planned.plan.effect, planned.facts);
            }
        } else {
            self.say(&wire::backend::Message::BindComplete);
        }
        let portal = Portal {
            prepared,
            bind: body.clone(),
            shard,
            state: PortalState::Fresh,
        };
        self.portals.insert(bind.portal.to_owned(), portal);
        Ok(Flow::Went)
    }

    /// The shard of a statement that goes to exactly one, whole and unchanged.
    async fn short_road(
        &mut self,
        prepared: &Prepared,
        bind: &wire::frontend::Bind<'_>,
    ) -> Result<Option<topology::ShardId>, ExecuteError> {
        let Action::Run(planned) = &prepared.shaped.action else {
            return Ok(None);
        };
        let plan = &planned.plan;
        let is_short = plan.merge == Merge::Pass
            && plan.text == Text::Verbatim
            && plan.compute.is_empty()
            && plan.effect < plan::Effect::Define
            && !planned.facts.pins
            && !planned.facts.sets_config
            && matches!(plan.target, Target::One { .. });
        if !is_short {
            return Ok(None);
        }
        let request = Request {
            text: &prepared.shaped.text,
            position: execute::Position::Same,
            bind: Some(bind),
            types: &prepared.description.parameters,
            row: None,
            lifted: prepared.shaped.lifted.as_ref(),
            rows_max: 0,
            says_columns: false,
        };
        let snapshot = self.snapshot()?;
        let known = execute::Known {
            request: &request,
            computed: &[],
            asked: &[],
        };
        if let plan::Evaluated::Known(shards) =
            plan::evaluate(&plan.target, &known, &snapshot.topology)?
        {
            return Ok(Some(self.executor(&snapshot).lend().choose(&shards)));
        }
        let flow = self.step_aside().await?;
        debug_assert_eq!(flow, Flow::Went, "what was in flight went well so far");
        let mut workbench = self.executor(&snapshot);
        let mut executor = workbench.lend();
        let shards = executor.resolve(&plan.target, &request, &[]).await?;
        Ok(Some(executor.choose(&shards)))
    }

    fn describe_statement(&mut self, name: &str) -> Result<Flow, ExecuteError> {
        let Some(prepared) = self.prepared.get(name).cloned() else {
            return Err(missing(name).into());
        };
        let Self {
            pipeline, client, ..
        } = self;
        pipeline.say(client, |out| prepared.description.write_statement(out));
        Ok(Flow::Went)
    }

    async fn describe_portal(&mut self, name: &str) -> Result<Flow, ExecuteError> {
        let Some(portal) = self.portals.get(name).cloned() else {
            let shard = self.cursor_shard(name)?;
            let mut pipeline = std::mem::take(&mut self.pipeline);
            let flow = pipeline
                .describe_portal(&mut self.hands(), shard, name)
                .await;
            self.pipeline = pipeline;
            return flow;
        };
        let Self {
            pipeline, client, ..
        } = self;
        let formats = portal.bind().result_formats;
        pipeline.say(client, |out| {
            portal
                .prepared
                .description
                .write_row(out, |index| formats.of(index));
        });
        Ok(Flow::Went)
    }

    async fn execute(&mut self, name: &str, rows_max: i32) -> Result<Flow, ExecuteError> {
        let portal = self.portals.get(name).cloned();
        let shard = match &portal {
            Some(portal) => portal.shard,
            None => Some(self.cursor_shard(name)?),
        };
        if let Some(shard) = shard {
            let mut pipeline = std::mem::take(&mut self.pipeline);
            let mut hands = self.hands();
            let mut flow = pipeline.execute(&mut hands, shard, name, rows_max).await;
            let gathered = hands
                .transaction
                .participant(shard)
                .map_or(0, |participant| {
                    participant.backend().connection.output().len()
                });
            if matches!(flow, Ok(Flow::Went)) && gathered > GATHER_BYTES_MAX {
                flow = pipeline.flush(&mut hands).await;
            }
            self.pipeline = pipeline;
            return flow;
        }
        let Some(portal) = portal else {
            return Err(no_portal(name).into());
        };
        let flow = self.step_aside().await?;
        if flow != Flow::Went {
            return Ok(flow);
        }
        match portal.state {
            PortalState::Fresh => {}
            PortalState::Rest(rest) => return Ok(self.go_on(name, rest, rows_max)),
            PortalState::Cut => return Err(portal_cut().into()),
            PortalState::Done => {
                let message = format!("portal \"{name}\" cannot be run anymore");
                let code = SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE;
                return Err(Diagnostic::error(code, message).into());
            }
        }
        let mode = Mode {
            says_columns: false,
            rows_max: u32::try_from(rows_max).unwrap_or(0),
        };
        let ran = self.run_bound(&portal.prepared, &portal.bind, mode).await?;
        let state = match &ran {
            Ran::Suspended { rest: Some(rest) } => PortalState::Rest(rest.clone()),
            Ran::Suspended { rest: None } => PortalState::Cut,
            // A query at its end gives no more rows, as often as it is asked.
            Ran::Done { tag: Some(tag) } if tag.starts_with(b"SELECT") => {
                PortalState::Rest(Bytes::new())
            }
            Ran::Done { .. } | Ran::Failed => PortalState::Done,
        };
        if let Some(own) = self.portals.get_mut(name) {
            own.state = state;
        }
        match ran {
            Ran::Done { tag } => {
                self.say_tag(tag);
                Ok(Flow::Went)
            }
            Ran::Suspended { .. } => Ok(Flow::Went),
            Ran::Failed => Ok(Flow::Failed(SqlState::INTERNAL_ERROR)),
        }
    }

    /// Hands out rows that were kept when the portal's row limit was met.
    fn go_on(&mut self, name: &str, mut rest: Bytes, rows_max: i32) -> Flow {
        let limit = u64::try_from(rows_max).ok().filter(|limit| *limit > 0);
        let (mut count, mut end) = (0, 0);
        while limit.is_none_or(|limit| count < limit) {
            let length = rest
                .get(end + 1..end + 5)
                .and_then(|length| length.try_into().ok());
            let Some(length) = length.map(u32::from_be_bytes) else {
                break;
            };
            end += 1 + length as usize;
            count += 1;
        }
        self.client.write(&rest.split_to(end));
        let state = if Some(count) == limit {
            self.say(&wire::backend::Message::PortalSuspended);
            PortalState::Rest(rest)
        } else {
            let tag = format!("SELECT {count}");
            self.say(&wire::backend::Message::CommandComplete { tag: &tag });
            PortalState::Rest(Bytes::new())
        };
        if let Some(own) = self.portals.get_mut(name) {
            own.state = state;
        }
        Flow::Went
    }

    /// Runs a prepared statement with bound parameters, in the session's own hands.
    pub(crate) async fn run_bound(
        &mut self,
        prepared: &Prepared,
        bind: &Bytes,
        mode: Mode,
    ) -> Result<Ran, ExecuteError> {
        let Ok(Message::Bind(parsed)) = Message::parse(b'B', bind) else {
            let message = "invalid Bind message";
            return Err(Diagnostic::error(SqlState::PROTOCOL_VIOLATION, message).into());
        };
        let shaped = std::sync::Arc::clone(&prepared.shaped);
        let request = Request {
            text: &shaped.text,
            position: execute::Position::Same,
            bind: Some(&parsed),
            types: &prepared.description.parameters,
            row: prepared.description.row.as_ref(),
            lifted: shaped.lifted.as_ref(),
            rows_max: mode.rows_max,
            says_columns: mode.says_columns,
        };
        if shaped.statement.is_none() {
            wire::backend::Message::EmptyQueryResponse.encode(self.client.output());
            return Ok(Ran::Done { tag: None });
        }
        let snapshot = self.snapshot()?;
        self.act(&shaped, &request, &snapshot).await
    }

    async fn close(&mut self, target: What, name: &str) -> Result<Flow, ExecuteError> {
        match target {
            What::Statement => {
                self.prepared.remove(name);
            }
            What::Portal => {
                let shard = match self.portals.remove(name) {
                    Some(portal) => portal.shard,
                    None => self.cursors.remove(name).map(|cursor| cursor.shard),
                };
                if let Some(shard) = shard {
                    let mut pipeline = std::mem::take(&mut self.pipeline);
                    let flow = pipeline.close_portal(&mut self.hands(), shard, name).await;
                    self.pipeline = pipeline;
                    return flow;
                }
            }
        }
        self.say(&wire::backend::Message::CloseComplete);
        Ok(Flow::Went)
    }

    /// The shard of an SQL cursor: to PostgreSQL it is a portal as any other.
    fn cursor_shard(&self, name: &str) -> Result<topology::ShardId, Diagnostic> {
        let cursor = self.cursors.get(name).ok_or_else(|| no_portal(name))?;
        Ok(cursor.shard)
    }

    async fn flush(&mut self) -> Result<Flow, ExecuteError> {
        let mut pipeline = std::mem::take(&mut self.pipeline);
        let flow = pipeline.flush(&mut self.hands()).await;
        self.pipeline = pipeline;
        let flow = flow?;
        // The client waits for what is in its buffer; that it has gone shows at the next read.
        let _ = self.client.flush().await;
        Ok(flow)
    }

    async fn sync(&mut self) -> Result<(), Halt> {
        let mut pipeline = std::mem::take(&mut self.pipeline);
        let flow = pipeline.sync(&mut self.hands()).await;
        self.pipeline = pipeline;
        let is_failed = std::mem::take(&mut self.is_skipping) || !matches!(flow, Ok(Flow::Went));
        if let Err(error) = flow {
            self.failed(error).await?;
        }
        if is_failed && self.transaction.block().is_none() {
            self.undo_settings();
        }
        self.ready().await
    }

    /// Brings what is in flight to its end, so that the session can use the backends itself.
    pub(crate) async fn step_aside(&mut self) -> Result<Flow, ExecuteError> {
        let mut pipeline = std::mem::take(&mut self.pipeline);
        let flow = pipeline.step_aside(&mut self.hands()).await;
        self.pipeline = pipeline;
        flow
    }

    /// Says a message in its turn.
    fn say(&mut self, message: &wire::backend::Message<'_>) {
        let Self {
            pipeline, client, ..
        } = self;
        pipeline.say(client, |out| message.encode(out));
    }

    /// Tells the client of an error of a message, after the answers that come before it.
    async fn fail_pipeline(&mut self, error: ExecuteError) -> Result<(), Halt> {
        match self.step_aside().await {
            // An earlier message failed, and the client knows; later ones are skipped.
            Ok(Flow::Failed(_)) => Ok(()),
            Ok(Flow::Went) => self.failed(error).await,
            Err(worse) => self.failed(worse).await,
        }
    }

    /// The statement on the newest snapshots; an error when that changes what the client was told of it.
    async fn fresh(&mut self, prepared: Prepared, name: &str) -> Result<Prepared, ExecuteError> {
        let mut snapshot = self.snapshot()?;
        let setting = self.meaning.key(&snapshot);
        if *prepared.shaped.setting == *setting {
            return Ok(prepared);
        }
        let (text, declared) = (prepared.shaped.text.clone(), prepared.declared.clone());
        let flow = self.step_aside().await?;
        debug_assert_eq!(flow, Flow::Went, "what was in flight went well so far");
        let renewed = self.prepare_text(&text, &declared, &mut snapshot).await?;
        if let Action::Refuse(refusal) = &renewed.shaped.action {
            return Err((**refusal).clone().into());
        }
        if renewed.description != prepared.description {
            let message = "cached plan must not change result type";
            return Err(Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
                .routine("RevalidateCachedQuery")
                .into());
        }
        self.prepared.insert(name.to_owned(), renewed.clone());
        Ok(renewed)
    }
}

pub(crate) fn portal_cut() -> Diagnostic {
    // What was left was larger than what is kept of an answer.
    let what = "fetching on from a portal over several shards is not supported";
    let hint = "Execute without a row limit (fetch size 0), or name the shard key.";
    crate::command::refusal("portal-over-shards", what, hint)
}

fn no_portal(name: &str) -> Diagnostic {
    let message = format!("portal \"{name}\" does not exist");
    Diagnostic::error(SqlState::INVALID_CURSOR_NAME, message)
}
