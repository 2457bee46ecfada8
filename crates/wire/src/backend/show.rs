//! Messages as one line, for transcripts.

use std::fmt;

use super::{CopyFormats, DataRow, Field, Message};

impl fmt::Display for Message<'_> {
    // tidy: flat match
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Authentication(step) => step.fmt(f),
            // The secret is not shown.
            Self::BackendKeyData { pid, .. } => write!(f, "BackendKeyData pid={pid}"),
            Self::BindComplete => f.write_str("BindComplete"),
            Self::CloseComplete => f.write_str("CloseComplete"),
            Self::CommandComplete { tag } => write!(f, "CommandComplete {tag:?}"),
            Self::CopyData(bytes) => write!(f, "CopyData \"{}\"", bytes.escape_ascii()),
            Self::CopyDone => f.write_str("CopyDone"),
            Self::CopyInResponse(formats) => write!(f, "CopyInResponse {formats}"),
            Self::CopyOutResponse(formats) => write!(f, "CopyOutResponse {formats}"),
            Self::CopyBothResponse(formats) => write!(f, "CopyBothResponse {formats}"),
            Self::DataRow(row) => row.fmt(f),
            Self::EmptyQueryResponse => f.write_str("EmptyQueryResponse"),
            Self::ErrorResponse(shown) => write!(f, "ErrorResponse {shown}"),
            Self::FunctionCallResponse(_) => f.write_str("FunctionCallResponse"),
            Self::NegotiateProtocolVersion {
                newest_minor,
                unknown,
            } => {
                write!(
                    f,
                    "NegotiateProtocolVersion 3.{newest_minor} [{}]",
                    unknown.join(" ")
                )
            }
            Self::NoData => f.write_str("NoData"),
            Self::NoticeResponse(shown) => write!(f, "NoticeResponse {shown}"),
            Self::NotificationResponse {
                channel, payload, ..
            } => {
                write!(f, "NotificationResponse {channel:?} {payload:?}")
            }
            Self::ParameterDescription { types } => list(f, "ParameterDescription", types.iter()),
            Self::ParameterStatus { name, value } => write!(f, "ParameterStatus {name}={value:?}"),
            Self::ParseComplete => f.write_str("ParseComplete"),
            Self::PortalSuspended => f.write_str("PortalSuspended"),
            Self::ReadyForQuery(status) => write!(f, "ReadyForQuery {status}"),
            Self::RowDescription(fields) => list(f, "RowDescription", fields.iter()),
        }
    }
}

fn list<T: fmt::Display>(
    f: &mut fmt::Formatter<'_>,
    name: &str,
    items: impl Iterator<Item = T>,
) -> fmt::Result {
    write!(f, "{name} [")?;
    for (at, item) in items.enumerate() {
        write!(f, "{}{item}", if at > 0 { ", " } else { "" })?;
    }
    f.write_str("]")
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.name, self.type_oid)
    }
}

impl fmt::Display for CopyFormats {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} columns={}", self.overall, self.columns.len())
    }
}

impl fmt::Display for DataRow<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DataRow (")?;
        for (at, value) in self.columns().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            match value {
                None => f.write_str("NULL")?,
                Some(bytes) => write!(f, "\"{}\"", bytes.escape_ascii())?,
            }
        }
        f.write_str(")")
    }
}
