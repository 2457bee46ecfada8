//! Exact decimals as PostgreSQL's `numeric` has them: read from text and binary, compared, added, written.
//!
//! Digits are kept as decimal digits, since values are compared and added here a few times per request,
//! never multiplied. Invariant: no leading zero before the point; zero is never negative.

use std::cmp::Ordering;
use std::fmt;

/// PostgreSQL's bound on digits before the point.
const INTEGER_DIGITS_MAX: usize = 131_072;
/// PostgreSQL's bound on digits after the point.
const SCALE_MAX: usize = 16_383;

/// A value of type `numeric`, with its display scale.
#[derive(Debug, Clone)]
pub enum Decimal {
    /// Not a number: equal to itself and greater than all else.
    NaN,
    /// Infinity, of either sign.
    Infinity {
        /// Whether it is the negative one.
        negative: bool,
    },
    /// A number.
    Finite(Digits),
}

/// The digits of a finite number.
#[derive(Debug, Clone, Default)]
pub struct Digits {
    negative: bool,
    /// Digits (0 to 9) before the point, the most significant first.
    integer: Vec<u8>,
    /// Digits after the point; their count is the display scale.
    fraction: Vec<u8>,
}

/// Why text or bytes are no `numeric`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecimalError {
    /// PostgreSQL refuses it.
    #[error("not a numeric value")]
    Malformed,
    /// Only some versions of PostgreSQL take it, or it is out of bounds that differ between them.
    #[error("a numeric value that this program leaves to PostgreSQL")]
    Undecided,
}

// === impl Decimal ===

impl Decimal {
    /// Reads what `numeric_in` reads.
    ///
    /// # Errors
    /// PostgreSQL refuses it, or not every version agrees.
    pub fn parse(text: &str) -> Result<Self, DecimalError> {
        let text = trim(text);
        let (negative, unsigned) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if text.eq_ignore_ascii_case("nan") {
            return Ok(Self::NaN);
        }
        if unsigned.eq_ignore_ascii_case("infinity") || unsigned.eq_ignore_ascii_case("inf") {
            return Ok(Self::Infinity { negative });
        }
        Digits::parse(unsigned, negative).map(Self::Finite)
    }

    /// Reads what `numeric_recv` reads.
    ///
    /// # Errors
    /// The bytes are no `numeric`.
    pub fn from_binary(bytes: &[u8]) -> Result<Self, DecimalError> {
        let word = |at: usize| -> Result<i16, DecimalError> {
            let pair = bytes
                .get(2 * at..2 * at + 2)
                .ok_or(DecimalError::Malformed)?;
            Ok(i16::from_be_bytes([pair[0], pair[1]]))
        };
        let (count, weight, sign, scale) = (word(0)?, word(1)?, word(2)?, word(3)?);
        let (Ok(count), Ok(scale)) = (usize::try_from(count), usize::try_from(scale)) else {
            return Err(DecimalError::Malformed);
        };
        if bytes.len() != 8 + 2 * count || scale > SCALE_MAX {
            return Err(DecimalError::Malformed);
        }
        match sign.cast_unsigned() {
            0x0000 | 0x4000 => {}
            0xC000 => return Ok(Self::NaN),
            0xD000 => return Ok(Self::Infinity { negative: false }),
            0xF000 => return Ok(Self::Infinity { negative: true }),
            _ => return Err(DecimalError::Malformed),
        }
        let mut groups = Vec::with_capacity(count);
        for at in 0..count {
            let group = word(4 + at)?;
            if !(0..10_000).contains(&group) {
                return Err(DecimalError::Malformed);
            }
            groups.push(group);
        }
        Ok(Self::Finite(Digits::from_groups(
            &groups,
            weight,
            scale,
            sign != 0,
        )))
    }

    /// Writes what `numeric_send` writes.
    pub fn to_binary(&self, out: &mut Vec<u8>) {
        let mut put = |words: &[u16]| words.iter().for_each(|w| out.extend(w.to_be_bytes()));
        match self {
            Self::NaN => put(&[0, 0, 0xC000, 0]),
            // PostgreSQL reads a scale of 32 out of an infinity's header, and sends it.
            Self::Infinity { negative: false } => put(&[0, 0, 0xD000, 32]),
            Self::Infinity { negative: true } => put(&[0, 0, 0xF000, 32]),
            Self::Finite(digits) => {
                let (groups, weight) = digits.groups();
                let count = u16::try_from(groups.len()).unwrap_or(u16::MAX);
                let sign = if digits.negative { 0x4000 } else { 0 };
                let scale = u16::try_from(digits.fraction.len()).unwrap_or(u16::MAX);
                put(&[count, weight.cast_unsigned(), sign, scale]);
                put(&groups);
            }
        }
    }

    /// The text that is hashed: no exponent, no trailing zeros, no trailing point.
    #[must_use]
    pub fn canonical(&self) -> String {
        match self {
            Self::Finite(digits) => {
                let kept = digits
                    .fraction
                    .iter()
                    .rposition(|d| *d != 0)
                    .map_or(0, |at| at + 1);
                digits.text(kept)
            }
            _ => self.to_string(),
        }
    }

    /// The value as an integer, if it is one and fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        let Self::Finite(digits) = self else {
            return None;
        };
        if digits.integer.len() > 19 || digits.fraction.iter().any(|d| *d != 0) {
            return None;
        }
        let size = digits
            .integer
            .iter()
            .fold(0i128, |sum, d| sum * 10 + i128::from(*d));
        i64::try_from(if digits.negative { -size } else { size }).ok()
    }

    /// The number of digits after the point that it is shown with.
    #[must_use]
    pub fn scale(&self) -> usize {
        match self {
            Self::Finite(digits) => digits.fraction.len(),
            _ => 0,
        }
    }

    /// The number of digits before the point.
    #[must_use]
    pub fn integer_digits(&self) -> usize {
        match self {
            Self::Finite(digits) => digits.integer.len(),
            _ => 0,
        }
    }

    /// Whether it is neither NaN nor infinite.
    #[must_use]
    pub fn is_finite(&self) -> bool {
        matches!(self, Self::Finite(_))
    }

    /// The sum, with the greater of the two scales, as PostgreSQL adds.
    #[must_use]
    pub fn add(&self, other: &Self) -> Self {
        match (self, other) {
            (Self::NaN, _) | (_, Self::NaN) => Self::NaN,
            (Self::Infinity { negative: a }, Self::Infinity { negative: b }) if a != b => Self::NaN,
            (Self::Infinity { negative }, _) | (_, Self::Infinity { negative }) => Self::Infinity {
                negative: *negative,
            },
            (Self::Finite(a), Self::Finite(b)) => Self::Finite(a.add(b)),
        }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        let digits = value
            .unsigned_abs()
            .to_string()
            .bytes()
            .map(|c| c - b'0')
            .collect();
        Self::Finite(Digits::new(value < 0, digits, Vec::new()))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        // PostgreSQL's order: -Infinity, the numbers, Infinity, NaN.
        let rank = |value: &Self| match value {
            Self::Infinity { negative: true } => 0,
            Self::Finite(_) => 1,
            Self::Infinity { negative: false } => 2,
            Self::NaN => 3,
        };
        match (self, other) {
            (Self::Finite(a), Self::Finite(b)) => a.compare(b),
            _ => rank(self).cmp(&rank(other)),
        }
    }
}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Decimal {}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NaN => f.write_str("NaN"),
            Self::Infinity { negative: false } => f.write_str("Infinity"),
            Self::Infinity { negative: true } => f.write_str("-Infinity"),
            Self::Finite(digits) => f.write_str(&digits.text(digits.fraction.len())),
        }
    }
}

// === impl Digits ===

impl Digits {
    fn new(negative: bool, mut integer: Vec<u8>, fraction: Vec<u8>) -> Self {
        let zeros = integer.iter().take_while(|d| **d == 0).count();
        integer.drain(..zeros);
        let zero = integer.is_empty() && fraction.iter().all(|d| *d == 0);
        Self {
            negative: negative && !zero,
            integer,
            fraction,
        }
    }

    fn parse(text: &str, negative: bool) -> Result<Self, DecimalError> {
        let bytes = text.as_bytes();
        // Hexadecimal, octal and binary integers and underscores are read from PostgreSQL 16 on.
        if bytes.contains(&b'_') || has_radix_prefix(bytes) {
            return Err(DecimalError::Undecided);
        }
        let (mantissa, exponent) = match text.find(['e', 'E']) {
            Some(at) => (&text[..at], parse_exponent(&text[at + 1..])?),
            None => (text, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all_digits = |part: &str| part.bytes().all(|c| c.is_ascii_digit());
        if integer.len() + fraction.len() == 0 || !all_digits(integer) || !all_digits(fraction) {
            return Err(DecimalError::Malformed);
        }
        let value = |part: &str| part.bytes().map(|c| c - b'0').collect::<Vec<u8>>();
        let (mut integer, mut fraction) = (value(integer), value(fraction));
        shift(&mut integer, &mut fraction, exponent)?;
        let digits = Self::new(negative, integer, fraction);
        if digits.integer.len() > INTEGER_DIGITS_MAX || digits.fraction.len() > SCALE_MAX {
            return Err(DecimalError::Undecided);
        }
        Ok(digits)
    }

    /// From groups of four digits; the first group counts 10000^weight.
    fn from_groups(groups: &[i16], weight: i16, scale: usize, negative: bool) -> Self {
        let group = |at: i32| -> [u8; 4] {
            let index = usize::try_from(at).ok();
            let value = index
                .and_then(|at| groups.get(at))
                .copied()
                .unwrap_or(0)
                .cast_unsigned();
            [1000, 100, 10, 1].map(|unit| u8::try_from(value / unit % 10).unwrap_or(0))
        };
        let weight = i32::from(weight);
        let integer = (0..=weight).flat_map(group).collect();
        let needed = i32::try_from(scale.div_ceil(4)).unwrap_or(0);
        let mut fraction: Vec<u8> = (weight + 1..=weight + needed).flat_map(group).collect();
        fraction.truncate(scale);
        Self::new(negative, integer, fraction)
    }

    /// The groups of four digits without leading and trailing zero groups, and the first one's weight.
    fn groups(&self) -> (Vec<u16>, i16) {
        let pad = (4 - self.integer.len() % 4) % 4;
        let mut digits = vec![0; pad];
        digits.extend(&self.integer);
        let mut weight = i16::try_from(digits.len() / 4).unwrap_or(i16::MAX) - 1;
        digits.extend(&self.fraction);
        digits.resize(digits.len().next_multiple_of(4), 0);
        let value = |four: &[u8]| four.iter().fold(0, |sum, d| sum * 10 + u16::from(*d));
        let mut groups: Vec<u16> = digits.chunks(4).map(value).collect();
        while groups.last() == Some(&0) {
            groups.pop();
        }
        let zeros = groups.iter().take_while(|group| **group == 0).count();
        groups.drain(..zeros);
        weight -= i16::try_from(zeros).unwrap_or(0);
        if groups.is_empty() {
            (groups, 0)
        } else {
            (groups, weight)
        }
    }

    fn text(&self, scale: usize) -> String {
        let mut text = String::with_capacity(self.integer.len() + scale + 2);
        if self.negative {
            text.push('-');
        }
        if self.integer.is_empty() {
            text.push('0');
        }
        text.extend(self.integer.iter().map(|d| char::from(b'0' + d)));
        if scale > 0 {
            text.push('.');
            text.extend(
                self.fraction
                    .iter()
                    .take(scale)
                    .map(|d| char::from(b'0' + d)),
            );
        }
        text
    }

    fn compare_size(&self, other: &Self) -> Ordering {
        let length = self.fraction.len().max(other.fraction.len());
        let padded = |digits: &Self, at: usize| digits.fraction.get(at).copied().unwrap_or(0);
        self.integer
            .len()
            .cmp(&other.integer.len())
            .then_with(|| self.integer.cmp(&other.integer))
            .then_with(|| {
                (0..length)
                    .map(|i| padded(self, i))
                    .cmp((0..length).map(|i| padded(other, i)))
            })
    }

    fn compare(&self, other: &Self) -> Ordering {
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => self.compare_size(other),
            (true, true) => other.compare_size(self),
        }
    }

    fn add(&self, other: &Self) -> Self {
        let scale = self.fraction.len().max(other.fraction.len());
        let (large, small) = if self.compare_size(other).is_lt() {
            (other, self)
        } else {
            (self, other)
        };
        let length = large.integer.len() + scale;
        let mut digits = vec![0; length + 1];
        let mut carry = 0i8;
        for place in 0..length {
            let (a, b) = (large.digit(place, scale), small.digit(place, scale));
            let sum = if large.negative == small.negative {
                a + b + carry
            } else {
                a - b + carry
            };
            carry = sum.div_euclid(10);
            digits[length - place] = sum.rem_euclid(10).cast_unsigned();
        }
        digits[0] = carry.cast_unsigned();
        let fraction = digits.split_off(length + 1 - scale);
        Self::new(large.negative, digits, fraction)
    }

    /// The digit at a place counted from the right end of a number with `scale` digits after the point.
    fn digit(&self, place: usize, scale: usize) -> i8 {
        let digit = if place < scale {
            self.fraction.get(scale - 1 - place)
        } else {
            let from_point = place - scale;
            self.integer
                .len()
                .checked_sub(from_point + 1)
                .and_then(|at| self.integer.get(at))
        };
        digit.copied().unwrap_or(0).cast_signed()
    }
}

/// Moves the point `exponent` places to the right.
fn shift(integer: &mut Vec<u8>, fraction: &mut Vec<u8>, exponent: i32) -> Result<(), DecimalError> {
    let places = usize::try_from(exponent.unsigned_abs()).unwrap_or(usize::MAX);
    if places > INTEGER_DIGITS_MAX {
        return Err(DecimalError::Undecided);
    }
    if exponent >= 0 {
        fraction.resize(fraction.len().max(places), 0);
        integer.extend(fraction.drain(..places));
    } else {
        let missing = places.saturating_sub(integer.len());
        let mut moved = vec![0; missing];
        moved.extend(integer.drain((integer.len() + missing) - places..));
        moved.append(fraction);
        *fraction = moved;
    }
    Ok(())
}

fn parse_exponent(text: &str) -> Result<i32, DecimalError> {
    // Up to PostgreSQL 15 the exponent is read by C's strtol, which skips space before it.
    if trim(text) != text {
        return Err(DecimalError::Undecided);
    }
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|c| c.is_ascii_digit()) {
        return Err(DecimalError::Malformed);
    }
    text.parse()
        .map_err(|_out_of_range| DecimalError::Undecided)
}

/// Whether the text begins like an integer in another base.
pub(crate) fn has_radix_prefix(unsigned: &[u8]) -> bool {
    matches!(
        unsigned,
        [b'0', b'x' | b'X' | b'o' | b'O' | b'b' | b'B', ..]
    )
}

/// Removes what C's `isspace` calls space.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c'])
}

#[cfg(test)]
mod tests;
