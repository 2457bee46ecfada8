//! The finished plan: text, target and merge.

use pg::{Diagnostic, SqlState};
use smallvec::SmallVec;
use sql::ast::{ExprKind, InsertSource, Span};
use topology::ShardId;

use super::{Insertion, rows, spans};
use crate::compute::quoted;
use crate::plan::{
    Effect, Facts, Fixed, Merge, Part, Plan, Planned, Route, Row, Target, Text, Tier,
};
use crate::write::{Goal, conflict, verbatim};
use crate::{PlanError, UnsupportedId, refuse};

impl Insertion<'_> {
    /// A value for an identity column that takes none is PostgreSQL's error, which our `OVERRIDING` would hide.
    pub(super) fn check_overriding(&self) -> Result<(), PlanError> {
        let is_given = |at: usize| {
            rows(self.insert)
                .iter()
                .any(|row| row.get(at).is_some_and(|e| e.kind != ExprKind::Default))
        };
        let identities = self.listed.iter().enumerate().filter_map(|(at, column)| {
            column.filter(|column| column.identity.is_some() && is_given(at))
        });
        for column in identities {
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
    pub(super) fn head(&mut self, first: Span) -> Result<(), PlanError> {
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

    pub(super) fn assemble(
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
        let relies_on_text = self.relies_on_text;
        let compute = self.computes.finish()?;
        let is_verbatim = text == Text::Verbatim;
        let fixed = if is_verbatim && !relies_on_text {
            Fixed::Slots(Vec::new())
        } else {
            Fixed::All
        };
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
            fixed,
            facts,
        })
    }

    pub(super) fn text(&self, routes: &[Route]) -> Text {
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

    pub(super) fn is_unchanged(&self) -> bool {
        let cut = self.edits.cut(self.written.source, self.written.span);
        let own = crate::compute::slice(self.written.source, self.written.span).unwrap_or("");
        matches!(cut.as_slice(), [Part::Sql(sql)] if sql == own)
    }

    pub(super) fn merge(&self, goal: &Goal) -> Merge {
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

    pub(super) fn target(&self, goal: &Goal, routes: Vec<Route>) -> (Tier, Target, String) {
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
