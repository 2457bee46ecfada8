//! Rows as COPY's text format, in pieces.

use std::fmt;

/// How large a piece gets before it is handed out.
const PIECE_BYTES: usize = 64 << 10;

/// Makes the rows of one step.
type Step = Box<dyn Fn(u64, &mut Rows) + Send>;

/// A table to be loaded: the COPY statement, and its data piece by piece.
pub struct Table {
    /// The table's name.
    pub name: &'static str,
    /// How many steps its data take; a step makes some rows.
    pub steps: u64,
    columns: &'static str,
    make: Step,
    at: u64,
}

/// Rows being written.
#[derive(Debug, Default)]
pub(crate) struct Rows {
    bytes: Vec<u8>,
    in_row: bool,
}

// === impl Table ===

impl Table {
    pub(crate) fn new(
        name: &'static str,
        columns: &'static str,
        steps: u64,
        make: impl Fn(u64, &mut Rows) + Send + 'static,
    ) -> Self {
        Self {
            name,
            steps,
            columns,
            make: Box::new(make),
            at: 0,
        }
    }

    /// The statement that takes the data.
    #[must_use]
    pub fn copy_statement(&self) -> String {
        format!("COPY {} ({}) FROM STDIN", self.name, self.columns)
    }

    /// Steps done, of [`Table::steps`].
    #[must_use]
    pub fn steps_done(&self) -> u64 {
        self.at
    }
}

impl Iterator for Table {
    type Item = Vec<u8>;

    fn next(&mut self) -> Option<Vec<u8>> {
        let mut rows = Rows::default();
        while self.at < self.steps && rows.bytes.len() < PIECE_BYTES {
            (self.make)(self.at, &mut rows);
            self.at += 1;
        }
        // A step may make no row, so an empty piece is not the end before the last step.
        (self.at < self.steps || !rows.bytes.is_empty()).then_some(rows.bytes)
    }
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("name", &self.name)
            .field("at", &self.at)
            .finish_non_exhaustive()
    }
}

// === impl Rows ===

impl Rows {
    /// Adds a column.
    pub(crate) fn put(&mut self, value: impl fmt::Display) -> &mut Self {
        self.separate();
        for byte in value.to_string().bytes() {
            match byte {
                b'\\' => self.bytes.extend(b"\\\\"),
                b'\t' => self.bytes.extend(b"\\t"),
                b'\n' => self.bytes.extend(b"\\n"),
                b'\r' => self.bytes.extend(b"\\r"),
                other => self.bytes.push(other),
            }
        }
        self
    }

    /// Adds a column that may be NULL.
    pub(crate) fn put_or_null(&mut self, value: Option<impl fmt::Display>) -> &mut Self {
        if let Some(value) = value {
            return self.put(value);
        }
        self.separate();
        self.bytes.extend(b"\\N");
        self
    }

    /// Ends the row.
    pub(crate) fn end(&mut self) {
        self.bytes.push(b'\n');
        self.in_row = false;
    }

    fn separate(&mut self) {
        if self.in_row {
            self.bytes.push(b'\t');
        }
        self.in_row = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_break_the_format_is_escaped() {
        let mut rows = Rows::default();
        rows.put("a\tb\\c\nd").put_or_null(None::<u8>).put(5).end();
        assert_eq!(rows.bytes, b"a\\tb\\\\c\\nd\t\\N\t5\n");
    }

    #[test]
    fn pieces_are_bounded_and_complete() {
        let mut table = Table::new("t", "n", 100_000, |at, rows| rows.put(at).end());
        let mut lines = 0;
        for piece in &mut table {
            assert!(piece.len() <= PIECE_BYTES + 16);
            lines += String::from_utf8(piece).unwrap().lines().count();
        }
        assert_eq!(lines, 100_000);
        assert_eq!(table.steps_done(), 100_000);
    }
}
