//! Why bytes are no message. The words are PostgreSQL's, since clients show them.

use pg::{Diagnose, Fault, Severity, SqlState};

/// Bytes that are no message of the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The length is below its own four bytes or above the limit of the message's type.
    #[error("invalid message length")]
    MessageLength {
        /// The message's type.
        tag: u8,
        /// The length that it claims.
        length: u32,
    },
    /// The same for a start-up packet.
    #[error("invalid length of startup packet")]
    StartupLength {
        /// The length that it claims.
        length: u32,
    },
    /// A start-up packet that doesn't end where its parameters end.
    #[error("invalid startup packet layout: expected terminator as last byte")]
    StartupLayout,
    /// A protocol that isn't 3.
    #[error("unsupported frontend protocol {major}.{minor}: server supports 3.0 to 3.0")]
    UnsupportedProtocol {
        /// Major version asked for.
        major: u16,
        /// Minor version asked for.
        minor: u16,
    },
    /// A type of message that clients don't send.
    #[error("invalid frontend message type {tag}")]
    FrontendTag {
        /// The type.
        tag: u8,
    },
    /// A type of message that servers don't send.
    #[error("invalid backend message type {tag}")]
    BackendTag {
        /// The type.
        tag: u8,
    },
    /// A body that is too short, too long, or has a value that its field doesn't take.
    #[error("invalid message format")]
    Malformed {
        /// The message's type.
        tag: u8,
    },
    /// Text that isn't UTF-8.
    #[error("invalid byte sequence for encoding \"UTF8\"")]
    Encoding {
        /// The message's type.
        tag: u8,
    },
}

impl Diagnose for DecodeError {
    fn sqlstate(&self) -> SqlState {
        match self {
            Self::MessageLength { .. }
            | Self::StartupLength { .. }
            | Self::StartupLayout
            | Self::FrontendTag { .. }
            | Self::BackendTag { .. }
            | Self::Malformed { .. } => SqlState::PROTOCOL_VIOLATION,
            Self::UnsupportedProtocol { .. } => SqlState::FEATURE_NOT_SUPPORTED,
            Self::Encoding { .. } => SqlState::CHARACTER_NOT_IN_REPERTOIRE,
        }
    }

    /// After a fatal one the two sides no longer agree on where a message begins.
    fn severity(&self) -> Severity {
        match self {
            Self::MessageLength { .. }
            | Self::StartupLength { .. }
            | Self::StartupLayout
            | Self::UnsupportedProtocol { .. }
            | Self::FrontendTag { .. }
            | Self::BackendTag { .. } => Severity::Fatal,
            Self::Malformed { .. } | Self::Encoding { .. } => Severity::Error,
        }
    }

    fn fault(&self) -> Fault {
        match self {
            Self::BackendTag { .. } => Fault::Backend,
            Self::MessageLength { .. }
            | Self::StartupLength { .. }
            | Self::StartupLayout
            | Self::UnsupportedProtocol { .. }
            | Self::FrontendTag { .. }
            | Self::Malformed { .. }
            | Self::Encoding { .. } => Fault::Client,
        }
    }
}
