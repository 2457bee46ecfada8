//! Changing a query's text for the shards: bounds, order, hidden columns, computed values. Invariant: a place that
//! can't be found for certain is an error, so a shard never sees a text that was cut by guess.

use sql::ast::Span;
use sql::{Clauses, Edits, ParseOptions, Places};

use super::Request;
use crate::plan::Part;
use crate::{PlanError, UnsupportedId, refuse};

/// Stands around a computed value's number until the text is cut into parts. It can't stand in SQL outside of quotes,
/// and texts that hold it are refused.
const MARK: char = '\u{1}';

/// A query's text with changes.
pub(super) struct Edited<'a> {
    request: Request<'a>,
    places: Places<'a>,
    clauses: Clauses,
    edits: Edits,
}

// === impl Edited ===

impl<'a> Edited<'a> {
    pub(super) fn new(request: Request<'a>) -> Result<Self, PlanError> {
        let options = ParseOptions {
            standard_conforming_strings: request.context.settings.standard_conforming_strings,
        };
        let places = Places::new(request.source, options);
        let clauses = places
            .clauses(request.query, request.span)
            .ok_or_else(unclear)?;
        if request.source.contains(MARK) {
            return Err(unclear());
        }
        Ok(Self {
            request,
            places,
            clauses,
            edits: Edits::new(),
        })
    }

    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// Puts a computed value in the place of a call.
    pub(super) fn compute(
        &mut self,
        span: Option<Span>,
        part: &Part,
        name: &str,
    ) -> Result<(), PlanError> {
        let span = span.ok_or_else(|| refuse(UnsupportedId::FunctionTime, name))?;
        let text = match part {
            Part::Sql(sql) => sql.clone(),
            Part::Computed(index) => format!("{MARK}{index}{MARK}"),
        };
        self.replace(span, text)
    }

    /// Keeps the names of result columns in which these spans are replaced.
    pub(super) fn keep_names(
        &mut self,
        targets: &[sql::ast::Target],
        replaced: &[Span],
    ) -> Result<(), PlanError> {
        let request = self.request;
        for (at, text) in crate::label::labels(request.context, request.source, targets, replaced) {
            self.edits.insert(at, text).map_err(|_overlap| unclear())?;
        }
        Ok(())
    }

    /// Adds entries at the end of the select list.
    pub(super) fn add_columns(
        &mut self,
        select: &sql::ast::Select,
        columns: &[String],
    ) -> Result<(), PlanError> {
        let list = self.places.select_list(select).ok_or_else(unclear)?;
        let text = format!(", {}", columns.join(", "));
        self.edits
            .insert(list.end, text)
            .map_err(|_overlap| unclear())
    }

    /// Replaces `ORDER BY`, or adds one.
    pub(super) fn order_by(&mut self, keys: &str) -> Result<(), PlanError> {
        let text = format!("ORDER BY {keys}");
        match self.clauses.order_by {
            Some(span) => self.replace(span, text),
            None => self
                .edits
                .insert(self.clauses.body_end, format!(" {text}"))
                .map_err(|_overlap| unclear()),
        }
    }

    pub(super) fn limit(&mut self, text: &str) -> Result<(), PlanError> {
        match self.clauses.limit {
            Some(span) => self.replace(span, format!("LIMIT {text}")),
            None => Ok(()),
        }
    }

    pub(super) fn offset(&mut self, text: &str) -> Result<(), PlanError> {
        match self.clauses.offset {
            Some(span) => self.replace(span, format!("OFFSET {text}")),
            None => Ok(()),
        }
    }

    /// The texts of `ORDER BY`'s entries, without their directions.
    pub(super) fn sort_texts(&self) -> Result<Vec<String>, PlanError> {
        let span = self.clauses.order_by.ok_or_else(unclear)?;
        let text = self.places.text(span);
        let tokens = sql::scan::tokens(
            text,
            self.request.context.settings.standard_conforming_strings,
        );
        let mut texts = Vec::new();
        let (mut depth, mut start) = (0_usize, None);
        let mut ends = 0;
        // The words ORDER and BY come first.
        for token in tokens.iter().skip(2) {
            let word = token.text(text);
            if depth == 0 && word == "," {
                texts.push(sorted(text, start.take().ok_or_else(unclear)?, ends));
                continue;
            }
            match word {
                "(" | "[" => depth += 1,
                ")" | "]" => depth = depth.saturating_sub(1),
                _ => {}
            }
            let is_direction = depth == 0
                && ["asc", "desc", "nulls", "first", "last"]
                    .iter()
                    .any(|known| token.is_word(text, known));
            start = start.or(Some(token.span.start));
            if !is_direction {
                ends = token.span.end;
            }
        }
        texts.push(sorted(text, start.ok_or_else(unclear)?, ends));
        Ok(texts)
    }

    fn replace(&mut self, span: Span, text: String) -> Result<(), PlanError> {
        self.edits.replace(span, text).map_err(|_overlap| unclear())
    }

    /// The changed text, cut at its computed values.
    pub(super) fn finish(self) -> Result<Vec<Part>, PlanError> {
        let text = self
            .edits
            .apply_within(self.request.source, self.request.span);
        let mut parts = Vec::new();
        for (at, piece) in text.split(MARK).enumerate() {
            if at % 2 == 1 {
                parts.push(Part::Computed(
                    piece.parse().map_err(|_not_a_number| unclear())?,
                ));
            } else if !piece.is_empty() {
                parts.push(Part::Sql(piece.to_owned()));
            }
        }
        Ok(parts)
    }
}

fn sorted(text: &str, start: u32, end: u32) -> String {
    text.get(start as usize..end as usize)
        .unwrap_or_default()
        .to_owned()
}

/// The text is written in a way that the places to change can't be told for certain.
pub(super) fn unclear() -> PlanError {
    refuse(
        UnsupportedId::Statement,
        "its text can't be changed for the shards",
    )
}
