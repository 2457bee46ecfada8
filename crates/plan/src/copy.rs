//! `COPY`: rows that stream in are placed one by one, rows that stream out are strung together.
//!
//! A table that is on one shard gets the client's bytes unread. Invariant: a row is sent to a shard only when its key was read
//! from it, or to every copy with all that could differ written into it.

use std::sync::Arc;

use catalog::{Column, Relation};
use pg::{KeyType, Oid};
use sql::ast;
use topology::Sharded;

use crate::compute::{Computes, quoted};
use crate::key::Class;
use crate::plan::{Effect, Facts, Fixed, Merge, Part, Plan, Planned, Route, Target, Text, Tier};
use crate::volatile;
use crate::write::{self, Goal, Policy, Written, default::DefaultPlan};
use crate::{PlanError, UnsupportedId, refuse};

mod option;

use option::Options;
pub use option::{CopyFormat, CopyNull};

/// How the rows of `COPY ... FROM STDIN` are taken apart and where they go.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyIn {
    /// What each shard is sent before the rows.
    pub statement: Vec<Part>,
    /// How rows are told apart and read.
    pub format: CopyFormat,
    /// The first line is a header: it goes to every shard that gets rows.
    pub has_header: bool,
    /// How many fields a row of the client's has.
    pub fields_count: u16,
    /// How a row finds its shard; `None`: every row goes to every shard of the plan's target.
    pub place: Option<CopyPlace>,
    /// Fields that are added at the end of each row.
    pub added: Vec<CopyAdded>,
    /// Fields whose text must not mean a moment relative to now ([`crate::is_clock_word`]), since each copy would read it by
    /// its own clock; refused as [`UnsupportedId::ReferenceVolatile`].
    pub steady: Vec<u16>,
}

/// How a row finds its shard.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyPlace {
    /// Group, index function, key and ranges of the table.
    pub sharded: Arc<Sharded>,
    /// Where the columns of the key are.
    pub columns: Vec<CopyKey>,
}

/// A key's column in the rows that are copied.
#[derive(Clone, Debug, PartialEq)]
pub struct CopyKey {
    /// The column.
    pub column: String,
    /// Where its value is.
    pub source: CopySource,
    /// What it is stored as.
    pub key_type: KeyType,
    /// The column's type without domains, as a binary field has it.
    pub type_oid: Oid,
}

/// Where a key column's value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopySource {
    /// The row's field, from 0.
    Field(u16),
    /// The added field, from 0.
    Added(u16),
}

/// A field that is added to each row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyAdded {
    /// The column.
    pub column: String,
    /// Its value.
    pub value: CopyValue,
}

/// The value of an added field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyValue {
    /// The same in all rows.
    Computed(u32),
    /// The next value of a sequence for each row.
    Draw {
        /// The sequence.
        sequence: Oid,
    },
}

/// Plans a `COPY`. `inner` plans the query of `COPY (query) TO STDOUT`.
///
/// # Errors
///
/// It is refused.
pub(crate) fn plan(
    written: &Written<'_>,
    copy: &ast::Copy,
    inner: &dyn Fn(&ast::Body, ast::Span) -> Result<Planned, PlanError>,
) -> Result<Planned, PlanError> {
    if copy.server_side {
        let name = copy
            .table
            .as_ref()
            .map_or_else(String::new, |table| table.name.parts.join("."));
        return Err(refuse(UnsupportedId::CopyServerSide, name));
    }
    match (&copy.table, &copy.query, copy.query_span) {
        (Some(table), _, _) if copy.is_from => copy_in(written, copy, table),
        (Some(table), _, _) => table_out(written, copy, table),
        (None, Some(query), Some(span)) => query_out(copy, inner(query, span)?),
        _ => Err(refuse(UnsupportedId::Statement, "COPY")),
    }
}

/// `COPY table TO STDOUT`.
fn table_out(
    written: &Written<'_>,
    copy: &ast::Copy,
    table: &ast::TableRef,
) -> Result<Planned, PlanError> {
    let goal = write::read_goal(written, table)?;
    let mut planned = match goal {
        Goal::Alone(shard) => write::verbatim(Route::Shard(shard), "the table lives on one shard"),
        Goal::Temporary => write::temporary(),
        Goal::Copies(shards) => write::verbatim(Route::Any(shards), "every copy has the same rows"),
        Goal::Sharded(sharded) => {
            let mut planned = write::verbatim(Route::Authority, "every shard copies its own rows");
            planned.plan.tier = Tier::Scatter;
            planned.plan.target = Target::Group(sharded.group);
            planned.plan.merge = copy_out(copy)?;
            planned
        }
    };
    planned.plan.effect = Effect::Read;
    Ok(planned)
}

/// `COPY (query) TO STDOUT`: the query's own plan, when its rows need no work in the router.
fn query_out(copy: &ast::Copy, mut planned: Planned) -> Result<Planned, PlanError> {
    let is_strung = match &planned.plan.merge {
        Merge::Pass => false,
        Merge::Concat { window } if *window == crate::RowWindow::default() => true,
        _ => return Err(refuse(UnsupportedId::CopyQuery, "its rows are merged")),
    };
    if planned.plan.text != Text::Verbatim {
        return Err(refuse(
            UnsupportedId::CopyQuery,
            "it is changed before it is sent",
        ));
    }
    if is_strung {
        planned.plan.merge = copy_out(copy)?;
    }
    planned.fixed = Fixed::All;
    Ok(planned)
}

fn copy_out(copy: &ast::Copy) -> Result<Merge, PlanError> {
    let options = Options::read(copy)?;
    Ok(Merge::CopyOut {
        has_header: options.has_header,
        is_binary: options.format == CopyFormat::Binary,
    })
}

/// `COPY table FROM STDIN`.
fn copy_in(
    written: &Written<'_>,
    copy: &ast::Copy,
    table: &ast::TableRef,
) -> Result<Planned, PlanError> {
    let (goal, relation) = write::goal_of(written, table)?;
    let Some(relation) = relation else {
        return Ok(write::temporary());
    };
    let draws = write::check_insert_triggers(written.cx, &goal, relation)?;
    if let Goal::Alone(shard) = goal {
        let mut planned = alone(written, copy, (relation, shard))?;
        planned.facts.draws_unseen |= draws;
        return Ok(planned);
    }
    let options = Options::read(copy)?;
    options.check_spread(&goal)?;
    check_filter(written, copy)?;
    Incoming::new(written, copy, (&goal, relation), options).plan()
}

/// Each shard tests the rows that it gets, so the test must be the same everywhere.
fn check_filter(written: &Written<'_>, copy: &ast::Copy) -> Result<(), PlanError> {
    let Some(filter) = &copy.filter else {
        return Ok(());
    };
    let findings = volatile::findings(written.cx, written.source, filter);
    match findings.first() {
        Some(finding) => Err(refuse(
            UnsupportedId::CopyOption,
            format!("WHERE with {}", finding.name),
        )),
        None => Ok(()),
    }
}

/// PostgreSQL does it all, defaults too.
fn alone(
    written: &Written<'_>,
    copy: &ast::Copy,
    (relation, shard): (&Relation, topology::ShardId),
) -> Result<Planned, PlanError> {
    let is_listed =
        |column: &&Column| copy.columns.is_empty() || copy.columns.contains(&column.name);
    let left_out = relation.columns.iter().filter(|column| !is_listed(column));
    let draws = write::default::draw_there(written.cx, left_out)?;
    let mut facts = Facts::default();
    write::draw_unseen(written, shard, draws, &mut facts)?;
    let mut planned = write::verbatim(Route::Shard(shard), "the table lives on one shard");
    planned.facts = facts;
    Ok(planned)
}

/// A COPY whose rows are read on their way.
struct Incoming<'a> {
    written: &'a Written<'a>,
    copy: &'a ast::Copy,
    goal: &'a Goal,
    relation: &'a Relation,
    options: Options,
    /// The columns of the client's rows; `None` where the catalog knows none.
    listed: Vec<Option<&'a Column>>,
    added: Vec<CopyAdded>,
    computes: Computes<'a>,
}

// === impl Incoming ===

impl<'a> Incoming<'a> {
    fn new(
        written: &'a Written<'a>,
        copy: &'a ast::Copy,
        (goal, relation): (&'a Goal, &'a Relation),
        options: Options,
    ) -> Self {
        let listed = if copy.columns.is_empty() {
            relation
                .columns
                .iter()
                .filter(|column| !column.generated)
                .map(Some)
                .collect()
        } else {
            copy.columns
                .iter()
                .map(|name| relation.column(name))
                .collect()
        };
        Self {
            written,
            copy,
            goal,
            relation,
            options,
            listed,
            added: Vec::new(),
            computes: Computes::new(written.cx),
        }
    }

    fn plan(mut self) -> Result<Planned, PlanError> {
        self.add_left_out()?;
        let place = self.place()?;
        let statement = self.statement()?;
        let is_draw = |added: &CopyAdded| matches!(added.value, CopyValue::Draw { .. });
        let facts = Facts {
            uses_sequence: self.added.iter().any(is_draw),
            ..Facts::default()
        };
        let (tier, target, merge, reason) = if let Goal::Copies(shards) = self.goal {
            let target = Target::Shards(shards.clone());
            (
                Tier::Broadcast,
                target,
                Merge::Copies,
                "every copy gets the same rows",
            )
        } else {
            let window = crate::RowWindow::default();
            (
                Tier::SomeShards,
                Target::Rows,
                Merge::Concat { window },
                "each row goes to the shard of its key",
            )
        };
        let copy_in = CopyIn {
            statement,
            format: self.options.format,
            has_header: self.options.has_header,
            fields_count: u16::try_from(self.listed.len()).unwrap_or(u16::MAX),
            place,
            added: self.added.clone(),
            steady: self.steady(),
        };
        Ok(Planned {
            plan: Plan {
                tier,
                compute: self.computes.finish()?,
                target,
                text: Text::CopyIn(Box::new(copy_in)),
                merge,
                effect: Effect::Write,
                reasons: vec![reason.to_owned()],
                notices: Vec::new(),
            },
            fixed: Fixed::All,
            facts,
        })
    }

    fn policy(&self) -> Policy {
        match self.goal {
            Goal::Copies(_) => Policy::Copies,
            _ => Policy::Spread,
        }
    }

    /// Fields for left-out columns whose default can't be left to the shards.
    fn add_left_out(&mut self) -> Result<(), PlanError> {
        for column in &self.relation.columns {
            if self
                .listed
                .iter()
                .flatten()
                .any(|listed| listed.number == column.number)
            {
                continue;
            }
            let name = || format!("the default of {:?}", column.name);
            let value = match write::default::plan(self.written.cx, column, self.policy(), false) {
                DefaultPlan::Leave | DefaultPlan::Null => continue,
                DefaultPlan::Draw { sequence, .. } => CopyValue::Draw { sequence },
                DefaultPlan::Expression(expression) => {
                    // Only a reading of the clock is one value for all rows.
                    let finding = match expression.findings.as_slice() {
                        [finding] if finding.span == Some(expression.span) => finding,
                        _ => return Err(refuse(UnsupportedId::ReferenceVolatile, name())),
                    };
                    let volatile::What::Clock { .. } = finding.what else {
                        return Err(refuse(UnsupportedId::ReferenceVolatile, name()));
                    };
                    match self.computes.finding(&expression.text, finding)? {
                        Part::Computed(index) => CopyValue::Computed(index),
                        Part::Sql(_) => {
                            return Err(refuse(UnsupportedId::ReferenceVolatile, name()));
                        }
                    }
                }
                DefaultPlan::Unknown => {
                    return Err(write::default::unknown(column, self.policy()));
                }
            };
            if self.options.format == CopyFormat::Binary {
                return Err(refuse(
                    UnsupportedId::CopyOption,
                    "binary rows without every drawn column",
                ));
            }
            self.added.push(CopyAdded {
                column: column.name.clone(),
                value,
            });
        }
        Ok(())
    }

    fn place(&self) -> Result<Option<CopyPlace>, PlanError> {
        let Goal::Sharded(sharded) = self.goal else {
            return Ok(None);
        };
        let mut columns = Vec::new();
        for name in sharded.key.columns() {
            columns.push(self.key(name)?);
        }
        Ok(Some(CopyPlace {
            sharded: Arc::clone(sharded),
            columns,
        }))
    }

    fn key(&self, name: &str) -> Result<CopyKey, PlanError> {
        let unknown = || {
            refuse(
                UnsupportedId::CopyKey,
                format!("{}.{name}", self.relation.name),
            )
        };
        let column = self.relation.column(name).ok_or_else(unknown)?;
        let class = Class::of_column(self.written.cx.catalog, column)
            .ok_or_else(|| refuse(UnsupportedId::KeyType, name))?;
        let place = |at: usize| u16::try_from(at).unwrap_or(u16::MAX);
        let field = self
            .listed
            .iter()
            .position(|listed| listed.is_some_and(|c| c.name == name));
        let added = self.added.iter().position(|added| added.column == name);
        let source = match (field, added) {
            (Some(at), _) => CopySource::Field(place(at)),
            (None, Some(at)) => CopySource::Added(place(at)),
            (None, None) => return Err(unknown()),
        };
        self.options.check_key(name)?;
        Ok(CopyKey {
            column: name.to_owned(),
            source,
            key_type: class.key,
            type_oid: self.written.cx.catalog.base_type(column.type_oid),
        })
    }

    /// Fields of dates and times that every copy would read by its own clock.
    fn steady(&self) -> Vec<u16> {
        if !matches!(self.goal, Goal::Copies(_)) || self.options.format == CopyFormat::Binary {
            return Vec::new();
        }
        let reads = |column: &Column| volatile::reads_clock_words(self.written.cx, column.type_oid);
        let fields = self.listed.iter().enumerate();
        let fields = fields.filter(|(_, column)| column.is_some_and(reads));
        fields
            .filter_map(|(at, _)| u16::try_from(at).ok())
            .collect()
    }

    /// The client's own statement, with the added columns in its list.
    fn statement(&self) -> Result<Vec<Part>, PlanError> {
        let unplaced = || refuse(UnsupportedId::Statement, "COPY");
        let whole = self.written.span;
        if self.added.is_empty() {
            let own = crate::compute::slice(self.written.source, whole).ok_or_else(unplaced)?;
            return Ok(vec![Part::Sql(own.to_owned())]);
        }
        let table = self.copy.table.as_ref().ok_or_else(unplaced)?;
        let from = table.name.location.ok_or_else(unplaced)?;
        let standard = self.written.cx.settings.standard_conforming_strings;
        let words = write::find_words(self.written.source, from, &["from", "stdin"], standard);
        let rest = ast::Span {
            start: words.ok_or_else(unplaced)?.start,
            end: whole.end,
        };
        let rest = crate::compute::slice(self.written.source, rest).ok_or_else(unplaced)?;
        let name: Vec<String> = table.name.parts.iter().map(|part| quoted(part)).collect();
        let listed: Vec<&str> = if self.copy.columns.is_empty() {
            self.listed
                .iter()
                .flatten()
                .map(|column| column.name.as_str())
                .collect()
        } else {
            self.copy.columns.iter().map(String::as_str).collect()
        };
        let added = self.added.iter().map(|added| added.column.as_str());
        let columns: Vec<String> = listed.into_iter().chain(added).map(quoted).collect();
        Ok(vec![Part::Sql(format!(
            "COPY {} ({}) {rest}",
            name.join("."),
            columns.join(", ")
        ))])
    }
}
