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

/// Takes every whole record; the message of an error.
fn drained(splitter: &mut Splitter, is_last: bool) -> Option<String> {
    loop {
        match splitter.next(is_last) {
            Ok(Some(_)) => {}
            Ok(None) => return None,
            Err(error) => return Some(error.message),
        }
    }
}

/// The message with which data is refused, in pieces of every size.
fn refuses(format: CopyFormat, data: &[u8], expected: &str) {
    for size in 1..=data.len() {
        let mut splitter = Splitter::new(format, false);
        let mut found = None;
        let last = std::iter::once(([].as_slice(), true));
        for (piece, is_last) in data.chunks(size).map(|piece| (piece, false)).chain(last) {
            splitter.feed(Bytes::copy_from_slice(piece));
            let error = drained(&mut splitter, is_last);
            found = found.or(error);
        }
        assert_eq!(found.as_deref(), Some(expected), "in pieces of {size}");
    }
}

#[test]
fn all_lines_end_alike() {
    refuses(text(), b"1\ta\r2\tb\n", "literal newline found in data");
    refuses(text(), b"1\n2\r\n", "literal carriage return found in data");
    refuses(text(), b"1\r\n2\n", "literal newline found in data");
    refuses(
        text(),
        b"1\r\n2\rx\r\n",
        "literal carriage return found in data",
    );
    let csv = format_of("csv");
    refuses(
        csv,
        b"1\n\"\r\"\r\n",
        "unquoted carriage return found in data",
    );
}

#[test]
fn a_marker_behind_data_ends_it() {
    check(text(), false, b"1\n2\\.\n3\n", &[b"1\n", b"2\n"]);
    check(text(), false, b"1\\\\.\n3\n", &[b"1\\\\.\n", b"3\n"]);
    refuses(text(), b"1\n2\\.x\n", "end-of-copy marker corrupt");
    refuses(text(), b"\\.x\n", "end-of-copy marker corrupt");
}

#[test]
fn half_a_binary_row_is_no_end() {
    let header = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
    let with = |tail: &[u8]| [header.as_slice(), tail].concat();
    let cut = "unexpected EOF in COPY data";
    refuses(CopyFormat::Binary, &with(b"\0\x01\0\0\0\x05ab"), cut);
    refuses(CopyFormat::Binary, &with(b"\0\x01\x7f\xff\xff\xffab"), cut);
    refuses(CopyFormat::Binary, &with(b"\0\x01"), cut);
    check(CopyFormat::Binary, false, &with(b"\0"), &[header]);
    let more = "received copy data after EOF marker";
    refuses(CopyFormat::Binary, &with(b"\xff\xff\0"), more);
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
