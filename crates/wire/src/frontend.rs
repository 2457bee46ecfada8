//! Messages that clients send, after start-up.

use std::fmt;

use bytes::{BufMut as _, BytesMut};

use crate::read::Reader;
use crate::{DecodeError, write};

mod bind;
mod password;

pub use bind::{Bind, BindParts, Formats, bind};
pub use password::{SaslInitial, password, password_of, sasl_initial};

/// A client's message; text and values are borrowed from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// `B`: make a portal of a statement and parameters.
    Bind(Bind<'a>),
    /// `C`: forget a statement or portal.
    Close {
        /// Which of the two.
        target: Target,
        /// Its name.
        name: &'a str,
    },
    /// `d`: a piece of COPY.
    CopyData(&'a [u8]),
    /// `c`: the end of COPY.
    CopyDone,
    /// `f`: COPY is given up.
    CopyFail {
        /// Why.
        reason: &'a str,
    },
    /// `D`: what are its columns and parameters?
    Describe {
        /// Statement or portal.
        target: Target,
        /// Its name.
        name: &'a str,
    },
    /// `E`: run a portal.
    Execute {
        /// Its name.
        portal: &'a str,
        /// Rows wanted; 0 or less is all.
        rows_max: i32,
    },
    /// `H`: send what you have.
    Flush,
    /// `F`: the old function call.
    FunctionCall {
        /// The function.
        function: pg::Oid,
        /// Formats and arguments as they came.
        arguments: &'a [u8],
    },
    /// `P`: prepare a statement.
    Parse(Parse<'a>),
    /// `p`: a password or a message of SASL, told apart by what was asked.
    Password(&'a [u8]),
    /// `Q`: run statements.
    Query {
        /// Their text.
        text: &'a str,
    },
    /// `S`: the end of a pipeline.
    Sync,
    /// `X`: good-bye.
    Terminate,
}

/// What Describe and Close are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// The fields of Parse.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parse<'a> {
    /// The statement's name; empty for the unnamed one.
    pub name: &'a str,
    /// Its text.
    pub query: &'a str,
    /// Types of its first parameters; [`pg::Oid::INVALID`] leaves one to the server.
    pub types: Types<'a>,
}

/// A list of type numbers as it lies in a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Types<'a> {
    raw: &'a [u8],
}

// === impl Message ===

impl<'a> Message<'a> {
    /// Reads a message from its type and body.
    ///
    /// # Errors
    /// No such type, or the body doesn't fit it.
    pub fn parse(tag: u8, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(tag, body);
        let message = match tag {
            b'B' => Self::Bind(Bind::read(&mut reader)?),
            b'C' => Self::Close {
                target: Target::read(&mut reader)?,
                name: reader.text()?,
            },
            b'd' => Self::CopyData(reader.rest()),
            b'c' => Self::CopyDone,
            b'f' => Self::CopyFail {
                reason: reader.text()?,
            },
            b'D' => Self::Describe {
                target: Target::read(&mut reader)?,
                name: reader.text()?,
            },
            b'E' => Self::Execute {
                portal: reader.text()?,
                rows_max: reader.i32()?,
            },
            b'H' => Self::Flush,
            b'F' => Self::FunctionCall {
                function: pg::Oid(reader.u32()?),
                arguments: reader.rest(),
            },
            b'P' => Self::Parse(Parse::read(&mut reader)?),
            b'p' => Self::Password(reader.rest()),
            b'Q' => Self::Query {
                text: reader.text()?,
            },
            b'S' => Self::Sync,
            b'X' => Self::Terminate,
            _ => return Err(DecodeError::FrontendTag { tag }),
        };
        reader.end()?;
        Ok(message)
    }

    /// The message's type.
    #[must_use]
    pub fn tag(&self) -> u8 {
        match self {
            Self::Bind(_) => b'B',
            Self::Close { .. } => b'C',
            Self::CopyData(_) => b'd',
            Self::CopyDone => b'c',
            Self::CopyFail { .. } => b'f',
            Self::Describe { .. } => b'D',
            Self::Execute { .. } => b'E',
            Self::Flush => b'H',
            Self::FunctionCall { .. } => b'F',
            Self::Parse(_) => b'P',
            Self::Password(_) => b'p',
            Self::Query { .. } => b'Q',
            Self::Sync => b'S',
            Self::Terminate => b'X',
        }
    }

    /// Writes the message.
    pub fn encode(&self, out: &mut BytesMut) {
        write::message(out, self.tag(), |out| match self {
            Self::Bind(bind) => bind.write(out),
            Self::Close { target, name } | Self::Describe { target, name } => {
                out.put_u8(target.code());
                write::text(out, name);
            }
            Self::CopyData(bytes) | Self::Password(bytes) => out.put_slice(bytes),
            Self::CopyFail { reason } => write::text(out, reason),
            Self::Execute { portal, rows_max } => {
                write::text(out, portal);
                out.put_i32(*rows_max);
            }
            Self::FunctionCall {
                function,
                arguments,
            } => {
                out.put_u32(function.0);
                out.put_slice(arguments);
            }
            Self::Parse(parse) => {
                write::text(out, parse.name);
                write::text(out, parse.query);
                write::count(out, parse.types.len());
                out.put_slice(parse.types.raw);
            }
            Self::Query { text } => write::text(out, text),
            Self::CopyDone | Self::Flush | Self::Sync | Self::Terminate => {}
        });
    }
}

/// Writes Parse with parameter types from a slice.
pub fn parse(out: &mut BytesMut, name: &str, query: &str, types: &[pg::Oid]) {
    write::message(out, b'P', |out| {
        write::text(out, name);
        write::text(out, query);
        write::count(out, types.len());
        for one in types {
            out.put_u32(one.0);
        }
    });
}

impl fmt::Display for Message<'_> {
    /// One line for transcripts.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bind(bind) => bind.fmt(f),
            Self::Close { target, name } => write!(f, "Close {target} {name:?}"),
            Self::CopyData(bytes) => write!(f, "CopyData \"{}\"", bytes.escape_ascii()),
            Self::CopyDone => f.write_str("CopyDone"),
            Self::CopyFail { reason } => write!(f, "CopyFail {reason:?}"),
            Self::Describe { target, name } => write!(f, "Describe {target} {name:?}"),
            Self::Execute { portal, rows_max } => write!(f, "Execute {portal:?} rows={rows_max}"),
            Self::Flush => f.write_str("Flush"),
            Self::FunctionCall { function, .. } => write!(f, "FunctionCall {function}"),
            Self::Parse(parse) => {
                write!(f, "Parse {:?} {:?} types=[", parse.name, parse.query)?;
                for (at, one) in parse.types.iter().enumerate() {
                    write!(f, "{}{one}", if at > 0 { " " } else { "" })?;
                }
                f.write_str("]")
            }
            // Never shown: it is a secret.
            Self::Password(_) => f.write_str("Password ***"),
            Self::Query { text } => write!(f, "Query {text:?}"),
            Self::Sync => f.write_str("Sync"),
            Self::Terminate => f.write_str("Terminate"),
        }
    }
}

// === impl Target ===

impl Target {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        match reader.u8()? {
            b'S' => Ok(Self::Statement),
            b'P' => Ok(Self::Portal),
            _ => Err(reader.malformed()),
        }
    }

    /// The protocol's letter.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Statement => b'S',
            Self::Portal => b'P',
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Statement => "statement",
            Self::Portal => "portal",
        })
    }
}

// === impl Parse ===

impl<'a> Parse<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (name, query) = (reader.text()?, reader.text()?);
        let count = reader.count()?;
        Ok(Self {
            name,
            query,
            types: Types {
                raw: reader.take(4 * count)?,
            },
        })
    }
}

// === impl Types ===

impl<'a> Types<'a> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.len() / 4
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The numbers in order.
    pub fn iter(&self) -> impl Iterator<Item = pg::Oid> + use<'a> {
        self.raw
            .as_chunks()
            .0
            .iter()
            .map(|four| pg::Oid(u32::from_be_bytes(*four)))
    }

    /// The list's bytes: equal lists have equal bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &'a [u8] {
        self.raw
    }
}
