//! Reading the text columns of a catalog query.

use std::str::FromStr;

use super::LoadError;

/// One row of a named query.
pub(crate) struct Row<'a> {
    pub(crate) query: &'static str,
    pub(crate) values: &'a [Option<String>],
}

impl Row<'_> {
    /// A text; NULL is the empty one.
    pub(crate) fn text(&self, at: usize) -> &str {
        self.optional(at).unwrap_or("")
    }

    /// A text or NULL.
    pub(crate) fn optional(&self, at: usize) -> Option<&str> {
        self.values.get(at).and_then(Option::as_deref)
    }

    /// A boolean.
    pub(crate) fn flag(&self, at: usize) -> bool {
        self.text(at) == "t"
    }

    /// A `"char"` column's letter; a blank where it is empty.
    pub(crate) fn letter(&self, at: usize) -> char {
        self.text(at).chars().next().unwrap_or(' ')
    }

    /// A number.
    pub(crate) fn number<T: FromStr>(&self, at: usize) -> Result<T, LoadError> {
        self.text(at).parse().map_err(|_not_one| self.malformed(at))
    }

    /// An OID; NULL is 0.
    pub(crate) fn oid(&self, at: usize) -> Result<pg::Oid, LoadError> {
        match self.optional(at) {
            None => Ok(pg::Oid::INVALID),
            Some(_) => self.number(at).map(pg::Oid),
        }
    }

    /// Numbers between blanks; NULL is none.
    pub(crate) fn numbers<T: FromStr>(&self, at: usize) -> Result<Vec<T>, LoadError> {
        let words = self.text(at).split_ascii_whitespace();
        words
            .map(|word| word.parse().map_err(|_not_one| self.malformed(at)))
            .collect()
    }

    /// OIDs between blanks; NULL is none.
    pub(crate) fn oids(&self, at: usize) -> Result<Vec<pg::Oid>, LoadError> {
        Ok(self.numbers(at)?.into_iter().map(pg::Oid).collect())
    }

    /// A text array; NULL is the empty one.
    pub(crate) fn texts(&self, at: usize) -> Result<Vec<String>, LoadError> {
        match self.optional(at) {
            None => Ok(Vec::new()),
            Some(array) => text_array(array).ok_or_else(|| self.malformed(at)),
        }
    }

    pub(crate) fn malformed(&self, at: usize) -> LoadError {
        LoadError::Malformed {
            query: self.query,
            column: at,
        }
    }
}

/// Reads a one-dimensional array without NULLs as PostgreSQL prints it.
fn text_array(array: &str) -> Option<Vec<String>> {
    let inner = array.strip_prefix('{')?.strip_suffix('}')?;
    let mut elements = Vec::new();
    let mut letters = inner.chars().peekable();
    while letters.peek().is_some() {
        let mut element = String::new();
        let quoted = letters.next_if_eq(&'"').is_some();
        loop {
            match letters.next() {
                Some('\\') => element.push(letters.next()?),
                Some('"') if quoted => {
                    letters.next_if_eq(&',');
                    break;
                }
                Some(',') | None if !quoted => break,
                Some(letter) => element.push(letter),
                None => return None,
            }
        }
        elements.push(element);
    }
    Some(elements)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_read_as_printed() {
        assert_eq!(text_array("{}"), Some(vec![]));
        assert_eq!(text_array("{a,b}"), Some(vec!["a".into(), "b".into()]));
        assert_eq!(
            text_array(r#"{"lower(a, 'x')","\"q\\",c}"#),
            Some(vec!["lower(a, 'x')".into(), "\"q\\".into(), "c".into()])
        );
        assert_eq!(text_array("{\"a"), None);
        assert_eq!(text_array("a"), None);
    }
}
