//! One shard's answer, read message by message.

use bytes::{Bytes, BytesMut};
use topology::ShardId;

use crate::number::{Inside, Translation, fields_of};
use crate::pump::{PumpError, READ_AHEAD, read_diagnostic};
use crate::{ExecuteError, Hands};

/// What comes next of an answer.
#[derive(Clone, Debug)]
pub(crate) enum Event {
    /// The body of `RowDescription`.
    Columns(Bytes),
    /// The body of `DataRow`.
    Row(Bytes),
    /// The shard is ready for the next statement.
    Ended,
}

/// One shard's answer.
///
/// ```text
///   ahead answers -> columns? -> rows -> tag -> over
/// ```
#[derive(Debug)]
pub(crate) struct Answer {
    shard: ShardId,
    /// Answers to the router's own statements that come first.
    ahead: usize,
    /// How its numbers become those that the client knows.
    translation: Option<Translation>,
    /// In which columns of its rows there are numbers of types.
    inside: Option<Inside>,
    /// A message that was read to look at it.
    peeked: Option<Event>,
    tag: String,
    is_over: bool,
}

impl Answer {
    pub(crate) fn new(shard: ShardId, ahead: usize, translation: Option<Translation>) -> Self {
        Self {
            shard,
            ahead,
            translation,
            inside: None,
            peeked: None,
            tag: String::new(),
            is_over: false,
        }
    }

    pub(crate) fn tag(&self) -> &str {
        &self.tag
    }

    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// The description of the columns, if the answer begins with one.
    pub(crate) async fn columns(
        &mut self,
        hands: &mut Hands<'_>,
    ) -> Result<Option<Bytes>, ExecuteError> {
        match self.next(hands, true).await? {
            Event::Columns(body) => Ok(Some(body)),
            other => {
                self.peeked = Some(other);
                Ok(None)
            }
        }
    }

    /// What comes next; notices are passed on when they are wanted. An error of the shard's is an error here, after the answer has been
    /// read to its end.
    pub(crate) async fn next(
        &mut self,
        hands: &mut Hands<'_>,
        wants_notices: bool,
    ) -> Result<Event, ExecuteError> {
        if let Some(event) = self.peeked.take() {
            return Ok(event);
        }
        if self.is_over {
            return Ok(Event::Ended);
        }
        let mut failure = None;
        loop {
            let frame = read(hands, self.shard).await?;
            match frame.tag {
                b'E' => failure = Some(read_diagnostic(&frame.body)),
                b'Z' if failure.is_some() => {
                    self.is_over = true;
                    let failure = failure.take().map(Box::new);
                    let shard = hands.environment.shard_name(self.shard);
                    let raised = failure.map(|raised| raised.context(format!("shard {shard}")));
                    return Err(raised.map_or(ExecuteError::Lost, ExecuteError::from));
                }
                b'Z' if self.ahead > 0 => self.ahead -= 1,
                b'Z' => {
                    self.is_over = true;
                    return Ok(Event::Ended);
                }
                _ if self.ahead > 0 || failure.is_some() => {}
                b'T' => return Ok(Event::Columns(self.columns_of(frame.body)?)),
                b'D' => return Ok(Event::Row(self.row_of(frame.body)?)),
                b'C' => {
                    let tag = frame.body.strip_suffix(&[0]).unwrap_or(&frame.body);
                    self.tag = String::from_utf8_lossy(tag).into_owned();
                }
                b'N' if wants_notices => frame.encode(hands.client.output()),
                b'G' => return Err(PumpError::Unexpected { tag: 'G' }.into()),
                _ => {}
            }
        }
    }

    fn columns_of(&mut self, body: Bytes) -> Result<Bytes, ExecuteError> {
        let Some(translation) = &self.translation else {
            return Ok(body);
        };
        let told = translation.description(&body)?;
        let fields = fields_of(&told)?;
        self.inside = translation.inside(&fields, |at| fields[at].format)?;
        Ok(told)
    }

    fn row_of(&self, body: Bytes) -> Result<Bytes, ExecuteError> {
        let (Some(translation), Some(inside)) = (&self.translation, &self.inside) else {
            return Ok(body);
        };
        let mut row = BytesMut::from(body);
        translation.row(inside, &mut row)?;
        Ok(row.freeze())
    }

    /// Cancels what the shard still does for this answer, and reads it to its end.
    pub(crate) async fn cancel(&mut self, hands: &mut Hands<'_>) {
        self.peeked = None;
        let Some(participant) = hands.transaction.participant(self.shard) else {
            return;
        };
        let target = participant.backend().cancel_target();
        if pool::cancel::cancel(&target).await.is_err() {
            participant.backend().poison();
            return;
        }
        // Settings written ahead are answered first; a backend that counts on an answer which was read here would wait for it
        // forever.
        if participant.backend().settle().await.is_err() {
            return;
        }
        while let Some(participant) = hands.transaction.participant(self.shard) {
            if participant.backend().ready_expected() == 0 {
                break;
            }
            if participant.backend().frame().await.is_err() {
                participant.backend().poison();
                return;
            }
        }
        self.is_over = true;
    }
}

/// The next whole message of a shard, while watching that the client is still there.
pub(crate) async fn read(
    hands: &mut Hands<'_>,
    shard: ShardId,
) -> Result<wire::Frame, ExecuteError> {
    let Hands {
        client,
        transaction,
        ..
    } = hands;
    let Some(participant) = transaction.participant(shard) else {
        return Err(ExecuteError::Lost);
    };
    let backend = participant.backend();
    backend.settle().await?;
    tokio::select! {
        biased;
        frame = backend.frame() => Ok(frame?),
        () = client.hangup(READ_AHEAD) => Err(PumpError::ClientGone.into()),
    }
}
