//! The fields of one record, decoded only as far as somebody asks.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};
use plan::CopyFormat;

/// Where the fields of the record at hand lie.
#[derive(Debug)]
pub(super) struct Fields {
    format: CopyFormat,
    values: Vec<Option<Vec<u8>>>,
}

impl Fields {
    pub(super) fn new(format: CopyFormat) -> Self {
        Self {
            format,
            values: Vec::new(),
        }
    }

    /// Reads a record.
    pub(super) fn read(&mut self, record: &Bytes) {
        self.values.clear();
        match self.format {
            CopyFormat::Binary => read_binary(record, &mut self.values),
            CopyFormat::Text { delimiter, null } => {
                read_text(
                    line_of(record),
                    delimiter,
                    null.as_bytes(),
                    &mut self.values,
                );
            }
            CopyFormat::Csv {
                delimiter,
                quote,
                escape,
                null,
            } => {
                let marks = (delimiter, quote, escape);
                read_csv(line_of(record), marks, null.as_bytes(), &mut self.values);
            }
        }
    }

    /// Field `at`: outer `None` if there is none, inner `None` for NULL.
    #[expect(
        clippy::option_option,
        reason = "no field and NULL are two things to COPY"
    )]
    pub(super) fn get(&self, at: usize) -> Option<Option<&[u8]>> {
        self.values.get(at).map(Option::as_deref)
    }

    /// Field `at` as text; `None` for NULL, for none, and for what is no text.
    pub(super) fn text(&self, at: usize) -> Option<String> {
        let bytes = self.get(at)??;
        String::from_utf8(bytes.to_vec()).ok()
    }
}

/// A record without its line end.
fn line_of(record: &[u8]) -> &[u8] {
    let line = record.strip_suffix(b"\n").unwrap_or(record);
    line.strip_suffix(b"\r").unwrap_or(line)
}

fn read_binary(record: &[u8], values: &mut Vec<Option<Vec<u8>>>) {
    let mut rest = record;
    if rest.len() < 2 {
        return;
    }
    for _ in 0..rest.get_i16().max(0) {
        if rest.len() < 4 {
            return;
        }
        match usize::try_from(rest.get_i32()) {
            Err(_) => values.push(None),
            Ok(length) => {
                values.push(rest.get(..length).map(<[u8]>::to_vec));
                rest.advance(length.min(rest.len()));
            }
        }
    }
}

fn read_text(line: &[u8], delimiter: u8, null: &[u8], values: &mut Vec<Option<Vec<u8>>>) {
    let mut start = 0;
    let mut at = 0;
    loop {
        match line.get(at) {
            Some(b'\\') => at += 2,
            Some(byte) if *byte != delimiter => at += 1,
            end => {
                let raw = &line[start..at.min(line.len())];
                values.push((raw != null).then(|| unescape(raw)));
                if end.is_none() {
                    return;
                }
                at += 1;
                start = at;
            }
        }
    }
}

/// Takes the backslash escapes of the text format out.
fn unescape(raw: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        let Some((&next, after)) = rest.split_first() else {
            out.push(b'\\');
            break;
        };
        rest = after;
        match next {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let value = number(u32::from(next - b'0'), &mut rest, 8, 2);
                out.push(value.to_le_bytes()[0]);
            }
            b'x' if rest.first().is_some_and(u8::is_ascii_hexdigit) => {
                let value = number(0, &mut rest, 16, 2);
                out.push(value.to_le_bytes()[0]);
            }
            other => out.push(other),
        }
    }
    out
}

/// Reads up to `digits_max` more digits.
fn number(mut value: u32, rest: &mut &[u8], radix: u32, digits_max: usize) -> u32 {
    for _ in 0..digits_max {
        let Some(digit) = rest
            .first()
            .and_then(|byte| char::from(*byte).to_digit(radix))
        else {
            break;
        };
        value = value * radix + digit;
        *rest = &rest[1..];
    }
    value
}

fn read_csv(
    line: &[u8],
    (delimiter, quote, escape): (u8, u8, u8),
    null: &[u8],
    values: &mut Vec<Option<Vec<u8>>>,
) {
    let (mut value, mut was_quoted, mut in_quotes, mut at) = (Vec::new(), false, false, 0);
    loop {
        let byte = line.get(at).copied();
        at += 1;
        match byte {
            Some(byte) if in_quotes => {
                let next = line.get(at).copied();
                if byte == escape && next.is_some_and(|next| next == quote || next == escape) {
                    value.extend(next);
                    at += 1;
                } else if byte == quote {
                    in_quotes = false;
                } else {
                    value.push(byte);
                }
            }
            Some(byte) if byte == quote => {
                in_quotes = true;
                was_quoted = true;
            }
            Some(byte) if byte != delimiter => value.push(byte),
            end => {
                let is_null = !was_quoted && value == null;
                let done = std::mem::take(&mut value);
                values.push((!is_null).then_some(done));
                if end.is_none() {
                    return;
                }
                was_quoted = false;
            }
        }
    }
}

/// Writes a record with more fields at its end.
pub(super) fn append(
    out: &mut BytesMut,
    record: &[u8],
    format: CopyFormat,
    added: &[Option<String>],
) {
    let line = line_of(record);
    match format {
        CopyFormat::Text { delimiter, null } => {
            out.put_slice(line);
            for value in added {
                out.put_u8(delimiter);
                match value {
                    None => out.put_slice(null.as_bytes()),
                    Some(text) => escape_text(out, text.as_bytes(), delimiter),
                }
            }
        }
        CopyFormat::Csv {
            delimiter,
            quote,
            escape,
            null,
        } => {
            out.put_slice(line);
            for value in added {
                out.put_u8(delimiter);
                match value {
                    None => out.put_slice(null.as_bytes()),
                    Some(text) => {
                        quote_csv(out, text.as_bytes(), quote, escape);
                    }
                }
            }
        }
        // The planner adds nothing to binary rows.
        CopyFormat::Binary => return out.put_slice(record),
    }
    out.put_slice(&record[line.len()..]);
}

fn quote_csv(out: &mut BytesMut, text: &[u8], quote: u8, escape: u8) {
    out.put_u8(quote);
    for &byte in text {
        if byte == quote || byte == escape {
            out.put_u8(escape);
        }
        out.put_u8(byte);
    }
    out.put_u8(quote);
}

fn escape_text(out: &mut BytesMut, text: &[u8], delimiter: u8) {
    for &byte in text {
        match byte {
            b'\n' => out.put_slice(b"\\n"),
            b'\r' => out.put_slice(b"\\r"),
            b'\\' => out.put_slice(b"\\\\"),
            byte if byte == delimiter => out.put_slice(&[b'\\', byte]),
            byte => out.put_u8(byte),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(format: CopyFormat, record: &str) -> Vec<Option<String>> {
        let mut fields = Fields::new(format);
        fields.read(&Bytes::copy_from_slice(record.as_bytes()));
        (0..fields.values.len()).map(|at| fields.text(at)).collect()
    }

    fn some(texts: &[&str]) -> Vec<Option<String>> {
        texts.iter().map(|text| Some((*text).to_owned())).collect()
    }

    #[test]
    fn text_fields_are_unescaped() {
        let text = CopyFormat::Text {
            delimiter: b'\t',
            null: plan::CopyNull::new("\\N").unwrap(),
        };
        assert_eq!(
            read(text, "1\ta\\tb\t\\101\\x41\n"),
            some(&["1", "a\tb", "AA"])
        );
        assert_eq!(read(text, "\\N\t\n"), [None, Some(String::new())]);
        assert_eq!(read(text, "a\\\tb\r\n"), some(&["a\tb"]));
    }

    #[test]
    fn csv_fields_are_unquoted() {
        let null = plan::CopyNull::new("").unwrap();
        let csv = CopyFormat::Csv {
            delimiter: b',',
            quote: b'"',
            escape: b'"',
            null,
        };
        assert_eq!(
            read(csv, "1,\"a,\"\"b\"\"\",x\n"),
            some(&["1", "a,\"b\"", "x"])
        );
        assert_eq!(read(csv, ",\"\"\n"), [None, Some(String::new())]);
    }

    #[test]
    fn fields_are_added_before_the_line_end() {
        let text = CopyFormat::Text {
            delimiter: b'\t',
            null: plan::CopyNull::new("\\N").unwrap(),
        };
        let mut out = BytesMut::new();
        append(&mut out, b"1\ta\r\n", text, &[Some("7".into()), None]);
        assert_eq!(&out[..], b"1\ta\t7\t\\N\r\n");
    }
}
