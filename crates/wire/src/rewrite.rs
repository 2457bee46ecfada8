//! Renaming prepared statements in messages: names that clients chose are multiplexed over backends, so
//! each backend knows a statement by a name of the router.

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
