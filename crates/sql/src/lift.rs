//! The short road: take the literals out of a text, so that texts of one shape share a plan.
//!
//! A shape is the text with each stretch of white space and comments folded to one space, each plain literal replaced by a
//! marker for its class, and a last semicolon left off. Literals of one class have one type in PostgreSQL, whatever their
//! value. A literal whose class could depend on a sign before it, or that is written in a rare way, stays in the shape.
//!
//! Invariants: two texts with one shape have trees that differ in the lifted literals only; a marker can't be mistaken
//! for text, since control characters stand inside quotes only; nothing is allocated once the buffers are warm. Which
//! literals are free is not known here (`LIMIT 1`, `ORDER BY 1`, `interval '1' year` are shapes too): whoever caches by
//! shape compares the literals that are not.

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use crate::ast::Span;
use crate::parse::ParseOptions;
use crate::scan::{Scanner, Token, TokenKind};

/// What kind of literal was lifted; each has one type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum LiteralClass {
    /// A whole number that fits int4.
    Int4 = 1,
    /// A whole number that fits int8.
    Int8 = 2,
    /// Any other number: numeric.
    Number = 3,
    /// `'...'` without backslash escapes.
    String = 4,
    /// A string with backslash escapes, all of them plain ones.
    EscapeString = 5,
    /// `B'...'`.
    Bits = 6,
    /// `X'...'`.
    HexBits = 7,
}

/// Where a literal was lifted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Its class.
    pub class: LiteralClass,
    /// Its token.
    pub span: Span,
}

/// A literal as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal<'a> {
    /// Its class.
    pub class: LiteralClass,
    /// Its token's text.
    pub raw: &'a str,
}

/// A text without its literals. Reused from text to text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lifted {
    shape: Vec<u8>,
    slots: Vec<Slot>,
    hash: u64,
    max_param: u32,
    multiple: bool,
    valid: bool,
}

impl Lifted {
    /// Empty buffers.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The shape: bytes to compare, not to show.
    #[must_use]
    pub fn shape(&self) -> &[u8] {
        &self.shape
    }

    /// A hash of the shape, the same in every process. It is not keyed: compare shapes too.
    #[must_use]
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// The lifted literals in text order.
    #[must_use]
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// A lifted literal, given the text that was lifted from.
    #[must_use]
    pub fn literal<'a>(&self, text: &'a str, index: usize) -> Option<Literal<'a>> {
        let slot = self.slots.get(index)?;
        Some(Literal {
            class: slot.class,
            raw: text.get(slot.span.start as usize..slot.span.end as usize)?,
        })
    }

    /// Index of the slot whose token begins at `offset`, as [`crate::ast::Const::token`] tells.
    #[must_use]
    pub fn slot_at(&self, offset: u32) -> Option<usize> {
        self.slots
            .binary_search_by_key(&offset, |slot| slot.span.start)
            .ok()
    }

    /// The largest `$n`; 0 without parameters.
    #[must_use]
    pub fn max_param(&self) -> u32 {
        self.max_param
    }

    /// Whether something follows a semicolon.
    #[must_use]
    pub fn is_multiple(&self) -> bool {
        self.multiple
    }

    /// Whether PostgreSQL's lexer takes the text. If not, the shape is of no use.
    #[must_use]
    pub fn is_valid(&self) -> bool {
        self.valid
    }

    /// Whether there was no token at all.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shape.is_empty()
    }

    fn clear(&mut self) {
        self.shape.clear();
        self.slots.clear();
        self.max_param = 0;
        self.multiple = false;
        self.valid = true;
    }

    fn add(&mut self, token: Token, text: &str) {
        let raw = token.text(text);
        let class = match token.kind {
            TokenKind::Integer => integer_class(raw),
            TokenKind::Decimal if !raw.contains('_') => Some(LiteralClass::Number),
            TokenKind::String => is_plain(&raw[1..]).then_some(LiteralClass::String),
            TokenKind::EscapeString => escape_class(raw),
            TokenKind::BitString => is_plain(&raw[2..]).then_some(LiteralClass::Bits),
            TokenKind::HexString => is_plain(&raw[2..]).then_some(LiteralClass::HexBits),
            TokenKind::Param => {
                self.param(raw);
                None
            }
            TokenKind::Invalid => {
                self.valid = false;
                None
            }
            _ => None,
        };
        if let Some(class) = class {
            self.shape.push(class as u8);
            self.slots.push(Slot {
                class,
                span: token.span,
            });
        } else {
            self.shape.extend_from_slice(raw.as_bytes());
        }
    }

    fn param(&mut self, raw: &str) {
        match raw[1..].parse::<u32>() {
            Ok(number) if number <= i32::MAX.cast_unsigned() => {
                self.max_param = self.max_param.max(number);
            }
            _ => self.valid = false,
        }
    }
}

/// Takes the literals out of `text`, in one pass.
pub fn lift(text: &str, options: ParseOptions, into: &mut Lifted) {
    into.clear();
    let mut end = 0;
    let mut semicolons = 0;
    for token in Scanner::new(text, options.standard_conforming_strings) {
        if token.is_punctuation(text, ";") {
            semicolons += 1;
            continue;
        }
        if semicolons > 0 {
            into.multiple |= !into.shape.is_empty();
            into.shape.push(b';');
            semicolons = 0;
        }
        if token.span.start > end && !into.shape.is_empty() {
            into.shape.push(b' ');
        }
        into.add(token, text);
        if !into.valid {
            break;
        }
        end = token.span.end;
    }
    into.hash = twox_hash::XxHash3_64::oneshot(&into.shape);
}

/// The class of a whole number in plain decimal digits. 2147483648 and 9223372036854775808 have none: with a minus before
/// them they are of the smaller type.
fn integer_class(raw: &str) -> Option<LiteralClass> {
    const INT4: u128 = i32::MAX as u128;
    const INT8: u128 = i64::MAX as u128;
    let mut value = 0_u128;
    for byte in raw.bytes() {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value
            .saturating_mul(10)
            .saturating_add(u128::from(byte - b'0'));
    }
    if value <= INT4 {
        Some(LiteralClass::Int4)
    } else if value == INT4 + 1 || value == INT8 + 1 {
        None
    } else if value <= INT8 {
        Some(LiteralClass::Int8)
    } else {
        Some(LiteralClass::Number)
    }
}

/// Whether a string (without its opening quote) is in one piece: each quote inside is doubled.
fn is_plain(rest: &str) -> bool {
    let inside = &rest.as_bytes()[..rest.len() - 1];
    let mut position = 0;
    while let Some(length) = memchr::memchr(b'\'', &inside[position..]) {
        position += length;
        if inside.get(position + 1) != Some(&b'\'') {
            return false;
        }
        position += 2;
    }
    true
}

/// The class of `E'...'`, or of `'...'` where backslashes are escapes; `None` when an escape is by number or is `\v`
/// (which versions of PostgreSQL read differently), or when the string is in several pieces.
fn escape_class(raw: &str) -> Option<LiteralClass> {
    let bytes = raw.as_bytes();
    let prefix = usize::from(bytes[0] != b'\'');
    let inside = &bytes[prefix + 1..bytes.len() - 1];
    let mut escapes = prefix > 0;
    let mut position = 0;
    while let Some(length) = memchr::memchr2(b'\'', b'\\', &inside[position..]) {
        position += length;
        match (inside[position], inside.get(position + 1)?) {
            (b'\'', b'\'') => {}
            (b'\\', b'0'..=b'9' | b'x' | b'u' | b'U' | b'v' | 0x80..) => return None,
            (b'\\', _) => escapes = true,
            _ => return None,
        }
        position += 2;
    }
    Some(if escapes {
        LiteralClass::EscapeString
    } else {
        LiteralClass::String
    })
}

impl<'a> Literal<'a> {
    /// What the literal says: a string without quotes and escapes, a bit string with its leading `b` or `x`, a number's
    /// digits.
    #[must_use]
    pub fn value(&self) -> Cow<'a, str> {
        match self.class {
            LiteralClass::Int4 | LiteralClass::Int8 | LiteralClass::Number => {
                Cow::Borrowed(self.raw)
            }
            LiteralClass::String => undouble(inside(self.raw)),
            LiteralClass::EscapeString => unescape(inside(self.raw)),
            LiteralClass::Bits => Cow::Owned(format!("b{}", inside(self.raw))),
            LiteralClass::HexBits => Cow::Owned(format!("x{}", inside(self.raw))),
        }
    }
}

/// What is between a literal's first and last quote.
fn inside(raw: &str) -> &str {
    raw.split_once('\'')
        .and_then(|(_, rest)| rest.strip_suffix('\''))
        .unwrap_or(raw)
}

fn undouble(inside: &str) -> Cow<'_, str> {
    if inside.contains('\'') {
        Cow::Owned(inside.replace("''", "'"))
    } else {
        Cow::Borrowed(inside)
    }
}

fn unescape(inside: &str) -> Cow<'_, str> {
    if !inside.contains(['\'', '\\']) {
        return Cow::Borrowed(inside);
    }
    let mut out = String::with_capacity(inside.len());
    let mut chars = inside.chars();
    while let Some(char) = chars.next() {
        match char {
            '\'' => {
                chars.next();
                out.push('\'');
            }
            '\\' => out.extend(chars.next().map(|escaped| match escaped {
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                other => other,
            })),
            other => out.push(other),
        }
    }
    Cow::Owned(out)
}
