//! Tells the records of COPY data apart, whatever pieces the data comes in. Pure.
//!
//! In text and CSV a record is a line with its end; line ends inside quotes (CSV) or after a backslash (text) are data. In binary the
//! header and the trailer are the prelude that every shard needs.

use bytes::{Buf as _, Bytes, BytesMut};
use pg::{Diagnostic, SqlState};
use plan::CopyFormat;

/// A record longer than this is refused: the whole of it has to be held to find its shard.
const RECORD_BYTES_MAX: usize = 1 << 30;

/// Signature, flags and length of the extension.
const BINARY_HEADER_BYTES: usize = 19;

/// A piece of the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// Goes to every shard: a header.
    Prelude(Bytes),
    /// A row.
    Row(Bytes),
}

/// Finds where records end.
#[derive(Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a state of its own at the place that was seen"
)]
pub(super) struct Splitter {
    format: CopyFormat,
    needs_header: bool,
    buffer: BytesMut,
    /// How far the buffer was looked at without finding an end.
    seen: usize,
    /// At `seen`: inside quotes (CSV).
    is_quoted: bool,
    /// At `seen`: the byte before was a backslash (text) or the escape (CSV) that takes the next as it is.
    is_escaped: bool,
    /// How lines end: as the first one does.
    line_end: Option<LineEnd>,
    /// The end marker has come: what follows is ignored.
    is_over: bool,
}

/// How a line ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LineEnd {
    Feed,
    Return,
    ReturnFeed,
}

/// A place in a line that tells more than the bytes before it.
enum Place {
    /// The line goes up to here, its end included.
    End(usize),
    /// The end marker stands here, after the data of a last row.
    Marker(usize),
    /// It depends on bytes that have not come.
    Unknown,
}

impl Splitter {
    pub(super) fn new(format: CopyFormat, has_header: bool) -> Self {
        let needs_header = has_header || format == CopyFormat::Binary;
        Self {
            format,
            needs_header,
            buffer: BytesMut::new(),
            seen: 0,
            is_quoted: false,
            is_escaped: false,
            line_end: None,
            is_over: false,
        }
    }

    /// Takes more data.
    pub(super) fn feed(&mut self, data: Bytes) {
        if self.is_over && self.format != CopyFormat::Binary {
            return;
        }
        if self.buffer.is_empty() {
            self.buffer = BytesMut::from(data);
        } else {
            self.buffer.extend_from_slice(&data);
        }
    }

    /// The next whole record; at the end of the data (`is_last`) also one without a line end.
    pub(super) fn next(&mut self, is_last: bool) -> Result<Option<Record>, Diagnostic> {
        if self.is_over {
            // PostgreSQL passes over what follows the marker of lines, not of binary rows.
            return match self.format {
                CopyFormat::Binary if !self.buffer.is_empty() => {
                    Err(malformed("received copy data after EOF marker"))
                }
                _ => Ok(None),
            };
        }
        let place = match self.format {
            CopyFormat::Binary => self.binary_length()?.map_or(Place::Unknown, Place::End),
            CopyFormat::Text { .. } => self.text_length()?,
            CopyFormat::Csv { quote, escape, .. } => self.csv_length(quote, escape)?,
        };
        let length = match place {
            Place::End(length) => length,
            Place::Marker(length) => {
                self.is_over = true;
                self.buffer.truncate(length);
                length
            }
            Place::Unknown if is_last => match self.rest()? {
                0 => return Ok(None),
                length => length,
            },
            Place::Unknown => return self.unfinished(),
        };
        (self.seen, self.is_quoted, self.is_escaped) = (0, false, false);
        let record = self.buffer.split_to(length).freeze();
        if std::mem::take(&mut self.needs_header) {
            return Ok(Some(Record::Prelude(record)));
        }
        if self.is_end(&record) {
            self.is_over = true;
            return self.next(is_last);
        }
        Ok(Some(Record::Row(self.ended(record))))
    }

    fn unfinished(&self) -> Result<Option<Record>, Diagnostic> {
        if self.buffer.len() > RECORD_BYTES_MAX {
            let message = "a row of COPY is too long";
            return Err(Diagnostic::error(SqlState::PROGRAM_LIMIT_EXCEEDED, message));
        }
        Ok(None)
    }

    /// The last line of the data may lack its end; on a shard other rows follow it.
    fn ended(&self, record: Bytes) -> Bytes {
        if self.format == CopyFormat::Binary
            || record
                .last()
                .is_some_and(|byte| matches!(byte, b'\n' | b'\r'))
        {
            return record;
        }
        let mut whole = BytesMut::from(record);
        whole.extend_from_slice(b"\n");
        whole.freeze()
    }

    fn is_end(&self, record: &Bytes) -> bool {
        match self.format {
            CopyFormat::Binary => **record == [0xff, 0xff],
            CopyFormat::Text { .. } | CopyFormat::Csv { .. } => {
                let line = record.strip_suffix(b"\n").unwrap_or(record);
                line.strip_suffix(b"\r").unwrap_or(line) == b"\\."
            }
        }
    }

    /// How long a last record without an end is.
    fn rest(&self) -> Result<usize, Diagnostic> {
        // PostgreSQL takes half a count of fields for the end, but not half a row.
        match self.format {
            CopyFormat::Binary if self.buffer.len() >= 2 && !self.needs_header => {
                Err(malformed("unexpected EOF in COPY data"))
            }
            CopyFormat::Binary => Ok(0),
            CopyFormat::Text { .. } | CopyFormat::Csv { .. } => Ok(self.buffer.len()),
        }
    }

    fn text_length(&mut self) -> Result<Place, Diagnostic> {
        while let Some(&byte) = self.buffer.get(self.seen) {
            self.seen += 1;
            match byte {
                b'.' if self.is_escaped => match self.marker()? {
                    Some(place) => return Ok(place),
                    None => self.is_escaped = false,
                },
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'\n' | b'\r' => return self.line_end(byte, "literal"),
                _ => {}
            }
        }
        Ok(Place::Unknown)
    }

    /// What `\.` before `seen` is: the end of the data, after what stands before it on its line.
    fn marker(&mut self) -> Result<Option<Place>, Diagnostic> {
        let start = self.seen - 2;
        match self.buffer.get(self.seen) {
            // Where a line end follows, the line itself is found to be the marker.
            Some(b'\n' | b'\r') if start == 0 => Ok(None),
            Some(b'\n' | b'\r') => Ok(Some(Place::Marker(start))),
            Some(_) => Err(malformed("end-of-copy marker corrupt")),
            None => {
                self.seen -= 1;
                Ok(Some(Place::Unknown))
            }
        }
    }

    fn csv_length(&mut self, quote: u8, escape: u8) -> Result<Place, Diagnostic> {
        while let Some(&byte) = self.buffer.get(self.seen) {
            self.seen += 1;
            if self.is_escaped {
                self.is_escaped = false;
                continue;
            }
            if self.is_quoted && byte == escape && escape != quote {
                self.is_escaped = true;
            } else if byte == quote {
                // A doubled quote ends and begins again, which comes to the same.
                self.is_quoted = !self.is_quoted;
            } else if matches!(byte, b'\n' | b'\r') && !self.is_quoted {
                return self.line_end(byte, "unquoted");
            }
        }
        Ok(Place::Unknown)
    }

    /// Where the line ends whose end begins with this byte, which is the last that was seen. Each shard sees some of
    /// the lines only, so that lines that end differently are found here or nowhere.
    fn line_end(&mut self, byte: u8, how: &str) -> Result<Place, Diagnostic> {
        let found = match (byte, self.buffer.get(self.seen)) {
            (b'\n', _) => LineEnd::Feed,
            // The line feed may still be on its way.
            (_, None) => {
                self.seen -= 1;
                return Ok(Place::Unknown);
            }
            (_, Some(b'\n')) => LineEnd::ReturnFeed,
            (_, Some(_)) => LineEnd::Return,
        };
        let wanted = *self.line_end.get_or_insert(found);
        let (is_right, length) = match found {
            // Lines that end with a return alone may be empty.
            LineEnd::ReturnFeed if wanted == LineEnd::Return => (true, self.seen),
            LineEnd::ReturnFeed => (wanted == found, self.seen + 1),
            LineEnd::Feed | LineEnd::Return => (wanted == found, self.seen),
        };
        if is_right {
            return Ok(Place::End(length));
        }
        let what = match found {
            LineEnd::Feed => "newline",
            LineEnd::Return | LineEnd::ReturnFeed => "carriage return",
        };
        Err(malformed(&format!("{how} {what} found in data")))
    }

    fn binary_length(&self) -> Result<Option<usize>, Diagnostic> {
        if self.needs_header {
            let Some(extension) = self.buffer.get(15..BINARY_HEADER_BYTES) else {
                return Ok(None);
            };
            let mut extension = extension;
            let length = extension.get_u32() as usize + BINARY_HEADER_BYTES;
            return Ok((self.buffer.len() >= length).then_some(length));
        }
        let Some(mut count) = self.buffer.get(..2) else {
            return Ok(None);
        };
        let (count, mut at) = (count.get_i16(), 2);
        for _ in 0..count.max(0) {
            let Some(mut length) = self.buffer.get(at..at + 4) else {
                return Ok(None);
            };
            let length = length.get_i32();
            if length < -1 {
                return Err(malformed("invalid field size"));
            }
            at += 4 + usize::try_from(length).unwrap_or(0);
        }
        Ok((self.buffer.len() >= at).then_some(at))
    }
}

fn malformed(message: &str) -> Diagnostic {
    Diagnostic::error(SqlState::BAD_COPY_FILE_FORMAT, message)
}

#[cfg(test)]
mod tests;
