//! Packets before the first message: they have no type, only a length and a code.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use crate::read::Reader;
use crate::{DecodeError, backend, write};

/// PostgreSQL's limit on a start-up packet.
pub const STARTUP_BYTES_MAX: usize = 10_000;

const CANCEL_CODE: u32 = 80_877_102;
const SSL_CODE: u32 = 80_877_103;
const GSS_CODE: u32 = 80_877_104;
/// The only major version.
const MAJOR: u16 = 3;
/// Parameters that ask for extensions of the protocol.
const EXTENSION_PREFIX: &str = "_pq_.";

/// What a client sends first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Startup {
    /// May the connection be encrypted with TLS? Answered by one byte.
    SslRequest,
    /// May the connection be encrypted with GSSAPI? Answered by one byte.
    GssEncRequest,
    /// Cancel what another connection does.
    Cancel(CancelKey),
    /// Begin a session.
    Session(SessionStart),
}

/// What names a session to be cancelled: what `BackendKeyData` said.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct CancelKey {
    /// The process number.
    pub pid: i32,
    /// The secret: 4 bytes, from protocol 3.2 on up to 256.
    pub secret: Bytes,
}

/// The wish to begin a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SessionStart {
    /// Minor version of protocol 3 that the client asks for.
    pub minor: u16,
    /// Names and values in the client's order.
    pub parameters: Vec<(String, String)>,
}

/// Takes the next start-up packet from the front of `buffer`, if it is there whole.
///
/// # Errors
/// Not a start-up packet of protocol 3, or too long.
pub fn decode(buffer: &mut BytesMut) -> Result<Option<Startup>, DecodeError> {
    let Some((head, _)) = buffer.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_be_bytes(*head);
    let bytes = usize::try_from(length).unwrap_or(usize::MAX);
    if !(8..=STARTUP_BYTES_MAX).contains(&bytes) {
        return Err(DecodeError::StartupLength { length });
    }
    if buffer.len() < bytes {
        return Ok(None);
    }
    let mut packet = buffer.split_to(bytes).freeze();
    packet.advance(4);
    let code = packet.get_u32();
    match code {
        SSL_CODE if packet.is_empty() => Ok(Some(Startup::SslRequest)),
        GSS_CODE if packet.is_empty() => Ok(Some(Startup::GssEncRequest)),
        CANCEL_CODE if packet.len() >= 8 && packet.len() <= 260 => {
            let pid = packet.get_i32();
            Ok(Some(Startup::Cancel(CancelKey {
                pid,
                secret: packet,
            })))
        }
        SSL_CODE | GSS_CODE | CANCEL_CODE => Err(DecodeError::StartupLength { length }),
        _ => SessionStart::parse(code, &packet).map(|start| Some(Startup::Session(start))),
    }
}

// === impl Startup ===

impl Startup {
    /// Writes the packet.
    pub fn encode(&self, out: &mut BytesMut) {
        write::untagged(out, |out| match self {
            Self::SslRequest => out.put_u32(SSL_CODE),
            Self::GssEncRequest => out.put_u32(GSS_CODE),
            Self::Cancel(key) => {
                out.put_u32(CANCEL_CODE);
                out.put_i32(key.pid);
                out.put_slice(&key.secret);
            }
            Self::Session(start) => {
                out.put_u16(MAJOR);
                out.put_u16(start.minor);
                for (name, value) in &start.parameters {
                    write::text(out, name);
                    write::text(out, value);
                }
                out.put_u8(0);
            }
        });
    }
}

// === impl SessionStart ===

impl SessionStart {
    fn parse(code: u32, body: &[u8]) -> Result<Self, DecodeError> {
        let [a, b, c, d] = code.to_be_bytes();
        let (major, minor) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        if major != MAJOR {
            return Err(DecodeError::UnsupportedProtocol { major, minor });
        }
        let mut reader = Reader::new(0, body);
        let mut parameters = Vec::new();
        let layout = |error| match error {
            DecodeError::Malformed { .. } => DecodeError::StartupLayout,
            other => other,
        };
        loop {
            let name = reader.text().map_err(layout)?;
            if name.is_empty() {
                break;
            }
            let value = reader.text().map_err(layout)?;
            parameters.push((name.to_owned(), value.to_owned()));
        }
        reader.end().map_err(layout)?;
        Ok(Self { minor, parameters })
    }

    /// The last value given for a parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters
            .iter()
            .rev()
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.as_str())
    }

    /// What must be said before authentication if the client asked for more than protocol 3.0.
    #[must_use]
    pub fn negotiation(&self) -> Option<backend::Message<'_>> {
        let unknown: Vec<&str> = self
            .parameters
            .iter()
            .map(|(name, _)| name.as_str())
            .filter(|name| name.starts_with(EXTENSION_PREFIX))
            .collect();
        (self.minor > 0 || !unknown.is_empty()).then_some(
            backend::Message::NegotiateProtocolVersion {
                newest_minor: 0,
                unknown,
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_newer_minor_version_is_negotiated_down() {
        let mut start = SessionStart {
            minor: 2,
            parameters: Vec::new(),
        };
        start.parameters.push(("_pq_.x".into(), "1".into()));
        let expected = backend::Message::NegotiateProtocolVersion {
            newest_minor: 0,
            unknown: vec!["_pq_.x"],
        };
        assert_eq!(start.negotiation(), Some(expected));
        assert_eq!(SessionStart::default().negotiation(), None);
    }

    #[test]
    fn bad_packets_are_refused_as_postgresql_does() {
        let error = |bytes: &[u8]| decode(&mut BytesMut::from(bytes)).unwrap_err();
        assert_eq!(
            error(b"\0\0\x27\x11"),
            DecodeError::StartupLength { length: 10_001 }
        );
        assert_eq!(
            error(b"\x16\x03\x01\x02"),
            DecodeError::StartupLength {
                length: 0x1603_0102
            }
        );
        assert_eq!(
            error(b"\0\0\0\x08\0\x02\0\0"),
            DecodeError::UnsupportedProtocol { major: 2, minor: 0 }
        );
        assert_eq!(
            error(b"\0\0\0\x0b\0\x03\0\0u\0x"),
            DecodeError::StartupLayout
        );
        assert_eq!(
            error(b"\0\0\0\x0a\0\x03\0\0\0x"),
            DecodeError::StartupLayout
        );
        assert_eq!(
            decode(&mut BytesMut::from(&b"\0\0\0\x09\0\x03\0"[..])),
            Ok(None)
        );
    }
}
