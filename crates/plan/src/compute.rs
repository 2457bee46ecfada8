//! Values that are computed once before any shard sees the statement. Invariant: sequences are drawn in the order in which
//! PostgreSQL would draw them, and a clock that is read twice by one statement is read once.

use pg::Oid;

use crate::plan::{Compute, Part};
use crate::volatile::{Finding, What};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// The computations of one statement as they are collected.
#[derive(Debug)]
pub(crate) struct Computes<'a> {
    cx: &'a Context<'a>,
    list: Vec<Compute>,
    draws: bool,
    recalls: bool,
    sets: bool,
}

// === impl Computes ===

impl<'a> Computes<'a> {
    pub(crate) fn new(cx: &'a Context<'a>) -> Self {
        Self {
            cx,
            list: Vec::new(),
            draws: false,
            recalls: false,
            sets: false,
        }
    }

    /// Sequences are drawn from or asked for.
    pub(crate) fn uses_sequence(&self) -> bool {
        self.draws
            || self.recalls
            || self.sets
            || self
                .list
                .iter()
                .any(|compute| matches!(compute, Compute::CurrVal { .. } | Compute::LastVal))
    }

    /// A sequence is set.
    pub(crate) fn sets_sequence(&self) -> bool {
        self.sets
    }

    /// The list, once all are in it.
    ///
    /// # Errors
    ///
    /// The order of a draw and a recall would matter.
    pub(crate) fn finish(self) -> Result<Vec<Compute>, PlanError> {
        if self.draws && self.recalls {
            return Err(refuse(UnsupportedId::SequenceMixed, "currval or lastval"));
        }
        Ok(self.list)
    }

    /// The list of a select list, whose entries PostgreSQL evaluates from left to right.
    pub(crate) fn finish_in_order(self) -> Vec<Compute> {
        self.list
    }

    /// Draws the next value of a sequence.
    pub(crate) fn draw(&mut self, sequence: Oid) -> u32 {
        self.draws = true;
        self.push(Compute::NextVal { sequence })
    }

    /// Demands that a parameter is no word for a moment.
    pub(crate) fn steady(&mut self, param: u32) {
        let demand = Compute::Steady { param };
        if !self.list.contains(&demand) {
            self.list.push(demand);
        }
    }

    /// An expression that a shard computes.
    pub(crate) fn expression(&mut self, sql: &str, type_oid: Oid) -> u32 {
        let type_name = type_sql(self.cx, type_oid);
        self.push(Compute::Expression {
            sql: sql.to_owned(),
            type_name,
            type_oid,
        })
    }

    /// `currval` or `lastval` where it is evaluated after all draws of the statement.
    ///
    /// # Errors
    ///
    /// It can't be computed beforehand.
    pub(crate) fn recall_after(
        &mut self,
        text: &str,
        finding: &Finding,
    ) -> Result<Part, PlanError> {
        let before = self.recalls;
        let part = self.finding(text, finding)?;
        self.recalls = before;
        Ok(part)
    }

    /// What a finding stands for, given the text that it was found in.
    ///
    /// # Errors
    ///
    /// It can't be computed beforehand.
    pub(crate) fn finding(&mut self, text: &str, finding: &Finding) -> Result<Part, PlanError> {
        let Some(sql) = finding
            .span
            .and_then(|span| slice(text, span))
            .filter(|_| finding.is_row_free)
        else {
            let id = match finding.what {
                What::Clock { .. } | What::Fresh { .. } | What::Unproven => {
                    UnsupportedId::ReferenceVolatile
                }
                _ => UnsupportedId::DeferredRead,
            };
            return Err(refuse(id, &finding.name));
        };
        let index = match finding.what {
            What::Clock { type_oid } => self.clock(sql, type_oid),
            What::Fresh { type_oid } => self.expression(sql, type_oid),
            What::NextVal(sequence) => self.draw(sequence),
            What::CurrVal(sequence) => {
                self.recalls = true;
                self.push(Compute::CurrVal { sequence })
            }
            What::LastVal => {
                self.recalls = true;
                self.push(Compute::LastVal)
            }
            What::SetVal(sequence) => {
                self.sets = true;
                let arguments = arguments_after_first(sql)
                    .ok_or_else(|| refuse(UnsupportedId::DeferredRead, &finding.name))?;
                self.push(Compute::SetVal {
                    sequence,
                    arguments,
                })
            }
            What::UnknownSequence => {
                return Err(refuse(UnsupportedId::SequenceUnknown, &finding.name));
            }
            What::Unproven => return Err(refuse(UnsupportedId::ReferenceVolatile, &finding.name)),
        };
        Ok(Part::Computed(index))
    }

    fn clock(&mut self, sql: &str, type_oid: Oid) -> u32 {
        let known = self.list.iter().position(|compute| {
            matches!(compute, Compute::Expression { sql: known, .. } if known.eq_ignore_ascii_case(sql))
        });
        match known.and_then(|place| u32::try_from(place).ok()) {
            Some(place) => place,
            None => self.expression(sql, type_oid),
        }
    }

    fn push(&mut self, compute: Compute) -> u32 {
        let index = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.list.push(compute);
        index
    }
}

/// The text of a span.
pub(crate) fn slice(text: &str, span: sql::ast::Span) -> Option<&str> {
    text.get(span.start as usize..span.end as usize)
}

/// `42, true` of `setval('s', 42, true)`.
fn arguments_after_first(call: &str) -> Option<String> {
    let tokens = sql::scan::tokens(call, true);
    let mut depth = 0_u32;
    for token in &tokens {
        match token.text(call) {
            "(" | "[" => depth += 1,
            ")" | "]" => depth = depth.checked_sub(1)?,
            "," if depth == 1 => {
                let end = call.trim_end().strip_suffix(')')?.len();
                return call
                    .get(token.span.end as usize..end)
                    .map(|rest| rest.trim().to_owned());
            }
            _ => {}
        }
    }
    None
}

/// A type's name as SQL, without modifiers.
pub(crate) fn type_sql(cx: &Context<'_>, type_oid: Oid) -> String {
    match cx.catalog.types.get(&type_oid) {
        Some(known) => format!("{}.{}", quoted(&known.schema), quoted(&known.name)),
        None => format!("pg_catalog.{}", type_oid.type_name().unwrap_or("text")),
    }
}

/// An identifier, always quoted.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
