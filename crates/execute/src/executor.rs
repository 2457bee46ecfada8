//! Runs one plan: what it computes first, where it goes, and which way the answers take.
//!
//! ```text
//!   Plan -> compute -> target -> one shard   -> pass
//!                             -> many shards -> merge
//! ```

use std::sync::Arc;

use bytes::Bytes;
use catalog::Catalog;
use plan::{Ask, Compute, Effect, Evaluated, Facts, Merge, Part, Plan, ShardList, Target, Text};
use topology::{ShardId, Topology};

use crate::ask::ask_with_texts;
use crate::block::{Kind, Modes};
use crate::number::Adapted;
use crate::pump::{Expect, Pump, Pumped};
use crate::sequence::SessionSequences;
use crate::{ExecuteError, Hands, Known, Position, Request};

/// What a request runs on: it keeps the snapshots that it began with.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// What tables are.
    pub catalog: Arc<Catalog>,
    /// Where rows live.
    pub topology: Arc<Topology>,
}

/// Runs plans for one session.
pub struct Executor<'a, 'h> {
    /// The session's connections and settings.
    pub hands: &'a mut Hands<'h>,
    /// What the request runs on.
    pub snapshot: &'a Snapshot,
    /// The session's last sequence values.
    pub sequences: &'a mut SessionSequences,
}

/// A plan on its way.
#[derive(Clone, Copy)]
pub(crate) struct Work<'a> {
    /// The plan.
    pub(crate) plan: &'a Plan,
    /// What it leaves behind.
    pub(crate) facts: Facts,
    /// For what it is run.
    pub(crate) request: &'a Request<'a>,
    /// What was computed first.
    pub(crate) computed: &'a [Option<String>],
}

/// How a statement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ran {
    /// The client has its whole answer, but for the tag that is still to be said.
    Done {
        /// The command tag; `None` when the client has been told already.
        tag: Option<Bytes>,
    },
    /// The client has as many rows as it wanted.
    Suspended {
        /// The rows that are left, as messages; `None` when they were too many to be kept.
        rest: Option<Bytes>,
    },
    /// A shard raised an error, which the client has been told.
    Failed,
}

// === impl Executor ===

impl Executor<'_, '_> {
    /// Runs a plan and brings its answer to the client: rows and command tag, without `ReadyForQuery`.
    ///
    /// # Errors
    /// What went wrong before the client was told anything; the caller tells it.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn run(
        &mut self,
        plan: &Plan,
        facts: Facts,
        request: &Request<'_>,
    ) -> Result<Ran, ExecuteError> {
        let computed = self.compute(plan, request).await?;
        if let (Merge::Pass, false) = (&plan.merge, matches!(plan.target, Target::Rows)) {
            let shards = self.resolve(&plan.target, request, &computed).await?;
            let shard = self.choose(&shards);
            let text = render(&plan.text, plan, &computed, request.text);
            let position = match plan.text {
                Text::Verbatim => request.position,
                Text::Edited(_) | Text::Rows { .. } | Text::CopyIn(_) => Position::Foreign,
            };
            let request = Request {
                text: &text,
                position,
                ..*request
            };
            return self.pass(shard, &request, plan.effect, facts).await;
        }
        self.merge(Work {
            plan,
            facts,
            request,
            computed: &computed,
        })
        .await
    }

    /// Of shards that give the same answer, the one that the transaction uses already, else each in its turn.
    #[must_use]
    pub fn choose(&self, shards: &[ShardId]) -> ShardId {
        let held = shards
            .iter()
            .find(|shard| self.hands.transaction.holds(**shard));
        let turn = || shards.get(self.hands.environment.turn() % shards.len().max(1));
        let chosen = held.or_else(turn).copied();
        chosen.unwrap_or_else(|| self.snapshot.topology.authoritative_shard())
    }

    /// The shards of a target, asking a shard to compute what the router can't.
    ///
    /// # Errors
    /// A key has no home, or routes disagree.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn resolve(
        &mut self,
        target: &Target,
        request: &Request<'_>,
        computed: &[Option<String>],
    ) -> Result<ShardList, ExecuteError> {
        let mut asked = Vec::new();
        loop {
            let known = Known {
                request,
                computed,
                asked: &asked,
            };
            match plan::evaluate(target, &known, &self.snapshot.topology)? {
                Evaluated::Known(shards) => return Ok(shards),
                Evaluated::Ask(asks) => asked = self.ask(&asks).await?,
            }
        }
    }

    /// Has a shard compute values.
    pub(crate) async fn ask(&mut self, asks: &[Ask]) -> Result<Vec<Option<String>>, ExecuteError> {
        let place = self.enlist_any().await?;
        let participant = &mut self.hands.transaction.participants()[place];
        let answers = ask_all(participant.backend(), asks).await?;
        self.hands.transaction.release().await;
        Ok(answers)
    }

    /// Has the authoritative shard compute values on a backend of its own, for when the block's are busy.
    pub(crate) async fn ask_aside(
        &mut self,
        asks: &[Ask],
    ) -> Result<Vec<Option<String>>, ExecuteError> {
        let transaction = &self.hands.transaction;
        let authority = self.snapshot.topology.authoritative_shard();
        let (identity, wait) = (transaction.identity(), transaction.wait());
        let mut lease = transaction.pools().lease(authority, identity, wait).await?;
        lease.apply(self.hands.wanted.session).await?;
        ask_all(&mut lease, asks).await
    }

    /// A participant that can be asked things: one of the block's if there is any, else the authoritative shard's.
    pub(crate) async fn enlist_any(&mut self) -> Result<usize, ExecuteError> {
        if let Some(&place) = self.hands.transaction.in_block().first() {
            return Ok(place);
        }
        self.enlist(self.snapshot.topology.authoritative_shard())
            .await
    }

    /// The participant on a shard, with everything that was written ahead already answered.
    ///
    /// # Errors
    /// No backend could be had.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn enlist(&mut self, shard: ShardId) -> Result<usize, ExecuteError> {
        let Hands {
            environment,
            transaction,
            wanted,
            ..
        } = &mut *self.hands;
        let place = transaction.enlist(environment, shard, *wanted).await?;
        transaction.participants()[place].settle_ahead().await?;
        Ok(place)
    }

    /// Passes one shard's answer through.
    ///
    /// # Errors
    /// As [`Self::run`].
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn pass(
        &mut self,
        shard: ShardId,
        request: &Request<'_>,
        effect: Effect,
        facts: Facts,
    ) -> Result<Ran, ExecuteError> {
        let translation = self.hands.translation(shard).await?;
        let adapted = Adapted::of(request, translation.as_ref())?;
        let Hands {
            environment,
            transaction,
            wanted,
            client,
            noticed,
            ..
        } = &mut *self.hands;
        let place = transaction.enlist(environment, shard, *wanted).await?;
        // A block of the router's own may still fail to commit.
        let holds_tag = request.bind.is_none()
            && transaction
                .block()
                .is_some_and(|block| block.kind == Kind::Implicit);
        let participant = &mut transaction.participants()[place];
        participant.note(effect, facts);
        let mut script = participant.take_ahead();
        let backend = participant.backend();
        write_request(backend, request, &adapted, &mut script);
        backend.settle().await?;
        noticed.tag = None;
        let mut pump = Pump {
            client,
            backend,
            noticed,
            position: request.position,
            holds_tag,
            sync_follows_copy: false,
            translation,
            inside: adapted.inside,
        };
        match pump.run(&mut script).await? {
            Pumped::Done => Ok(Ran::Done {
                tag: noticed.tag.take().filter(|_| holds_tag),
            }),
            Pumped::Failed { .. } => {
                transaction.fail();
                Ok(Ran::Failed)
            }
        }
    }

    /// Opens a block of the router's own when there is none, so that several shards commit together. True when it did.
    pub(crate) fn begin_implicit(&mut self) -> bool {
        let is_new = self.hands.transaction.block().is_none();
        if is_new {
            self.hands
                .transaction
                .begin(Kind::Implicit, Modes::default());
        }
        is_new
    }
}

async fn ask_all(
    backend: &mut pool::Backend,
    asks: &[Ask],
) -> Result<Vec<Option<String>>, ExecuteError> {
    let mut answers = Vec::new();
    for ask in asks {
        let rows = ask_with_texts(backend, &ask.sql, &[&ask.value]).await?;
        let answer = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten();
        let index = ask.index as usize;
        if answers.len() <= index {
            answers.resize(index + 1, None);
        }
        answers[index] = answer;
    }
    Ok(answers)
}

/// Writes a request to a backend in the protocol that the client used, and what its answers are.
fn write_request(
    backend: &mut pool::Backend,
    request: &Request<'_>,
    adapted: &Adapted,
    script: &mut crate::pump::Script,
) {
    backend.expect_ready();
    let output = backend.connection.output();
    let Some(bind) = request.bind else {
        wire::frontend::Message::Query { text: request.text }.encode(output);
        script.push_back(Expect::Query);
        return;
    };
    wire::frontend::parse(output, "", request.text, adapted.types(request));
    adapted.write_bind(bind, ("", ""), output);
    script.extend([Expect::Skip, Expect::Skip]);
    if request.says_columns {
        let target = wire::frontend::Target::Portal;
        wire::frontend::Message::Describe { target, name: "" }.encode(output);
        script.push_back(Expect::Columns);
    }
    wire::frontend::Message::Execute {
        portal: "",
        rows_max: i32::try_from(request.rows_max).unwrap_or(i32::MAX),
    }
    .encode(output);
    wire::frontend::Message::Sync.encode(output);
    script.extend([Expect::Rows, Expect::Ready]);
}

/// The text that a shard gets.
pub(crate) fn render(
    text: &Text,
    plan: &Plan,
    computed: &[Option<String>],
    verbatim: &str,
) -> String {
    match text {
        Text::Verbatim | Text::Rows { .. } | Text::CopyIn(_) => verbatim.to_owned(),
        Text::Edited(parts) => render_parts(parts, plan, computed),
    }
}

/// Parts put together, computed values as typed literals.
pub(crate) fn render_parts(parts: &[Part], plan: &Plan, computed: &[Option<String>]) -> String {
    let mut sql = String::new();
    for part in parts {
        match part {
            Part::Sql(text) => sql.push_str(text),
            Part::Computed(index) => push_computed(&mut sql, *index as usize, plan, computed),
        }
    }
    sql
}

fn push_computed(sql: &mut String, index: usize, plan: &Plan, computed: &[Option<String>]) {
    let type_name = match plan.compute.get(index) {
        Some(Compute::Expression { type_name, .. }) => type_name.as_str(),
        _ => "pg_catalog.int8",
    };
    match computed.get(index).and_then(Option::as_ref) {
        Some(value) => {
            sql.push_str(&sql::quote_literal(value));
        }
        None => sql.push_str("NULL"),
    }
    sql.push_str("::");
    sql.push_str(type_name);
}
