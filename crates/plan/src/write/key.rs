//! From the values of a row to the route home.

use catalog::Column;
use smallvec::SmallVec;
use sql::ast::{self, ConstValue, ExprKind};
use topology::{KeyExpression, Sharded};

use super::Written;
use crate::compute::{Computes, slice, type_sql};
use crate::key::Class;
use crate::key::opaque_where_case_is_odd;
use crate::plan::{KeySource, KeyTerm, Part};
use crate::slot::Slots;
use crate::volatile::{self, Finding, What};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// A value as it stands in some text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Value<'a> {
    /// The text.
    pub(super) text: &'a str,
    /// The value's place in it.
    pub(super) span: ast::Span,
    /// The value.
    pub(super) expr: &'a ast::Expr,
    /// What in it depends on where and when it is computed.
    pub(super) findings: &'a [Finding],
}

/// A key column's value.
#[derive(Clone, Debug)]
pub(super) struct Settled {
    /// Where it is found when the statement runs.
    pub(super) source: KeySource,
    /// What stands in the row instead, when it was computed.
    pub(super) instead: Option<Part>,
}

/// Where the value of a key column is found.
///
/// # Errors
///
/// It can't be known before the row is stored.
pub(super) fn settle(
    cx: &Context<'_>,
    column: &Column,
    value: Value<'_>,
    slots: &Slots,
    computes: &mut Computes<'_>,
) -> Result<Settled, PlanError> {
    let class = Class::of_column(cx.catalog, column)
        .ok_or_else(|| refuse(UnsupportedId::KeyType, &column.name))?;
    let given = |source| {
        Ok(Settled {
            source,
            instead: None,
        })
    };
    if let Some(source) = plain(cx, class, value.expr, slots) {
        return given(source);
    }
    let unknown = || refuse(UnsupportedId::ComputedKey, &column.name);
    match value.findings {
        [] if volatile::is_row_free(value.expr) => {
            let sql = slice(value.text, value.span).ok_or_else(unknown)?;
            let type_oid = cx.catalog.base_type(column.type_oid);
            // `93.7` for an integer is rounded when it is stored.
            let sql = format!("CAST({sql} AS {})", type_sql(cx, type_oid));
            given(KeySource::Computed(computes.expression(&sql, type_oid)))
        }
        [finding] if finding.span == Some(value.span) => {
            let result = match finding.what {
                What::Clock { type_oid } | What::Fresh { type_oid } => type_oid,
                What::NextVal(_) | What::CurrVal(_) | What::LastVal => pg::oid::INT8,
                What::SetVal(_) | What::UnknownSequence | What::Unproven => return Err(unknown()),
            };
            let is_same =
                Class::of_type(cx.catalog, result).is_some_and(|known| known.is_same(class));
            if !is_same {
                return Err(unknown());
            }
            let Part::Computed(index) = computes.finding(value.text, finding)? else {
                return Err(unknown());
            };
            Ok(Settled {
                source: KeySource::Computed(index),
                instead: Some(Part::Computed(index)),
            })
        }
        _ => Err(unknown()),
    }
}

/// A constant or a parameter, perhaps cast to a type of the key's own class.
pub(super) fn plain(
    cx: &Context<'_>,
    class: Class,
    expr: &ast::Expr,
    slots: &Slots,
) -> Option<KeySource> {
    match &expr.kind {
        ExprKind::Param(number) => Some(KeySource::Param(*number)),
        // `93.7` for an integer is rounded by PostgreSQL: a shard computes it.
        ExprKind::Const(ast::Const {
            value: ConstValue::Number(number),
            ..
        }) if class.key.class == pg::KeyClass::Integer && number.parse::<i64>().is_err() => None,
        ExprKind::Const(constant) => literal(constant, slots),
        ExprKind::Cast { operand, type_name } => {
            let is_bare = type_name.array_dimensions == 0 && !type_name.has_modifiers;
            let known = cx
                .catalog
                .type_named(&type_name.name.parts, cx.search_path)?;
            let is_same = keeps(Class::of_type(cx.catalog, known.oid)?, class)
                && !matches!(known.kind, catalog::TypeKind::Domain(_));
            let is_simple = matches!(operand.kind, ExprKind::Param(_) | ExprKind::Const(_));
            (is_bare && is_same && is_simple)
                .then(|| plain(cx, class, operand, slots))
                .flatten()
        }
        _ => None,
    }
}

/// Whether a cast to the one type gives what an assignment to the other does.
fn keeps(cast: Class, key: Class) -> bool {
    let is_rounded = key.key.class == pg::KeyClass::Float && cast.key.width != key.key.width;
    cast.is_same(key) && !is_rounded
}

fn literal(constant: &ast::Const, slots: &Slots) -> Option<KeySource> {
    match &constant.value {
        ConstValue::Null => Some(KeySource::Null),
        ConstValue::Bool(value) => Some(KeySource::Value(pg::KeyValue::Bool(*value))),
        ConstValue::Integer(_)
        | ConstValue::Number(_)
        | ConstValue::String(_)
        | ConstValue::Bits(_) => slots.source(constant),
    }
}

/// The terms of a row's route, given where each key column's value is found.
///
/// # Errors
///
/// A part of the key is an expression over several columns.
pub(super) fn terms(
    written: &Written<'_>,
    relation: &catalog::Relation,
    sharded: &Sharded,
    source: &dyn Fn(&str) -> Option<KeySource>,
) -> Result<SmallVec<[KeyTerm; 1]>, PlanError> {
    let cx = written.cx;
    let mut terms = SmallVec::new();
    for part in sharded.key.parts() {
        let unknown = || refuse(UnsupportedId::ComputedKey, part.to_string());
        let columns = part.columns();
        let [name] = columns.as_slice() else {
            return Err(unknown());
        };
        let column = relation.column(name).ok_or_else(unknown)?;
        let class = Class::of_column(cx.catalog, column)
            .ok_or_else(|| refuse(UnsupportedId::KeyType, *name))?;
        let expression = if let KeyExpression::Column(_) = part {
            None
        } else {
            class.of_expression(part).ok_or_else(unknown)?;
            Some(opaque_where_case_is_odd(
                part,
                cx.catalog.ascii_case_is_plain,
            ))
        };
        let source = source(name).ok_or_else(unknown)?;
        terms.push(KeyTerm {
            source,
            key_type: class.key,
            expression,
        });
    }
    Ok(terms)
}
