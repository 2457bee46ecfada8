//! Changing one field of a message and leaving all else as it came: names of prepared statements (those
//! that clients chose are multiplexed over backends, so each backend knows a statement by a name of the
//! router), and the context of a shard's error.

use bytes::{BufMut as _, BytesMut};

use crate::read::Reader;
use crate::{DecodeError, write};

/// The statement's name in a Parse, Bind, Describe or Close; `None` if the message names none (a Describe
/// or Close of a portal, or any other type).
///
/// # Errors
/// The body doesn't fit its type.
pub fn statement_of(tag: u8, body: &[u8]) -> Result<Option<&str>, DecodeError> {
    Ok(locate(tag, body)?.map(|place| place.name))
}

/// Writes the message with another statement name; a message that names none is written as it is.
///
/// # Errors
/// The body doesn't fit its type; nothing is written then.
pub fn rename_statement(
    tag: u8,
    body: &[u8],
    name: &str,
    out: &mut BytesMut,
) -> Result<(), DecodeError> {
    let place = locate(tag, body)?;
    write::message(out, tag, |out| match place {
        None => out.put_slice(body),
        Some(place) => {
            out.put_slice(place.before);
            write::text(out, name);
            out.put_slice(place.after);
        }
    });
    Ok(())
}

/// Writes an `ErrorResponse` or `NoticeResponse` with a line added to its field "where". The other fields
/// stay byte for byte as the shard sent them, also those that no one here knows.
///
/// # Errors
/// The body is no such message; nothing is written then.
pub fn add_context(
    tag: u8,
    body: &[u8],
    line: &str,
    out: &mut BytesMut,
) -> Result<(), DecodeError> {
    let mut reader = Reader::new(tag, body);
    let mut context = None;
    loop {
        let before = body.len() - reader.len();
        match reader.u8()? {
            0 => break,
            code => {
                let text = reader.zero_ended()?;
                if code == b'W' {
                    context = Some((before, text));
                }
            }
        }
    }
    reader.end()?;
    // The field's place, or else the zero byte that ends the fields.
    let (at, old) = context.unwrap_or((body.len() - 1, &[]));
    let after = if context.is_some() {
        at + old.len() + 2
    } else {
        at
    };
    write::message(out, tag, |out| {
        out.put_slice(&body[..at]);
        out.put_u8(b'W');
        if !old.is_empty() {
            out.put_slice(old);
            out.put_u8(b'\n');
        }
        write::text(out, line);
        out.put_slice(&body[after..]);
    });
    Ok(())
}

/// Where the name stands.
struct Place<'a> {
    before: &'a [u8],
    name: &'a str,
    after: &'a [u8],
}

fn locate(tag: u8, body: &[u8]) -> Result<Option<Place<'_>>, DecodeError> {
    let mut reader = Reader::new(tag, body);
    match tag {
        b'P' => {}
        b'B' => {
            reader.zero_ended()?;
        }
        b'D' | b'C' => {
            if reader.u8()? != b'S' {
                return Ok(None);
            }
        }
        _ => return Ok(None),
    }
    let before = &body[..body.len() - reader.len()];
    let name = reader.text()?;
    Ok(Some(Place {
        before,
        name,
        after: reader.rest(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frontend::{BindParts, Message, Target, bind, parse};

    #[test]
    fn only_the_name_changes() {
        let mut wire = BytesMut::new();
        parse(&mut wire, "s1", "select $1", &[pg::oid::INT4]);
        let mut out = BytesMut::new();
        rename_statement(b'P', &wire[5..], "k_77", &mut out).unwrap();
        let Message::Parse(renamed) = Message::parse(b'P', &out[5..]).unwrap() else {
            panic!()
        };
        assert_eq!((renamed.name, renamed.query), ("k_77", "select $1"));

        let parts = BindParts {
            portal: "p",
            statement: "s1",
            parameter_formats: &[],
            parameters: &[Some(b"7"), None],
            result_formats: &[pg::Format::Binary],
        };
        wire.clear();
        bind(&mut wire, &parts);
        assert_eq!(statement_of(b'B', &wire[5..]), Ok(Some("s1")));
        out.clear();
        rename_statement(b'B', &wire[5..], "", &mut out).unwrap();
        let Message::Bind(renamed) = Message::parse(b'B', &out[5..]).unwrap() else {
            panic!()
        };
        assert_eq!((renamed.portal, renamed.statement), ("p", ""));
        assert_eq!(
            renamed.parameter(0),
            Some((Some(&b"7"[..]), pg::Format::Text))
        );
        assert_eq!(renamed.parameter(1), Some((None, pg::Format::Text)));
        assert_eq!(renamed.parameter(2), None);
    }

    #[test]
    fn context_is_added_and_the_rest_stays() {
        let added = |body: &[u8]| {
            let mut out = BytesMut::new();
            add_context(b'E', body, "shard store-1", &mut out).map(|()| out[5..].to_vec())
        };
        let unknown_field = &b"SFEHLER\0VERROR\0C23505\0M\xff\0?x\0\0"[..];
        let expected = b"SFEHLER\0VERROR\0C23505\0M\xff\0?x\0Wshard store-1\0\0";
        assert_eq!(added(unknown_field).as_deref(), Ok(&expected[..]));
        let line_before = added(b"Mm\0Wfunction f\0Rr\0\0");
        assert_eq!(
            line_before.as_deref(),
            Ok(&b"Mm\0Wfunction f\nshard store-1\0Rr\0\0"[..])
        );
        for broken in [&b""[..], b"M", b"Mm\0", b"Mm\0\0x"] {
            assert!(added(broken).is_err());
        }
    }

    #[test]
    fn a_portal_is_left_alone() {
        let mut wire = BytesMut::new();
        Message::Describe {
            target: Target::Portal,
            name: "p",
        }
        .encode(&mut wire);
        let mut out = BytesMut::new();
        rename_statement(b'D', &wire[5..], "x", &mut out).unwrap();
        assert_eq!(out, wire);
    }
}
