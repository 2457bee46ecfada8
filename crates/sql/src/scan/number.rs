//! Numbers. PostgreSQL 16's rules: underscores between digits, `0x`, `0o`, `0b`; a letter that follows at once is junk.

use super::{TokenKind, is_word_byte, is_word_start, word_end};

/// Cuts the number that begins at `start`: a digit, or a point before a digit.
pub(super) fn number(text: &[u8], start: usize) -> (TokenKind, usize) {
    if text[start] == b'0'
        && let Some(end) = radix(text, start)
    {
        return finish(text, TokenKind::Integer, end);
    }
    let mut kind = TokenKind::Integer;
    let mut end = digits(text, start, u8::is_ascii_digit);
    if text.get(end) == Some(&b'.') && text.get(end + 1) != Some(&b'.') {
        kind = TokenKind::Decimal;
        end = digits(text, end + 1, u8::is_ascii_digit);
    } else if text.get(end) == Some(&b'.') {
        // `1..10`: the number ends before the two points.
        return (kind, end);
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = end + 1 + sign;
        if text.get(exponent).is_some_and(u8::is_ascii_digit) {
            kind = TokenKind::Decimal;
            end = digits(text, exponent, u8::is_ascii_digit);
        } else {
            return (TokenKind::Invalid, exponent);
        }
    }
    finish(text, kind, end)
}

/// A number that runs into a word is junk. So is one whose own end could be a word (`0x1F`, `1e5`, `1_0`) before a dollar
/// sign, since the word would go on.
fn finish(text: &[u8], kind: TokenKind, end: usize) -> (TokenKind, usize) {
    let junk = match text.get(end) {
        Some(b'$') => text[..end]
            .iter()
            .rev()
            .take_while(|byte| is_word_byte(**byte))
            .any(|byte| is_word_start(*byte)),
        Some(&byte) => is_word_start(byte),
        None => false,
    };
    if junk {
        (TokenKind::Invalid, word_end(text, end))
    } else {
        (kind, end)
    }
}

/// `0x1F` and its kin, when at least one digit is there.
fn radix(text: &[u8], start: usize) -> Option<usize> {
    let is_digit: fn(&u8) -> bool = match text.get(start + 1)? {
        b'x' | b'X' => u8::is_ascii_hexdigit,
        b'o' | b'O' => |byte| matches!(byte, b'0'..=b'7'),
        b'b' | b'B' => |byte| matches!(byte, b'0' | b'1'),
        _ => return None,
    };
    let end = digits(text, start + 2, is_digit);
    (end > start + 2).then_some(end)
}

/// Digits with single underscores before them, after the first.
fn digits(text: &[u8], start: usize, is_digit: fn(&u8) -> bool) -> usize {
    let mut end = start;
    loop {
        let underscore =
            usize::from(end > 0 && text.get(end) == Some(&b'_') && is_word_byte(text[end - 1]));
        match text.get(end + underscore) {
            Some(byte) if is_digit(byte) => end += underscore + 1,
            _ => return end,
        }
    }
}
