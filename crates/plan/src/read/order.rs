//! `ORDER BY`, `LIMIT` and `OFFSET` over several shards. Invariant: rows are merged only by what the router compares
//! as PostgreSQL does, and a shard gives at least the rows that the whole may need.

use sql::ast::{Const, ConstValue, Distinct, Expr, ExprKind, Select, SortKey};

use super::Request;
use super::edit::{Edited, unclear};
use crate::plan::{Bound, MergeKey, RowWindow};
use crate::scope::{Analysis, Scope, target_name};
use crate::types::Sort;
use crate::{PlanError, UnsupportedId, refuse};

/// Where an entry of `ORDER BY` is found in the shards' rows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Found<'e> {
    /// This column.
    Column(usize),
    /// Nowhere: the expression has to be added.
    Hidden(&'e Expr),
}

/// Looks an entry of `ORDER BY` up by PostgreSQL's rules: a number, a name of the result, else an expression, which may
/// be one of the select list.
pub(super) fn find<'e>(
    analysis: &Analysis<'_>,
    select: &'e Select,
    key: &'e SortKey,
    columns: &Columns<'e>,
) -> Result<Found<'e>, PlanError> {
    let sorted = &key.expr;
    if let ExprKind::Const(literal) = &sorted.kind {
        analysis.rely_on(literal);
        let ConstValue::Integer(number) = literal.value else {
            return Ok(Found::Hidden(sorted));
        };
        let at = usize::try_from(number)
            .ok()
            .and_then(|number| number.checked_sub(1));
        let column = at.and_then(|at| columns.by_position(at));
        // A number out of range is PostgreSQL's error; so is one that the router can't place.
        return column.ok_or_else(|| refuse(UnsupportedId::OrderType, "a position"));
    }
    if let ExprKind::Column(name) = &sorted.kind
        && let [single] = name.parts.as_slice()
    {
        let named = select.targets.iter().find(|target| {
            !matches!(target.expr.kind, ExprKind::Star(_)) && target_name(target) == *single
        });
        if let Some(target) = named {
            return Ok(columns
                .of(&target.expr)
                .unwrap_or(Found::Hidden(&target.expr)));
        }
    }
    Ok(columns.of(sorted).unwrap_or(Found::Hidden(sorted)))
}

/// The columns of the shards' rows.
pub(super) struct Columns<'e> {
    /// Each column's expression; `None` for one that a star gave.
    list: Vec<Option<&'e Expr>>,
    /// Columns that stars gave: their place and attribute.
    starred: Vec<(usize, crate::scope::AttributeId)>,
    /// Every place is known.
    is_exact: bool,
    scope: Scope<'e>,
    analysis: &'e Analysis<'e>,
}

impl<'e> Columns<'e> {
    pub(super) fn new(analysis: &'e Analysis<'e>, select: &'e Select) -> Self {
        let scope = Scope {
            items: &analysis.top,
            parent: None,
        };
        let mut columns = Self {
            list: Vec::new(),
            starred: Vec::new(),
            is_exact: true,
            scope,
            analysis,
        };
        for target in &select.targets {
            let ExprKind::Star(qualifier) = &target.expr.kind else {
                columns.list.push(Some(&target.expr));
                continue;
            };
            let star = if qualifier.is_empty() {
                columns.is_exact &= !analysis.top.iter().any(|item| item.is_open);
                Some(analysis.star.as_slice())
            } else {
                let item = scope.item(qualifier);
                columns.is_exact &= item.is_some_and(|item| !item.is_open);
                item.map(|item| item.columns.as_slice())
            };
            for column in star.unwrap_or_default() {
                columns.starred.push((columns.list.len(), column.attribute));
                columns.list.push(None);
            }
        }
        columns
    }

    pub(super) fn count(&self) -> Option<usize> {
        self.is_exact.then_some(self.list.len())
    }

    fn by_position(&self, at: usize) -> Option<Found<'e>> {
        (self.is_exact && at < self.list.len()).then_some(Found::Column(at))
    }

    /// The column that is this expression.
    pub(super) fn of(&self, wanted: &'e Expr) -> Option<Found<'e>> {
        if !self.is_exact {
            return None;
        }
        let is_column = matches!(wanted.kind, ExprKind::Column(_));
        let attribute = self
            .analysis
            .attribute_of(wanted, &self.scope)
            .filter(|_| is_column);
        let at = self.list.iter().position(|column| {
            column.is_some_and(|expr| {
                let is_plain = matches!(expr.kind, ExprKind::Column(_));
                sql::ast::same(expr, wanted)
                    || (is_plain
                        && attribute.is_some()
                        && self.analysis.attribute_of(expr, &self.scope) == attribute)
            })
        });
        let starred = || {
            let attribute = attribute?;
            self.starred
                .iter()
                .find(|(_, known)| *known == attribute)
                .map(|(at, _)| *at)
        };
        at.or_else(starred).map(Found::Column)
    }

    pub(super) fn sort(&self, expr: &Expr) -> Sort {
        self.analysis.sort_of(expr, &self.scope)
    }

    /// What is known of a column's values.
    pub(super) fn sort_at(&self, at: usize) -> Sort {
        if let Some(Some(expr)) = self.list.get(at) {
            return self.sort(expr);
        }
        let attribute = self
            .starred
            .iter()
            .find(|(place, _)| *place == at)
            .map(|(_, known)| *known);
        self.analysis.sort_of_attribute(attribute)
    }

    /// The attribute that a column is, when it is one.
    pub(super) fn attribute_at(&self, at: usize) -> Option<crate::scope::AttributeId> {
        match self.list.get(at)? {
            Some(expr) => self.analysis.attribute_of(expr, &self.scope),
            None => self
                .starred
                .iter()
                .find(|(place, _)| *place == at)
                .map(|(_, known)| *known),
        }
    }
}

/// How an entry of `ORDER BY` merges.
pub(super) fn merge_key(
    analysis: &Analysis<'_>,
    key: &SortKey,
    column: usize,
    sort: Sort,
) -> Result<MergeKey, PlanError> {
    if key.using.is_some() {
        return Err(refuse(UnsupportedId::OrderUsing, "ORDER BY"));
    }
    let type_oid = sort.type_oid;
    if type_oid.is_some_and(|type_oid| analysis.is_text(type_oid)) && !sort.is_bytes {
        return Err(refuse(UnsupportedId::OrderCollation, "ORDER BY"));
    }
    if !analysis.is_comparable_sort(sort) {
        return Err(refuse(UnsupportedId::OrderType, "ORDER BY"));
    }
    let may_be_text = type_oid.is_none_or(|type_oid| analysis.is_text(type_oid));
    Ok(MergeKey {
        column: u16::try_from(column).map_err(|_too_many| unclear())?,
        descending: key.descending,
        nulls_first: key.nulls_first.unwrap_or(key.descending),
        collation_is_bytes: may_be_text && sort.is_bytes,
    })
}

/// What rows are ordered by, and the columns that had to be added for it.
pub(super) struct Ordering {
    pub(super) keys: Vec<MergeKey>,
    pub(super) hidden: Vec<String>,
}

/// The keys of a query whose rows the shards give in order.
pub(super) fn ordering<'a>(
    request: Request<'a>,
    analysis: &'a Analysis<'a>,
    select: &'a Select,
    edited: &Edited<'a>,
) -> Result<Ordering, PlanError> {
    let columns = Columns::new(analysis, select);
    let mut ordering = Ordering {
        keys: Vec::new(),
        hidden: Vec::new(),
    };
    let order_by = &request.query.order_by;
    let texts = if order_by.is_empty() {
        Vec::new()
    } else {
        edited.sort_texts()?
    };
    if texts.len() != order_by.len() {
        return Err(unclear());
    }
    for (key, text) in order_by.iter().zip(&texts) {
        let (column, sort) = match find(analysis, select, key, &columns)? {
            Found::Column(at) => (at, columns.sort_at(at)),
            Found::Hidden(expr) => {
                if select.distinct != Distinct::No {
                    // PostgreSQL refuses it too, unless it is DISTINCT ON with the shard key.
                    return Err(refuse(
                        UnsupportedId::DistinctOn,
                        "ORDER BY on what is not selected",
                    ));
                }
                let count = columns.count().ok_or_else(|| {
                    refuse(
                        UnsupportedId::OrderType,
                        "ORDER BY next to * of unknown columns",
                    )
                })?;
                ordering.hidden.push(text.clone());
                (count + ordering.hidden.len() - 1, columns.sort(expr))
            }
        };
        ordering.keys.push(merge_key(analysis, key, column, sort)?);
    }
    Ok(ordering)
}

/// The bounds as the router applies them.
pub(super) fn window(
    request: Request<'_>,
    analysis: &Analysis<'_>,
) -> Result<RowWindow, PlanError> {
    if request.query.with_ties {
        return Err(refuse(UnsupportedId::WithTies, "FETCH FIRST"));
    }
    let bound = |expr: &Option<Expr>| expr.as_ref().map(|expr| bound(expr, analysis)).transpose();
    Ok(RowWindow {
        limit: bound(&request.query.limit)?.flatten(),
        offset: bound(&request.query.offset)?.flatten(),
    })
}

fn bound(expr: &Expr, analysis: &Analysis<'_>) -> Result<Option<Bound>, PlanError> {
    let refused = || refuse(UnsupportedId::LimitExpression, "LIMIT");
    match &expr.kind {
        ExprKind::Const(literal) => {
            analysis.rely_on(literal);
            if literal.value == ConstValue::Null {
                return Ok(None);
            }
            constant_bound(literal).map(Some).ok_or_else(refused)
        }
        ExprKind::Param(number) => Ok(Some(Bound::Param(*number))),
        ExprKind::Cast { operand, type_name } => {
            let is_int8 = analysis.type_named(type_name) == Some(pg::oid::INT8);
            match &operand.kind {
                ExprKind::Param(number) if is_int8 => Ok(Some(Bound::Param(*number))),
                _ => Err(refused()),
            }
        }
        _ => Err(refused()),
    }
}

/// `None` is something else than a number of rows (a negative one, which PostgreSQL refuses at run time).
fn constant_bound(literal: &Const) -> Option<Bound> {
    match &literal.value {
        ConstValue::Integer(rows) => u64::try_from(*rows).ok().map(Bound::Rows),
        ConstValue::Number(text) => {
            let rows = text.parse::<i64>().ok()?;
            u64::try_from(rows).ok().map(Bound::Rows)
        }
        ConstValue::Null | ConstValue::Bool(_) | ConstValue::String(_) | ConstValue::Bits(_) => {
            None
        }
    }
}

/// Makes the shards give the rows before the offset as well.
pub(super) fn push_window(window: &RowWindow, edited: &mut Edited<'_>) -> Result<(), PlanError> {
    let Some(offset) = &window.offset else {
        return Ok(());
    };
    let number = |bound: &Bound| match bound {
        Bound::Rows(rows) => rows.to_string(),
        Bound::Param(number) => format!("${number}::pg_catalog.int8"),
    };
    if let Some(limit) = &window.limit {
        let text = if let (Bound::Rows(limit), Bound::Rows(offset)) = (limit, offset) {
            // Above int8 there is no bound that matters.
            let rows = limit.saturating_add(*offset).min(i64::MAX.unsigned_abs());
            rows.to_string()
        } else {
            // Added as numerics, so that the sum is no error; NULL is no bound.
            let (limit, offset) = (number(limit), number(offset));
            format!(
                "least({limit}::pg_catalog.numeric + {offset}::pg_catalog.numeric, 9223372036854775807)::pg_catalog.int8"
            )
        };
        edited.limit(&text)?;
    }
    no_offset(offset, edited)
}

/// Takes both bounds away from the shards; the parameters stay named, so that their number and types stay.
pub(super) fn drop_window(window: &RowWindow, edited: &mut Edited<'_>) -> Result<(), PlanError> {
    match &window.limit {
        Some(Bound::Param(number)) => {
            let parameter = format!("${number}::pg_catalog.int8");
            edited.limit(&format!("nullif({parameter}, {parameter})"))?;
        }
        Some(Bound::Rows(_)) | None => edited.limit("ALL")?,
    }
    match &window.offset {
        Some(offset) => no_offset(offset, edited),
        None => Ok(()),
    }
}

fn no_offset(offset: &Bound, edited: &mut Edited<'_>) -> Result<(), PlanError> {
    match offset {
        Bound::Rows(_) => edited.offset("0"),
        Bound::Param(number) => edited.offset(&format!("(${number}::pg_catalog.int8 * 0)")),
    }
}
