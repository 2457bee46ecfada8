//! The clauses behind the body of a query.

use super::Places;
use crate::ast::{Query, QueryBody, Span};

/// Where the clauses behind a query's body stand, their words included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clauses {
    /// `ORDER BY ...`.
    pub order_by: Option<Span>,
    /// `LIMIT ...` or `FETCH FIRST ...`.
    pub limit: Option<Span>,
    /// `OFFSET ...`.
    pub offset: Option<Span>,
    /// `FOR UPDATE ...`: all of them.
    pub locking: Option<Span>,
    /// Where the body ends: a clause that is missing can be put here, with a blank before it, in the order `ORDER BY`,
    /// `LIMIT`, `OFFSET`, `FOR`; later clauses follow.
    pub body_end: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Order,
    Limit,
    Offset,
    Locking,
}

impl Places<'_> {
    /// The clauses of a query whose own text is `region`: a statement, or what stands between a sub-select's brackets.
    /// `None` when the tree says otherwise than the tokens.
    #[must_use]
    pub fn clauses(&self, query: &Query, region: Span) -> Option<Clauses> {
        let mut found = self.clauses_in(region)?;
        // `(SELECT ... LIMIT 1) ORDER BY 2`: one query, its clauses on both sides of the bracket.
        let mut inner = region;
        while !agrees(query, &found) && !matches!(query.body, QueryBody::SetOperation { .. }) {
            inner = self.unwrapped(inner)?;
            let more = self.clauses_in(inner)?;
            found = Clauses {
                order_by: found.order_by.or(more.order_by),
                limit: found.limit.or(more.limit),
                offset: found.offset.or(more.offset),
                locking: found.locking.or(more.locking),
                body_end: more.body_end,
            };
        }
        agrees(query, &found).then_some(found)
    }

    /// What the brackets hold that a region begins with, when only clauses follow them.
    fn unwrapped(&self, region: Span) -> Option<Span> {
        let open = self.source.at(region.start)?;
        if !self.source.is(open, "(") {
            return None;
        }
        let after = self.source.partner(open)? + 1;
        let ends = self
            .source
            .get(after)
            .is_none_or(|token| token.span.start >= region.end);
        (ends || self.clause_at(after).is_some())
            .then(|| self.source.inside(open))
            .flatten()
    }

    fn clauses_in(&self, region: Span) -> Option<Clauses> {
        let mut clauses = Clauses {
            body_end: region.end,
            ..Clauses::default()
        };
        let mut index = self.source.from(region.start);
        let mut open: Option<(Kind, usize)> = None;
        let in_region = |index| {
            self.source
                .get(index)
                .is_some_and(|token| token.span.end <= region.end)
        };
        while in_region(index) {
            if let Some(kind) = self.clause_at(index) {
                match open {
                    // Several row locks are one span.
                    Some((Kind::Locking, _)) if kind == Kind::Locking => {}
                    Some((before, first)) => {
                        clauses.close(before, self.between(first, index)?)?;
                        open = Some((kind, index));
                    }
                    None => {
                        clauses.body_end = self.source.get(index.checked_sub(1)?)?.span.end;
                        open = Some((kind, index));
                    }
                }
            } else if self.ends_query(index) {
                break;
            }
            index = match self.source.partner(index) {
                Some(close) if close > index => close + 1,
                _ => index + 1,
            };
        }
        match open {
            Some((kind, first)) => clauses.close(kind, self.between(first, index)?)?,
            None => clauses.body_end = self.source.get(index.checked_sub(1)?)?.span.end,
        }
        Some(clauses)
    }

    /// The clause that begins at a token.
    fn clause_at(&self, index: usize) -> Option<Kind> {
        let is = |at, word| self.source.is_word(at, word);
        let kind = if is(index, "order") && is(index + 1, "by") {
            Kind::Order
        } else if is(index, "limit") || is(index, "fetch") {
            Kind::Limit
        } else if is(index, "offset") {
            Kind::Offset
        } else if is(index, "for") {
            Kind::Locking
        } else {
            return None;
        };
        (!self.is_label(index)).then_some(kind)
    }

    /// What may follow a query inside an `INSERT`.
    fn ends_query(&self, index: usize) -> bool {
        let conflict =
            self.source.is_word(index, "on") && self.source.is_word(index + 1, "conflict");
        let returning = self.source.is_word(index, "returning") && !self.is_label(index);
        conflict || returning || self.source.is(index, ";")
    }
}

impl Clauses {
    /// Notes a clause; one that is there already is against the grammar.
    fn close(&mut self, kind: Kind, span: Span) -> Option<()> {
        let place = match kind {
            Kind::Order => &mut self.order_by,
            Kind::Limit => &mut self.limit,
            Kind::Offset => &mut self.offset,
            Kind::Locking => &mut self.locking,
        };
        place.replace(span).is_none().then_some(())
    }
}

fn agrees(query: &Query, found: &Clauses) -> bool {
    query.order_by.is_empty() == found.order_by.is_none()
        && query.limit.is_some() == found.limit.is_some()
        && query.offset.is_some() == found.offset.is_some()
        && query.locking.is_empty() == found.locking.is_none()
}
