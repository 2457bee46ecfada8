//! The extended protocol on its short road: messages of a client's pipeline go to the one backend that runs them, and the answers
//! come back in the client's order.
//!
//! Messages are collected in the backend's output and the answers' script is collected here; both move at `Flush` and `Sync`, so a
//! pipeline of one shard costs one write and as many reads as the kernel needs. When a pipeline goes on to another shard, what
//! has run so far becomes part of a block of the router's own ([`Kind::Implicit`]), since one `Sync` is one transaction.

use std::collections::HashMap;

use bytes::{Bytes, BytesMut};
use net::Connection;
use pg::{Oid, SqlState};
use pool::StatementId;
use topology::ShardId;

use crate::block::{Kind, Modes};
use crate::number::{Adapted, Inside, Numbers, Translation};
use crate::pump::{Expect, Noticed, Pump, Pumped, Script};
use crate::{Environment, ExecuteError, Position, Request, Transaction, Wanted};

/// What a pipeline needs of its session at each step.
pub struct Hands<'a> {
    /// The router.
    pub environment: &'a Environment,
    /// The client.
    pub client: &'a mut Connection,
    /// The session's transaction.
    pub transaction: &'a mut Transaction,
    /// The session's settings.
    pub wanted: Wanted<'a>,
    /// What was noticed while answers were copied.
    pub noticed: &'a mut Noticed,
    /// The shards' numbers beside those that the client knows.
    pub numbers: &'a Numbers,
}

// === impl Hands ===

impl Hands<'_> {
    /// How to translate for a shard; `None` where its numbers are those that the client knows.
    ///
    /// # Errors
    /// They can't be read.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn translation(&self, shard: ShardId) -> Result<Option<Translation>, ExecuteError> {
        let database = &self.transaction.identity().database;
        self.numbers.of(self.environment, database, shard).await
    }
}

/// A statement as backends know it.
#[derive(Clone, Copy, Debug)]
pub struct Preparable<'a> {
    /// Its number.
    pub id: StatementId,
    /// Its text.
    pub text: &'a str,
    /// Parameter types, as declared to the backend.
    pub types: &'a [Oid],
    /// All parameter types.
    pub parameters: &'a [Oid],
    /// The columns as the client knows them: the body of a `RowDescription`.
    pub row: Option<&'a Bytes>,
}

/// A `Bind` for a shard with other numbers.
struct OwnBind<'a> {
    bind: wire::frontend::Bind<'a>,
    /// The declared parameter types.
    types: Vec<Oid>,
    adapted: Adapted,
}

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub enum Flow {
    /// Well.
    Went,
    /// The backend raised an error, and the client has been told: its messages are skipped up to `Sync`.
    Failed(SqlState),
}

/// A client's pipeline since its last `Sync`.
#[derive(Debug, Default)]
pub struct Pipeline {
    /// The participant that has unanswered messages, or an open implicit transaction of this pipeline.
    active: Option<ShardId>,
    /// What comes back.
    script: Script,
    /// Something has been executed on the active backend since its last `ReadyForQuery`.
    has_run: bool,
    /// Of portals whose answers have numbers of types inside, by name: in which columns.
    inside: HashMap<String, Inside>,
}

impl Pipeline {
    /// Says a message of the router's own, in its turn.
    pub fn say(&mut self, client: &mut Connection, message: impl FnOnce(&mut BytesMut)) {
        if self.script.is_empty() {
            return message(client.output());
        }
        let mut bytes = BytesMut::new();
        message(&mut bytes);
        self.script.push_back(Expect::Say(bytes.freeze()));
    }

    /// Binds a portal on `shard`; `bind` is the client's `Bind`, whose statement is renamed.
    ///
    /// # Errors
    /// No backend could be had or a connection was lost.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn bind(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
        statement: Preparable<'_>,
        bind: &Bytes,
    ) -> Result<Flow, ExecuteError> {
        let translation = hands.translation(shard).await?;
        let own = translation
            .as_ref()
            .map(|translation| OwnBind::of(statement, bind, translation))
            .transpose()?;
        let flow = self.activate(hands, shard).await?;
        if flow != Flow::Went {
            return Ok(flow);
        }
        let Some(participant) = hands.transaction.participant(shard) else {
            return Ok(Flow::Went);
        };
        let backend = participant.backend();
        backend.open_batch();
        for evicted in hands.noticed.evicted.drain(..) {
            let (target, name) = (wire::frontend::Target::Statement, evicted.to_string());
            wire::frontend::Message::Close {
                target,
                name: &name,
            }
            .encode(backend.connection.output());
            self.script.push_back(Expect::Skip);
        }
        let is_under_way = self.script.contains(&Expect::Parsed(statement.id));
        if !is_under_way && !backend.prepared.touch(statement.id) {
            let name = statement.id.to_string();
            let output = backend.connection.output();
            let types = own.as_ref().map_or(statement.types, |own| &own.types);
            wire::frontend::parse(output, &name, statement.text, types);
            self.script.push_back(Expect::Parsed(statement.id));
        }
        let name = statement.id.to_string();
        let output = backend.connection.output();
        match own {
            None => wire::rewrite::rename_statement(b'B', bind, &name, output)
                .map_err(|error| pg::Diagnose::to_diagnostic(&error))?,
            Some(own) => {
                own.adapted
                    .write_bind(&own.bind, (own.bind.portal, &name), output);
                self.note_inside(own.bind.portal, own.adapted.inside);
            }
        }
        self.script.push_back(Expect::Pass);
        Ok(Flow::Went)
    }

    fn note_inside(&mut self, portal: &str, inside: Option<Inside>) {
        match inside {
            Some(inside) => {
                self.inside.insert(portal.to_owned(), inside);
            }
            None => {
                self.inside.remove(portal);
            }
        }
    }

    /// Runs a portal that was bound on `shard`.
    ///
    /// # Errors
    /// As [`Self::bind`].
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn execute(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
        portal: &str,
        rows_max: i32,
    ) -> Result<Flow, ExecuteError> {
        let flow = self.activate(hands, shard).await?;
        if flow != Flow::Went {
            return Ok(flow);
        }
        let translation = match self.inside.get(portal).cloned() {
            Some(inside) => hands.translation(shard).await?.map(|own| (own, inside)),
            None => None,
        };
        if let Some(participant) = hands.transaction.participant(shard) {
            participant.backend().open_batch();
            let output = participant.backend().connection.output();
            wire::frontend::Message::Execute { portal, rows_max }.encode(output);
            self.script.extend(translation.map(Expect::Inside));
            self.script.push_back(Expect::Rows);
            self.has_run = true;
        }
        Ok(Flow::Went)
    }

    /// Describes a cursor that SQL has opened on `shard`; the answer is passed on.
    ///
    /// # Errors
    /// As [`Self::bind`].
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn describe_portal(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
        portal: &str,
    ) -> Result<Flow, ExecuteError> {
        let flow = self.activate(hands, shard).await?;
        if flow != Flow::Went {
            return Ok(flow);
        }
        if let Some(participant) = hands.transaction.participant(shard) {
            let output = participant.backend().connection.output();
            let target = wire::frontend::Target::Portal;
            wire::frontend::Message::Describe {
                target,
                name: portal,
            }
            .encode(output);
            self.script.push_back(Expect::Pass);
        }
        Ok(Flow::Went)
    }

    /// Closes a portal that was bound on `shard`; the answer is passed on.
    ///
    /// # Errors
    /// As [`Self::bind`].
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn close_portal(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
        portal: &str,
    ) -> Result<Flow, ExecuteError> {
        let flow = self.activate(hands, shard).await?;
        if flow != Flow::Went {
            return Ok(flow);
        }
        if let Some(participant) = hands.transaction.participant(shard) {
            let output = participant.backend().connection.output();
            let target = wire::frontend::Target::Portal;
            wire::frontend::Message::Close {
                target,
                name: portal,
            }
            .encode(output);
            self.script.push_back(Expect::Pass);
        }
        Ok(Flow::Went)
    }

    /// Brings every answer that is due to the client, without ending the pipeline's transaction.
    ///
    /// # Errors
    /// A connection was lost.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn flush(&mut self, hands: &mut Hands<'_>) -> Result<Flow, ExecuteError> {
        let Some(shard) = self.active.filter(|_| !self.script.is_empty()) else {
            return Ok(Flow::Went);
        };
        if let Some(participant) = hands.transaction.participant(shard) {
            let output = participant.backend().connection.output();
            wire::frontend::Message::Flush.encode(output);
        }
        self.pump(hands, shard, false).await
    }

    /// Ends the pipeline on its backend: after this nothing is in flight. What the router's own block holds is left to be committed
    /// by the caller.
    ///
    /// # Errors
    /// A connection was lost.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn sync(&mut self, hands: &mut Hands<'_>) -> Result<Flow, ExecuteError> {
        let Some(shard) = self.active.take() else {
            debug_assert!(
                self.script.is_empty(),
                "without a backend nothing is in flight"
            );
            return Ok(Flow::Went);
        };
        self.has_run = false;
        self.write_sync(hands, shard);
        self.pump(hands, shard, true).await
    }

    /// Makes way for a statement that needs the transaction in the session's own hands: everything in flight is answered, and what
    /// has run so far is part of a block. The pipeline goes on with the client's next message.
    ///
    /// # Errors
    /// A connection was lost.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn step_aside(&mut self, hands: &mut Hands<'_>) -> Result<Flow, ExecuteError> {
        let flow = self.flush(hands).await?;
        let Some(shard) = self.active.take() else {
            return Ok(flow);
        };
        if flow != Flow::Went {
            return Ok(flow);
        }
        let has_run = std::mem::take(&mut self.has_run);
        if has_run && hands.transaction.block().is_none() {
            hands.transaction.begin(Kind::Implicit, Modes::default());
            let place = hands.transaction.shards().position(|held| held == shard);
            if let (Some(place), Some(participant)) = (place, hands.transaction.participant(shard))
            {
                // `BEGIN` inside a pipeline makes a block of what the pipeline has done since its last `Sync`.
                participant.backend().simple("BEGIN").await?;
                hands.transaction.joined_block(place);
            }
            return Ok(Flow::Went);
        }
        self.write_sync(hands, shard);
        self.pump(hands, shard, true).await
    }

    /// Makes `shard` the one that the pipeline goes to.
    async fn activate(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
    ) -> Result<Flow, ExecuteError> {
        if self.active == Some(shard) {
            return Ok(Flow::Went);
        }
        let flow = self.step_aside(hands).await?;
        if flow != Flow::Went {
            return Ok(flow);
        }
        let place = hands
            .transaction
            .enlist(hands.environment, shard, hands.wanted)
            .await?;
        self.active = Some(shard);
        let ahead = hands.transaction.participants()[place].take_ahead();
        self.script.extend(ahead);
        Ok(Flow::Went)
    }

    fn write_sync(&mut self, hands: &mut Hands<'_>, shard: ShardId) {
        if let Some(participant) = hands.transaction.participant(shard) {
            let backend = participant.backend();
            wire::frontend::Message::Sync.encode(backend.connection.output());
            backend.expect_ready();
            self.script.push_back(Expect::Ready);
        }
    }

    /// Sends what was collected and copies the answers.
    async fn pump(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
        sync_follows_copy: bool,
    ) -> Result<Flow, ExecuteError> {
        let mut script = std::mem::take(&mut self.script);
        let pumped = self
            .turn(hands, shard, &mut script, sync_follows_copy)
            .await?;
        let Pumped::Failed { code, is_synced } = pumped else {
            return Ok(Flow::Went);
        };
        self.has_run = false;
        self.active = None;
        if !is_synced {
            self.write_sync(hands, shard);
            let mut script = std::mem::take(&mut self.script);
            let _ = self.turn(hands, shard, &mut script, false).await?;
        }
        hands.transaction.fail();
        Ok(Flow::Failed(code))
    }

    async fn turn(
        &mut self,
        hands: &mut Hands<'_>,
        shard: ShardId,
        script: &mut Script,
        sync_follows_copy: bool,
    ) -> Result<Pumped, ExecuteError> {
        let Some(participant) = hands.transaction.participant(shard) else {
            return Ok(Pumped::Done);
        };
        participant.backend().settle().await?;
        let mut pump = Pump {
            client: hands.client,
            backend: participant.backend(),
            noticed: hands.noticed,
            position: Position::Same,
            holds_tag: false,
            sync_follows_copy,
            translation: None,
            inside: None,
        };
        Ok(pump.run(script).await?)
    }
}

// === impl OwnBind ===

impl<'a> OwnBind<'a> {
    fn of(
        statement: Preparable<'_>,
        body: &'a Bytes,
        translation: &Translation,
    ) -> Result<Self, ExecuteError> {
        let bind = match wire::frontend::Message::parse(b'B', body) {
            Ok(wire::frontend::Message::Bind(bind)) => bind,
            Ok(_) => return Err(ExecuteError::Lost),
            Err(error) => return Err(pg::Diagnose::to_diagnostic(&error).into()),
        };
        let request = Request {
            text: statement.text,
            position: Position::Same,
            bind: Some(&bind),
            types: statement.parameters,
            row: statement.row,
            lifted: None,
            rows_max: 0,
            says_columns: false,
        };
        let adapted = Adapted::of(&request, Some(translation))?;
        Ok(Self {
            bind,
            types: translation.to_shard(statement.types)?,
            adapted,
        })
    }
}
