//! Everything between quotes.

use super::{TokenKind, is_word_start, line_end, word_end};

/// Cuts up to the closing quote; a doubled quote is one inside. Strings go on after a new line when `continues`.
pub(super) fn until(
    text: &[u8],
    from: usize,
    quote: u8,
    kind: TokenKind,
    continues: bool,
) -> (TokenKind, usize) {
    let mut position = from;
    loop {
        let Some(length) = text
            .get(position..)
            .and_then(|rest| memchr::memchr(quote, rest))
        else {
            return (TokenKind::Invalid, text.len());
        };
        position += length + 1;
        let doubles = !matches!(kind, TokenKind::BitString | TokenKind::HexString);
        if doubles && text.get(position) == Some(&quote) {
            position += 1;
            continue;
        }
        match continuation(text, position).filter(|_| continues) {
            Some(next) => position = next,
            None if !continues && position == from + 1 => return (TokenKind::Invalid, position),
            None => return (kind, position),
        }
    }
}

/// Cuts a string with backslash escapes.
pub(super) fn escape(text: &[u8], from: usize) -> (TokenKind, usize) {
    let mut position = from;
    while let Some(length) = text
        .get(position..)
        .and_then(|rest| memchr::memchr2(b'\'', b'\\', rest))
    {
        position += length;
        if text[position] == b'\\' {
            position += 2;
            continue;
        }
        position += 1;
        if text.get(position) == Some(&b'\'') {
            position += 1;
            continue;
        }
        match continuation(text, position) {
            Some(next) => position = next,
            None => return (TokenKind::EscapeString, position),
        }
    }
    (TokenKind::Invalid, text.len())
}

/// A string goes on behind white space that holds a new line, and comments to the end of the line, when a quote follows.
/// Answers where the rest of the string begins.
pub(crate) fn continuation(text: &[u8], from: usize) -> Option<usize> {
    let mut position = from;
    let mut new_line = false;
    loop {
        match text.get(position)? {
            b'\n' | b'\r' => {
                new_line = true;
                position += 1;
            }
            b' ' | b'\t' | 0x0b | 0x0c => position += 1,
            b'-' if text.get(position + 1) == Some(&b'-') => {
                position = line_end(text, position + 2);
            }
            b'\'' if new_line => return Some(position + 1),
            _ => return None,
        }
    }
}

/// `$1`, or `$tag$ ... $tag$`.
pub(super) fn dollar(text: &[u8], start: usize) -> (TokenKind, usize) {
    let after = start + 1;
    let end = match text.get(after) {
        Some(byte) if byte.is_ascii_digit() => return param(text, after),
        Some(b'$') => after,
        Some(&byte) if is_word_start(byte) => tag_end(text, after),
        _ => return (TokenKind::Invalid, after),
    };
    if text.get(end) != Some(&b'$') {
        return (TokenKind::Invalid, after);
    }
    let delimiter = &text[start..=end];
    match memchr::memmem::find(&text[end + 1..], delimiter) {
        Some(length) => (TokenKind::DollarString, end + 1 + length + delimiter.len()),
        None => (TokenKind::Invalid, text.len()),
    }
}

/// A tag is a word without dollar signs.
fn tag_end(text: &[u8], from: usize) -> usize {
    let word = &text[from..word_end(text, from)];
    from + memchr::memchr(b'$', word).unwrap_or(word.len())
}

/// PostgreSQL refuses a letter at once behind the digits; the parser that we ask first takes it for a word of its own.
fn param(text: &[u8], from: usize) -> (TokenKind, usize) {
    let end = text[from..]
        .iter()
        .position(|byte| !byte.is_ascii_digit())
        .map_or(text.len(), |length| from + length);
    (TokenKind::Param, end)
}

/// Comments between the pieces of the string that ends at `end` and whose first quote is at `quote`.
pub(super) fn comments(
    text: &[u8],
    quote: usize,
    end: usize,
    escapes: bool,
) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut position = quote + 1;
    while position < end {
        match text[position] {
            b'\\' if escapes => position += 2,
            b'\'' if text.get(position + 1) == Some(&b'\'') => position += 2,
            b'\'' => match continuation(text, position + 1) {
                Some(next) => {
                    found.extend(comments_between(text, position + 1, next));
                    position = next;
                }
                None => break,
            },
            _ => position += 1,
        }
    }
    found
}

/// Comments in the white space before a string's next piece.
fn comments_between(text: &[u8], mut position: usize, end: usize) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    while position < end {
        if text[position] == b'-' {
            let stop = line_end(text, position);
            found.push((position, stop));
            position = stop;
        } else {
            position += 1;
        }
    }
    found
}
