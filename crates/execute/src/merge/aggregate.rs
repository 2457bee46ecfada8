//! Partial aggregates of many shards, combined by group while they stream.

use std::cmp::Ordering;

use bytes::{Bytes, BytesMut};
use pg::arith::{Extremum, Total};
use pg::order::{Comparator, Direction};
use pg::{Diagnostic, Format, Oid, SqlState};
use plan::{Aggregate, AggregateColumn};
use wire::backend::DataRow;

use super::rows::{Key, compare, keys_of, least, unreadable};
use super::{Answers, Columns, GROUPS_BYTES_MAX, Window, cut};
use crate::ExecuteError;
use crate::executor::Executor;

/// One column's running value in the group at hand.
enum Running {
    Group(Option<Vec<u8>>),
    Total(Total, Format),
    Extremum(Extremum, Format),
    Bool {
        is_and: bool,
        value: Option<bool>,
        format: Format,
    },
}

impl Executor<'_, '_> {
    /// Groups of all shards, each shard's in the order of the group's columns.
    pub(super) async fn aggregate(
        &mut self,
        answers: &mut Answers,
        plan: &Aggregate,
        window: &mut Window,
    ) -> Result<String, ExecuteError> {
        let group = keys_of(&plan.group, &answers.columns)?;
        let order = keys_of(&plan.order, &answers.columns)?;
        let mut heads = self.heads(answers).await?;
        let mut sorted = Sorted::new(order);
        let mut current: Option<(Bytes, Vec<Running>)> = None;
        let mut shown = 0;
        while let Some(place) = least(&heads, &group)? {
            let next = self.head(answers, place).await?;
            let Some(row) = std::mem::replace(&mut heads[place], next) else {
                continue;
            };
            if let Some((first, running)) = &mut current
                && compare(first, &row, &group)? == Ordering::Equal
            {
                add(running, &row)?;
                continue;
            }
            let fresh = begin(&row, plan, &answers.columns)?;
            if let Some((_, done)) = current.replace((row, fresh)) {
                shown += self
                    .group_done(&done, plan.hidden, &mut sorted, window)
                    .await?;
            }
        }
        if let Some((_, done)) = current {
            shown += self
                .group_done(&done, plan.hidden, &mut sorted, window)
                .await?;
        }
        for row in sorted.take()? {
            let is_shown = self
                .place(window, |out| cut(&row, plan.hidden, out))
                .await?;
            shown += u64::from(is_shown);
        }
        Ok(format!("SELECT {shown}"))
    }

    /// A group is complete: it is shown, or kept until all are there to be put in order. Returns how many rows were shown.
    async fn group_done(
        &mut self,
        group: &[Running],
        hidden: u16,
        sorted: &mut Sorted,
        window: &mut Window,
    ) -> Result<u64, ExecuteError> {
        let row = finish(group);
        if sorted.is_needed() {
            sorted.push(row)?;
            return Ok(0);
        }
        let is_shown = self.place(window, |out| cut(&row, hidden, out)).await?;
        Ok(u64::from(is_shown))
    }
}

/// Groups that have to be put in another order than they come in.
struct Sorted {
    keys: Vec<Key>,
    rows: Vec<Bytes>,
    bytes: usize,
}

impl Sorted {
    fn new(keys: Vec<Key>) -> Self {
        Self {
            keys,
            rows: Vec::new(),
            bytes: 0,
        }
    }

    fn is_needed(&self) -> bool {
        !self.keys.is_empty()
    }

    fn push(&mut self, row: Bytes) -> Result<(), Diagnostic> {
        self.bytes += row.len();
        if self.bytes > GROUPS_BYTES_MAX {
            let message = "too many groups to be put in order by the router";
            return Err(Diagnostic::error(SqlState::OUT_OF_MEMORY, message)
                .detail(format!(
                    "At most {} MB of groups are kept for a statement.",
                    GROUPS_BYTES_MAX >> 20
                ))
                .hint("Order by the grouping columns, or group by the shard key."));
        }
        self.rows.push(row);
        Ok(())
    }

    fn take(mut self) -> Result<Vec<Bytes>, ExecuteError> {
        let mut failure = None;
        self.rows.sort_by(|a, b| {
            compare(a, b, &self.keys).unwrap_or_else(|error| {
                failure.get_or_insert(error);
                Ordering::Equal
            })
        });
        failure.map_or(Ok(self.rows), Err)
    }
}

/// The running values of a group that begins with `row`.
fn begin(row: &Bytes, plan: &Aggregate, columns: &Columns) -> Result<Vec<Running>, ExecuteError> {
    let mut running = Vec::with_capacity(plan.columns.len());
    for (at, column) in plan.columns.iter().enumerate() {
        let type_oid = columns.types.get(at).copied().unwrap_or(Oid::INVALID);
        let format = columns.formats.get(at).copied().unwrap_or_default();
        running.push(match column {
            AggregateColumn::Group => Running::Group(None),
            AggregateColumn::Count | AggregateColumn::Sum => {
                let total = Total::for_type(type_oid).ok_or_else(|| not_exact(type_oid))?;
                Running::Total(total, format)
            }
            AggregateColumn::Min { collation_is_bytes } => {
                let comparator = ascending(type_oid, *collation_is_bytes)?;
                Running::Extremum(Extremum::min(comparator), format)
            }
            AggregateColumn::Max { collation_is_bytes } => {
                let comparator = ascending(type_oid, *collation_is_bytes)?;
                Running::Extremum(Extremum::max(comparator), format)
            }
            AggregateColumn::And => Running::Bool {
                is_and: true,
                value: None,
                format,
            },
            AggregateColumn::Or => Running::Bool {
                is_and: false,
                value: None,
                format,
            },
        });
    }
    add(&mut running, row)?;
    Ok(running)
}

fn ascending(type_oid: Oid, collation_is_bytes: bool) -> Result<Comparator, Diagnostic> {
    let direction = Direction {
        descending: false,
        nulls_first: false,
    };
    let comparator = Comparator::for_type(type_oid, collation_is_bytes, direction);
    comparator.ok_or_else(|| not_exact(type_oid))
}

fn not_exact(type_oid: Oid) -> Diagnostic {
    let name = type_oid.type_name().unwrap_or("of the column");
    let message = "this aggregate is not supported over several shards";
    Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail(format!(
            "kintsugi/aggregate-type: the router can't finish it exactly for type {name}"
        ))
        .hint("Group by the shard key, or name it.")
}

/// Adds a shard's partial row to a group.
fn add(running: &mut [Running], row: &Bytes) -> Result<(), ExecuteError> {
    let Ok(row) = DataRow::unchecked(row) else {
        return Err(crate::pump::PumpError::Unexpected { tag: 'D' }.into());
    };
    for (own, value) in running.iter_mut().zip(row.columns()) {
        let added = match own {
            Running::Group(kept) => {
                *kept = value.map(<[u8]>::to_vec);
                Ok(())
            }
            Running::Total(total, format) => total
                .add(value, *format)
                .map_err(|error| unreadable(&error)),
            Running::Extremum(kept, format) => {
                kept.add(value, *format).map_err(|error| unreadable(&error))
            }
            Running::Bool {
                is_and,
                value: kept,
                ..
            } => {
                let value = value.map(|value| matches!(value, [b't' | 1]));
                *kept = match (*kept, value) {
                    (Some(kept), Some(value)) if *is_and => Some(kept && value),
                    (Some(kept), Some(value)) => Some(kept || value),
                    (kept, value) => kept.or(value),
                };
                Ok(())
            }
        };
        added?;
    }
    Ok(())
}

/// The row of a group, as the body of `DataRow`.
fn finish(running: &[Running]) -> Bytes {
    let values: Vec<Option<Vec<u8>>> = running
        .iter()
        .map(|own| match own {
            Running::Group(kept) => kept.clone(),
            Running::Total(total, format) => total.value(*format),
            Running::Extremum(kept, _) => kept.value().map(<[u8]>::to_vec),
            Running::Bool { value, format, .. } => value.map(|value| match format {
                Format::Text => vec![if value { b't' } else { b'f' }],
                Format::Binary => vec![u8::from(value)],
            }),
        })
        .collect();
    let mut message = BytesMut::new();
    wire::backend::data_row(&mut message, values.iter().map(Option::as_deref));
    message.split_off(5).freeze()
}
