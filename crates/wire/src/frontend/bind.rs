//! Bind: read once for its layout, then looked into without allocation.

use std::fmt;

use bytes::{BufMut as _, BytesMut};
use pg::Format;

use crate::read::Reader;
use crate::{DecodeError, write};

/// The fields of Bind. Reading one checks the whole layout, so that looking into it can't fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bind<'a> {
    /// The portal to be made; empty for the unnamed one.
    pub portal: &'a str,
    /// The prepared statement.
    pub statement: &'a str,
    /// Formats of the parameters.
    pub parameter_formats: Formats<'a>,
    /// Formats of the result's columns.
    pub result_formats: Formats<'a>,
    count: usize,
    values: &'a [u8],
}

/// A list of formats: none means text for all, one stands for all, otherwise one each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Formats<'a> {
    raw: &'a [u8],
}

/// What a Bind is made of when it doesn't come from a client.
#[derive(Debug, Clone, Copy)]
pub struct BindParts<'a> {
    /// The portal to be made.
    pub portal: &'a str,
    /// The prepared statement.
    pub statement: &'a str,
    /// Formats of the parameters: none, one, or one each.
    pub parameter_formats: &'a [Format],
    /// The parameters; `None` is NULL.
    pub parameters: &'a [Option<&'a [u8]>],
    /// Formats of the result's columns: none, one, or one each.
    pub result_formats: &'a [Format],
}

/// Writes Bind from its parts.
pub fn bind(out: &mut BytesMut, parts: &BindParts<'_>) {
    fn formats(out: &mut BytesMut, formats: &[Format]) {
        write::count(out, formats.len());
        for format in formats {
            out.put_i16(format.code());
        }
    }
    write::message(out, b'B', |out| {
        write::text(out, parts.portal);
        write::text(out, parts.statement);
        formats(out, parts.parameter_formats);
        write::count(out, parts.parameters.len());
        parts
            .parameters
            .iter()
            .for_each(|value| write::value(out, *value));
        formats(out, parts.result_formats);
    });
}

// === impl Bind ===

impl<'a> Bind<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let (portal, statement) = (reader.text()?, reader.text()?);
        let parameter_formats = Formats::read(reader)?;
        let count = reader.count()?;
        let mut values = *reader;
        for _ in 0..count {
            reader.value()?;
        }
        let values = values.take(values.len() - reader.len())?;
        let result_formats = Formats::read(reader)?;
        Ok(Self {
            portal,
            statement,
            parameter_formats,
            result_formats,
            count,
            values,
        })
    }

    /// How many parameters there are.
    #[must_use]
    pub fn parameter_count(&self) -> usize {
        self.count
    }

    /// The parameters in order; `None` is NULL.
    pub fn parameters(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let mut reader = Reader::new(b'B', self.values);
        (0..self.count).map(move |_| reader.value().unwrap_or_default())
    }

    /// Parameter `index` (from 0) with its format: outer `None` if there is none, inner `None` for NULL.
    #[must_use]
    pub fn parameter(&self, index: usize) -> Option<(Option<&'a [u8]>, Format)> {
        let value = self.parameters().nth(index)?;
        Some((value, self.parameter_formats.of(index)))
    }

    pub(super) fn write(&self, out: &mut BytesMut) {
        write::text(out, self.portal);
        write::text(out, self.statement);
        self.parameter_formats.write(out);
        write::count(out, self.count);
        out.put_slice(self.values);
        self.result_formats.write(out);
    }
}

impl fmt::Display for Bind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Bind portal={:?} statement={:?} (",
            self.portal, self.statement
        )?;
        for (at, value) in self.parameters().enumerate() {
            f.write_str(if at > 0 { ", " } else { "" })?;
            match value {
                None => f.write_str("NULL")?,
                Some(bytes) => write!(f, "\"{}\"", bytes.escape_ascii())?,
            }
        }
        write!(
            f,
            ") formats={} results={}",
            self.parameter_formats, self.result_formats
        )
    }
}

// === impl Formats ===

impl<'a> Formats<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, DecodeError> {
        let count = reader.count()?;
        let raw = reader.take(2 * count)?;
        let known = raw
            .as_chunks()
            .0
            .iter()
            .all(|code| matches!(code, [0, 0 | 1]));
        if known {
            Ok(Self { raw })
        } else {
            Err(reader.malformed())
        }
    }

    /// How many are listed.
    #[must_use]
    pub fn len(&self) -> usize {
        self.raw.len() / 2
    }

    /// Whether none is listed, so that all are text.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    /// The formats as listed.
    pub fn iter(&self) -> impl Iterator<Item = Format> + use<'a> {
        let format = |code: &[u8; 2]| {
            if code[1] == 1 {
                Format::Binary
            } else {
                Format::Text
            }
        };
        self.raw.as_chunks().0.iter().map(format)
    }

    /// The format of value `index` (from 0).
    #[must_use]
    pub fn of(&self, index: usize) -> Format {
        let listed = if self.len() == 1 { 0 } else { index };
        self.iter().nth(listed).unwrap_or_default()
    }

    fn write(&self, out: &mut BytesMut) {
        write::count(out, self.len());
        out.put_slice(self.raw);
    }
}

impl fmt::Display for Formats<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (at, format) in self.iter().enumerate() {
            write!(f, "{}{format}", if at > 0 { " " } else { "" })?;
        }
        f.write_str("]")
    }
}
