//! Rows of many shards in one stream: in any order, in order, or in the order of an INSERT's rows.

use std::cmp::Ordering;

use bytes::Bytes;
use pg::order::{Comparator, Direction};
use pg::{Diagnose, Diagnostic, Format, SqlState};
use plan::MergeKey;
use wire::backend::DataRow;

use super::answer::Event;
use super::share::Share;
use super::{Answers, Columns, Window, cut, sum_tags, whole};
use crate::ExecuteError;
use crate::executor::Executor;

/// A column that rows are compared by.
pub(super) struct Key {
    column: usize,
    comparator: Comparator,
    format: Format,
}

impl Executor<'_, '_> {
    /// Every shard's rows, one shard after the other.
    pub(super) async fn concat(
        &mut self,
        answers: &mut Answers,
        window: &mut Window,
    ) -> Result<String, ExecuteError> {
        let mut shown = 0;
        for place in 0..answers.list.len() {
            loop {
                match answers.list[place].next(self.hands, true).await? {
                    Event::Row(row) => {
                        shown += u64::from(self.place(window, |out| whole(&row, out)).await?);
                    }
                    Event::Columns(_) => {}
                    Event::Ended => break,
                }
            }
        }
        Ok(select_tag(answers, shown))
    }

    /// Every shard's rows, each shard's in order, merged.
    pub(super) async fn ordered(
        &mut self,
        answers: &mut Answers,
        keys: &[MergeKey],
        hidden: u16,
        window: &mut Window,
    ) -> Result<String, ExecuteError> {
        let keys = keys_of(keys, &answers.columns)?;
        let mut heads = self.heads(answers).await?;
        let mut shown = 0;
        while let Some(place) = least(&heads, &keys)? {
            let next = self.head(answers, place).await?;
            let Some(row) = std::mem::replace(&mut heads[place], next) else {
                continue;
            };
            let is_shown = self.place(window, |out| cut(&row, hidden, out)).await?;
            shown += u64::from(is_shown);
        }
        Ok(select_tag(answers, shown))
    }

    /// The first row of each answer.
    pub(super) async fn heads(
        &mut self,
        answers: &mut Answers,
    ) -> Result<Vec<Option<Bytes>>, ExecuteError> {
        let mut heads = Vec::with_capacity(answers.list.len());
        for place in 0..answers.list.len() {
            heads.push(self.head(answers, place).await?);
        }
        Ok(heads)
    }

    /// The next row of an answer; `None` at its end.
    pub(super) async fn head(
        &mut self,
        answers: &mut Answers,
        place: usize,
    ) -> Result<Option<Bytes>, ExecuteError> {
        loop {
            match answers.list[place].next(self.hands, true).await? {
                Event::Row(row) => return Ok(Some(row)),
                Event::Columns(_) => {}
                Event::Ended => return Ok(None),
            }
        }
    }

    /// RETURNING rows put back into the order of the VALUES list.
    pub(super) async fn insert_order(
        &mut self,
        shares: &[Share],
        answers: &mut Answers,
        window: &mut Window,
    ) -> Result<String, ExecuteError> {
        let mut rows: Vec<(usize, Bytes)> = Vec::new();
        for (place, share) in shares.iter().enumerate() {
            let before = rows.len();
            while let Some(row) = self.head(answers, place).await? {
                let at = share
                    .rows
                    .get(rows.len() - before)
                    .copied()
                    .unwrap_or(usize::MAX);
                rows.push((at, row));
            }
            let count = rows.len() - before;
            if count > 0 && count != share.rows.len() && shares.len() > 1 {
                return Err(rows_missing().into());
            }
        }
        rows.sort_by_key(|(at, _)| *at);
        for (_, row) in &rows {
            self.place(window, |out| whole(row, out)).await?;
        }
        Ok(sum_tags(answers.list.iter().map(super::Answer::tag)))
    }
}

/// The keys with their comparators.
pub(super) fn keys_of(keys: &[MergeKey], columns: &Columns) -> Result<Vec<Key>, Diagnostic> {
    let key = |key: &MergeKey| {
        let column = usize::from(key.column);
        let (type_oid, format) = match (columns.types.get(column), columns.formats.get(column)) {
            (Some(type_oid), Some(format)) => (*type_oid, *format),
            _ => {
                return Err(not_comparable(
                    "the result has fewer columns than were planned",
                ));
            }
        };
        let direction = Direction {
            descending: key.descending,
            nulls_first: key.nulls_first,
        };
        let comparator = Comparator::for_type(type_oid, key.collation_is_bytes, direction);
        let comparator = comparator.ok_or_else(|| {
            let name = type_oid.type_name().unwrap_or("of the column");
            not_comparable(&format!(
                "the router does not know the order of type {name}"
            ))
        })?;
        Ok(Key {
            column,
            comparator,
            format,
        })
    };
    keys.iter().map(key).collect()
}

fn not_comparable(why: &str) -> Diagnostic {
    let message = "this order is not supported over several shards";
    Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail(format!("kintsugi/order-type: {why}"))
        .hint("Name the shard key, or order by a number, a date, a uuid, or a text under the C collation.")
}

/// The place of the least head.
pub(super) fn least(heads: &[Option<Bytes>], keys: &[Key]) -> Result<Option<usize>, ExecuteError> {
    let mut least: Option<(usize, &Bytes)> = None;
    for (place, head) in heads.iter().enumerate() {
        let Some(row) = head else { continue };
        let is_less = match least {
            None => true,
            Some((_, other)) => compare(row, other, keys)? == Ordering::Less,
        };
        if is_less {
            least = Some((place, row));
        }
    }
    Ok(least.map(|(place, _)| place))
}

/// Compares two rows by the keys.
pub(super) fn compare(a: &Bytes, b: &Bytes, keys: &[Key]) -> Result<Ordering, ExecuteError> {
    let (Ok(a), Ok(b)) = (DataRow::unchecked(a), DataRow::unchecked(b)) else {
        return Err(crate::pump::PumpError::Unexpected { tag: 'D' }.into());
    };
    for key in keys {
        let (left, right) = (
            a.column(key.column).flatten(),
            b.column(key.column).flatten(),
        );
        let ordering = key
            .comparator
            .compare(left, right, key.format)
            .map_err(|error| unreadable(&error))?;
        if ordering != Ordering::Equal {
            return Ok(ordering);
        }
    }
    Ok(Ordering::Equal)
}

/// The tag of rows that were shown; a write's counts are added instead.
pub(super) fn select_tag(answers: &Answers, shown: u64) -> String {
    let tags = answers.list.iter().map(super::Answer::tag);
    match answers
        .list
        .first()
        .map(|answer| wire::tag::verb(answer.tag()))
    {
        Some("SELECT") => format!("SELECT {shown}"),
        _ => sum_tags(tags),
    }
}

/// Values that can't be compared or added as they came.
pub(super) fn unreadable(error: &impl Diagnose) -> Diagnostic {
    let shown = error.to_diagnostic();
    if shown.code.class() == "22" {
        return shown;
    }
    let message = "values in this form can't be merged by the router";
    Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail(format!("kintsugi/value-form: {}", shown.message))
        .hint("Use the default DateStyle, bytea_output and extra_float_digits.")
}

fn rows_missing() -> Diagnostic {
    let message = "RETURNING of an INSERT that skips rows is not supported over several shards";
    Diagnostic::error(SqlState::FEATURE_NOT_SUPPORTED, message)
        .detail("kintsugi/returning-skipped-rows: a shard returned fewer rows than it was given, so their order is not known; nothing was inserted")
        .hint("Leave RETURNING out, or insert the rows of one shard key at a time.")
}
