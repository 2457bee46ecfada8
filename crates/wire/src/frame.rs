//! A message as type and body, taken whole from a buffer.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::{DecodeError, scan};

/// Bytes of a header: type and length.
pub(crate) const HEADER_BYTES: usize = 5;
/// PostgreSQL's limit on messages that are never long.
const SMALL_BYTES_MAX: usize = 10_000;
/// PostgreSQL's limit on messages that may be long.
const LARGE_BYTES_MAX: usize = 0x3fff_fffe;
/// PostgreSQL's limit on what is sent to authenticate.
const PASSWORD_BYTES_MAX: usize = 65_535;

/// A whole message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Frame {
    /// The message's type.
    pub tag: u8,
    /// What follows the length.
    pub body: Bytes,
}

/// How long a message may be, counted as the protocol's length field counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    large_bytes_max: usize,
    side: Side,
}

/// Who writes the messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Frontend,
    Backend,
}

// === impl Limits ===

impl Limits {
    /// For messages of clients; types that are never long have PostgreSQL's own limit of 10,000 bytes.
    #[must_use]
    pub const fn frontend() -> Self {
        Self {
            large_bytes_max: LARGE_BYTES_MAX,
            side: Side::Frontend,
        }
    }

    /// For messages of shards.
    #[must_use]
    pub const fn backend() -> Self {
        Self {
            large_bytes_max: i32::MAX as usize,
            side: Side::Backend,
        }
    }

    /// With another limit on messages that may be long.
    #[must_use]
    pub const fn with_large(self, large_bytes_max: usize) -> Self {
        Self {
            large_bytes_max,
            ..self
        }
    }

    /// The limit of a type of message.
    #[must_use]
    pub fn bytes_max(&self, tag: u8) -> usize {
        match (self.side, tag) {
            (Side::Backend, _) | (Side::Frontend, b'Q' | b'P' | b'B' | b'F' | b'd') => {
                self.large_bytes_max
            }
            (Side::Frontend, b'p') => PASSWORD_BYTES_MAX,
            (Side::Frontend, _) => SMALL_BYTES_MAX,
        }
    }
}

// === impl Frame ===

impl Frame {
    /// Writes the message.
    pub fn encode(&self, out: &mut BytesMut) {
        crate::write::message(out, self.tag, |out| out.put_slice(&self.body));
    }
}

/// Takes the next message from the front of `buffer`, if it is there whole. The body shares the buffer's
/// memory.
///
/// # Errors
/// The length is impossible or above the limit; the buffer is left as it is.
pub fn decode(buffer: &mut BytesMut, limits: &Limits) -> Result<Option<Frame>, DecodeError> {
    let Some(head) = scan::next(buffer, limits)? else {
        return Ok(None);
    };
    let mut whole = buffer.split_to(head.len);
    whole.advance(HEADER_BYTES);
    Ok(Some(Frame {
        tag: head.tag,
        body: whole.freeze(),
    }))
}
