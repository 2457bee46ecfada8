//! Helpers that write fields and whole messages.

use bytes::{BufMut as _, BytesMut};

/// Writes a message: type, length, and what `body` writes.
pub(crate) fn message(out: &mut BytesMut, tag: u8, body: impl FnOnce(&mut BytesMut)) {
    out.put_u8(tag);
    untagged(out, body);
}

/// Writes a length and what `body` writes; the length counts itself.
pub(crate) fn untagged(out: &mut BytesMut, body: impl FnOnce(&mut BytesMut)) {
    let start = out.len();
    out.put_u32(0);
    body(out);
    let length = u32::try_from(out.len() - start).expect("a message is below PostgreSQL's 1 GB");
    out[start..start + 4].copy_from_slice(&length.to_be_bytes());
}

/// Writes text and the zero byte that ends it.
///
/// A zero byte inside would end the text early and shift what follows, so text is cut there.
pub(crate) fn text(out: &mut BytesMut, text: &str) {
    let end = memchr::memchr(0, text.as_bytes()).unwrap_or(text.len());
    out.put_slice(&text.as_bytes()[..end]);
    out.put_u8(0);
}

/// Writes a count.
pub(crate) fn count(out: &mut BytesMut, count: usize) {
    out.put_u16(u16::try_from(count).expect("PostgreSQL has at most 65535 of anything counted"));
}

/// Writes a value preceded by its length.
pub(crate) fn value(out: &mut BytesMut, value: Option<&[u8]>) {
    match value {
        None => out.put_i32(-1),
        Some(bytes) => {
            out.put_i32(i32::try_from(bytes.len()).expect("a value is below PostgreSQL's 1 GB"));
            out.put_slice(bytes);
        }
    }
}
