//! The two spellings that a value has on the wire.

use std::fmt;

/// How a value is written in Bind, `DataRow` or COPY.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Text: what the type's output function prints.
    #[default]
    Text,
    /// Binary: what the type's send function writes.
    Binary,
}

impl Format {
    /// The format of a protocol code: 0 is text, 1 is binary, anything else is none.
    #[must_use]
    pub fn from_code(code: i16) -> Option<Self> {
        match code {
            0 => Some(Self::Text),
            1 => Some(Self::Binary),
            _ => None,
        }
    }

    /// The protocol's code.
    #[must_use]
    pub fn code(self) -> i16 {
        match self {
            Self::Text => 0,
            Self::Binary => 1,
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Text => "text",
            Self::Binary => "binary",
        })
    }
}
