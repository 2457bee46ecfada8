//! `INSERT` of rows that are written out: `VALUES` and `DEFAULT VALUES`.
//!
//! Each row goes home by its key. Values of sequences, and whatever could differ between shards that must not differ, are
//! computed once and written into the client's text; columns that were left out are added to it. Invariant: values are drawn
//! in the order in which PostgreSQL evaluates them: a single row column by column of the table, several rows one by one as listed,
//! then defaults.

mod assemble;
mod value;

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{Column, Relation};
use pg::{Diagnostic, SqlState};
use sql::ast::{self, InsertSource, Span};
use topology::Sharded;

use super::default::{self, DefaultPlan};
use super::key;
use super::tables::Needs;
use super::text::{self, Edits};
use super::{Goal, Subject, Written, conflict, select, temporary, trigger};
use crate::compute::Computes;
use crate::plan::{Facts, KeySource, Part, Planned, Route};
use crate::slot::Slots;
use crate::volatile::What;
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
    let mut facts = needs.check_calls(written.cx, is_one_shard)?;
    match &subject.goal {
        Goal::Alone(shard) => {
            needs.are_whole_on(written, &[*shard], UnsupportedId::UnshardedJoin)?;
            needs.inner_writes_are_on(written, *shard)?;
        }
        Goal::Sharded(_) | Goal::Copies(_) | Goal::Temporary => {
            check_plain(written, insert, &needs)?;
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
    facts.draws_unseen |= trigger::check(written.cx, &subject.goal, relation, events(insert))?;
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
    /// Where the text's literals are; one that isn't known binds the plan to its text.
    slots: Slots,
    relies_on_text: bool,
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
            Goal::Sharded(_) if rows(insert).len() > 1 => Policy::Spread,
            Goal::Alone(_) | Goal::Temporary | Goal::Sharded(_) => Policy::OneShard,
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
            slots: Slots::of_text(
                written.source,
                written.cx.settings.standard_conforming_strings,
            ),
            relies_on_text: false,
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
                DefaultPlan::Null if is_key => self.left_out_key.push((column, plan)),
                DefaultPlan::Leave | DefaultPlan::Null => {}
                DefaultPlan::Unknown => return Err(default::unknown(column, self.policy)),
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
                    self.listed_cell(place, at, cells.get(at).copied(), &mut sources)?;
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
