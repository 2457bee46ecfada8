//! PostgreSQL's lexer by hand: a text becomes tokens with their places, and every byte that is not in a token is white
//! space or a comment.
//!
//! Invariant: tokens are cut exactly where PostgreSQL 18 cuts them (its rules for numbers, operators, quotes, continuation
//! over a new line, and comments). What PostgreSQL's lexer refuses comes out as [`TokenKind::Invalid`], and nothing after
//! it is to be trusted.

mod number;
mod quote;
#[cfg(test)]
mod tests;

use crate::ast;

/// What a token is. Keywords are [`TokenKind::Word`]s: which of them are reserved is the grammar's business.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TokenKind {
    /// An unquoted identifier or a keyword.
    Word,
    /// `"identifier"`.
    QuotedWord,
    /// `U&"identifier"`; an `UESCAPE` clause is tokens of its own.
    UnicodeWord,
    /// `'string'` in which backslashes are ordinary.
    String,
    /// `E'string'`, or `'string'` where `standard_conforming_strings` is off.
    EscapeString,
    /// `U&'string'`; an `UESCAPE` clause is tokens of its own.
    UnicodeString,
    /// `$tag$string$tag$`.
    DollarString,
    /// `B'0101'`.
    BitString,
    /// `X'1f'`.
    HexString,
    /// Digits, without point and exponent; `0x1F`, `0o17`, `0b11` too.
    Integer,
    /// A number with a point or an exponent.
    Decimal,
    /// `$1`.
    Param,
    /// An operator, also one that is a single character.
    Operator,
    /// `( ) [ ] , ; : .` and `::`, `..`, `:=`.
    Punctuation,
    /// What the lexer refuses: an unterminated quote or comment, junk after a number, a character without meaning.
    Invalid,
}

/// A token and its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it lies, in bytes.
    pub span: ast::Span,
}

impl Token {
    /// Its text, given the text that was scanned.
    #[must_use]
    pub fn text<'a>(&self, source: &'a str) -> &'a str {
        source
            .get(self.span.start as usize..self.span.end as usize)
            .unwrap_or("")
    }

    /// Whether it is this keyword, in any case.
    #[must_use]
    pub fn is_word(&self, source: &str, word: &str) -> bool {
        self.kind == TokenKind::Word && self.text(source).eq_ignore_ascii_case(word)
    }

    /// Whether it is this punctuation.
    #[must_use]
    pub fn is_punctuation(&self, source: &str, punctuation: &str) -> bool {
        self.kind == TokenKind::Punctuation && self.text(source) == punctuation
    }
}

/// An iterator over the tokens of a text.
#[derive(Clone, Debug)]
pub struct Scanner<'a> {
    text: &'a [u8],
    position: usize,
    standard_conforming_strings: bool,
}

impl<'a> Scanner<'a> {
    /// Starts at the beginning of `text`, which must be shorter than 4 GiB. `standard_conforming_strings` is the session's
    /// setting: off, a backslash in `'...'` is an escape.
    #[must_use]
    pub fn new(text: &'a str, standard_conforming_strings: bool) -> Self {
        Self {
            text: text.as_bytes(),
            position: 0,
            standard_conforming_strings,
        }
    }

    /// One past the last byte that was looked at.
    #[must_use]
    pub fn position(&self) -> usize {
        self.position
    }
}

/// All tokens of a text.
#[must_use]
pub fn tokens(text: &str, standard_conforming_strings: bool) -> Vec<Token> {
    Scanner::new(text, standard_conforming_strings).collect()
}

/// The text with blanks for the comments between the pieces of strings, byte for byte as long. PostgreSQL allows such
/// comments; the parser that we use does not. `None` when there are none.
pub(crate) fn without_comments_in_strings(text: &str, tokens: &[Token]) -> Option<String> {
    let mut changed: Option<String> = None;
    for token in tokens {
        let escapes = match token.kind {
            TokenKind::String
            | TokenKind::BitString
            | TokenKind::HexString
            | TokenKind::UnicodeString => false,
            TokenKind::EscapeString => true,
            _ => continue,
        };
        let raw = token.text(text);
        if !raw.contains("--") || !raw.contains(['\n', '\r']) {
            continue;
        }
        let quote = token.span.start as usize + raw.find('\'').unwrap_or(0);
        let end = token.span.end as usize;
        for (start, end) in quote::comments(text.as_bytes(), quote, end, escapes) {
            changed
                .get_or_insert_with(|| text.to_owned())
                .replace_range(start..end, &" ".repeat(end - start));
        }
    }
    changed
}

impl Iterator for Scanner<'_> {
    type Item = Token;

    #[inline]
    fn next(&mut self) -> Option<Token> {
        let start = match skip_trivia(self.text, self.position) {
            Ok(start) => start,
            Err(start) => {
                self.position = self.text.len();
                return Some(token(TokenKind::Invalid, start, self.text.len()));
            }
        };
        self.position = start;
        let first = *self.text.get(start)?;
        let (kind, end) = self.cut(start, first);
        self.position = end;
        Some(token(kind, start, end))
    }
}

fn token(kind: TokenKind, start: usize, end: usize) -> Token {
    Token {
        kind,
        span: ast::Span {
            start: offset(start),
            end: offset(end),
        },
    }
}

/// A place in the text; texts of 4 GiB and more are refused long before.
pub(crate) fn offset(place: usize) -> u32 {
    u32::try_from(place).unwrap_or(u32::MAX)
}

impl Scanner<'_> {
    #[inline]
    fn cut(&self, start: usize, first: u8) -> (TokenKind, usize) {
        let second = self.text.get(start + 1).copied().unwrap_or(0);
        match CLASS[usize::from(first)] {
            Class::Letter => (TokenKind::Word, word_end(self.text, start + 1)),
            Class::Prefix => self.prefixed(start, first | 0x20, second),
            Class::Digit => number::number(self.text, start),
            Class::Quote => self.plain_string(start),
            Class::DoubleQuote => {
                quote::until(self.text, start + 1, b'"', TokenKind::QuotedWord, false)
            }
            Class::Dollar => quote::dollar(self.text, start),
            Class::Operator => self.operator(start),
            Class::Dot if second.is_ascii_digit() => number::number(self.text, start),
            Class::Dot if second == b'.' => (TokenKind::Punctuation, start + 2),
            Class::Colon if second == b':' || second == b'=' => (TokenKind::Punctuation, start + 2),
            Class::Dot | Class::Colon | Class::Punctuation => (TokenKind::Punctuation, start + 1),
            Class::Space | Class::Other => (TokenKind::Invalid, start + 1),
        }
    }

    /// `e'`, `b'`, `x'`, `u&'`, `u&"` or a word that begins with one of these letters. `n'...'` is two tokens, as in
    /// PostgreSQL: the keyword NCHAR spelt `n`, and a string.
    fn prefixed(&self, start: usize, letter: u8, second: u8) -> (TokenKind, usize) {
        let text = self.text;
        match (letter, second, text.get(start + 2).copied()) {
            (b'e', b'\'', _) => quote::escape(text, start + 2),
            (b'b', b'\'', _) => quote::until(text, start + 2, b'\'', TokenKind::BitString, true),
            (b'x', b'\'', _) => quote::until(text, start + 2, b'\'', TokenKind::HexString, true),
            (b'u', b'&', Some(b'\'')) if self.standard_conforming_strings => {
                quote::until(text, start + 3, b'\'', TokenKind::UnicodeString, true)
            }
            (b'u', b'&', Some(b'\'')) => (TokenKind::Invalid, text.len()),
            (b'u', b'&', Some(b'"')) => {
                quote::until(text, start + 3, b'"', TokenKind::UnicodeWord, false)
            }
            _ => (TokenKind::Word, word_end(text, start + 1)),
        }
    }

    fn plain_string(&self, start: usize) -> (TokenKind, usize) {
        if self.standard_conforming_strings {
            quote::until(self.text, start + 1, b'\'', TokenKind::String, true)
        } else {
            quote::escape(self.text, start + 1)
        }
    }

    /// Operators are as long as they can be, except that a comment's beginning cuts them, and that a trailing plus or
    /// minus is left off unless one of the characters that standard SQL has no operators of is inside.
    fn operator(&self, start: usize) -> (TokenKind, usize) {
        let rest = &self.text[start..];
        let mut length = rest
            .iter()
            .position(|&byte| !matches!(CLASS[usize::from(byte)], Class::Operator))
            .unwrap_or(rest.len());
        for at in 1..length {
            if matches!(&rest[at..(at + 2).min(rest.len())], b"--" | b"/*") {
                length = at;
                break;
            }
        }
        let special = |byte: &u8| b"~!@#^&|`?%".contains(byte);
        if !rest[..length].iter().any(special) {
            while length > 1 && matches!(rest[length - 1], b'+' | b'-') {
                length -= 1;
            }
        }
        let kind = if length < MAX_NAME {
            TokenKind::Operator
        } else {
            TokenKind::Invalid
        };
        (kind, start + length)
    }
}

/// `NAMEDATALEN`: an operator must be shorter.
const MAX_NAME: usize = 64;

/// Where the word that continues at `position` ends.
#[inline]
fn word_end(text: &[u8], mut position: usize) -> usize {
    while let Some(&byte) = text.get(position) {
        if !is_word_byte(byte) {
            break;
        }
        position += 1;
    }
    position
}

pub(crate) fn is_word_byte(byte: u8) -> bool {
    matches!(
        CLASS[usize::from(byte)],
        Class::Letter | Class::Prefix | Class::Digit | Class::Dollar
    )
}

pub(crate) fn is_word_start(byte: u8) -> bool {
    matches!(CLASS[usize::from(byte)], Class::Letter | Class::Prefix)
}

/// Where the next token begins, or the end; `Err` with the beginning of a comment that has no end.
#[inline]
fn skip_trivia(text: &[u8], mut position: usize) -> Result<usize, usize> {
    while let Some(&byte) = text.get(position) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => position += 1,
            b'-' if text.get(position + 1) == Some(&b'-') => {
                position = line_end(text, position + 2);
            }
            b'/' if text.get(position + 1) == Some(&b'*') => {
                position = block_comment_end(text, position)?;
            }
            _ => break,
        }
    }
    Ok(position)
}

fn line_end(text: &[u8], from: usize) -> usize {
    text.get(from..)
        .and_then(|rest| memchr::memchr2(b'\n', b'\r', rest))
        .map_or(text.len(), |length| from + length)
}

fn block_comment_end(text: &[u8], start: usize) -> Result<usize, usize> {
    let mut depth = 1_usize;
    let mut position = start + 2;
    while let Some(step) = text
        .get(position..)
        .and_then(|rest| memchr::memchr2(b'*', b'/', rest))
    {
        position += step;
        match (text[position], text.get(position + 1)) {
            (b'/', Some(b'*')) => {
                depth += 1;
                position += 2;
            }
            (b'*', Some(b'/')) => {
                depth -= 1;
                position += 2;
            }
            _ => position += 1,
        }
        if depth == 0 {
            return Ok(position);
        }
    }
    Err(start)
}

#[derive(Clone, Copy)]
enum Class {
    Space,
    Letter,
    Prefix,
    Digit,
    Quote,
    DoubleQuote,
    Dollar,
    Operator,
    Dot,
    Colon,
    Punctuation,
    Other,
}

static CLASS: [Class; 256] = classes();

const fn classes() -> [Class; 256] {
    let mut table = [Class::Other; 256];
    let mut byte = 0;
    while byte < 256 {
        #[expect(clippy::cast_possible_truncation, reason = "the loop ends at 255")]
        let value = byte as u8;
        table[byte] = match value {
            b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c => Class::Space,
            b'e' | b'E' | b'b' | b'B' | b'x' | b'X' | b'u' | b'U' => Class::Prefix,
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80..=0xff => Class::Letter,
            b'0'..=b'9' => Class::Digit,
            b'\'' => Class::Quote,
            b'"' => Class::DoubleQuote,
            b'$' => Class::Dollar,
            b'~' | b'!' | b'@' | b'#' | b'^' | b'&' | b'|' | b'`' | b'?' | b'+' | b'-' | b'*'
            | b'/' | b'%' | b'<' | b'>' | b'=' => Class::Operator,
            b'.' => Class::Dot,
            b':' => Class::Colon,
            b',' | b'(' | b')' | b'[' | b']' | b';' => Class::Punctuation,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
}
