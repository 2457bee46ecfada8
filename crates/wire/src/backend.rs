//! Messages that PostgreSQL sends.

use std::fmt;

use bytes::{BufMut as _, BytesMut};
use pg::{Diagnostic, Format, Oid, SqlState};

use crate::read::Reader;
use crate::{DecodeError, write};

mod auth;
mod row;
mod show;

pub use auth::Authentication;
pub use row::{Columns, DataRow, Field};

/// A server's message; text and values are borrowed from its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Message<'a> {
    /// `R`: a step of authentication.
    Authentication(Authentication<'a>),
    /// `K`: what cancels this session.
    BackendKeyData {
        /// The process number.
        pid: i32,
        /// The secret: 4 bytes, from protocol 3.2 on up to 256.
        secret: &'a [u8],
    },
    /// `2`.
    BindComplete,
    /// `3`.
    CloseComplete,
    /// `C`: a statement is done.
    CommandComplete {
        /// What was done, see [`crate::tag`].
        tag: &'a str,
    },
    /// `d`: a piece of COPY.
    CopyData(&'a [u8]),
    /// `c`: the end of COPY.
    CopyDone,
    /// `G`: send me a COPY.
    CopyInResponse(CopyFormats),
    /// `H`: a COPY follows.
    CopyOutResponse(CopyFormats),
    /// `W`: both ways, for replication.
    CopyBothResponse(CopyFormats),
    /// `D`: a row.
    DataRow(DataRow<'a>),
    /// `I`: the statement was empty.
    EmptyQueryResponse,
    /// `E`.
    ErrorResponse(Box<Diagnostic>),
    /// `V`: the result of the old function call.
    FunctionCallResponse(Option<&'a [u8]>),
    /// `v`: what was asked for is too new.
    NegotiateProtocolVersion {
        /// The newest minor version that the server speaks.
        newest_minor: i32,
        /// Options that it doesn't know.
        unknown: Vec<&'a str>,
    },
    /// `n`: there are no columns.
    NoData,
    /// `N`.
    NoticeResponse(Box<Diagnostic>),
    /// `A`: somebody sent NOTIFY.
    NotificationResponse {
        /// Who.
        pid: i32,
        /// On which channel.
        channel: &'a str,
        /// What.
        payload: &'a str,
    },
    /// `t`: types of a statement's parameters.
    ParameterDescription {
        /// The types.
        types: Vec<Oid>,
    },
    /// `S`: the value of a setting that clients watch.
    ParameterStatus {
        /// The setting.
        name: &'a str,
        /// Its value.
        value: &'a str,
    },
    /// `1`.
    ParseComplete,
    /// `s`: the row limit was met.
    PortalSuspended,
    /// `Z`: the next request, please.
    ReadyForQuery(TransactionStatus),
    /// `T`: the columns of the rows to come.
    RowDescription(Vec<Field<'a>>),
}

/// Formats of a COPY.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CopyFormats {
    /// Of the whole.
    pub overall: Format,
    /// Of each column.
    pub columns: Vec<Format>,
}

/// Where a session stands, as `ReadyForQuery` tells; the greater is the worse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub enum TransactionStatus {
    /// Outside a transaction.
    #[default]
    Idle,
    /// In a transaction.
    InTransaction,
    /// In a transaction that failed.
    Failed,
}

// === impl Message ===

impl<'a> Message<'a> {
    /// Reads a message from its type and body.
    ///
    /// # Errors
    /// No such type, or the body doesn't fit it.
    pub fn parse(tag: u8, body: &'a [u8]) -> Result<Self, DecodeError> {
        let mut reader = Reader::new(tag, body);
        let message = Self::read(tag, &mut reader)?;
        reader.end()?;
        Ok(message)
    }

    // tidy: flat match
    fn read(tag: u8, reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        Ok(match tag {
            b'R' => Self::Authentication(Authentication::read(reader)?),
            b'K' => Self::BackendKeyData {
                pid: reader.i32()?,
                secret: reader.rest(),
            },
            b'2' => Self::BindComplete,
            b'3' => Self::CloseComplete,
            b'C' => Self::CommandComplete {
                tag: reader.text()?,
            },
            b'd' => Self::CopyData(reader.rest()),
            b'c' => Self::CopyDone,
            b'G' => Self::CopyInResponse(CopyFormats::read(reader)?),
            b'H' => Self::CopyOutResponse(CopyFormats::read(reader)?),
            b'W' => Self::CopyBothResponse(CopyFormats::read(reader)?),
            b'D' => Self::DataRow(DataRow::read(reader)?),
            b'I' => Self::EmptyQueryResponse,
            b'E' => Self::ErrorResponse(Box::new(read_diagnostic(reader)?)),
            b'V' => Self::FunctionCallResponse(reader.value()?),
            b'v' => {
                let (newest_minor, count) = (reader.i32()?, reader.u32()?);
                let unknown = (0..count)
                    .map(|_| reader.text())
                    .collect::<Result<_, _>>()?;
                Self::NegotiateProtocolVersion {
                    newest_minor,
                    unknown,
                }
            }
            b'n' => Self::NoData,
            b'N' => Self::NoticeResponse(Box::new(read_diagnostic(reader)?)),
            b'A' => Self::NotificationResponse {
                pid: reader.i32()?,
                channel: reader.text()?,
                payload: reader.text()?,
            },
            b't' => {
                let count = reader.count()?;
                let types = (0..count)
                    .map(|_| reader.u32().map(Oid))
                    .collect::<Result<_, _>>()?;
                Self::ParameterDescription { types }
            }
            b'S' => Self::ParameterStatus {
                name: reader.text()?,
                value: reader.text()?,
            },
            b'1' => Self::ParseComplete,
            b's' => Self::PortalSuspended,
            b'Z' => {
                let status = TransactionStatus::from_code(reader.u8()?);
                Self::ReadyForQuery(status.ok_or(reader.malformed())?)
            }
            b'T' => {
                let count = reader.count()?;
                let fields = (0..count)
                    .map(|_| Field::read(reader))
                    .collect::<Result<_, _>>()?;
                Self::RowDescription(fields)
            }
            _ => return Err(DecodeError::BackendTag { tag }),
        })
    }

    /// The message's type.
    // tidy: flat match
    #[must_use]
    pub fn tag(&self) -> u8 {
        match self {
            Self::Authentication(_) => b'R',
            Self::BackendKeyData { .. } => b'K',
            Self::BindComplete => b'2',
            Self::CloseComplete => b'3',
            Self::CommandComplete { .. } => b'C',
            Self::CopyData(_) => b'd',
            Self::CopyDone => b'c',
            Self::CopyInResponse(_) => b'G',
            Self::CopyOutResponse(_) => b'H',
            Self::CopyBothResponse(_) => b'W',
            Self::DataRow(_) => b'D',
            Self::EmptyQueryResponse => b'I',
            Self::ErrorResponse(_) => b'E',
            Self::FunctionCallResponse(_) => b'V',
            Self::NegotiateProtocolVersion { .. } => b'v',
            Self::NoData => b'n',
            Self::NoticeResponse(_) => b'N',
            Self::NotificationResponse { .. } => b'A',
            Self::ParameterDescription { .. } => b't',
            Self::ParameterStatus { .. } => b'S',
            Self::ParseComplete => b'1',
            Self::PortalSuspended => b's',
            Self::ReadyForQuery(_) => b'Z',
            Self::RowDescription(_) => b'T',
        }
    }

    /// Writes the message.
    pub fn encode(&self, out: &mut BytesMut) {
        write::message(out, self.tag(), |out| self.write_body(out));
    }

    fn write_body(&self, out: &mut BytesMut) {
        match self {
            Self::Authentication(step) => step.write(out),
            Self::BackendKeyData { pid, secret } => {
                out.put_i32(*pid);
                out.put_slice(secret);
            }
            Self::CommandComplete { tag } => write::text(out, tag),
            Self::CopyData(bytes) => out.put_slice(bytes),
            Self::CopyInResponse(formats)
            | Self::CopyOutResponse(formats)
            | Self::CopyBothResponse(formats) => formats.write(out),
            Self::DataRow(row) => row.write(out),
            Self::ErrorResponse(shown) | Self::NoticeResponse(shown) => {
                write_diagnostic(out, shown);
            }
            Self::FunctionCallResponse(value) => write::value(out, *value),
            Self::NegotiateProtocolVersion {
                newest_minor,
                unknown,
            } => {
                out.put_i32(*newest_minor);
                out.put_u32(u32::try_from(unknown.len()).expect("a start-up packet is short"));
                for name in unknown {
                    write::text(out, name);
                }
            }
            Self::NotificationResponse {
                pid,
                channel,
                payload,
            } => {
                out.put_i32(*pid);
                write::text(out, channel);
                write::text(out, payload);
            }
            Self::ParameterDescription { types } => {
                write::count(out, types.len());
                for one in types {
                    out.put_u32(one.0);
                }
            }
            Self::ParameterStatus { name, value } => {
                write::text(out, name);
                write::text(out, value);
            }
            Self::ReadyForQuery(status) => out.put_u8(status.code()),
            Self::RowDescription(fields) => {
                write::count(out, fields.len());
                for field in fields {
                    field.write(out);
                }
            }
            Self::BindComplete
            | Self::CloseComplete
            | Self::CopyDone
            | Self::EmptyQueryResponse
            | Self::NoData
            | Self::ParseComplete
            | Self::PortalSuspended => {}
        }
    }
}

/// Writes `ErrorResponse`.
pub fn error_response(out: &mut BytesMut, shown: &Diagnostic) {
    write::message(out, b'E', |out| write_diagnostic(out, shown));
}

/// Writes `NoticeResponse`.
pub fn notice_response(out: &mut BytesMut, shown: &Diagnostic) {
    write::message(out, b'N', |out| write_diagnostic(out, shown));
}

/// Writes `DataRow`; `None` is NULL.
pub fn data_row<'v>(out: &mut BytesMut, columns: impl ExactSizeIterator<Item = Option<&'v [u8]>>) {
    write::message(out, b'D', |out| {
        write::count(out, columns.len());
        columns.for_each(|value| write::value(out, value));
    });
}

/// Text of a shard is shown as it is as far as it can be: an error must not be lost for its spelling.
fn read_diagnostic(reader: &mut Reader<'_>) -> Result<Diagnostic, DecodeError> {
    let mut shown = Diagnostic::error(SqlState::INTERNAL_ERROR, String::new());
    loop {
        match reader.u8()? {
            0 => return Ok(shown),
            code => {
                let text = String::from_utf8_lossy(reader.zero_ended()?);
                shown.set_field(code, &text);
            }
        }
    }
}

fn write_diagnostic(out: &mut BytesMut, shown: &Diagnostic) {
    shown.for_each_field(|code, text| {
        out.put_u8(code);
        write::text(out, text);
    });
    out.put_u8(0);
}

// === impl CopyFormats ===

impl CopyFormats {
    fn read(reader: &mut Reader<'_>) -> Result<Self, DecodeError> {
        let format =
            |code: i16, reader: &Reader<'_>| Format::from_code(code).ok_or(reader.malformed());
        let overall = i16::from(reader.u8()?);
        let overall = format(overall, reader)?;
        let mut columns = Vec::new();
        for _ in 0..reader.count()? {
            let code = reader.i16()?;
            columns.push(format(code, reader)?);
        }
        Ok(Self { overall, columns })
    }

    fn write(&self, out: &mut BytesMut) {
        out.put_u8(u8::from(self.overall == Format::Binary));
        write::count(out, self.columns.len());
        self.columns
            .iter()
            .for_each(|format| out.put_i16(format.code()));
    }
}

// === impl TransactionStatus ===

impl TransactionStatus {
    /// Reads the protocol's letter.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        match code {
            b'I' => Some(Self::Idle),
            b'T' => Some(Self::InTransaction),
            b'E' => Some(Self::Failed),
            _ => None,
        }
    }

    /// The protocol's letter.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Self::Idle => b'I',
            Self::InTransaction => b'T',
            Self::Failed => b'E',
        }
    }
}

impl fmt::Display for TransactionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::InTransaction => "in transaction",
            Self::Failed => "failed",
        })
    }
}
