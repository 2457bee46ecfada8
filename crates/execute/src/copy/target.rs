//! The shards that a COPY writes to, each with the part of a message that is being gathered for it.

use bytes::{Bytes, BytesMut};
use pg::Diagnostic;
use plan::{Effect, Facts};
use topology::ShardId;
use wire::backend::CopyFormats;

use crate::executor::Executor;
use crate::merge::sum_tags;
use crate::pump::{PumpError, holds_error, read_diagnostic};
use crate::{ExecuteError, Hands};

/// Rows are gathered to messages of about this size.
const MESSAGE_BYTES: usize = 16 << 10;

/// Lines whose numbers are kept, so that an error can name the client's line.
const LINES_MAX: usize = 8 << 20;

/// The shards of a COPY.
#[derive(Debug)]
pub(super) struct Targets {
    list: Vec<OneTarget>,
    statement: String,
    facts: Facts,
    prelude: Option<Bytes>,
}

#[derive(Debug)]
struct OneTarget {
    shard: ShardId,
    /// The statement was sent, and the shard takes rows.
    is_open: bool,
    gathered: BytesMut,
    /// The client's line of each of this shard's lines.
    lines: Vec<u32>,
}

impl Targets {
    pub(super) fn new(shards: Vec<ShardId>, statement: String, facts: Facts) -> Self {
        let target = |shard| OneTarget {
            shard,
            is_open: false,
            gathered: BytesMut::new(),
            lines: Vec::new(),
        };
        let list = shards.into_iter().map(target).collect();
        Self {
            list,
            statement,
            facts,
            prelude: None,
        }
    }

    /// The first shard: rows that can't be read go there, so that PostgreSQL says why.
    pub(super) fn first(&self) -> Option<ShardId> {
        self.list.first().map(|target| target.shard)
    }

    /// Begins the COPY on the first shard, or on all; the formats are the first one's.
    pub(super) async fn open(
        &mut self,
        executor: &mut Executor<'_, '_>,
        all: bool,
    ) -> Result<CopyFormats, ExecuteError> {
        let mut formats = None;
        let count = if all { self.list.len() } else { 1 };
        for at in 0..count.min(self.list.len()) {
            let own = self.open_one(executor, at).await?;
            formats.get_or_insert(own);
        }
        formats.ok_or(ExecuteError::Lost)
    }

    async fn open_one(
        &mut self,
        executor: &mut Executor<'_, '_>,
        at: usize,
    ) -> Result<CopyFormats, ExecuteError> {
        let shard = self.list[at].shard;
        let place = executor.enlist(shard).await?;
        let participant = &mut executor.hands.transaction.participants()[place];
        participant.note(Effect::Write, self.facts);
        let backend = participant.backend();
        wire::frontend::Message::Query {
            text: &self.statement,
        }
        .encode(backend.connection.output());
        backend.expect_ready();
        backend.flush().await?;
        let mut failure = None;
        loop {
            let frame = backend.frame().await?;
            match frame.tag {
                b'G' => {
                    self.list[at].is_open = true;
                    if let Some(prelude) = &self.prelude {
                        let prelude = prelude.clone();
                        self.list[at].gather(&prelude, 0);
                    }
                    return match wire::backend::Message::parse(b'G', &frame.body) {
                        Ok(wire::backend::Message::CopyInResponse(formats)) => Ok(formats),
                        _ => Err(PumpError::Unexpected { tag: 'G' }.into()),
                    };
                }
                b'E' => failure = Some(read_diagnostic(&frame.body)),
                b'Z' => {
                    let shard = executor.hands.environment.shard_name(shard);
                    let raised = failure.map(|raised| raised.context(format!("shard {shard}")));
                    return Err(raised.map_or(ExecuteError::Lost, ExecuteError::from));
                }
                b'N' => frame.encode(executor.hands.client.output()),
                _ => {}
            }
        }
    }

    /// A header that every shard needs before its rows.
    pub(super) fn everywhere(&mut self, bytes: Bytes) {
        for target in self.list.iter_mut().filter(|target| target.is_open) {
            target.gather(&bytes, 0);
        }
        self.prelude = Some(bytes);
    }

    /// Gathers a row for one shard.
    pub(super) async fn send(
        &mut self,
        executor: &mut Executor<'_, '_>,
        shard: ShardId,
        row: &[u8],
        line: u32,
    ) -> Result<(), ExecuteError> {
        let Some(at) = self.list.iter().position(|target| target.shard == shard) else {
            return Err(ExecuteError::Lost);
        };
        if !self.list[at].is_open {
            self.open_one(executor, at).await?;
        }
        self.list[at].gather(row, line);
        Ok(())
    }

    /// Gathers a row for every shard.
    pub(super) fn send_to_all(&mut self, row: &[u8], line: u32) {
        for target in &mut self.list {
            target.gather(row, line);
        }
    }

    /// Sends what has grown to a message.
    pub(super) async fn relieve(
        &mut self,
        executor: &mut Executor<'_, '_>,
    ) -> Result<(), ExecuteError> {
        for at in 0..self.list.len() {
            if self.list[at].gathered.len() >= MESSAGE_BYTES {
                self.send_gathered(executor, at).await?;
            }
        }
        Ok(())
    }

    /// Sends everything that was gathered.
    pub(super) async fn flush(
        &mut self,
        executor: &mut Executor<'_, '_>,
    ) -> Result<(), ExecuteError> {
        for at in 0..self.list.len() {
            self.send_gathered(executor, at).await?;
        }
        Ok(())
    }

    async fn send_gathered(
        &mut self,
        executor: &mut Executor<'_, '_>,
        at: usize,
    ) -> Result<(), ExecuteError> {
        let target = &mut self.list[at];
        if target.gathered.is_empty() {
            return Ok(());
        }
        let data = target.gathered.split().freeze();
        let shard = target.shard;
        let Some(participant) = executor.hands.transaction.participant(shard) else {
            return Err(ExecuteError::Lost);
        };
        let backend = participant.backend();
        wire::frontend::Message::CopyData(&data).encode(backend.connection.output());
        backend.flush().await?;
        // A shard that objects says so at once; there is no point in sending it the rest.
        let arrived = backend.connection.try_fill();
        if arrived.is_ok() && holds_error(backend.connection.buffered()) {
            return Err(self.objection(executor, at).await);
        }
        Ok(())
    }

    /// Reads the error that a shard has raised, up to its end.
    async fn objection(&mut self, executor: &mut Executor<'_, '_>, at: usize) -> ExecuteError {
        self.list[at].is_open = false;
        match self.end_of(executor, at).await {
            Ok(_) => ExecuteError::Lost,
            Err(error) => error,
        }
    }

    /// Ends the data on every shard; the tags are added, or must agree.
    pub(super) async fn finish(
        &mut self,
        executor: &mut Executor<'_, '_>,
        is_broadcast: bool,
    ) -> Result<String, ExecuteError> {
        self.flush(executor).await?;
        let open: Vec<usize> = (0..self.list.len())
            .filter(|at| self.list[*at].is_open)
            .collect();
        for at in &open {
            if let Some(participant) = executor.hands.transaction.participant(self.list[*at].shard)
            {
                let backend = participant.backend();
                wire::frontend::Message::CopyDone.encode(backend.connection.output());
                backend.flush().await?;
            }
        }
        let (mut tags, mut failure) = (Vec::new(), None);
        for at in open {
            self.list[at].is_open = false;
            match self.end_of(executor, at).await {
                Ok(tag) => tags.push(tag),
                Err(error) => {
                    failure.get_or_insert(error);
                }
            }
        }
        match failure {
            Some(error) => Err(error),
            None if is_broadcast => Ok(tags.into_iter().next().unwrap_or_default()),
            None => Ok(sum_tags(tags.iter().map(String::as_str))),
        }
    }

    /// Tells every shard that the client gave up; the error is the first one's.
    pub(super) async fn fail(
        &mut self,
        executor: &mut Executor<'_, '_>,
        reason: &str,
    ) -> ExecuteError {
        let mut first = None;
        for at in 0..self.list.len() {
            if !std::mem::take(&mut self.list[at].is_open) {
                continue;
            }
            if let Some(participant) = executor.hands.transaction.participant(self.list[at].shard) {
                let output = participant.backend().connection.output();
                wire::frontend::Message::CopyFail { reason }.encode(output);
            }
            if let Err(error) = self.end_of(executor, at).await {
                first.get_or_insert(error);
            }
        }
        first.unwrap_or(ExecuteError::Lost)
    }

    /// After an error: the other shards are told to give up too, so that their connections can be used again.
    pub(super) async fn abandon(&mut self, executor: &mut Executor<'_, '_>, error: &ExecuteError) {
        if !error.is_client_gone() {
            let _ = self.fail(executor, "another shard raised an error").await;
        }
    }

    /// Reads a shard's answer to the whole COPY.
    async fn end_of(
        &mut self,
        executor: &mut Executor<'_, '_>,
        at: usize,
    ) -> Result<String, ExecuteError> {
        let shard = self.list[at].shard;
        let Hands {
            environment,
            transaction,
            client,
            ..
        } = &mut *executor.hands;
        let Some(participant) = transaction.participant(shard) else {
            return Err(ExecuteError::Lost);
        };
        let backend = participant.backend();
        backend.flush().await?;
        let (mut tag, mut failure) = (String::new(), None);
        loop {
            let frame = backend.frame().await?;
            match frame.tag {
                b'C' => {
                    let text = frame.body.strip_suffix(&[0]).unwrap_or(&frame.body);
                    tag = String::from_utf8_lossy(text).into_owned();
                }
                b'E' => failure = Some(read_diagnostic(&frame.body)),
                b'N' => frame.encode(client.output()),
                b'Z' => break,
                _ => {}
            }
        }
        match failure {
            None => Ok(tag),
            Some(raised) => {
                let raised = in_clients_lines(raised, &self.list[at].lines);
                Err(raised
                    .context(format!("shard {}", environment.shard_name(shard)))
                    .into())
            }
        }
    }
}

impl OneTarget {
    fn gather(&mut self, row: &[u8], line: u32) {
        self.gathered.extend_from_slice(row);
        if self.lines.len() < LINES_MAX {
            self.lines.push(line);
        }
    }
}

/// PostgreSQL counts the lines that it got; the client wants to know which of its own it was.
fn in_clients_lines(mut raised: Diagnostic, lines: &[u32]) -> Diagnostic {
    let Some(context) = raised
        .extra
        .as_mut()
        .and_then(|extra| extra.context.as_mut())
    else {
        return raised;
    };
    let Some(start) = context.find(", line ").map(|at| at + ", line ".len()) else {
        return raised;
    };
    let digits: String = context[start..]
        .chars()
        .take_while(char::is_ascii_digit)
        .collect();
    let own = digits
        .parse::<usize>()
        .ok()
        .and_then(|line| line.checked_sub(1));
    if let Some(line) = own.and_then(|own| lines.get(own)) {
        context.replace_range(start..start + digits.len(), &line.to_string());
    }
    raised
}
