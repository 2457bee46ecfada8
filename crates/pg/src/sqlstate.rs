//! SQLSTATEs. The constants are generated from PostgreSQL's own list.

use std::fmt;

use crate::generated::sqlstate::NAMES;

/// A five-character SQLSTATE. Codes that PostgreSQL's list doesn't name are carried as they are.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// The SQLSTATE with this code. Characters other than ASCII letters and digits are not checked here,
    /// since only constants call it; text from outside goes through [`SqlState::parse`].
    #[must_use]
    pub const fn from_code(code: [u8; 5]) -> Self {
        Self(code)
    }

    /// Reads a code of five ASCII capitals or digits.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Self> {
        let code: [u8; 5] = text.try_into().ok()?;
        code.iter()
            .all(|c| c.is_ascii_digit() || c.is_ascii_uppercase())
            .then_some(Self(code))
    }

    /// The code as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// The first two characters: the class.
    #[must_use]
    pub fn class(&self) -> &str {
        self.as_str().get(..2).unwrap_or("XX")
    }

    /// PostgreSQL's condition name, e.g. `unique_violation`.
    #[must_use]
    pub fn condition(&self) -> Option<&'static str> {
        let at = NAMES.binary_search_by(|row| row.0.cmp(self)).ok()?;
        NAMES.get(at).map(|row| row.1)
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_and_names_come_from_the_list() {
        assert_eq!(SqlState::UNIQUE_VIOLATION.as_str(), "23505");
        assert_eq!(
            SqlState::UNIQUE_VIOLATION.condition(),
            Some("unique_violation")
        );
        assert_eq!(SqlState::FEATURE_NOT_SUPPORTED.class(), "0A");
        assert!(NAMES.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }

    #[test]
    fn only_capitals_and_digits_are_read() {
        assert_eq!(
            SqlState::parse(b"08P01"),
            Some(SqlState::PROTOCOL_VIOLATION)
        );
        assert_eq!(SqlState::parse(b"08p01"), None);
        assert_eq!(SqlState::parse(b"08P0"), None);
    }
}
