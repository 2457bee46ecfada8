//! Looking at messages where they lie, for relaying without reading.

use crate::frame::HEADER_BYTES;
use crate::{DecodeError, Limits};

/// What a header says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Head {
    /// The message's type.
    pub tag: u8,
    /// Bytes of the whole message, header included.
    pub len: usize,
}

/// The longest run of whole messages at the front of a buffer that a predicate accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// Bytes of the run.
    pub len: usize,
    /// Messages of the run.
    pub count: u64,
}

/// The header at the front of `buffer`, as soon as its five bytes are there.
///
/// # Errors
/// The length is impossible or above the limit.
#[inline]
pub fn head(buffer: &[u8], limits: &Limits) -> Result<Option<Head>, DecodeError> {
    let [tag, a, b, c, d, ..] = *buffer else {
        return Ok(None);
    };
    let length = u32::from_be_bytes([a, b, c, d]);
    let bytes = usize::try_from(length).unwrap_or(usize::MAX);
    if bytes < 4 || bytes > limits.bytes_max(tag) {
        return Err(DecodeError::MessageLength { tag, length });
    }
    Ok(Some(Head {
        tag,
        len: bytes + 1,
    }))
}

/// The header at the front of `buffer`, once the whole message is there.
///
/// # Errors
/// The length is impossible or above the limit.
#[inline]
pub fn next(buffer: &[u8], limits: &Limits) -> Result<Option<Head>, DecodeError> {
    Ok(head(buffer, limits)?.filter(|head| head.len <= buffer.len()))
}

/// The body of a message whose header is `head`. Empty if the buffer doesn't hold the message.
#[inline]
#[must_use]
pub fn body(buffer: &[u8], head: Head) -> &[u8] {
    buffer.get(HEADER_BYTES..head.len).unwrap_or_default()
}

/// The longest run of whole messages at the front whose type `accepts` takes.
///
/// # Errors
/// The length of the first message after what was accepted so far is impossible, and nothing was accepted;
/// otherwise the run ends before it and the next call tells.
pub fn run(
    buffer: &[u8],
    limits: &Limits,
    mut accepts: impl FnMut(u8) -> bool,
) -> Result<Run, DecodeError> {
    let mut run = Run::default();
    loop {
        match next(&buffer[run.len..], limits) {
            Ok(Some(head)) if accepts(head.tag) => {
                run.len += head.len;
                run.count += 1;
            }
            Err(error) if run.count == 0 => return Err(error),
            _ => return Ok(run),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_ROWS_AND_END: &[u8] = b"D\0\0\0\x06\0\0D\0\0\0\x06\0\0Z\0\0\0\x05I";

    #[test]
    fn a_run_ends_at_the_first_other_type() {
        let run = run(TWO_ROWS_AND_END, &Limits::backend(), |tag| tag == b'D');
        assert_eq!(run, Ok(Run { len: 14, count: 2 }));
    }

    #[test]
    fn a_message_cut_short_is_not_there_but_its_header_is() {
        let cut = &TWO_ROWS_AND_END[..6];
        assert_eq!(next(cut, &Limits::backend()), Ok(None));
        assert_eq!(
            head(cut, &Limits::backend()),
            Ok(Some(Head { tag: b'D', len: 7 }))
        );
        assert_eq!(head(&cut[..4], &Limits::backend()), Ok(None));
    }

    #[test]
    fn lengths_have_limits_by_type() {
        let error = |buffer: &[u8]| head(buffer, &Limits::frontend()).unwrap_err();
        assert_eq!(
            error(b"Q\0\0\0\x03"),
            DecodeError::MessageLength {
                tag: b'Q',
                length: 3
            }
        );
        assert_eq!(
            error(b"S\x00\x00\x27\x11"),
            DecodeError::MessageLength {
                tag: b'S',
                length: 10_001
            }
        );
        assert_eq!(
            error(b"Q\x7f\xff\xff\xff"),
            DecodeError::MessageLength {
                tag: b'Q',
                length: 0x7fff_ffff
            }
        );
        assert!(head(b"Q\x00\x01\x00\x00", &Limits::frontend()).is_ok());
        let small = Limits::frontend().with_large(100);
        assert!(head(b"Q\x00\x00\x00\x65", &small).is_err());
    }
}
