//! From a text to its plan: the cache first, then the parser and the planner.

use std::hash::{Hash as _, Hasher as _};
use std::sync::{Arc, OnceLock};

use execute::{ExecuteError, Request, Snapshot};
use pg::{Diagnose as _, Diagnostic, Oid, Retry, SqlState};
use plan::{Fixed, PlanError};
use sql::ast::Body;

use crate::cache::KeyRef;
use crate::session::Session;
use crate::statement::{Action, Description, Shaped};

impl Session {
    /// The plan of one statement of the simple protocol. Its literals are in [`Session::lifted`] afterwards.
    pub(crate) async fn shape(
        &mut self,
        text: &str,
        snapshot: &mut Snapshot,
    ) -> Result<Arc<Shaped>, ExecuteError> {
        sql::lift(text, self.meaning.parse_options(), &mut self.lifted);
        let is_shared = self.is_shared() && self.lifted.is_valid();
        if is_shared && let Some(shaped) = self.find_shape(text, snapshot) {
            return Ok(shaped);
        }
        let statement = self.parse_one(text, &[]).await?;
        let shaped = Arc::new(self.make(statement, text, &[], snapshot).await?);
        if is_shared && is_worth_keeping(&shaped) {
            let fixed = self.fixed_literals(text, &shaped.action);
            let key = KeyRef {
                setting: &shaped.setting,
                types: &[],
                shape: self.lifted.shape(),
                hash: self.lifted.hash(),
            };
            self.house.plans.insert(key, fixed, Arc::clone(&shaped));
        }
        Ok(shaped)
    }

    fn find_shape(&mut self, text: &str, snapshot: &Snapshot) -> Option<Arc<Shaped>> {
        let setting = self.meaning.key(snapshot);
        let key = KeyRef {
            setting: &setting,
            types: &[],
            shape: self.lifted.shape(),
            hash: self.lifted.hash(),
        };
        let literal = |slot: u32| Some(self.lifted.literal(text, slot as usize)?.raw);
        self.house.plans.find(key, literal)
    }

    /// Other sessions see the same tables under the same names.
    fn is_shared(&self) -> bool {
        self.meaning.temporary.is_empty() && self.own_catalog.is_none()
    }

    /// The plan of a statement that is prepared, if it is known already.
    pub(crate) fn find_prepared(
        &mut self,
        text: &str,
        types: &[Oid],
        snapshot: &Snapshot,
    ) -> Option<Arc<Shaped>> {
        let setting = self.meaning.key(snapshot);
        let (shape, hash) = whole(text);
        let key = KeyRef {
            setting: &setting,
            types,
            shape: &shape,
            hash,
        };
        if self.is_shared() {
            self.house.plans.find(key, |_| None)
        } else {
            None
        }
    }

    /// The plan of a statement that is prepared, found by its whole text, and what PostgreSQL says that it takes and gives.
    pub(crate) async fn prepare(
        &mut self,
        text: &str,
        types: &[Oid],
        snapshot: &mut Snapshot,
    ) -> Result<Arc<Shaped>, ExecuteError> {
        if let Some(shaped) = self.find_prepared(text, types, snapshot) {
            return Ok(shaped);
        }
        let statement = self.parse_one(text, types).await?;
        let described = match &statement {
            None => Some(Description {
                parameters: Vec::new(),
                row: None,
            }),
            Some(statement) => self.command_description(&statement.body),
        };
        let description = if let Some(description) = described {
            description
        } else {
            let shard = self.describing_shard(statement.as_ref(), snapshot);
            self.describe_on_shard((text, types), shard).await?
        };
        sql::lift(text, self.meaning.parse_options(), &mut self.lifted);
        let resolved = description.parameters.clone();
        let mut shaped = self.make(statement, text, &resolved, snapshot).await?;
        shaped.lifted = Some(self.lifted.clone());
        let _ = shaped.description.set(Arc::new(description));
        let shaped = Arc::new(shaped);
        if self.is_shared() && is_worth_keeping(&shaped) {
            let (shape, hash) = whole(text);
            let key = KeyRef {
                setting: &shaped.setting,
                types,
                shape: &shape,
                hash,
            };
            self.house
                .plans
                .insert(key, Vec::new(), Arc::clone(&shaped));
        }
        Ok(shaped)
    }

    /// The shard that is asked what a statement takes and gives: the authoritative one, but for a cursor's.
    fn describing_shard(
        &self,
        statement: Option<&sql::ast::Statement>,
        snapshot: &Snapshot,
    ) -> topology::ShardId {
        let shard = match statement.map(|statement| &statement.body) {
            Some(Body::Fetch { cursor, .. }) => {
                let cursors = self.cursors.get(cursor).map(|cursor| cursor.shard);
                let portal = || self.portals.get(cursor).and_then(|portal| portal.shard);
                cursors.or_else(portal)
            }
            _ => None,
        };
        shard.unwrap_or(snapshot.topology.authoritative_shard())
    }

    /// What the session's own commands take and give; `None` for those that a shard has to be asked about.
    fn command_description(&self, body: &Body) -> Option<Description> {
        let nothing = Description {
            parameters: Vec::new(),
            row: None,
        };
        match body {
            Body::Show(_) | Body::Explain(_) | Body::Fetch { .. } => None,
            Body::Execute { name, .. } => {
                let row = self
                    .prepared
                    .get(name)
                    .and_then(|inner| inner.description.row.clone());
                Some(Description { row, ..nothing })
            }
            body if is_command(body) => Some(nothing),
            _ => None,
        }
    }

    /// The one statement of a text; `None` when it is empty.
    pub(crate) async fn parse_one(
        &mut self,
        text: &str,
        types: &[Oid],
    ) -> Result<Option<sql::ast::Statement>, ExecuteError> {
        let mut statements = match sql::parse_with(text, self.meaning.parse_options()) {
            Ok(statements) => statements,
            Err(error) => return Err(self.rejected(text, types, unreadable(&error)).await),
        };
        if statements.len() > 1 {
            let message = "cannot insert multiple commands into a prepared statement";
            return Err(Diagnostic::error(SqlState::SYNTAX_ERROR, message).into());
        }
        Ok(statements.pop())
    }

    /// Plans a statement. A name that the catalog doesn't know is looked for in a fresh one before it is an error.
    async fn make(
        &mut self,
        statement: Option<sql::ast::Statement>,
        text: &str,
        types: &[Oid],
        snapshot: &mut Snapshot,
    ) -> Result<Shaped, ExecuteError> {
        let action = match &statement {
            Some(statement) => self.action(statement, text, types, snapshot).await?,
            None => Action::Command,
        };
        Ok(Shaped {
            id: self.house.next_statement(),
            text: Arc::from(text),
            statement,
            lifted: None,
            action,
            setting: self.meaning.key(snapshot),
            description: OnceLock::new(),
        })
    }

    async fn action(
        &mut self,
        statement: &sql::ast::Statement,
        text: &str,
        types: &[Oid],
        snapshot: &mut Snapshot,
    ) -> Result<Action, ExecuteError> {
        if is_command(&statement.body) {
            return Ok(Action::Command);
        }
        let mut result = self.plan(statement, text, types, snapshot);
        if let Err(error) = &result
            && error.retry() == Retry::FreshSnapshot
            && self.own_catalog.is_none()
        {
            self.house.catalogs.refresh(&self.meaning.database).await?;
            *snapshot = self.snapshot()?;
            result = self.plan(statement, text, types, snapshot);
        }
        match result {
            Ok(action) => Ok(action),
            Err(error) if error.retry() == Retry::FreshSnapshot => {
                Err(self.rejected(text, types, error.to_diagnostic()).await)
            }
            Err(error) => Ok(Action::Refuse(Box::new(error.to_diagnostic()))),
        }
    }

    fn plan(
        &self,
        statement: &sql::ast::Statement,
        text: &str,
        types: &[Oid],
        snapshot: &Snapshot,
    ) -> Result<Action, PlanError> {
        let context = self.meaning.context(snapshot, types);
        plan::plan(statement, text, &context).map(|planned| Action::Run(Box::new(planned)))
    }

    /// PostgreSQL's own words for a text that the router can't read or resolve; the router's when PostgreSQL has no objection.
    async fn rejected(&mut self, text: &str, types: &[Oid], own: Diagnostic) -> ExecuteError {
        let Ok(snapshot) = self.snapshot() else {
            return own.into();
        };
        let shard = snapshot.topology.authoritative_shard();
        match self.describe_on_shard((text, types), shard).await {
            Ok(_) => own.into(),
            Err(theirs) => theirs,
        }
    }

    /// What PostgreSQL says that a statement takes and gives.
    async fn describe_on_shard(
        &mut self,
        (text, types): (&str, &[Oid]),
        shard: topology::ShardId,
    ) -> Result<Description, ExecuteError> {
        let described = execute::describe(&mut self.hands(), shard, text, types).await;
        if self.transaction.block().is_none() {
            self.transaction.release().await;
        }
        let (parameters, row) = described?;
        Ok(Description { parameters, row })
    }

    /// Slots and texts of the literals that an action depends on.
    fn fixed_literals(&self, text: &str, action: &Action) -> Vec<(u32, String)> {
        let count = u32::try_from(self.lifted.slots().len()).unwrap_or(u32::MAX);
        let slots = match action {
            // What `set_config` changes is read from the tree, so the tree must be this text's.
            Action::Run(planned) if planned.facts.sets_config => (0..count).collect(),
            Action::Run(planned) => match &planned.fixed {
                Fixed::All => (0..count).collect(),
                Fixed::Slots(slots) => slots.clone(),
            },
            Action::Command | Action::Refuse(_) => (0..count).collect(),
        };
        let literal = |slot: u32| {
            Some((
                slot,
                self.lifted.literal(text, slot as usize)?.raw.to_owned(),
            ))
        };
        slots.into_iter().filter_map(literal).collect()
    }
}

/// A whole text as a shape, and its hash. No lifted shape begins with a zero byte, so the two can't meet.
fn whole(text: &str) -> (Vec<u8>, u64) {
    let mut shape = Vec::with_capacity(text.len() + 1);
    shape.push(0);
    shape.extend_from_slice(text.as_bytes());
    let mut hasher = std::hash::DefaultHasher::new();
    shape.hash(&mut hasher);
    (shape, hasher.finish())
}

/// What is said of a text that the router can't read but PostgreSQL can.
fn unreadable(error: &sql::ParseError) -> Diagnostic {
    match error.kind {
        sql::ParseErrorKind::TooComplex => {
            Diagnostic::error(SqlState::STATEMENT_TOO_COMPLEX, error.message.clone())
        }
        _ => Diagnostic::error(
            SqlState::FEATURE_NOT_SUPPORTED,
            "the router can't read this statement",
        )
        .detail(format!("kintsugi/unreadable: {}", error.message)),
    }
}

/// The session itself does it, on no shard or on the ones it already uses.
fn is_command(body: &Body) -> bool {
    matches!(
        body,
        Body::Transaction(_)
            | Body::Set(_)
            | Body::Show(_)
            | Body::SetConstraints { .. }
            | Body::Prepare { .. }
            | Body::Execute { .. }
            | Body::Deallocate(_)
            | Body::Declare { .. }
            | Body::Fetch { .. }
            | Body::Close(_)
            | Body::Notification(_)
            | Body::Discard(_)
            | Body::Explain(_)
    )
}

/// Statements whose literals are always new would only push others out.
fn is_worth_keeping(shaped: &Shaped) -> bool {
    match &shaped.action {
        Action::Command => {
            let statement = shaped.statement.as_ref();
            statement.is_some_and(|statement| matches!(statement.body, Body::Transaction(_)))
        }
        Action::Run(planned) => planned.plan.effect != plan::Effect::Define,
        Action::Refuse(_) => true,
    }
}

impl Session {
    /// The request for one execution in the simple protocol.
    pub(crate) fn simple_request<'a>(
        text: &'a str,
        position: execute::Position,
        lifted: &'a sql::Lifted,
    ) -> Request<'a> {
        Request {
            text,
            position,
            bind: None,
            types: &[],
            row: None,
            lifted: Some(lifted),
            rows_max: 0,
            says_columns: true,
        }
    }
}
