//! The values of one row: what is written out, and what defaults give.

use std::collections::HashMap;

use catalog::Column;
use sql::ast::{self, ExprKind, Span};

use super::{Insertion, Policy, rows};
use crate::plan::{KeySource, Part};
use crate::slot::Slots;
use crate::volatile::{self, Finding, What};
use crate::write::default::{self, DefaultPlan};
use crate::write::key::{self, Settled, Value};
use crate::{PlanError, UnsupportedId, refuse};

impl Insertion<'_> {
    /// One value of a row that was written out.
    pub(super) fn listed_cell(
        &mut self,
        place: usize,
        at: usize,
        cell: Option<Span>,
        sources: &mut HashMap<String, KeySource>,
    ) -> Result<(), PlanError> {
        let Some(expr) = rows(self.insert).get(place).and_then(|row| row.get(at)) else {
            return Ok(());
        };
        let column = self.listed[at];
        let is_key = column.is_some_and(|column| self.key.contains(&column.name.as_str()));
        let is_overridden = self.insert.overriding_system == Some(false)
            && column.is_some_and(|column| column.identity.is_some());
        self.overrides |= is_overridden;
        if let (true, Some(column)) = (is_overridden || expr.kind == ExprKind::Default, column) {
            let plan = default::plan(self.written.cx, column, self.policy, is_key);
            if matches!(
                plan,
                DefaultPlan::Draw {
                    is_always: true,
                    ..
                }
            ) {
                self.overrides = true;
            }
            let parts = self.default(column, &plan, sources)?;
            if let (false, Some(cell)) = (parts.is_empty(), cell) {
                self.edits.replace(cell, parts);
            }
            return Ok(());
        }
        let findings = volatile::findings(self.written.cx, self.written.source, expr);
        let indirect = self
            .insert
            .columns
            .get(at)
            .is_some_and(|column| column.has_indirection);
        if let (true, Some(column)) = (is_key, column) {
            let span = cell.filter(|_| !indirect);
            let span = span.ok_or_else(|| refuse(UnsupportedId::ComputedKey, &column.name))?;
            let value = Value {
                text: self.written.source,
                span,
                expr,
                findings: &findings,
            };
            let settled = key::settle(
                self.written.cx,
                column,
                value,
                &self.slots,
                &mut self.computes,
            )?;
            self.relies_on_text |= matches!(settled.source, KeySource::Text { .. });
            self.keep(column, settled, Some(span), sources);
            return Ok(());
        }
        for finding in findings
            .iter()
            .filter(|finding| self.policy.computes(finding.what))
        {
            let part = self.computes.finding(self.written.source, finding)?;
            if let Some(span) = finding.span {
                self.edits.replace(span, vec![part]);
            }
        }
        self.clock_word(expr, column, cell);
        Ok(())
    }

    /// `'now'` put into a column of a date or time is read when it is stored.
    pub(super) fn clock_word(
        &mut self,
        expr: &ast::Expr,
        column: Option<&Column>,
        cell: Option<Span>,
    ) {
        let (Some(column), Some(cell)) = (column, cell) else {
            return;
        };
        if self.policy == Policy::OneShard
            || !volatile::reads_clock_words(self.written.cx, column.type_oid)
        {
            return;
        }
        match &expr.kind {
            ExprKind::Const(ast::Const {
                value: ast::ConstValue::String(word),
                ..
            }) if volatile::is_clock_word(word) => {
                let type_oid = self.written.cx.catalog.base_type(column.type_oid);
                let index = self.computes.expression(&quoted_text(word), type_oid);
                self.edits.replace(cell, vec![Part::Computed(index)]);
            }
            ExprKind::Param(number) if self.policy == Policy::Copies => {
                self.computes.steady(*number);
            }
            _ => {}
        }
    }

    /// The text of a column's default, empty when the shard gives it, and the key's source.
    pub(super) fn default(
        &mut self,
        column: &Column,
        plan: &DefaultPlan,
        sources: &mut HashMap<String, KeySource>,
    ) -> Result<Vec<Part>, PlanError> {
        let is_key = self.key.contains(&column.name.as_str());
        match plan {
            DefaultPlan::Leave => Ok(Vec::new()),
            DefaultPlan::Null => {
                if is_key {
                    sources.insert(column.name.clone(), KeySource::Null);
                }
                Ok(Vec::new())
            }
            DefaultPlan::Unknown => Err(default::unknown(column, self.policy)),
            DefaultPlan::Draw { sequence, .. } => {
                let index = self.computes.draw(*sequence);
                if is_key {
                    sources.insert(column.name.clone(), KeySource::Computed(index));
                }
                Ok(vec![Part::Computed(index)])
            }
            DefaultPlan::Expression(expression) if is_key => {
                let value = Value {
                    text: &expression.text,
                    span: expression.span,
                    expr: &expression.expr,
                    findings: &expression.findings,
                };
                let settled = key::settle(
                    self.written.cx,
                    column,
                    value,
                    &Slots::default(),
                    &mut self.computes,
                )?;
                let parts = settled.instead.iter().cloned().collect();
                self.keep(column, settled, None, sources);
                Ok(parts)
            }
            DefaultPlan::Expression(expression) => {
                expression.computed(self.policy, &mut self.computes)
            }
        }
    }

    pub(super) fn keep(
        &mut self,
        column: &Column,
        settled: Settled,
        span: Option<Span>,
        sources: &mut HashMap<String, KeySource>,
    ) {
        sources.insert(column.name.clone(), settled.source);
        if let (Some(span), Some(instead)) = (span, settled.instead) {
            self.edits.replace(span, vec![instead]);
        }
    }

    /// `ON CONFLICT` and `RETURNING` are evaluated for each row on its shard.
    pub(super) fn tail(&mut self) -> Result<(), PlanError> {
        let cx = self.written.cx;
        let conflict = self.insert.on_conflict.iter();
        let updates = conflict.flat_map(|conflict| {
            let values = conflict
                .update
                .iter()
                .flatten()
                .map(|assignment| &assignment.value);
            values.chain(&conflict.filter)
        });
        let returned = self.insert.returning.iter().map(|target| &target.expr);
        let tail = updates
            .map(|expr| (expr, true))
            .chain(returned.map(|expr| (expr, false)));
        for (expr, is_stored) in tail {
            for finding in volatile::findings(cx, self.written.source, expr) {
                self.tail_finding(&finding, is_stored)?;
            }
        }
        self.edits
            .keep_names(cx, self.written.source, &self.insert.returning);
        Ok(())
    }
    /// What is stored must be the same on every copy; what `RETURNING` shows comes from one.
    fn tail_finding(&mut self, finding: &Finding, is_stored: bool) -> Result<(), PlanError> {
        let is_needed = match finding.what {
            What::Clock { .. } => {
                self.policy == Policy::Spread || (self.policy == Policy::Copies && is_stored)
            }
            What::Fresh { .. } | What::Unproven if is_stored && self.policy == Policy::Copies => {
                return Err(refuse(UnsupportedId::ReferenceVolatile, &finding.name));
            }
            What::Fresh { .. } | What::Unproven => false,
            // What one row returns is evaluated after its values were drawn.
            What::CurrVal(_) | What::LastVal if !is_stored && rows(self.insert).len() <= 1 => {
                let part = self.computes.recall_after(self.written.source, finding)?;
                if let Some(span) = finding.span {
                    self.edits.replace(span, vec![part]);
                }
                return Ok(());
            }
            _ => return Err(refuse(UnsupportedId::DeferredRead, &finding.name)),
        };
        if !is_needed {
            return Ok(());
        }
        let part = self.computes.finding(self.written.source, finding)?;
        if let Some(span) = finding.span {
            self.edits.replace(span, vec![part]);
        }
        Ok(())
    }
}

fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
