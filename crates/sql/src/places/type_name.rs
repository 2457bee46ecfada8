//! Where the name of a type ends.

use super::Places;
use crate::scan::TokenKind;

impl Places<'_> {
    /// Index behind the type whose name begins at token `index`; `None` for intervals with fields and other rare forms.
    pub(super) fn after_type(&self, index: usize) -> Option<usize> {
        let is = |at, word| self.source.is_word(at, word);
        let first = self.source.get(index)?;
        if !matches!(first.kind, TokenKind::Word | TokenKind::QuotedWord) || is(index, "setof") {
            return None;
        }
        let mut next = self.source.after_name(index);
        if next == index + 1 && first.kind == TokenKind::Word {
            if is(index, "double") {
                next += usize::from(is(next, "precision"));
            } else if is(index, "national") {
                return None;
            } else if is(index, "bit")
                || is(index, "character")
                || is(index, "char")
                || is(index, "nchar")
            {
                next += usize::from(is(next, "varying"));
            }
        }
        next = self.source.after_brackets(next);
        if is(index, "interval")
            && self
                .source
                .get(next)
                .is_some_and(|token| token.kind == TokenKind::Word)
        {
            return self.interval_end(next);
        }
        if (is(index, "time") || is(index, "timestamp"))
            && (is(next, "with") || is(next, "without"))
            && is(next + 1, "time")
            && is(next + 2, "zone")
        {
            next += 3;
        }
        Some(self.after_dimensions(next))
    }

    /// `interval` may be followed by fields; any other word is not the type's.
    fn interval_end(&self, next: usize) -> Option<usize> {
        let fields = ["year", "month", "day", "hour", "minute", "second"];
        let field = fields.iter().any(|word| self.source.is_word(next, word));
        (!field).then(|| self.after_dimensions(next))
    }

    /// `[3][]`, or `ARRAY[3]`.
    fn after_dimensions(&self, mut next: usize) -> usize {
        if self.source.is_word(next, "array") {
            next += 1;
        }
        while self.source.is(next, "[") {
            match self.source.partner(next) {
                Some(close) => next = close + 1,
                None => break,
            }
        }
        next
    }
}
