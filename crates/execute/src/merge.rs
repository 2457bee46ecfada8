//! Many shards' answers become one.
//!
//! ```text
//!   shares (shard, text) -> sent to all -> answers -> concat | ordered | aggregate | insert order | copies -> client
//! ```
//!
//! Every shard works at the same time; its rows wait in its socket until they are wanted, so nothing piles up here. The command tag is
//! said when the last shard has ended well. When one fails, the others are cancelled and drained, and one error names it.

mod aggregate;
mod answer;
mod rows;
mod share;

use bytes::{Bytes, BytesMut};
use pg::{Diagnostic, Format, SqlState};
use plan::{Bound, Effect, Merge, RowWindow, Text, Values as _};

use crate::executor::{Executor, Ran, Work};
use crate::number::Adapted;
use crate::pump::PumpError;
use crate::{ExecuteError, Known, Request};
pub(crate) use answer::read;
use answer::{Answer, Event};
use share::Share;

/// What the router keeps of groups that have to be put in order, in bytes.
const GROUPS_BYTES_MAX: usize = 64 << 20;

/// What the router keeps of the rows that a client with a row limit fetches later, in bytes.
const REST_BYTES_MAX: usize = 16 << 20;

/// The answers of a statement's shards.
pub(crate) struct Answers {
    list: Vec<Answer>,
    columns: Columns,
}

/// The columns of the rows to come.
#[derive(Default)]
pub(crate) struct Columns {
    types: Vec<pg::Oid>,
    formats: Vec<Format>,
}

/// How many rows are left out, and how many are shown.
pub(crate) struct Window {
    skip: u64,
    left: u64,
    /// How many of them the client wants now.
    wanted: u64,
    /// Rows that the client doesn't want yet, as messages; `None` once they are too many.
    rest: Option<BytesMut>,
}

/// What becomes of a row.
enum Fate {
    Show,
    Keep,
    Drop,
}

impl Executor<'_, '_> {
    /// Runs a plan on its shards and brings one answer to the client.
    pub(crate) async fn merge(&mut self, work: Work<'_>) -> Result<Ran, ExecuteError> {
        let plan = work.plan;
        if let Text::CopyIn(copy) = &plan.text {
            return self.copy_in(work, copy).await;
        }
        if let Merge::CopyOut {
            has_header,
            is_binary,
        } = plan.merge
        {
            return self.copy_out(work, (has_header, is_binary)).await;
        }
        let shares = self.shares(work).await?;
        // Maintenance commands refuse to run in a block; each shard does its part by itself.
        let is_together =
            plan.effect > Effect::Read && plan.effect != Effect::Maintain && shares.len() > 1;
        if is_together {
            self.begin_implicit();
        }
        let mut answers = Answers {
            list: Vec::new(),
            columns: Columns::default(),
        };
        let mut window = window_of(&plan.merge, work);
        let result = if plan.merge == Merge::Copies {
            self.copies(&shares, work, &mut answers, &mut window).await
        } else {
            self.send(&shares, work, &mut answers).await?;
            self.combine(&shares, work, &mut answers, &mut window).await
        };
        match result {
            Ok(_) if work.request.rows_max > 0 && window.wanted == 0 => {
                wire::backend::Message::PortalSuspended.encode(self.hands.client.output());
                Ok(Ran::Suspended {
                    rest: window.rest.map(BytesMut::freeze),
                })
            }
            Ok(tag) => Ok(Ran::Done {
                tag: Some(tag.into()),
            }),
            Err(error) => {
                self.abandon(&mut answers, &error).await;
                Err(placed(error, work))
            }
        }
    }

    /// Sends every share to its shard.
    async fn send(
        &mut self,
        shares: &[Share],
        work: Work<'_>,
        answers: &mut Answers,
    ) -> Result<(), ExecuteError> {
        for share in shares {
            let answer = self.send_one(share, work).await?;
            answers.list.push(answer);
        }
        Ok(())
    }

    async fn send_one(&mut self, share: &Share, work: Work<'_>) -> Result<Answer, ExecuteError> {
        let translation = self.hands.translation(share.shard).await?;
        let adapted = Adapted::of(work.request, translation.as_ref())?;
        let crate::Hands {
            environment,
            transaction,
            wanted,
            ..
        } = &mut *self.hands;
        let place = transaction
            .enlist(environment, share.shard, *wanted)
            .await?;
        let participant = &mut transaction.participants()[place];
        participant.note(work.plan.effect, work.facts);
        let ahead = participant.take_ahead().len();
        let backend = participant.backend();
        write_share(
            backend,
            (&share.text, &adapted),
            work.request,
            hidden_columns(&work.plan.merge),
        );
        let flushed = backend.connection.try_flush();
        flushed.map_err(|error| PumpError::gone(backend, error))?;
        Ok(Answer::new(share.shard, ahead, translation))
    }

    /// Brings the answers together; the command tag comes back.
    async fn combine(
        &mut self,
        shares: &[Share],
        work: Work<'_>,
        answers: &mut Answers,
        window: &mut Window,
    ) -> Result<String, ExecuteError> {
        let hidden = hidden_columns(&work.plan.merge);
        self.columns(answers, work.request, hidden).await?;
        match &work.plan.merge {
            Merge::Ordered { keys, .. } => self.ordered(answers, keys, hidden, window).await,
            Merge::Aggregate(aggregate) => self.aggregate(answers, aggregate, window).await,
            Merge::InsertOrder => self.insert_order(shares, answers, window).await,
            Merge::Concat { .. } | Merge::Pass | Merge::Copies | Merge::CopyOut { .. } => {
                self.concat(answers, window).await
            }
        }
    }

    /// Every copy does the same, one after the other in the same order for everybody; the first one's answer is shown.
    async fn copies(
        &mut self,
        shares: &[Share],
        work: Work<'_>,
        answers: &mut Answers,
        window: &mut Window,
    ) -> Result<String, ExecuteError> {
        let mut shown: Option<String> = None;
        for share in shares {
            let answer = self.send_one(share, work).await?;
            answers.list.push(answer);
            let place = answers.list.len() - 1;
            if shown.is_none() {
                self.columns_of(place, answers, work.request, 0).await?;
            }
            let is_first = shown.is_none();
            let tag = self
                .rest_of(place, answers, is_first.then_some(&mut *window))
                .await?;
            match &shown {
                None => shown = Some(tag),
                Some(first) if *first == tag => {}
                Some(first) => return Err(differing(share, first, &tag, self).into()),
            }
        }
        Ok(shown.unwrap_or_default())
    }

    /// Reads one answer to its end; its rows are shown or dropped.
    async fn rest_of(
        &mut self,
        place: usize,
        answers: &mut Answers,
        mut window: Option<&mut Window>,
    ) -> Result<String, ExecuteError> {
        loop {
            match answers.list[place]
                .next(self.hands, window.is_some())
                .await?
            {
                Event::Row(row) => {
                    if let Some(window) = &mut window {
                        self.place(window, |out| whole(&row, out)).await?;
                    }
                }
                Event::Columns(_) => {}
                Event::Ended => return Ok(answers.list[place].tag().to_owned()),
            }
        }
    }

    /// Waits for the description of every answer's columns, and tells the client.
    async fn columns(
        &mut self,
        answers: &mut Answers,
        request: &Request<'_>,
        hidden: u16,
    ) -> Result<(), ExecuteError> {
        for place in 0..answers.list.len() {
            self.columns_of(place, answers, request, hidden).await?;
        }
        Ok(())
    }

    /// Waits for the description of one answer's columns; the first one's is told to the client.
    async fn columns_of(
        &mut self,
        place: usize,
        answers: &mut Answers,
        request: &Request<'_>,
        hidden: u16,
    ) -> Result<(), ExecuteError> {
        let Some(body) = answers.list[place].columns(self.hands).await? else {
            return Ok(());
        };
        let Ok(wire::backend::Message::RowDescription(mut fields)) =
            wire::backend::Message::parse(b'T', &body)
        else {
            return Err(PumpError::Unexpected { tag: 'T' }.into());
        };
        if place > 0 {
            let is_same = fields.len() == answers.columns.types.len();
            return if is_same {
                Ok(())
            } else {
                Err(shapes_differ().into())
            };
        }
        answers.columns = Columns {
            types: fields.iter().map(|field| field.type_oid).collect(),
            formats: fields.iter().map(|field| field.format).collect(),
        };
        fields.truncate(fields.len().saturating_sub(usize::from(hidden)));
        if request.says_columns {
            let output = self.hands.client.output();
            wire::backend::Message::RowDescription(fields).encode(output);
        }
        Ok(())
    }

    /// A row goes to the client, is kept for later or falls away; true when the client has it.
    pub(crate) async fn place(
        &mut self,
        window: &mut Window,
        write: impl FnOnce(&mut BytesMut),
    ) -> Result<bool, ExecuteError> {
        match window.next() {
            Fate::Show => {
                write(self.hands.client.output());
                self.relieve().await?;
                Ok(true)
            }
            Fate::Keep => {
                window.rest = window.rest.take().and_then(|mut rest| {
                    write(&mut rest);
                    (rest.len() <= REST_BYTES_MAX).then_some(rest)
                });
                Ok(false)
            }
            Fate::Drop => Ok(false),
        }
    }

    /// Lets the client catch up, so that nothing piles up here.
    pub(crate) async fn relieve(&mut self) -> Result<(), ExecuteError> {
        if self.hands.client.output().len() >= crate::pump::FLUSH_SIZE {
            self.hands
                .client
                .flush()
                .await
                .map_err(|_closed| PumpError::ClientGone)?;
        }
        Ok(())
    }

    /// After a failure: whatever still runs is cancelled and read to its end, so that the connections can be used again.
    async fn abandon(&mut self, answers: &mut Answers, error: &ExecuteError) {
        self.hands.transaction.fail();
        if error.is_client_gone() {
            // The connections are dropped as they are: their pool cancels what runs.
            return;
        }
        for answer in &mut answers.list {
            if !answer.is_over() {
                answer.cancel(self.hands).await;
            }
        }
    }
}

impl Window {
    /// What becomes of the next row.
    fn next(&mut self) -> Fate {
        if self.skip > 0 {
            self.skip -= 1;
            return Fate::Drop;
        }
        if self.left == 0 {
            return Fate::Drop;
        }
        self.left -= 1;
        if self.wanted == 0 {
            return Fate::Keep;
        }
        self.wanted -= 1;
        Fate::Show
    }
}

/// A shard's error with its position in the client's text; in an edited text it means nothing to the client.
fn placed(error: ExecuteError, work: Work<'_>) -> ExecuteError {
    let ExecuteError::Raised(mut raised) = error else {
        return error;
    };
    if work.plan.text != Text::Verbatim {
        raised.position = None;
    }
    ExecuteError::Raised(raised)
}

/// The bounds of an execution.
fn window_of(merge: &Merge, work: Work<'_>) -> Window {
    let all = RowWindow::default();
    let window = match merge {
        Merge::Concat { window } | Merge::Ordered { window, .. } => window,
        Merge::Aggregate(aggregate) => &aggregate.window,
        Merge::Pass | Merge::InsertOrder | Merge::Copies | Merge::CopyOut { .. } => &all,
    };
    let known = Known {
        request: work.request,
        computed: work.computed,
        asked: &[],
    };
    let rows = |bound: &Option<Bound>| bound.as_ref().and_then(|bound| rows_of(bound, &known));
    Window {
        skip: rows(&window.offset).unwrap_or(0),
        left: rows(&window.limit).unwrap_or(u64::MAX),
        wanted: match work.request.rows_max {
            0 => u64::MAX,
            wanted => u64::from(wanted),
        },
        rest: Some(BytesMut::new()),
    }
}

/// The number of rows that a bound means; `None` for no bound.
fn rows_of(bound: &Bound, known: &Known<'_>) -> Option<u64> {
    let value = match bound {
        Bound::Rows(rows) => return Some(*rows),
        Bound::Param(n) => known.param(*n)?,
    };
    let number = match (value.bytes?, value.is_binary) {
        (&[high, low], true) => i64::from(i16::from_be_bytes([high, low])),
        (bytes, true) => match <[u8; 4]>::try_from(bytes) {
            Ok(short) => i64::from(i32::from_be_bytes(short)),
            Err(_) => <[u8; 8]>::try_from(bytes).ok().map(i64::from_be_bytes)?,
        },
        (bytes, false) => std::str::from_utf8(bytes).ok()?.trim().parse().ok()?,
    };
    // A negative bound is PostgreSQL's error, and every shard has raised it before this is asked.
    u64::try_from(number).ok()
}

fn hidden_columns(merge: &Merge) -> u16 {
    match merge {
        Merge::Ordered { hidden, .. } => *hidden,
        Merge::Aggregate(aggregate) => aggregate.hidden,
        Merge::Pass
        | Merge::Concat { .. }
        | Merge::InsertOrder
        | Merge::Copies
        | Merge::CopyOut { .. } => 0,
    }
}

/// Writes a shard's share in the protocol that the client used. Hidden columns come as text unless one format stands for all.
fn write_share(
    backend: &mut pool::Backend,
    (text, adapted): (&str, &Adapted),
    request: &Request<'_>,
    hidden: u16,
) {
    backend.expect_ready();
    let output = backend.connection.output();
    let Some(bind) = request.bind else {
        return wire::frontend::Message::Query { text }.encode(output);
    };
    wire::frontend::parse(output, "", text, adapted.types(request));
    let count = bind.parameter_count();
    let parameter_formats: Vec<_> = (0..count).map(|i| bind.parameter_formats.of(i)).collect();
    let parameters = adapted.parameters(bind);
    let mut result_formats: Vec<_> = bind.result_formats.iter().collect();
    if result_formats.len() > 1 {
        result_formats.extend(std::iter::repeat_n(Format::Text, usize::from(hidden)));
    }
    let parts = wire::frontend::BindParts {
        portal: "",
        statement: "",
        parameter_formats: &parameter_formats,
        parameters: &parameters,
        result_formats: &result_formats,
    };
    wire::frontend::bind(output, &parts);
    let target = wire::frontend::Target::Portal;
    wire::frontend::Message::Describe { target, name: "" }.encode(output);
    wire::frontend::Message::Execute {
        portal: "",
        rows_max: 0,
    }
    .encode(output);
    wire::frontend::Message::Sync.encode(output);
}

/// A row as it is.
pub(crate) fn whole(row: &Bytes, out: &mut BytesMut) {
    wire::Frame {
        tag: b'D',
        body: row.clone(),
    }
    .encode(out);
}

/// A row without its trailing hidden columns.
pub(crate) fn cut(row: &Bytes, hidden: u16, out: &mut BytesMut) {
    let Ok(row) = wire::backend::DataRow::unchecked(row) else {
        return;
    };
    let shown = row.len().saturating_sub(usize::from(hidden));
    let columns: Vec<_> = row.columns().take(shown).collect();
    wire::backend::data_row(out, columns.into_iter());
}

/// The tags of several shards as one: their counts are added.
pub(crate) fn sum_tags<'t>(tags: impl IntoIterator<Item = &'t str>) -> String {
    let (mut first, mut total) = (None, 0);
    for tag in tags {
        total += wire::tag::rows(tag).unwrap_or(0);
        first.get_or_insert(tag);
    }
    wire::tag::with_rows(first.unwrap_or_default(), total)
}

fn differing(share: &Share, first: &str, tag: &str, executor: &Executor<'_, '_>) -> Diagnostic {
    let other = executor.hands.environment.shard_name(share.shard);
    let message = "the copies of a reference table differ";
    Diagnostic::error(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message)
        .detail(format!(
            "The first copy answered \"{first}\", shard {other} \"{tag}\"; nothing was changed."
        ))
        .hint("Compare the table on its shards; somebody wrote to one of them directly.")
}

fn shapes_differ() -> Diagnostic {
    let message = "shards answered with different columns";
    Diagnostic::error(SqlState::OBJECT_NOT_IN_PREREQUISITE_STATE, message).hint(
        "The table's definition differs between shards; a definition may be under way. Try again.",
    )
}
