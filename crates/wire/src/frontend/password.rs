//! What a `p` message holds; which of these, only the question that it answers tells.

use bytes::{BufMut as _, BytesMut};

use crate::read::Reader;
use crate::{DecodeError, write};

/// The first message of a SASL exchange.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SaslInitial<'a> {
    /// The mechanism that the client chose.
    pub mechanism: &'a str,
    /// Its first words, if it has any.
    pub data: Option<&'a [u8]>,
}

impl<'a> SaslInitial<'a> {
    /// Reads the body.
    ///
    /// # Errors
    /// The body is no `SASLInitialResponse`.
    pub fn parse(body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(b'p', body);
        let initial = Self {
            mechanism: reader.text()?,
            data: reader.value()?,
        };
        reader.end()?;
        Ok(initial)
    }
}

/// The password in the body of a `PasswordMessage`; bytes, since it need not be UTF-8.
///
/// # Errors
/// The body is no `PasswordMessage`.
pub fn password_of(body: &[u8]) -> Result<&[u8], DecodeError> {
    let mut reader = Reader::new(b'p', body);
    let password = reader.zero_ended()?;
    reader.end()?;
    Ok(password)
}

/// Writes `SASLInitialResponse`.
pub fn sasl_initial(out: &mut BytesMut, mechanism: &str, data: &[u8]) {
    write::message(out, b'p', |out| {
        write::text(out, mechanism);
        write::value(out, Some(data));
    });
}

/// Writes `PasswordMessage`.
pub fn password(out: &mut BytesMut, password: &[u8]) {
    write::message(out, b'p', |out| {
        out.put_slice(password);
        out.put_u8(0);
    });
}
