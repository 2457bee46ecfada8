//! `COPY ... TO STDOUT` over several shards: each shard's data after the other's, headers and trailers once.

use bytes::Bytes;

use crate::ExecuteError;
use crate::executor::{Executor, Ran, Work};
use crate::merge::{read, sum_tags};
use crate::pump::{PumpError, read_diagnostic};

/// Signature, flags and length of the extension.
const BINARY_HEADER_BYTES: usize = 19;

/// What a binary COPY ends with.
const BINARY_TRAILER: [u8; 2] = [0xff, 0xff];

impl Executor<'_, '_> {
    /// Copies every shard's rows out.
    pub(crate) async fn copy_out(
        &mut self,
        work: Work<'_>,
        (has_header, is_binary): (bool, bool),
    ) -> Result<Ran, ExecuteError> {
        let shares = self.shares(work).await?;
        let mut tags = Vec::new();
        for share in &shares {
            let place = self.enlist(share.shard).await?;
            let participant = &mut self.hands.transaction.participants()[place];
            participant.note(work.plan.effect, work.facts);
            let backend = participant.backend();
            let text = &share.text;
            wire::frontend::Message::Query { text }.encode(backend.connection.output());
            backend.expect_ready();
            let flushed = backend.connection.try_flush();
            flushed.map_err(|error| PumpError::gone(backend, error))?;
        }
        for (at, share) in shares.iter().enumerate() {
            let which = Which {
                is_first: at == 0,
                is_last: at + 1 == shares.len(),
            };
            tags.push(
                self.copy_out_one(share.shard, which, (has_header, is_binary))
                    .await?,
            );
        }
        let output = self.hands.client.output();
        wire::backend::Message::CopyDone.encode(output);
        let tag = sum_tags(tags.iter().map(String::as_str));
        Ok(Ran::Done {
            tag: Some(Bytes::from(tag)),
        })
    }

    async fn copy_out_one(
        &mut self,
        shard: topology::ShardId,
        which: Which,
        (has_header, is_binary): (bool, bool),
    ) -> Result<String, ExecuteError> {
        let (mut tag, mut failure, mut is_start) = (String::new(), None, true);
        loop {
            let frame = read(self.hands, shard).await?;
            match frame.tag {
                b'H' if which.is_first => frame.encode(self.hands.client.output()),
                b'd' => {
                    let starts = std::mem::take(&mut is_start);
                    let mut data = frame.body;
                    let is_header = starts && !which.is_first;
                    if is_header && is_binary {
                        data = data.slice(BINARY_HEADER_BYTES.min(data.len())..);
                    } else if is_header && has_header {
                        continue;
                    }
                    if is_binary && !which.is_last && *data == BINARY_TRAILER {
                        continue;
                    }
                    if !data.is_empty() {
                        wire::backend::Message::CopyData(&data).encode(self.hands.client.output());
                    }
                    self.relieve().await?;
                }
                b'C' => {
                    let text = frame.body.strip_suffix(&[0]).unwrap_or(&frame.body);
                    tag = String::from_utf8_lossy(text).into_owned();
                }
                b'E' => failure = Some(read_diagnostic(&frame.body)),
                b'N' => frame.encode(self.hands.client.output()),
                b'Z' => break,
                _ => {}
            }
        }
        match failure {
            None => Ok(tag),
            Some(raised) => {
                let name = self.hands.environment.shard_name(shard);
                Err(raised.context(format!("shard {name}")).into())
            }
        }
    }
}

/// Which of the shards it is.
#[derive(Clone, Copy)]
struct Which {
    is_first: bool,
    is_last: bool,
}
