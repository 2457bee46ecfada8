//! `INSERT` of rows that are written out: `VALUES` and `DEFAULT VALUES`.
//!
//! Each row goes home by its key. Values of sequences, and whatever could differ between shards that must not differ, are
//! computed once and written into the client's text; columns that were left out are added to it. Invariant: values are drawn
//! in the order in which PostgreSQL evaluates them: a single row column by column of the table, several rows one by one as listed,
//! then defaults.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Column, Relation};
use pg::{Diagnostic, SqlState};
use smallvec::SmallVec;
use sql::ast::{self, ExprKind, InsertSource, Span};
use topology::{ShardId, Sharded};

use super::default::{self, DefaultPlan};
use super::key::{self, Settled, Value};
use super::tables::Needs;
use super::text::{self, Edits};
use super::{Goal, Subject, Written, conflict, select, temporary, trigger, verbatim};
use crate::compute::{Computes, quoted};
use crate::plan::{
    Effect, Facts, Fixed, KeySource, Merge, Part, Plan, Planned, Route, Row, Target, Text, Tier,
};
use crate::volatile::{self, What};
use crate::{PlanError, UnsupportedId, refuse};

/// How much of a statement has to be computed before a shard sees it; each includes the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Policy {
    /// Sequences: one shard does the rest.
    OneShard,
    /// What is one value for the whole statement: rows go to several shards.
    Spread,
    /// Everything that isn't the same everywhere: the row is copied.
    Copies,
}

/// Plans an `INSERT`.
///
/// # Errors
///
/// It is refused, or PostgreSQL would refuse it.
pub(crate) fn plan(written: &Written<'_>, insert: &ast::Insert) -> Result<Planned, PlanError> {
    let subject = Subject::find(written, &insert.table)?;
    let needs = Needs::of(written.body);
    let Some(relation) = subject.relation else {
        needs.are_whole_beside_temporary(written, written.cx.topology.authoritative_shard())?;
        return Ok(temporary());
    };
    let is_one_shard = matches!(subject.goal, Goal::Alone(_));
    let facts = needs.check_calls(written.cx, is_one_shard)?;
    match &subject.goal {
        Goal::Alone(shard) => {
            needs.are_whole_on(written, &[*shard], UnsupportedId::UnshardedJoin)?;
            needs.inner_writes_are_on(written, *shard)?;
        }
        Goal::Sharded(_) | Goal::Copies(_) | Goal::Temporary => {
            check_plain(written, insert, &needs)?
        }
    }
    if let InsertSource::Query(query) = &insert.source {
        return select::plan(
            written,
            insert,
            (&subject, relation),
            (query, &needs, facts),
        );
    }
    conflict::check(written, insert, &subject.goal, relation)?;
    trigger::check(written.cx, &subject.goal, relation, events(insert))?;
    check_widths(insert)?;
    Insertion::new(written, insert, &subject.goal, relation).plan(&subject.goal, &needs, facts)
}

/// `WITH` in front of an INSERT over several shards would have to run before it.
fn check_plain(
    written: &Written<'_>,
    insert: &ast::Insert,
    needs: &Needs<'_>,
) -> Result<(), PlanError> {
    let has_query = matches!(insert.source, InsertSource::Query(_));
    if needs.writes_inside() {
        return Err(refuse(
            UnsupportedId::WriteInCte,
            insert.table.name.parts.join("."),
        ));
    }
    if insert.with.is_some() && !has_query && !needs.reads_nothing(written.cx) {
        return Err(refuse(
            UnsupportedId::Cte,
            insert.table.name.parts.join("."),
        ));
    }
    Ok(())
}

/// Rows of unequal length are an error of the whole list, which a shard with a part of it would not see.
fn check_widths(insert: &ast::Insert) -> Result<(), PlanError> {
    let InsertSource::Values { rows, .. } = &insert.source else {
        return Ok(());
    };
    let width = rows.first().map_or(0, Vec::len);
    if rows.iter().all(|row| row.len() == width) {
        return Ok(());
    }
    let told = Diagnostic::error(
        SqlState::SYNTAX_ERROR,
        "VALUES lists must all be the same length",
    );
    Err(PlanError::Postgres(Box::new(told)))
}

/// One statement on its way to a plan.
struct Insertion<'a> {
    written: &'a Written<'a>,
    insert: &'a ast::Insert,
    relation: &'a Relation,
    policy: Policy,
    /// Columns of the key; empty unless rows are placed by it.
    key: Vec<&'a str>,
    sharded: Option<&'a Arc<Sharded>>,
    /// The columns that the rows name, in their order; `None` where the catalog knows none.
    listed: Vec<Option<&'a Column>>,
    /// Columns that are added to the rows, each with its default.
    added: Vec<(&'a Column, DefaultPlan)>,
    /// Left-out key columns whose default the shard gives.
    left_out_key: Vec<(&'a Column, DefaultPlan)>,
    computes: Computes<'a>,
    edits: Edits,
    /// The added columns include, or a `DEFAULT` stands for, an identity column that takes no values.
    overrides: bool,
}

/// A place in a row, in the order of evaluation.
#[derive(Clone, Copy)]
enum Slot {
    Listed(usize),
    Added(usize),
}

// === impl Insertion ===

impl<'a> Insertion<'a> {
    fn new(
        written: &'a Written<'a>,
        insert: &'a ast::Insert,
        goal: &'a Goal,
        relation: &'a Relation,
    ) -> Self {
        let sharded = match goal {
            Goal::Sharded(sharded) => Some(sharded),
            _ => None,
        };
        let policy = match goal {
            Goal::Alone(_) | Goal::Temporary => Policy::OneShard,
            Goal::Sharded(_) if rows(insert).len() > 1 => Policy::Spread,
            Goal::Sharded(_) => Policy::OneShard,
            Goal::Copies(_) => Policy::Copies,
        };
        let key = sharded.map_or_else(Vec::new, |sharded| sharded.key.columns());
        let width = rows(insert).first().map_or(0, Vec::len);
        let listed = if insert.columns.is_empty() {
            relation.columns.iter().take(width).map(Some).collect()
        } else {
            insert
                .columns
                .iter()
                .map(|column| relation.column(&column.name))
                .collect()
        };
        Self {
            written,
            insert,
            relation,
            policy,
            key,
            sharded,
            listed,
            added: Vec::new(),
            left_out_key: Vec::new(),
            computes: Computes::new(written.cx),
            edits: Edits::default(),
            overrides: false,
        }
    }

    fn plan(
        mut self,
        goal: &Goal,
        needs: &Needs<'_>,
        mut facts: Facts,
    ) -> Result<Planned, PlanError> {
        self.check_reads(goal, needs)?;
        self.find_left_out()?;
        let order = self.order();
        let mut routes = Vec::new();
        for place in 0..rows(self.insert).len().max(1) {
            let sources = self.row(place, &order)?;
            if let Some(sharded) = self.sharded {
                let terms = key::terms(self.written, self.relation, sharded, &|name| {
                    sources.get(name).cloned()
                })?;
                routes.push(Route::Key {
                    sharded: Arc::clone(sharded),
                    terms,
                    is_write: true,
                });
            }
        }
        self.tail()?;
        self.check_overriding()?;
        facts.uses_sequence = self.computes.uses_sequence();
        facts.forgets_sequences = self.computes.sets_sequence();
        self.assemble(goal, routes, facts)
    }

    /// Sub-selects in the rows read what is whole wherever the rows go.
    fn check_reads(&self, goal: &Goal, needs: &Needs<'_>) -> Result<(), PlanError> {
        match goal {
            Goal::Sharded(sharded) => needs.are_whole_on(
                self.written,
                sharded.ranges.shards(),
                UnsupportedId::SubqueryOffKey,
            ),
            Goal::Copies(shards) => {
                if !needs.reads_nothing(self.written.cx) {
                    select::check_same_everywhere(self.written, self.written.body, shards, needs)?;
                }
                Ok(())
            }
            Goal::Alone(_) | Goal::Temporary => Ok(()),
        }
    }

    fn find_left_out(&mut self) -> Result<(), PlanError> {
        for column in &self.relation.columns {
            let is_listed = self
                .listed
                .iter()
                .flatten()
                .any(|listed| listed.number == column.number);
            if is_listed {
                continue;
            }
            let is_key = self.key.contains(&column.name.as_str());
            let plan = default::plan(self.written.cx, column, self.policy, is_key);
            match plan {
                DefaultPlan::Leave => {}
                DefaultPlan::Null if is_key => self.left_out_key.push((column, plan)),
                DefaultPlan::Null => {}
                DefaultPlan::Unknown => {
                    let name = format!("the default of {:?}", column.name);
                    return Err(refuse(UnsupportedId::ReferenceVolatile, name));
                }
                DefaultPlan::Draw { is_always, .. } => {
                    self.overrides |= is_always;
                    self.added.push((column, plan));
                }
                DefaultPlan::Expression(ref expression) => {
                    let is_settled = expression
                        .findings
                        .iter()
                        .all(|f| !self.policy.computes(f.what));
                    let is_fresh = expression
                        .findings
                        .iter()
                        .any(|f| matches!(f.what, What::Clock { .. } | What::Fresh { .. }));
                    if is_key && is_settled && !is_fresh {
                        self.left_out_key.push((column, plan));
                    } else {
                        self.added.push((column, plan));
                    }
                }
            }
        }
        Ok(())
    }

    /// The order in which PostgreSQL evaluates a row.
    fn order(&self) -> Vec<Slot> {
        let listed = (0..self.listed.len()).map(Slot::Listed);
        let mut order: Vec<Slot> = listed
            .chain((0..self.added.len()).map(Slot::Added))
            .collect();
        if rows(self.insert).len() <= 1 {
            order.sort_by_key(|slot| match slot {
                Slot::Listed(at) => self.listed[*at].map_or(i16::MAX, |column| column.number),
                Slot::Added(at) => self.added[*at].0.number,
            });
        }
        order
    }

    /// Computes what a row needs; the sources of its key's columns.
    fn row(
        &mut self,
        place: usize,
        order: &[Slot],
    ) -> Result<HashMap<String, KeySource>, PlanError> {
        let span = spans(self.insert).get(place).copied();
        let cells = match span {
            Some(span) => text::cells(self.written.source, span, self.standard_strings()),
            None => Vec::new(),
        };
        let mut sources = HashMap::new();
        let mut texts: Vec<Vec<Part>> = vec![Vec::new(); self.added.len()];
        for slot in order {
            match *slot {
                Slot::Listed(at) => {
                    self.listed_cell(place, at, cells.get(at).copied(), &mut sources)?
                }
                Slot::Added(at) => {
                    let (column, plan) = self.added[at].clone();
                    texts[at] = self.default(column, &plan, &mut sources)?;
                }
            }
        }
        for (column, plan) in self.left_out_key.clone() {
            self.default(column, &plan, &mut sources)?;
        }
        if let Some(span) = span {
            let closing = Span {
                start: span.end - 1,
                end: span.end - 1,
            };
            let parts = texts
                .into_iter()
                .flat_map(|text| std::iter::once(Part::Sql(", ".to_owned())).chain(text));
            self.edits.replace(closing, parts.collect());
        } else {
            self.replace_default_values(texts)?;
        }
        Ok(sources)
    }

    /// `DEFAULT VALUES` as a row of the columns that are added.
    fn replace_default_values(&mut self, texts: Vec<Vec<Part>>) -> Result<(), PlanError> {
        if texts.is_empty() {
            return Ok(());
        }
        let span = self.default_values()?;
        let mut parts = vec![Part::Sql("VALUES (".to_owned())];
        for (at, text) in texts.into_iter().enumerate() {
            if at > 0 {
                parts.push(Part::Sql(", ".to_owned()));
            }
            parts.extend(text);
        }
        parts.push(Part::Sql(")".to_owned()));
        self.edits.replace(span, parts);
        Ok(())
    }

    fn default_values(&self) -> Result<Span, PlanError> {
        let from = self
            .insert
            .table
            .name
            .location
            .unwrap_or(self.written.span.start);
        text::find_words(
            self.written.source,
            from,
            &["default", "values"],
            self.standard_strings(),
        )
        .ok_or_else(|| refuse(UnsupportedId::Statement, "DEFAULT VALUES"))
    }

    fn standard_strings(&self) -> bool {
        self.written.cx.settings.standard_conforming_strings
    }

    /// One value of a row that was written out.
    fn listed_cell(
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
        if let (ExprKind::Default, Some(column)) = (&expr.kind, column) {
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
            let settled = key::settle(self.written.cx, column, value, &mut self.computes)?;
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
        self.clock_word(expr, column, cell)
    }

    /// `'now'` put into a column of a date or time is read when it is stored.
    fn clock_word(
        &mut self,
        expr: &ast::Expr,
        column: Option<&Column>,
        cell: Option<Span>,
    ) -> Result<(), PlanError> {
        let (Some(column), Some(cell)) = (column, cell) else {
            return Ok(());
        };
        if self.policy == Policy::OneShard
            || !volatile::reads_clock_words(self.written.cx, column.type_oid)
        {
            return Ok(());
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
                self.computes.steady(*number)
            }
            _ => {}
        }
        Ok(())
    }

    /// The text of a column's default, empty when the shard gives it, and the key's source.
    fn default(
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
            DefaultPlan::Unknown => {
                let name = format!("the default of {:?}", column.name);
                Err(refuse(UnsupportedId::ReferenceVolatile, name))
            }
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
                let settled = key::settle(self.written.cx, column, value, &mut self.computes)?;
                let parts = settled.instead.iter().cloned().collect();
                self.keep(column, settled, None, sources);
                Ok(parts)
            }
            DefaultPlan::Expression(expression) => {
                let mut edits = Edits::default();
                for finding in expression
                    .findings
                    .iter()
                    .filter(|f| self.policy.computes(f.what))
                {
                    let part = self.computes.finding(&expression.text, finding)?;
                    if let Some(span) = finding.span {
                        edits.replace(span, vec![part]);
                    }
                }
                Ok(edits.cut(&expression.text, expression.span))
            }
        }
    }

    fn keep(
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
    fn tail(&mut self) -> Result<(), PlanError> {
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
                let is_needed = match finding.what {
                    What::Clock { .. } => {
                        self.policy >= Policy::Spread
                            && (is_stored || self.policy == Policy::Spread)
                    }
                    What::Fresh { .. } | What::Unproven if !is_stored => false,
                    What::Fresh { .. } | What::Unproven if self.policy != Policy::Copies => false,
                    What::Fresh { .. } | What::Unproven => {
                        return Err(refuse(UnsupportedId::ReferenceVolatile, finding.name));
                    }
                    _ => return Err(refuse(UnsupportedId::DeferredRead, finding.name)),
                };
                if is_needed {
                    let part = self.computes.finding(self.written.source, &finding)?;
                    if let Some(span) = finding.span {
                        self.edits.replace(span, vec![part]);
                    }
                }
            }
        }
        Ok(())
    }

    /// A value for an identity column that takes none is PostgreSQL's error, which our `OVERRIDING` would hide.
    fn check_overriding(&self) -> Result<(), PlanError> {
        let is_given = |at: usize| {
            rows(self.insert)
                .iter()
                .any(|row| row.get(at).is_some_and(|e| e.kind != ExprKind::Default))
        };
        let identities = self.listed.iter().enumerate().filter_map(|(at, column)| {
            column.filter(|column| column.identity.is_some() && is_given(at))
        });
        for column in identities {
            if self.insert.overriding_system == Some(false) {
                return Err(refuse(UnsupportedId::OverridingUser, &column.name));
            }
            let is_always = column.identity.is_some_and(|identity| identity.always);
            if self.overrides && is_always && self.insert.overriding_system.is_none() {
                let message = format!(
                    "cannot insert a non-DEFAULT value into column \"{}\"",
                    column.name
                );
                let detail = format!(
                    "Column \"{}\" is an identity column defined as GENERATED ALWAYS.",
                    column.name
                );
                let told = Diagnostic::error(SqlState::GENERATED_ALWAYS, message)
                    .detail(detail)
                    .hint("Use OVERRIDING SYSTEM VALUE to override.");
                return Err(PlanError::Postgres(Box::new(told)));
            }
        }
        Ok(())
    }

    /// The text before the first row, with the added columns.
    fn head(&mut self, first: Span) -> Result<(), PlanError> {
        let overriding = match self.insert.overriding_system {
            Some(true) => " OVERRIDING SYSTEM VALUE",
            _ if self.overrides => " OVERRIDING SYSTEM VALUE",
            Some(false) => " OVERRIDING USER VALUE",
            None => "",
        };
        if self.added.is_empty() && !self.overrides {
            return Ok(());
        }
        let unplaced = || refuse(UnsupportedId::Statement, "INSERT");
        if self
            .insert
            .columns
            .iter()
            .any(|column| column.has_indirection)
        {
            return Err(refuse(
                UnsupportedId::ComputedKey,
                "a column list with fields or subscripts",
            ));
        }
        let start = self.insert.table.name.location.ok_or_else(unplaced)?;
        let table = &self.insert.table;
        let name: Vec<String> = table.name.parts.iter().map(|part| quoted(part)).collect();
        let alias = table
            .alias
            .as_ref()
            .map_or_else(String::new, |alias| format!(" AS {}", quoted(&alias.name)));
        let listed: Vec<String> = if self.insert.columns.is_empty() {
            self.listed
                .iter()
                .flatten()
                .map(|column| quoted(&column.name))
                .collect()
        } else {
            self.insert
                .columns
                .iter()
                .map(|column| quoted(&column.name))
                .collect()
        };
        let added = self.added.iter().map(|(column, _)| quoted(&column.name));
        let columns: Vec<String> = listed.into_iter().chain(added).collect();
        let values = if matches!(self.insert.source, InsertSource::Default) {
            ""
        } else {
            "VALUES "
        };
        let head = format!(
            "{}{alias} ({}){overriding} {values}",
            name.join("."),
            columns.join(", ")
        );
        self.edits.replace(
            Span {
                start,
                end: first.start,
            },
            vec![Part::Sql(head)],
        );
        Ok(())
    }

    fn assemble(
        mut self,
        goal: &Goal,
        routes: Vec<Route>,
        facts: Facts,
    ) -> Result<Planned, PlanError> {
        let first = match spans(self.insert).first() {
            Some(first) => Some(*first),
            None if self.added.is_empty() => None,
            None => Some(self.default_values()?),
        };
        if let Some(first) = first {
            self.head(first)?;
        }
        let merge = self.merge(goal);
        let text = self.text(&routes);
        let count = rows(self.insert).len().max(1);
        let (tier, target, reason) = self.target(goal, routes);
        let compute = self.computes.finish()?;
        let is_verbatim = text == Text::Verbatim;
        let tier = if is_verbatim || tier != Tier::PassThrough {
            tier
        } else {
            Tier::SomeShards
        };
        Ok(Planned {
            plan: Plan {
                tier: if count == 1 && tier == Tier::SomeShards {
                    Tier::PassThrough
                } else {
                    tier
                },
                compute,
                target,
                text,
                merge,
                effect: Effect::Write,
                reasons: vec![reason],
                notices: Vec::new(),
            },
            fixed: Fixed::All,
            facts,
        })
    }

    fn text(&self, routes: &[Route]) -> Text {
        let spans = spans(self.insert);
        let (source, whole) = (self.written.source, self.written.span);
        if let ([first, .., last], true) = (spans, routes.len() > 1) {
            return Text::Rows {
                head: self.edits.cut(
                    source,
                    Span {
                        start: whole.start,
                        end: first.start,
                    },
                ),
                rows: spans
                    .iter()
                    .zip(routes)
                    .map(|(span, route)| Row {
                        route: route.clone(),
                        text: self.edits.cut(source, *span),
                    })
                    .collect(),
                tail: self.edits.cut(
                    source,
                    Span {
                        start: last.end,
                        end: whole.end,
                    },
                ),
            };
        }
        if self.edits.is_empty() || self.is_unchanged() {
            Text::Verbatim
        } else {
            Text::Edited(self.edits.cut(source, whole))
        }
    }

    fn is_unchanged(&self) -> bool {
        let cut = self.edits.cut(self.written.source, self.written.span);
        let own = crate::compute::slice(self.written.source, self.written.span).unwrap_or("");
        matches!(cut.as_slice(), [Part::Sql(sql)] if sql == own)
    }

    fn merge(&self, goal: &Goal) -> Merge {
        let is_split = rows(self.insert).len() > 1;
        match goal {
            Goal::Copies(_) => Merge::Copies,
            Goal::Sharded(_)
                if is_split && conflict::returns_every_row(self.insert, self.relation) =>
            {
                Merge::InsertOrder
            }
            Goal::Sharded(_) if is_split => Merge::Concat {
                window: crate::RowWindow::default(),
            },
            _ => Merge::Pass,
        }
    }

    fn target(&self, goal: &Goal, routes: Vec<Route>) -> (Tier, Target, String) {
        match goal {
            Goal::Copies(shards) => (
                Tier::Broadcast,
                Target::Shards(shards.clone()),
                format!(
                    "reference table {}: every copy gets the same",
                    self.relation.name
                ),
            ),
            Goal::Sharded(_) if routes.len() > 1 => (
                Tier::SomeShards,
                Target::Rows,
                "each row goes to the shard of its key".to_owned(),
            ),
            Goal::Sharded(_) => (
                Tier::PassThrough,
                Target::One {
                    routes: SmallVec::from_vec(routes),
                    split: None,
                },
                "the row goes to the shard of its key".to_owned(),
            ),
            Goal::Alone(shard) => one_shard(*shard),
            Goal::Temporary => one_shard(self.written.cx.topology.authoritative_shard()),
        }
    }
}

fn one_shard(shard: ShardId) -> (Tier, Target, String) {
    let planned = verbatim(Route::Shard(shard), "the table lives on one shard");
    (
        Tier::PassThrough,
        planned.plan.target,
        planned.plan.reasons.concat(),
    )
}

/// The trigger events that the statement fires.
fn events(insert: &ast::Insert) -> i16 {
    let updates = insert
        .on_conflict
        .as_ref()
        .is_some_and(|conflict| conflict.update.is_some());
    if updates {
        trigger::INSERT | trigger::UPDATE
    } else {
        trigger::INSERT
    }
}

fn rows(insert: &ast::Insert) -> &[Vec<ast::Expr>] {
    match &insert.source {
        InsertSource::Values { rows, .. } => rows,
        InsertSource::Default | InsertSource::Query(_) => &[],
    }
}

fn spans(insert: &ast::Insert) -> &[Span] {
    match &insert.source {
        InsertSource::Values { spans, .. } => spans,
        InsertSource::Default | InsertSource::Query(_) => &[],
    }
}

fn quoted_text(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
