//! Groups that lie on several shards. Invariant: only aggregates whose parts combine exactly are pushed, and the
//! shards give their groups in one order that the router shares.

use pg::oid;
use sql::ast::{Call, Expr, ExprKind, GroupItem, Select};

use super::edit::{Edited, unclear};
use super::order::{self, Columns, Found};
use super::{Request, scatter};
use crate::equality::Graph;
use crate::function;
use crate::plan::{Aggregate, AggregateColumn, Merge, MergeKey};
use crate::scope::{Analysis, Scope, Use};
use crate::types::Sort;
use crate::{PlanError, UnsupportedId, refuse};

/// What a grouped query is planned with.
type Setting<'a, 'g> = (&'a Analysis<'a>, &'g Graph<'g>, &'g Use);

/// `GROUP BY` without the shard key, or aggregates over all rows.
pub(super) fn grouped<'a>(
    request: Request<'a>,
    (analysis, graph, anchor): Setting<'a, '_>,
    select: &'a Select,
    edited: &mut Edited<'a>,
) -> Result<Merge, PlanError> {
    if select.having.is_some() {
        return Err(refuse(UnsupportedId::Having, &anchor.name));
    }
    if select.distinct != sql::ast::Distinct::No {
        return Err(refuse(UnsupportedId::DistinctType, "DISTINCT over groups"));
    }
    if !analysis.blocks[0].windows.is_empty() {
        return Err(refuse(UnsupportedId::WindowOffKey, &anchor.name));
    }
    let columns = Columns::new(analysis, select);
    let count = columns
        .count()
        .filter(|count| *count == select.targets.len());
    let count = count.ok_or_else(|| refuse(UnsupportedId::AggregateExpression, "*"))?;
    let mut groups = Groups {
        analysis,
        select,
        hidden: Vec::new(),
        group: Vec::new(),
        sorts: Vec::new(),
        count,
    };
    groups.collect(&columns)?;
    let mut list = Vec::with_capacity(count);
    for (at, target) in select.targets.iter().enumerate() {
        list.push(column(
            &target.expr,
            at,
            &groups,
            (analysis, graph, anchor),
        )?);
    }
    let window = order::window(request, analysis)?;
    let order = groups.result_order(request, &columns)?;
    let (mut group, order) = groups.merge(order)?;
    let shard_order = groups.shard_order(&mut group)?;
    list.extend(groups.hidden.iter().map(|_column| AggregateColumn::Group));
    if !groups.hidden.is_empty() {
        edited.add_columns(select, &groups.hidden)?;
    }
    if !group.is_empty() {
        edited.order_by(&shard_order)?;
    }
    order::drop_window(&window, edited)?;
    Ok(Merge::Aggregate(Aggregate {
        group,
        columns: list,
        hidden: u16::try_from(groups.hidden.len()).map_err(|_many| unclear())?,
        order,
        window,
    }))
}

/// `SELECT DISTINCT` without the shard key: every column is a group.
pub(super) fn distinct<'a>(
    request: Request<'a>,
    analysis: &'a Analysis<'a>,
    select: &'a Select,
    edited: &mut Edited<'a>,
) -> Result<Merge, PlanError> {
    let columns = Columns::new(analysis, select);
    let refused = || refuse(UnsupportedId::DistinctType, "SELECT DISTINCT");
    let count = columns.count().ok_or_else(refused)?;
    let mut order = Vec::new();
    for key in &request.query.order_by {
        match order::find(analysis, select, key, &columns)? {
            Found::Column(at) => {
                order.push(order::merge_key(analysis, key, at, columns.sort_at(at))?);
            }
            Found::Hidden(_) => return Err(refused()),
        }
    }
    for at in 0..count {
        let place = u16::try_from(at).map_err(|_many| unclear())?;
        if order.iter().any(|key| key.column == place) {
            continue;
        }
        let sort = columns.sort_at(at);
        if sort.type_oid.is_none() || !analysis.is_comparable_sort(sort) || is_float(sort) {
            return Err(refused());
        }
        order.push(plain_key(analysis, place, sort));
    }
    let keys: Vec<String> = order.iter().map(ordinal).collect();
    edited.order_by(&keys.join(", "))?;
    let window = order::window(request, analysis)?;
    order::drop_window(&window, edited)?;
    Ok(Merge::Aggregate(Aggregate {
        group: order,
        columns: vec![AggregateColumn::Group; count],
        hidden: 0,
        order: Vec::new(),
        window,
    }))
}

/// The groups of a query as they are collected.
struct Groups<'a> {
    analysis: &'a Analysis<'a>,
    select: &'a Select,
    /// Columns that had to be added.
    hidden: Vec<String>,
    /// Each group column's place.
    group: Vec<usize>,
    sorts: Vec<Sort>,
    /// How many columns the client sees.
    count: usize,
}

impl<'a> Groups<'a> {
    fn scope(&self) -> Scope<'a> {
        Scope {
            items: &self.analysis.top,
            parent: None,
        }
    }

    fn collect(&mut self, columns: &Columns<'a>) -> Result<(), PlanError> {
        for item in &self.select.group_by {
            let GroupItem::Expr(written) = item else {
                return Err(refuse(UnsupportedId::GroupingSets, "GROUP BY"));
            };
            let scope = self.scope();
            let named = crate::scope::named_target(written, self.select, &scope);
            let expr = named.unwrap_or(written);
            let (at, sort) = match columns.of(expr) {
                Some(Found::Column(at)) => (at, columns.sort_at(at)),
                Some(Found::Hidden(_)) | None => {
                    let text = printed(expr)
                        .ok_or_else(|| refuse(UnsupportedId::GroupHidden, "GROUP BY"))?;
                    self.hidden.push(text);
                    (self.count + self.hidden.len() - 1, columns.sort(expr))
                }
            };
            if self.group.contains(&at) {
                continue;
            }
            self.group.push(at);
            self.sorts.push(sort);
        }
        Ok(())
    }

    /// The client's order, over columns that it sees.
    fn result_order(
        &self,
        request: Request<'a>,
        columns: &Columns<'a>,
    ) -> Result<Vec<MergeKey>, PlanError> {
        let mut keys = Vec::new();
        for key in &request.query.order_by {
            let Found::Column(at) = order::find(self.analysis, self.select, key, columns)? else {
                return Err(refuse(UnsupportedId::GroupHidden, "ORDER BY"));
            };
            keys.push(order::merge_key(
                self.analysis,
                key,
                at,
                columns.sort_at(at),
            )?);
        }
        Ok(keys)
    }

    /// The order of the groups: the client's, where it is by group columns only, so that nothing has to be sorted.
    fn merge(&self, order: Vec<MergeKey>) -> Result<(Vec<MergeKey>, Vec<MergeKey>), PlanError> {
        let is_group = |key: &MergeKey| self.group.contains(&usize::from(key.column));
        let (mut group, rest) = if order.iter().all(is_group) {
            (order, Vec::new())
        } else {
            (Vec::new(), order)
        };
        for (at, sort) in self.group.iter().zip(&self.sorts) {
            let place = u16::try_from(*at).map_err(|_many| unclear())?;
            if group.iter().any(|key| key.column == place) {
                continue;
            }
            group.push(self.group_key(place, *sort)?);
        }
        Ok((group, rest))
    }

    fn group_key(&self, place: u16, sort: Sort) -> Result<MergeKey, PlanError> {
        let refused = || refuse(UnsupportedId::GroupType, "GROUP BY");
        let type_oid = sort.type_oid.ok_or_else(refused)?;
        if is_float(sort) {
            // -0 and 0 are one group, and which of them is shown is up to the rows.
            return Err(refused());
        }
        let is_relabelled = sort.is_deterministic && is_relabelled(self.analysis, type_oid);
        if self.analysis.is_comparable_sort(sort) || is_relabelled {
            return Ok(plain_key(self.analysis, place, sort));
        }
        Err(refused())
    }

    /// `ORDER BY` for the shards. Texts and enums are ordered by their bytes there, whatever their own order is: equal
    /// ones only have to meet. An enum is compared by a hidden column with its label.
    fn shard_order(&mut self, group: &mut [MergeKey]) -> Result<String, PlanError> {
        let mut keys = Vec::with_capacity(group.len());
        for key in group {
            let at = usize::from(key.column);
            let sort = self.group.iter().position(|known| *known == at);
            let sort = sort.and_then(|index| self.sorts.get(index)).copied();
            let odd = sort.filter(|sort| !self.analysis.is_comparable_sort(*sort));
            let Some(type_oid) = odd.and_then(|sort| sort.type_oid) else {
                keys.push(ordinal(key));
                continue;
            };
            let text = self.text_of(at);
            let text = text.ok_or_else(|| refuse(UnsupportedId::GroupType, "GROUP BY"))?;
            let mut expression = format!("({text})");
            if !self.analysis.is_text(type_oid) {
                expression.push_str("::pg_catalog.text");
                self.hidden.push(expression.clone());
                let place = self.count + self.hidden.len() - 1;
                key.column = u16::try_from(place).map_err(|_many| unclear())?;
            }
            keys.push(format!("{expression} COLLATE \"C\"{}", direction(key)));
        }
        Ok(keys.join(", "))
    }

    fn text_of(&self, at: usize) -> Option<String> {
        match self.select.targets.get(at) {
            Some(target) => printed(&target.expr),
            None => self.hidden.get(at - self.count).cloned(),
        }
    }
}

/// What a column of the select list is to the groups.
fn column(
    expr: &Expr,
    at: usize,
    groups: &Groups<'_>,
    (analysis, graph, anchor): Setting<'_, '_>,
) -> Result<AggregateColumn, PlanError> {
    if groups.group.contains(&at) || is_constant(expr) {
        return Ok(AggregateColumn::Group);
    }
    let ExprKind::Call(call) = &expr.kind else {
        return Err(refuse(
            UnsupportedId::AggregateExpression,
            "the select list",
        ));
    };
    if !function::is_aggregate(analysis.context, &call.name) || call.over.is_some() {
        return Err(refuse(
            UnsupportedId::AggregateExpression,
            call.name.parts.join("."),
        ));
    }
    let name = call.name.parts.last().map_or("", String::as_str);
    let scope = groups.scope();
    if call.within_group || !call.order_by.is_empty() {
        return Err(refuse(UnsupportedId::AggregateDistinct, name));
    }
    let is_idempotent = matches!(name, "min" | "max" | "bool_and" | "bool_or" | "every");
    if call.distinct && !is_idempotent {
        let arguments = call
            .arguments
            .iter()
            .map(|expr| analysis.attribute_of(expr, &scope));
        if !scatter::is_keyed(graph, anchor, &arguments.collect::<Vec<_>>()) {
            return Err(refuse(UnsupportedId::AggregateDistinct, name));
        }
    }
    if is_shadowed(analysis, call) {
        return Err(refuse(UnsupportedId::AggregateOther, name));
    }
    match name {
        "count" => Ok(AggregateColumn::Count),
        "sum" => summed(call, analysis, &scope),
        "min" | "max" => extremum(call, analysis, &scope),
        "bool_and" | "every" => Ok(AggregateColumn::And),
        "bool_or" => Ok(AggregateColumn::Or),
        "avg" => Err(refuse(UnsupportedId::AggregateAvg, name)),
        other => Err(refuse(UnsupportedId::AggregateOther, other)),
    }
}

/// A user's aggregate of that name.
fn is_shadowed(analysis: &Analysis<'_>, call: &Call) -> bool {
    let context = analysis.context;
    let found = context
        .catalog
        .functions_named(&call.name.parts, context.search_path);
    found.iter().any(|function| !function.is_builtin)
}

fn summed(
    call: &Call,
    analysis: &Analysis<'_>,
    scope: &Scope<'_>,
) -> Result<AggregateColumn, PlanError> {
    let argument = call.arguments.first();
    let sort = argument.map(|argument| analysis.sort_of(argument, scope));
    match sort.and_then(|sort| sort.type_oid) {
        Some(oid::INT2 | oid::INT4 | oid::INT8 | oid::NUMERIC) => Ok(AggregateColumn::Sum),
        Some(oid::FLOAT4 | oid::FLOAT8) => Err(refuse(UnsupportedId::AggregateFloat, "sum")),
        Some(_) | None => Err(refuse(UnsupportedId::AggregateType, "sum")),
    }
}

fn extremum(
    call: &Call,
    analysis: &Analysis<'_>,
    scope: &Scope<'_>,
) -> Result<AggregateColumn, PlanError> {
    let name = call.name.parts.last().map_or("", String::as_str);
    let refused = || refuse(UnsupportedId::AggregateType, name);
    let argument = call.arguments.first().ok_or_else(refused)?;
    let sort = analysis.sort_of(argument, scope);
    let type_oid = sort.type_oid.ok_or_else(refused)?;
    if !analysis.is_comparable_sort(sort) || is_float(sort) {
        return Err(refused());
    }
    let collation_is_bytes = analysis.is_text(type_oid) && sort.is_bytes;
    Ok(match name {
        "min" => AggregateColumn::Min { collation_is_bytes },
        _ => AggregateColumn::Max { collation_is_bytes },
    })
}

/// Text of a deterministic collation and enums: equal when their texts are equal.
fn is_relabelled(analysis: &Analysis<'_>, type_oid: pg::Oid) -> bool {
    let types = &analysis.context.catalog.types;
    let is_enum = types
        .get(&type_oid)
        .is_some_and(|known| matches!(known.kind, catalog::TypeKind::Enum(_)));
    is_enum || matches!(type_oid, oid::TEXT | oid::VARCHAR)
}

fn plain_key(analysis: &Analysis<'_>, place: u16, sort: Sort) -> MergeKey {
    let type_oid = sort.type_oid;
    MergeKey {
        column: place,
        descending: false,
        nulls_first: false,
        collation_is_bytes: type_oid.is_some_and(|type_oid| {
            analysis.is_text(type_oid) || is_relabelled(analysis, type_oid)
        }),
    }
}

fn is_float(sort: Sort) -> bool {
    matches!(sort.type_oid, Some(oid::FLOAT4 | oid::FLOAT8))
}

fn is_constant(expr: &Expr) -> bool {
    let mut is_constant = true;
    sql::ast::walk::for_each_in(expr, true, &mut |inner| {
        is_constant &= matches!(inner.kind, ExprKind::Const(_) | ExprKind::Cast { .. });
    });
    is_constant
}

fn ordinal(key: &MergeKey) -> String {
    format!("{}{}", key.column + 1, direction(key))
}

fn direction(key: &MergeKey) -> &'static str {
    match (key.descending, key.nulls_first) {
        (false, false) => "",
        (false, true) => " NULLS FIRST",
        (true, true) => " DESC",
        (true, false) => " DESC NULLS LAST",
    }
}

/// A column as SQL; of other expressions the text isn't known.
fn printed(expr: &Expr) -> Option<String> {
    match &expr.kind {
        ExprKind::Column(name) => {
            let parts: Vec<String> = name
                .parts
                .iter()
                .map(|part| crate::compute::quoted(part))
                .collect();
            Some(parts.join("."))
        }
        _ => None,
    }
}
