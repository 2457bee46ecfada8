//! `COPY` over several shards: rows that stream in are told apart and go home one by one, rows that stream out are strung together.
//!
//! ```text
//!   client -> CopyData -> Splitter -> row -> home -> that shard's CopyData
//! ```
//!
//! Nothing is held but the row at hand and each shard's part of a message. All shards copy inside one block, so a row that fails
//! anywhere leaves nothing anywhere.

mod field;
mod out;
mod split;
mod target;

use bytes::{Bytes, BytesMut};
use pg::{Diagnostic, KeyValue, Parsed, SqlState, oid};
use plan::{
    CopyFormat, CopyIn, CopySource, CopyValue, Evaluated, KeySource, KeyTerm, Route, Row, Target,
    Unsupported, UnsupportedId,
};
use topology::ShardId;

use crate::executor::{Executor, Ran, Work, render_parts};
use crate::pump::PumpError;
use crate::{ExecuteError, Known, Request};
use field::Fields;
use split::{Record, Splitter};
use target::Targets;

/// How the client ended its data.
enum End {
    Done,
    Failed(String),
}

/// A COPY on its way.
struct Copying<'a> {
    copy: &'a CopyIn,
    request: &'a Request<'a>,
    computed: &'a [Option<String>],
    fields: Fields,
    targets: Targets,
    /// Lines read so far, the header too.
    line: u32,
    /// The row at hand with what is added to it.
    row: BytesMut,
}

impl Executor<'_, '_> {
    /// Takes the client's rows and brings each to its shard.
    pub(crate) async fn copy_in(
        &mut self,
        work: Work<'_>,
        copy: &CopyIn,
    ) -> Result<Ran, ExecuteError> {
        let Work {
            plan,
            facts,
            request,
            computed,
        } = work;
        self.begin_implicit();
        let shards = match &plan.target {
            Target::Shards(shards) => shards.clone(),
            _ => copy
                .place
                .as_ref()
                .map(|place| place.sharded.ranges.shards().to_vec())
                .unwrap_or_default(),
        };
        let statement = render_parts(&copy.statement, plan, computed);
        let mut targets = Targets::new(shards, statement, facts);
        let is_broadcast = copy.place.is_none();
        let formats = targets.open(self, is_broadcast).await?;
        self.say_ready(formats, copy);
        let mut copying = Copying {
            copy,
            request,
            computed,
            fields: Fields::new(copy.format),
            targets,
            line: 0,
            row: BytesMut::new(),
        };
        let streamed = self.stream(&mut copying).await;
        let ended = match streamed {
            Ok(End::Done) => copying.targets.finish(self, is_broadcast).await,
            Ok(End::Failed(reason)) => Err(copying.targets.fail(self, &reason).await),
            Err(error) => {
                // PostgreSQL reads on to the end of the data after an error, and so does the main loop here.
                copying.targets.abandon(self, &error).await;
                Err(error)
            }
        };
        match ended {
            Ok(tag) => Ok(Ran::Done {
                tag: Some(Bytes::from(tag)),
            }),
            Err(error) => {
                self.hands.transaction.fail();
                Err(error)
            }
        }
    }

    /// Tells the client to send its rows: as many fields as the client's rows have.
    fn say_ready(&mut self, mut formats: wire::backend::CopyFormats, copy: &CopyIn) {
        formats.columns.truncate(usize::from(copy.fields_count));
        wire::backend::Message::CopyInResponse(formats).encode(self.hands.client.output());
    }

    async fn stream(&mut self, copying: &mut Copying<'_>) -> Result<End, ExecuteError> {
        let mut splitter = Splitter::new(copying.copy.format, copying.copy.has_header);
        loop {
            let limits = wire::Limits::frontend();
            let frame = self
                .hands
                .client
                .try_frame(&limits)
                .map_err(|_bad| PumpError::ClientGone)?;
            let Some(frame) = frame else {
                self.wait_for_data(copying).await?;
                continue;
            };
            match frame.tag {
                b'd' => {
                    splitter.feed(frame.body);
                    self.records(copying, &mut splitter, false).await?;
                }
                b'c' => {
                    self.records(copying, &mut splitter, true).await?;
                    return Ok(End::Done);
                }
                b'f' => {
                    let reason = frame.body.strip_suffix(&[0]).unwrap_or(&frame.body);
                    return Ok(End::Failed(String::from_utf8_lossy(reason).into_owned()));
                }
                b'H' | b'S' => {}
                tag => {
                    let message =
                        format!("unexpected message type 0x{tag:02X} during COPY from stdin");
                    return Err(Diagnostic::error(SqlState::PROTOCOL_VIOLATION, message).into());
                }
            }
        }
    }

    /// Waits for more data, after everything that was gathered has been sent.
    async fn wait_for_data(&mut self, copying: &mut Copying<'_>) -> Result<(), ExecuteError> {
        copying.targets.flush(self).await?;
        self.hands
            .client
            .flush()
            .await
            .map_err(|_closed| PumpError::ClientGone)?;
        match self.hands.client.fill().await {
            Ok(0) | Err(_) => Err(PumpError::ClientGone.into()),
            Ok(_) => Ok(()),
        }
    }

    /// Places every whole record that was fed.
    async fn records(
        &mut self,
        copying: &mut Copying<'_>,
        splitter: &mut Splitter,
        is_last: bool,
    ) -> Result<(), ExecuteError> {
        while let Some(record) = splitter.next(is_last)? {
            copying.line += 1;
            match record {
                Record::Prelude(bytes) => copying.targets.everywhere(bytes),
                Record::Row(bytes) => self.row(copying, &bytes).await?,
            }
            copying.targets.relieve(self).await?;
        }
        Ok(())
    }

    async fn row(&mut self, copying: &mut Copying<'_>, record: &Bytes) -> Result<(), ExecuteError> {
        copying.fields.read(record);
        let added = self.added(copying).await?;
        check_steady(copying)?;
        let home = self.home(copying, &added).await?;
        let row = copying.with_added(record, &added);
        if let Some(shard) = home {
            copying.targets.send(self, shard, &row, copying.line).await
        } else {
            copying.targets.send_to_all(&row, copying.line);
            Ok(())
        }
    }

    /// Values of the fields that are added to the row at hand.
    async fn added(&mut self, copying: &Copying<'_>) -> Result<Vec<Option<String>>, ExecuteError> {
        let mut values = Vec::with_capacity(copying.copy.added.len());
        for added in &copying.copy.added {
            values.push(match added.value {
                CopyValue::Computed(index) => {
                    copying.computed.get(index as usize).cloned().flatten()
                }
                CopyValue::Draw { sequence } => Some(self.next_value(sequence).await?),
            });
        }
        Ok(values)
    }

    /// The shard of the row at hand; `None` when every copy gets it.
    async fn home(
        &mut self,
        copying: &Copying<'_>,
        added: &[Option<String>],
    ) -> Result<Option<ShardId>, ExecuteError> {
        let Some(place) = &copying.copy.place else {
            return Ok(None);
        };
        let is_binary = copying.copy.format == CopyFormat::Binary;
        let mut values: Vec<(&str, Option<KeyValue>)> = Vec::with_capacity(place.columns.len());
        let (mut is_invalid, mut is_unknown) = (false, false);
        for key in &place.columns {
            let parsed = match key.source {
                CopySource::Added(at) => added
                    .get(usize::from(at))
                    .and_then(Option::as_deref)
                    .map(|text| KeyValue::assign_text(key.key_type, oid::UNKNOWN, text)),
                CopySource::Field(at) => match copying.fields.get(usize::from(at)) {
                    // Too few fields: PostgreSQL says so.
                    None => Some(Parsed::Invalid),
                    Some(None) => None,
                    Some(Some(bytes)) if is_binary => {
                        Some(KeyValue::assign_binary(key.key_type, key.type_oid, bytes))
                    }
                    Some(Some(bytes)) => Some(match std::str::from_utf8(bytes) {
                        Ok(text) => KeyValue::assign_text(key.key_type, oid::UNKNOWN, text),
                        Err(_) => Parsed::Invalid,
                    }),
                },
            };
            match parsed {
                None => values.push((&key.column, None)),
                Some(Parsed::Value(value)) => values.push((&key.column, Some(value))),
                Some(Parsed::Invalid | Parsed::NoMatch) => is_invalid = true,
                Some(Parsed::Unknown) => is_unknown = true,
            }
        }
        if is_invalid {
            return Ok(copying.targets.first());
        }
        let column = |name: &str| {
            let found = values.iter().find(|(column, _)| *column == name);
            found.map(|(_, value)| value.clone())
        };
        if !is_unknown
            && let Some(shard) =
                plan::shard_of_row(&place.sharded, &column, &self.snapshot.topology)?
        {
            return Ok(Some(shard));
        }
        self.ask_home(copying, added).await.map(Some)
    }

    /// The shard of a row whose key a shard has to compute.
    async fn ask_home(
        &mut self,
        copying: &Copying<'_>,
        added: &[Option<String>],
    ) -> Result<ShardId, ExecuteError> {
        let Some(place) = &copying.copy.place else {
            return Err(unclear_key().into());
        };
        let parts = place.sharded.key.parts();
        let mut terms = smallvec::SmallVec::new();
        for part in parts {
            let name = part
                .columns()
                .first()
                .copied()
                .unwrap_or_default()
                .to_owned();
            let key = place.columns.iter().find(|key| key.column == name);
            let key = key.ok_or_else(unclear_key)?;
            let text = match key.source {
                CopySource::Added(at) => added.get(usize::from(at)).cloned().flatten(),
                CopySource::Field(at) => copying.fields.text(usize::from(at)),
            };
            let source = match text {
                Some(text) => KeySource::Text { text, quoted: true },
                None => KeySource::Null,
            };
            let expression = part.as_column().is_none().then(|| part.clone());
            terms.push(KeyTerm {
                source,
                key_type: key.key_type,
                expression,
            });
        }
        let sharded = std::sync::Arc::clone(&place.sharded);
        let row = Row {
            route: Route::Key {
                sharded,
                terms,
                is_write: true,
            },
            text: Vec::new(),
        };
        let rows = [row];
        let mut asked = Vec::new();
        loop {
            let known = Known {
                request: copying.request,
                computed: copying.computed,
                asked: &asked,
            };
            match plan::evaluate_rows(&rows, &known, &self.snapshot.topology)? {
                Evaluated::Known(homes) => {
                    return homes.first().copied().ok_or_else(|| unclear_key().into());
                }
                // The block's backends are all copying: another one is asked.
                Evaluated::Ask(asks) => asked = self.ask_aside(&asks).await?,
            }
        }
    }
}

impl Copying<'_> {
    /// The record with the added fields at its end.
    fn with_added(&mut self, record: &Bytes, added: &[Option<String>]) -> Bytes {
        if added.is_empty() {
            return record.clone();
        }
        self.row.clear();
        field::append(&mut self.row, record, self.copy.format, added);
        self.row.split().freeze()
    }
}

fn check_steady(copying: &Copying<'_>) -> Result<(), ExecuteError> {
    for field in &copying.copy.steady {
        let text = copying.fields.text(usize::from(*field));
        if text.as_deref().is_some_and(plan::is_clock_word) {
            let refusal = Unsupported::new(UnsupportedId::ReferenceVolatile);
            return Err(plan::PlanError::from(refusal).into());
        }
    }
    Ok(())
}

fn unclear_key() -> Diagnostic {
    let message = "the shard of a copied row can't be told";
    Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail("kintsugi/copy-key: the key's expression needs more than one column, and the router can't compute it")
        .hint("Insert such rows with INSERT.")
}
