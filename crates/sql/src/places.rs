//! Where things stand that a rewriting wants to change, found among the tokens.
//!
//! Invariant: a place is exact or `None`. The tree says what is there; the tokens say where; where the two disagree there
//! is no answer.

mod clause;
mod expr;
#[cfg(test)]
mod tests;
mod type_name;

pub use clause::Clauses;

use crate::ast::{Insert, Select, Span, TableRef, Target};
use crate::parse::ParseOptions;
use crate::scan;
use crate::source::Source;

/// The tokens of a text, for finding places in it.
pub struct Places<'t> {
    source: Source<'t>,
}

/// Where an `INSERT` names its columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsertColumns {
    /// The list, its brackets included.
    List(Span),
    /// No list: one can be inserted here, in brackets, with a blank before it.
    Missing(u32),
}

impl<'t> Places<'t> {
    /// Scans a text.
    #[must_use]
    pub fn new(text: &'t str, options: ParseOptions) -> Self {
        let tokens = scan::tokens(text, options.standard_conforming_strings);
        Self {
            source: Source::new(text, tokens),
        }
    }

    /// The text of a span.
    #[must_use]
    pub fn text(&self, span: Span) -> &'t str {
        self.source.text_of(span)
    }

    /// A table's name as written, qualifiers included, alias and `ONLY` not.
    #[must_use]
    pub fn table_name(&self, table: &TableRef) -> Option<Span> {
        let first = self.source.at(table.name.location?)?;
        self.between(first, self.source.after_name(first))
    }

    /// The select list, from its first entry to its end.
    #[must_use]
    pub fn select_list(&self, select: &Select) -> Option<Span> {
        let first = self.source.at(select.targets.first()?.location?)?;
        self.between(first, self.list_end(first))
    }

    /// Each entry of a select list or of `RETURNING`, its alias included.
    #[must_use]
    pub fn targets(&self, targets: &[Target]) -> Option<Vec<Span>> {
        let mut spans = Vec::with_capacity(targets.len());
        for (index, target) in targets.iter().enumerate() {
            let first = self.source.at(target.location?)?;
            let end = match targets.get(index + 1) {
                // The comma is the last token before the next entry.
                Some(next) => self.source.at(next.location?)?.checked_sub(1)?,
                None => self.list_end(first),
            };
            spans.push(self.between(first, end)?);
        }
        Some(spans)
    }

    /// The list of `RETURNING`, from its first entry to its end.
    #[must_use]
    pub fn returning_list(&self, returning: &[Target]) -> Option<Span> {
        let first = self.source.at(returning.first()?.location?)?;
        self.between(first, self.list_end(first))
    }

    /// The column list of an `INSERT`, or where it would stand.
    #[must_use]
    pub fn insert_columns(&self, insert: &Insert) -> Option<InsertColumns> {
        let first = self.source.at(insert.table.name.location?)?;
        let mut index = self.source.after_name(first);
        if self.source.is_word(index, "as") {
            index += 2;
        }
        if insert.columns.is_empty() {
            let last = self.source.get(index.checked_sub(1)?)?;
            return Some(InsertColumns::Missing(last.span.end));
        }
        let close = self.source.after_brackets(index);
        (close > index)
            .then(|| self.between(index, close))
            .flatten()
            .map(InsertColumns::List)
    }

    /// What lies inside the innermost brackets around `offset`, or all of `within`.
    #[must_use]
    pub fn region(&self, offset: u32, within: Span) -> Span {
        let mut index = self.source.from(offset);
        while let Some(before) = index.checked_sub(1) {
            let Some(token) = self.source.get(before) else {
                break;
            };
            if token.span.start < within.start {
                break;
            }
            index = before;
            match self.source.partner(before) {
                Some(open) if open < before => index = open,
                Some(_) => return self.source.inside(before).unwrap_or(within),
                None => {}
            }
        }
        within
    }

    /// From token `first` up to, and without, token `end`.
    fn between(&self, first: usize, end: usize) -> Option<Span> {
        let last = self
            .source
            .get(end.checked_sub(1).filter(|last| *last >= first)?)?;
        Some(Span {
            start: self.source.get(first)?.span.start,
            end: last.span.end,
        })
    }

    /// Index behind the list that goes on at token `index`: at a clause, a closing bracket, a semicolon, or the end.
    fn list_end(&self, mut index: usize) -> usize {
        while self.source.get(index).is_some() {
            if matches!(self.source.token_text(index), ")" | "]" | ";") || self.ends_list(index) {
                break;
            }
            index = match self.source.partner(index) {
                Some(close) if close > index => close + 1,
                _ => index + 1,
            };
        }
        index
    }

    /// Whether a clause begins at a token of a select list. The words are reserved, and stand for names only behind `AS`
    /// and behind a point.
    fn ends_list(&self, index: usize) -> bool {
        const WORDS: [&str; 14] = [
            "from",
            "where",
            "group",
            "having",
            "window",
            "union",
            "intersect",
            "except",
            "order",
            "limit",
            "offset",
            "fetch",
            "for",
            "into",
        ];
        let is = |index, word| self.source.is_word(index, word);
        if !WORDS.iter().any(|word| is(index, word)) || self.is_label(index) {
            return false;
        }
        if is(index, "group") {
            // `WITHIN GROUP (...)` belongs to a call.
            return is(index + 1, "by");
        }
        // `IS [NOT] DISTINCT FROM` is an operator; `SELECT DISTINCT FROM` has no list at all.
        let distinct = is(index, "from") && index >= 2 && is(index - 1, "distinct");
        !(distinct && (is(index - 2, "is") || is(index - 2, "not")))
    }

    /// Whether a keyword stands for a name: behind `AS` or a point.
    fn is_label(&self, index: usize) -> bool {
        index
            .checked_sub(1)
            .is_some_and(|before| self.source.is_word(before, "as") || self.source.is(before, "."))
    }
}
