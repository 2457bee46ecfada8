//! `INSERT ... SELECT p0::t, ... FROM (VALUES (...), ...) AS v(p0, ..., n) ORDER BY n`: rows that are written out, in the form
//! that `SQLAlchemy` sends them. They are placed one by one like those of `INSERT ... VALUES`. Invariant: `ORDER BY` must name a
//! column whose values grow from row to row, so the order of the list is that of the result.

use std::sync::Arc;

use catalog::{Column, Relation};
use smallvec::SmallVec;
use sql::ast::{self, ConstValue, ExprKind, FromItem, Query, QueryBody, Span};
use sql::scan::Token;

use super::default::{self, DefaultPlan};
use super::insert::Policy;
use super::text::{self, Edits};
use super::{Goal, Written, conflict, key};
use crate::compute::{Computes, quoted};
use crate::key::Class;
use crate::plan::{
    Effect, Facts, Fixed, KeySource, Merge, Part, Plan, Planned, Route, Row, Target, Text, Tier,
};
use crate::slot::Slots;
use crate::volatile;
use crate::{PlanError, RowWindow, UnsupportedId, refuse};

/// Rows that are listed in a sub-select.
struct Listed<'a> {
    written: &'a Written<'a>,
    insert: &'a ast::Insert,
    relation: &'a Relation,
    select: &'a ast::Select,
    rows: &'a [Vec<ast::Expr>],
    alias: &'a ast::Alias,
    spans: Vec<Span>,
    policy: Policy,
    computes: Computes<'a>,
    edits: Edits,
    slots: Slots,
}

/// Plans the statement when it has this form; `None` when it hasn't.
pub(super) fn plan(
    written: &Written<'_>,
    insert: &ast::Insert,
    (goal, relation): (&Goal, &Relation),
    (query, facts): (&Query, Facts),
) -> Option<Result<Planned, PlanError>> {
    let (select, rows, alias) = shape(insert, query)?;
    let width = alias.columns.len();
    let is_sound = rows.iter().all(|row| row.len() == width)
        && is_ordered(query, alias, rows)
        && select
            .targets
            .iter()
            .all(|target| is_plain(&target.expr, alias));
    if !is_sound || insert.columns.iter().any(|column| column.has_indirection) {
        return None;
    }
    let spans = row_spans(written, select)?;
    if spans.len() != rows.len() {
        return None;
    }
    let listed = Listed {
        written,
        insert,
        relation,
        select,
        rows,
        alias,
        spans,
        policy: if matches!(goal, Goal::Copies(_)) {
            Policy::Copies
        } else {
            Policy::Spread
        },
        computes: Computes::new(written.cx),
        edits: Edits::default(),
        slots: Slots::of_text(
            written.source,
            written.cx.settings.standard_conforming_strings,
        ),
    };
    Some(listed.plan(goal, facts))
}

/// The parts of the form.
fn shape<'a>(
    insert: &ast::Insert,
    query: &'a Query,
) -> Option<(&'a ast::Select, &'a [Vec<ast::Expr>], &'a ast::Alias)> {
    let is_bare = |query: &Query| {
        query.with.is_none()
            && query.limit.is_none()
            && query.offset.is_none()
            && query.locking.is_empty()
    };
    let QueryBody::Select(select) = &query.body else {
        return None;
    };
    let [
        FromItem::Subquery {
            lateral: false,
            query: inner,
            alias: Some(alias),
        },
    ] = select.from.as_slice()
    else {
        return None;
    };
    let QueryBody::Values(rows) = &inner.body else {
        return None;
    };
    let is_simple = select.distinct == ast::Distinct::No
        && select.filter.is_none()
        && select.group_by.is_empty()
        && select.having.is_none()
        && select.windows.is_empty()
        && select.into.is_none();
    let fits = is_simple
        && is_bare(query)
        && is_bare(inner)
        && inner.order_by.is_empty()
        && insert.with.is_none()
        && !insert.columns.is_empty();
    fits.then_some((select, rows, alias))
}

/// A column of the list, perhaps cast, or a constant.
fn is_plain(expr: &ast::Expr, alias: &ast::Alias) -> bool {
    match &expr.kind {
        ExprKind::Cast { operand, .. } => is_plain(operand, alias),
        ExprKind::Const(_) | ExprKind::Param(_) => true,
        _ => list_column(expr, alias).is_some(),
    }
}

/// Which column of the list an expression is.
fn list_column(expr: &ast::Expr, alias: &ast::Alias) -> Option<usize> {
    let ExprKind::Column(name) = &expr.kind else {
        return None;
    };
    let column = match name.parts.as_slice() {
        [column] => column,
        [table, column] if *table == alias.name => column,
        _ => return None,
    };
    alias.columns.iter().position(|known| known == column)
}

fn is_ordered(query: &Query, alias: &ast::Alias, rows: &[Vec<ast::Expr>]) -> bool {
    let [key] = query.order_by.as_slice() else {
        return query.order_by.is_empty();
    };
    let Some(place) =
        list_column(&key.expr, alias).filter(|_| !key.descending && key.using.is_none())
    else {
        return false;
    };
    let numbers = rows.iter().map(|row| match &row[place].kind {
        ExprKind::Const(ast::Const {
            value: ConstValue::Integer(number),
            ..
        }) => Some(*number),
        _ => None,
    });
    let numbers: Option<Vec<i32>> = numbers.collect();
    numbers.is_some_and(|numbers| numbers.is_sorted_by(|a, b| a < b))
}

/// The rows' places: the groups of brackets after the first `VALUES` of the select.
fn row_spans(written: &Written<'_>, select: &ast::Select) -> Option<Vec<Span>> {
    let start = select.location?;
    let rest = written.source.get(start as usize..)?;
    let tokens = sql::scan::tokens(rest, written.cx.settings.standard_conforming_strings);
    let first = tokens
        .iter()
        .position(|token| token.is_word(rest, "values"))?
        + 1;
    let mut spans = Vec::new();
    let mut at = first;
    loop {
        let close = closing(rest, &tokens, at)?;
        spans.push(Span {
            start: start + tokens[at].span.start,
            end: start + tokens[close].span.end,
        });
        if !tokens.get(close + 1)?.is_punctuation(rest, ",") {
            return Some(spans);
        }
        at = close + 2;
    }
}

/// The token that closes the bracket at `open`.
fn closing(text: &str, tokens: &[Token], open: usize) -> Option<usize> {
    if !tokens.get(open)?.is_punctuation(text, "(") {
        return None;
    }
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        match token.text(text) {
            "(" => depth += 1,
            ")" => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

// === impl Listed ===

impl Listed<'_> {
    fn plan(mut self, goal: &Goal, mut facts: Facts) -> Result<Planned, PlanError> {
        self.check_rest()?;
        let added = self.added(goal)?;
        let mut routes = Vec::new();
        for row in 0..self.rows.len() {
            self.compute_cells(row)?;
            let drawn = self.add_to_row(row, &added)?;
            if let Goal::Sharded(sharded) = goal {
                let source = |name: &str| {
                    let drawn = drawn.iter().find(|(column, _)| column == name);
                    drawn
                        .map(|(_, index)| KeySource::Computed(*index))
                        .or_else(|| self.cell_source(row, name))
                };
                let terms = key::terms(self.written, self.relation, sharded, &source)?;
                routes.push(Route::Key {
                    sharded: Arc::clone(sharded),
                    terms,
                    is_write: true,
                });
            }
        }
        self.add_to_lists(&added)?;
        facts.uses_sequence = self.computes.uses_sequence();
        self.assemble(goal, routes, facts)
    }

    /// What follows the rows must not depend on the clock or on sequences.
    fn check_rest(&self) -> Result<(), PlanError> {
        let conflict = self.insert.on_conflict.iter().flat_map(|conflict| {
            let updates = conflict.update.iter().flatten();
            updates
                .map(|assignment| &assignment.value)
                .chain(&conflict.filter)
        });
        let returned = self.insert.returning.iter().map(|target| &target.expr);
        for expr in conflict.chain(returned) {
            if let Some(finding) =
                volatile::findings(self.written.cx, self.written.source, expr).first()
            {
                return Err(refuse(UnsupportedId::InsertSelect, &finding.name));
            }
        }
        Ok(())
    }

    /// Columns that were left out and have to be given.
    fn added(&self, goal: &Goal) -> Result<Vec<(Column, DefaultPlan)>, PlanError> {
        let key = match goal {
            Goal::Sharded(sharded) => sharded.key.columns(),
            _ => Vec::new(),
        };
        let mut added = Vec::new();
        for column in super::select::left_out(self.insert, self.relation) {
            let plan = default::plan(self.written.cx, column, self.policy, false);
            let is_key = key.contains(&column.name.as_str());
            match plan {
                DefaultPlan::Draw { .. } => added.push((column.clone(), plan)),
                DefaultPlan::Expression(_) if !is_key => added.push((column.clone(), plan)),
                DefaultPlan::Leave | DefaultPlan::Null if !is_key => {}
                _ => {
                    let name = format!("the default of {:?}", column.name);
                    return Err(refuse(UnsupportedId::InsertSelect, name));
                }
            }
        }
        Ok(added)
    }

    fn compute_cells(&mut self, row: usize) -> Result<(), PlanError> {
        for expr in &self.rows[row] {
            for finding in volatile::findings(self.written.cx, self.written.source, expr) {
                if !self.policy.computes(finding.what) {
                    continue;
                }
                let part = self.computes.finding(self.written.source, &finding)?;
                if let Some(span) = finding.span {
                    self.edits.replace(span, vec![part]);
                }
            }
        }
        Ok(())
    }

    /// Adds the values of left-out columns to a row; those that were drawn are told.
    fn add_to_row(
        &mut self,
        row: usize,
        added: &[(Column, DefaultPlan)],
    ) -> Result<Vec<(String, u32)>, PlanError> {
        let mut parts = Vec::new();
        let mut drawn = Vec::new();
        for (column, plan) in added {
            parts.push(Part::Sql(", ".to_owned()));
            match plan {
                DefaultPlan::Draw { sequence, .. } => {
                    let index = self.computes.draw(*sequence);
                    drawn.push((column.name.clone(), index));
                    parts.push(Part::Computed(index));
                }
                DefaultPlan::Expression(expression) => {
                    parts.extend(expression.computed(self.policy, &mut self.computes)?);
                }
                DefaultPlan::Leave | DefaultPlan::Null | DefaultPlan::Unknown => {}
            }
        }
        let end = self.spans[row].end - 1;
        self.edits.replace(Span { start: end, end }, parts);
        Ok(drawn)
    }

    /// Where the value of a listed key column is found.
    fn cell_source(&self, row: usize, name: &str) -> Option<KeySource> {
        let cx = self.written.cx;
        let place = self
            .insert
            .columns
            .iter()
            .position(|column| column.name == name)?;
        let class = Class::of_column(cx.catalog, self.relation.column(name)?)?;
        let expr = &self.select.targets.get(place)?.expr;
        let (expr, is_same) = match &expr.kind {
            ExprKind::Cast { operand, type_name } => {
                let known = cx
                    .catalog
                    .type_named(&type_name.name.parts, cx.search_path)?;
                let is_bare = type_name.array_dimensions == 0 && !type_name.has_modifiers;
                (
                    &**operand,
                    is_bare && Class::of_type(cx.catalog, known.oid)?.is_same(class),
                )
            }
            _ => (expr, true),
        };
        let value = list_column(expr, self.alias).map_or(expr, |column| &self.rows[row][column]);
        is_same
            .then(|| key::plain(cx, class, value, &self.slots))
            .flatten()
    }

    /// Names the added columns in the column list, the select list and the list's alias.
    fn add_to_lists(&mut self, added: &[(Column, DefaultPlan)]) -> Result<(), PlanError> {
        if added.is_empty() {
            return Ok(());
        }
        let unplaced = || refuse(UnsupportedId::InsertSelect, &self.relation.name);
        let (source, standard) = (
            self.written.source,
            self.written.cx.settings.standard_conforming_strings,
        );
        let list_end = |from: u32| {
            let rest = source.get(from as usize..)?;
            let tokens = sql::scan::tokens(rest, standard);
            let open = tokens
                .iter()
                .position(|token| token.is_punctuation(rest, "("))?;
            Some(from + tokens[closing(rest, &tokens, open)?].span.start)
        };
        let table = self.insert.table.name.location.ok_or_else(unplaced)?;
        let columns_end = list_end(table).ok_or_else(unplaced)?;
        let select = self.select.location.ok_or_else(unplaced)?;
        let from = text::find_words(source, select, &["from"], standard).ok_or_else(unplaced)?;
        let last = self.spans.last().ok_or_else(unplaced)?.end;
        let alias_end = list_end(last).ok_or_else(unplaced)?;
        let names: Vec<String> = added
            .iter()
            .map(|(column, _)| quoted(&column.name))
            .collect();
        let own: Vec<String> = (1..=added.len())
            .map(|number| format!("kintsugi_{number}"))
            .collect();
        let is_always = |(_, plan): &(Column, DefaultPlan)| {
            matches!(
                plan,
                DefaultPlan::Draw {
                    is_always: true,
                    ..
                }
            )
        };
        let overrides = added.iter().any(is_always) && self.insert.overriding_system.is_none();
        let overriding = if overrides {
            " OVERRIDING SYSTEM VALUE"
        } else {
            ""
        };
        let mut insert = |at: u32, text: String| {
            self.edits
                .replace(Span { start: at, end: at }, vec![Part::Sql(text)]);
        };
        insert(columns_end, format!(", {}", names.join(", ")));
        insert(columns_end + 1, overriding.to_owned());
        insert(from.start, format!(", {} ", own.join(", ")));
        insert(alias_end, format!(", {}", own.join(", ")));
        Ok(())
    }

    fn assemble(self, goal: &Goal, routes: Vec<Route>, facts: Facts) -> Result<Planned, PlanError> {
        let (source, whole) = (self.written.source, self.written.span);
        let cut = |span: Span| self.edits.cut(source, span);
        let (first, last) = (self.spans[0], self.spans[self.spans.len() - 1]);
        let is_split = routes.len() > 1;
        let text = if is_split {
            let rows = self.spans.iter().zip(&routes);
            Text::Rows {
                head: cut(Span {
                    start: whole.start,
                    end: first.start,
                }),
                rows: rows
                    .map(|(span, route)| Row {
                        route: route.clone(),
                        text: cut(*span),
                    })
                    .collect(),
                tail: cut(Span {
                    start: last.end,
                    end: whole.end,
                }),
            }
        } else {
            Text::Edited(cut(whole))
        };
        let (tier, target, merge) = match goal {
            Goal::Copies(shards) => (
                Tier::Broadcast,
                Target::Shards(shards.clone()),
                Merge::Copies,
            ),
            _ if is_split && conflict::returns_every_row(self.insert, self.relation) => {
                (Tier::SomeShards, Target::Rows, Merge::InsertOrder)
            }
            _ if is_split => (
                Tier::SomeShards,
                Target::Rows,
                Merge::Concat {
                    window: RowWindow::default(),
                },
            ),
            _ => {
                let target = Target::One {
                    routes: SmallVec::from_vec(routes),
                    split: None,
                };
                (Tier::PassThrough, target, Merge::Pass)
            }
        };
        Ok(Planned {
            plan: Plan {
                tier,
                compute: self.computes.finish()?,
                target,
                text,
                merge,
                effect: Effect::Write,
                reasons: vec!["the rows are listed, and each is placed by its key".to_owned()],
                notices: Vec::new(),
            },
            fixed: Fixed::All,
            facts,
        })
    }
}
