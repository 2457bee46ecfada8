//! The steps of authentication that a server asks for.

use std::fmt;

use bytes::{BufMut as _, BytesMut};

use crate::read::Reader;
use crate::{DecodeError, write};

/// What the server wants, or grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication<'a> {
    /// Nothing more.
    Ok,
    /// The password as it is.
    CleartextPassword,
    /// The password's MD5 with this salt.
    Md5Password {
        /// The salt.
        salt: [u8; 4],
    },
    /// An exchange by one of these mechanisms.
    Sasl {
        /// Their names, the preferred first.
        mechanisms: Vec<&'a str>,
    },
    /// The next step of the exchange.
    SaslContinue(&'a [u8]),
    /// The last step of the exchange.
    SaslFinal(&'a [u8]),
    /// A method that isn't spoken here.
    Other {
        /// The protocol's number.
        code: i32,
        /// What came with it.
        data: &'a [u8],
    },
}

impl<'a> Authentication<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match reader.i32()? {
            0 => Self::Ok,
            3 => Self::CleartextPassword,
            5 => {
                let salt = reader
                    .take(4)?
                    .try_into()
                    .map_err(|_short| reader.malformed())?;
                Self::Md5Password { salt }
            }
            10 => {
                let mut mechanisms = Vec::new();
                loop {
                    match reader.text()? {
                        "" => break Self::Sasl { mechanisms },
                        name => mechanisms.push(name),
                    }
                }
            }
            11 => Self::SaslContinue(reader.rest()),
            12 => Self::SaslFinal(reader.rest()),
            code => Self::Other {
                code,
                data: reader.rest(),
            },
        })
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        match self {
            Self::Ok => out.put_i32(0),
            Self::CleartextPassword => out.put_i32(3),
            Self::Md5Password { salt } => {
                out.put_i32(5);
                out.put_slice(salt);
            }
            Self::Sasl { mechanisms } => {
                out.put_i32(10);
                for name in mechanisms {
                    write::text(out, name);
                }
                out.put_u8(0);
            }
            Self::SaslContinue(data) => {
                out.put_i32(11);
                out.put_slice(data);
            }
            Self::SaslFinal(data) => {
                out.put_i32(12);
                out.put_slice(data);
            }
            Self::Other { code, data } => {
                out.put_i32(*code);
                out.put_slice(data);
            }
        }
    }
}

impl fmt::Display for Authentication<'_> {
    /// Salts and proofs are not shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("AuthenticationOk"),
            Self::CleartextPassword => f.write_str("AuthenticationCleartextPassword"),
            Self::Md5Password { .. } => f.write_str("AuthenticationMD5Password"),
            Self::Sasl { mechanisms } => {
                write!(f, "AuthenticationSASL {}", mechanisms.join(" "))
            }
            Self::SaslContinue(_) => f.write_str("AuthenticationSASLContinue"),
            Self::SaslFinal(_) => f.write_str("AuthenticationSASLFinal"),
            Self::Other { code, .. } => write!(f, "Authentication method={code}"),
        }
    }
}
