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
    /// The end marker has come: what follows is ignored.
    is_over: bool,
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
            is_over: false,
        }
    }

    /// Takes more data.
    pub(super) fn feed(&mut self, data: Bytes) {
        if self.is_over {
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
            return Ok(None);
        }
        let length = match self.format {
            CopyFormat::Binary => self.binary_length()?,
            CopyFormat::Text { .. } => self.text_length(),
            CopyFormat::Csv { quote, escape, .. } => self.csv_length(quote, escape),
        };
        let length = match length {
            None if is_last && !self.buffer.is_empty() && self.format != CopyFormat::Binary => {
                Some(self.buffer.len())
            }
            other => other,
        };
        let Some(length) = length else {
            return self.unfinished();
        };
        (self.seen, self.is_quoted, self.is_escaped) = (0, false, false);
        let record = self.buffer.split_to(length).freeze();
        if std::mem::take(&mut self.needs_header) {
            return Ok(Some(Record::Prelude(record)));
        }
        if self.is_end(&record) {
            self.is_over = true;
            self.buffer.clear();
            return Ok(None);
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

    fn text_length(&mut self) -> Option<usize> {
        while let Some(&byte) = self.buffer.get(self.seen) {
            self.seen += 1;
            match byte {
                _ if self.is_escaped => self.is_escaped = false,
                b'\\' => self.is_escaped = true,
                b'\n' => return Some(self.seen),
                b'\r' => match self.buffer.get(self.seen) {
                    // The line feed may still be on its way.
                    None => {
                        self.seen -= 1;
                        return None;
                    }
                    Some(b'\n') => {}
                    Some(_) => return Some(self.seen),
                },
                _ => {}
            }
        }
        None
    }

    fn csv_length(&mut self, quote: u8, escape: u8) -> Option<usize> {
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
            } else if byte == b'\n' && !self.is_quoted {
                return Some(self.seen);
            } else if byte == b'\r' && !self.is_quoted {
                match self.buffer.get(self.seen) {
                    None => {
                        self.seen -= 1;
                        return None;
                    }
                    Some(b'\n') => {}
                    Some(_) => return Some(self.seen),
                }
            }
        }
        None
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
                let message = "invalid field size";
                return Err(Diagnostic::error(SqlState::BAD_COPY_FILE_FORMAT, message));
            }
            at += 4 + usize::try_from(length).unwrap_or(0);
        }
        Ok((self.buffer.len() >= at).then_some(at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text() -> CopyFormat {
        format_of("text")
    }

    fn format_of(name: &str) -> CopyFormat {
        match name {
            "csv" => CopyFormat::Csv {
                delimiter: b',',
                quote: b'"',
                escape: b'"',
                null: plan::CopyNull::new("").unwrap(),
            },
            "binary" => CopyFormat::Binary,
            _ => CopyFormat::Text {
                delimiter: b'\t',
                null: plan::CopyNull::new("\\N").unwrap(),
            },
        }
    }

    /// Feeds the data in pieces of every size: the records are the same.
    fn check(format: CopyFormat, has_header: bool, data: &[u8], expected: &[&[u8]]) {
        for size in 1..=data.len() {
            let mut splitter = Splitter::new(format, has_header);
            let mut records = Vec::new();
            for piece in data.chunks(size) {
                splitter.feed(Bytes::copy_from_slice(piece));
                while let Some(record) = splitter.next(false).unwrap() {
                    records.push(record);
                }
            }
            while let Some(record) = splitter.next(true).unwrap() {
                records.push(record);
            }
            let found: Vec<_> = records
                .iter()
                .map(|record| match record {
                    Record::Prelude(bytes) | Record::Row(bytes) => bytes.to_vec(),
                })
                .collect();
            assert_eq!(found, expected, "in pieces of {size}");
            let first_is_prelude = matches!(records.first(), Some(Record::Prelude(_)));
            assert_eq!(first_is_prelude, has_header || format == CopyFormat::Binary);
        }
    }

    #[test]
    fn text_lines_end_where_no_backslash_stands_before() {
        check(
            text(),
            false,
            b"1\ta\n2\tb\\\nc\n3\\\\\n",
            &[b"1\ta\n", b"2\tb\\\nc\n", b"3\\\\\n"],
        );
        check(text(), false, b"1\r\n2\r\n", &[b"1\r\n", b"2\r\n"]);
        check(text(), false, b"1\n2", &[b"1\n", b"2\n"]);
        check(text(), false, b"1\n\\.\n2\n", &[b"1\n"]);
    }

    #[test]
    fn csv_lines_end_outside_quotes() {
        let csv = format_of("csv");
        check(
            csv,
            true,
            b"a,b\n1,\"x\ny\"\n2,\"q\"\"\n\"\n",
            &[b"a,b\n", b"1,\"x\ny\"\n", b"2,\"q\"\"\n\"\n"],
        );
    }

    #[test]
    fn binary_rows_are_counted_out() {
        let mut data = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0".to_vec();
        let row: &[u8] = b"\0\x02\0\0\0\x01x\xff\xff\xff\xff";
        data.extend_from_slice(row);
        data.extend_from_slice(row);
        let header = data[..19].to_vec();
        data.extend_from_slice(b"\xff\xff");
        check(CopyFormat::Binary, false, &data, &[&header, row, row]);
    }
}
