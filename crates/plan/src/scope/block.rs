//! Query levels: `WITH`, `SELECT`, set operations, and what each gives to the level above.

use std::cell::Cell;

use sql::ast::{
    Body, Cte, Distinct, Expr, ExprKind, FromItem, GroupItem, Query, QueryBody, Select,
    SetOperator, Target, With,
};

use super::from::{Joined, Standing};
use super::{
    Analysis, Attribute, AttributeId, Block, BlockId, Column, CteBody, Ctes, Environment, Here,
    Item, Meaning, Output, OutputColumn, Position, Scope,
};
use crate::{PlanError, UnsupportedId, refuse};

/// Most query levels of a statement. A common table expression or view counts wherever it is named, so a short text can
/// stand for very many.
const BLOCKS_MAX: usize = 2000;

/// What comes after the common table expressions.
type Rest<'r, 'a> =
    &'r mut dyn FnMut(&mut Analysis<'a>, Environment<'_>) -> Result<Output, PlanError>;

impl<'a> Analysis<'a> {
    /// Looks at a query that stands at `position`.
    pub(crate) fn query(
        &mut self,
        query: &Query,
        environment: Environment<'_>,
        position: Position,
    ) -> Result<Output, PlanError> {
        if self.blocks.len() >= BLOCKS_MAX {
            return Err(refuse(UnsupportedId::TooManyLevels, BLOCKS_MAX.to_string()));
        }
        let block = self.block(position);
        if !query.locking.is_empty() {
            self.traits.has_locking = true;
            self.traits.locks_all |= query.locking.iter().any(|lock| lock.tables.is_empty());
            let named = query.locking.iter().flat_map(|lock| &lock.tables);
            self.locked
                .extend(named.filter_map(|name| name.parts.last().cloned()));
            self.traits.has_skip_locked |= query.locking.iter().any(|lock| lock.skip_locked);
        }
        self.blocks[block].is_limited =
            query.limit.is_some() || query.offset.is_some() || query.with_ties;
        self.with(
            query.with.as_ref(),
            environment,
            block,
            &mut |analysis, environment| analysis.body(query, environment, block),
        )
    }

    pub(crate) fn block(&mut self, position: Position) -> BlockId {
        self.blocks.push(Block {
            parent: position.parent,
            is_spine: position.is_spine,
            ..Block::default()
        });
        self.blocks.len() - 1
    }

    /// Makes common table expressions visible to what follows.
    pub(crate) fn with(
        &mut self,
        with: Option<&With>,
        environment: Environment<'_>,
        block: BlockId,
        rest: Rest<'_, 'a>,
    ) -> Result<Output, PlanError> {
        let Some(with) = with else {
            return rest(self, environment);
        };
        self.ctes(&with.ctes, with.recursive, (environment, block), rest)
    }

    fn ctes(
        &mut self,
        ctes: &[Cte],
        is_recursive: bool,
        (environment, block): (Environment<'_>, BlockId),
        rest: Rest<'_, 'a>,
    ) -> Result<Output, PlanError> {
        let Some((cte, others)) = ctes.split_first() else {
            return rest(self, environment);
        };
        let names_itself = is_recursive && names(&cte.body, &cte.name);
        let own = Ctes {
            name: &cte.name,
            body: CteBody::Open,
            previous: environment.ctes,
            is_referenced: Cell::new(false),
        };
        let inner = Environment {
            ctes: if names_itself {
                Some(&own)
            } else {
                environment.ctes
            },
            ..environment
        };
        let is_query = matches!(&*cte.body, Body::Query(_)) && !cte.search_or_cycle;
        let entry = Ctes {
            name: &cte.name,
            body: if is_query && !names_itself {
                CteBody::Query {
                    cte,
                    environment: inner,
                }
            } else {
                CteBody::Open
            },
            previous: environment.ctes,
            is_referenced: Cell::new(false),
        };
        let position = Position {
            parent: Some(block),
            is_spine: false,
        };
        if names_itself {
            self.traits.has_recursion = true;
        }
        if matches!(entry.body, CteBody::Open) {
            self.cte_body(&cte.body, inner, position)?;
        }
        let outer = Environment {
            ctes: Some(&entry),
            ..environment
        };
        let output = self.ctes(others, is_recursive, (outer, block), rest)?;
        if !entry.is_referenced.get() && !matches!(entry.body, CteBody::Open) {
            self.cte_body(&cte.body, inner, position)?;
        }
        Ok(output)
    }

    fn cte_body(
        &mut self,
        body: &Body,
        environment: Environment<'_>,
        position: Position,
    ) -> Result<(), PlanError> {
        match body {
            Body::Query(query) => self.query(query, environment, position).map(|_output| ()),
            other => {
                self.traits.has_write = true;
                let target = self.write(other, environment, position)?;
                self.check_target(other, target)
            }
        }
    }

    fn body(
        &mut self,
        query: &Query,
        environment: Environment<'_>,
        block: BlockId,
    ) -> Result<Output, PlanError> {
        match &query.body {
            QueryBody::Select(select) => self.select(select, query, environment, block),
            QueryBody::Values(rows) => {
                let scope = outer_scope(environment);
                let here = Here::plain(&scope, environment, block);
                for row in rows {
                    self.expressions(row, here)?;
                }
                self.trailing(query, here)?;
                let width = rows.first().map_or(0, Vec::len);
                let columns = (1..=width).map(|at| OutputColumn {
                    name: format!("column{at}"),
                    attribute: None,
                    is_pushable: false,
                    known: Attribute::default(),
                });
                Ok(Output {
                    columns: columns.collect(),
                    is_open: false,
                })
            }
            QueryBody::SetOperation {
                op,
                all,
                left,
                right,
            } => {
                let is_concat = *op == SetOperator::Union && *all;
                self.blocks[block].is_opaque |= !is_concat;
                let output = self.set_operation((left, right), environment, block)?;
                let scope = outer_scope(environment);
                self.trailing(query, Here::plain(&scope, environment, block))?;
                Ok(output)
            }
        }
    }

    fn set_operation(
        &mut self,
        (left, right): (&Query, &Query),
        environment: Environment<'_>,
        block: BlockId,
    ) -> Result<Output, PlanError> {
        // A branch is no spine: one anchor can't stand for the rows of both.
        let position = Position {
            parent: Some(block),
            is_spine: false,
        };
        let left = self.query(left, environment, position)?;
        let right = self.query(right, environment, position)?;
        let may_push = !self.blocks[block].is_limited;
        let mut columns = Vec::new();
        for (at, column) in left.columns.iter().enumerate() {
            let other = right.columns.get(at);
            // The branches' types may differ; then the common one isn't worked out.
            let same = other.is_some_and(|other| other.known.type_oid == column.known.type_oid);
            let known = if same {
                column.known.clone()
            } else {
                Attribute::default()
            };
            let attribute = self.attribute(known.clone());
            let branches = [Some(column), other];
            // A condition on the result may be tested in every branch or in none.
            let can_push = may_push
                && branches.iter().all(|branch| {
                    branch.is_some_and(|branch| branch.is_pushable && branch.attribute.is_some())
                });
            for inner in branches
                .into_iter()
                .flatten()
                .filter_map(|branch| branch.attribute)
            {
                if can_push && self.is_comparable(attribute, inner) {
                    self.edges.push((attribute, inner));
                }
            }
            columns.push(OutputColumn {
                name: column.name.clone(),
                attribute: Some(attribute),
                is_pushable: can_push,
                known,
            });
        }
        Ok(Output {
            columns,
            is_open: left.is_open || right.is_open,
        })
    }

    fn select(
        &mut self,
        select: &Select,
        query: &Query,
        environment: Environment<'_>,
        block: BlockId,
    ) -> Result<Output, PlanError> {
        self.traits.has_into |= select.into.is_some();
        let start = self.attributes.len();
        let joined = self.from(&select.from, select.filter.as_ref(), environment, block)?;
        let scope = Scope {
            items: &joined.items,
            parent: environment.scope,
        };
        let here = Here {
            scope: &scope,
            environment,
            block,
            windows: &select.windows,
        };
        let local = start..self.attributes.len();
        if let Some(filter) = &select.filter {
            self.condition(filter, here, &local)?;
        }
        self.clauses(select, query, here)?;
        let output = self.output(&select.targets, &joined, here);
        if select.distinct == Distinct::All {
            let attributes = output.columns.iter().map(|column| column.attribute);
            self.blocks[block].distinct = Some(attributes.collect());
        }
        let output = self.pushable(output, block);
        if block == 0 {
            self.top = joined.items;
            self.star = joined.star;
        }
        Ok(output)
    }

    /// The row sources of a level.
    pub(crate) fn from(
        &mut self,
        from: &[FromItem],
        filter: Option<&Expr>,
        environment: Environment<'_>,
        block: BlockId,
    ) -> Result<Joined, PlanError> {
        let mut strict = Vec::new();
        if let Some(filter) = filter {
            strictly_compared(filter, &mut strict);
        }
        let mut all = Joined::default();
        for item in from {
            let joined = self.source_item(
                item,
                Standing {
                    environment,
                    block,
                    left: &all.items,
                    is_preserved: true,
                    strict: &strict,
                },
            )?;
            all.items.extend(joined.items);
            all.star.extend(joined.star);
        }
        Ok(all)
    }

    fn clauses(&mut self, select: &Select, query: &Query, here: Here<'_>) -> Result<(), PlanError> {
        for target in &select.targets {
            self.expression(&target.expr, here)?;
        }
        for window in &select.windows {
            self.window(window, here)?;
        }
        if let Distinct::On(expressions) = &select.distinct {
            self.expressions(expressions, here)?;
            let attributes = expressions
                .iter()
                .map(|expr| self.named_target(expr, select, here));
            let attributes = attributes.collect();
            self.blocks[here.block].distinct = Some(attributes);
        }
        if !select.group_by.is_empty() {
            let mut group = Vec::new();
            for item in &select.group_by {
                match item {
                    GroupItem::Expr(expr) => {
                        self.expression(expr, here)?;
                        group.push(self.named_target(expr, select, here));
                    }
                    GroupItem::Sets { children, .. } => {
                        self.blocks[here.block].is_opaque = true;
                        self.expressions(children, here)?;
                    }
                }
            }
            self.blocks[here.block].group = Some(group);
        }
        if let Some(having) = &select.having {
            self.blocks[here.block].group.get_or_insert_default();
            self.expression(having, here)?;
        }
        self.trailing(query, here)
    }

    fn trailing(&mut self, query: &Query, here: Here<'_>) -> Result<(), PlanError> {
        for key in &query.order_by {
            self.expression(&key.expr, here)?;
        }
        for bound in query.limit.iter().chain(&query.offset) {
            self.expression(bound, here)?;
        }
        Ok(())
    }

    /// The attribute that an entry of `GROUP BY` or `DISTINCT ON` is: a column, or a target by number or alias.
    pub(crate) fn named_target(
        &self,
        expr: &Expr,
        select: &Select,
        here: Here<'_>,
    ) -> Option<AttributeId> {
        if let ExprKind::Const(literal) = &expr.kind {
            self.rely_on(literal);
        }
        let target = named_target(expr, select, here.scope).unwrap_or(expr);
        self.attribute_of(target, here.scope)
    }

    fn output(&self, targets: &[Target], joined: &Joined, here: Here<'_>) -> Output {
        let mut output = Output::default();
        for target in targets {
            match &target.expr.kind {
                ExprKind::Star(qualifier) => {
                    self.star(qualifier, joined, here.scope, &mut output);
                }
                _ => output.columns.push(self.output_column(target, here.scope)),
            }
        }
        output
    }

    fn output_column(&self, target: &Target, scope: &Scope<'_>) -> OutputColumn {
        let attribute = self.attribute_of(&target.expr, scope);
        let known = if let Some(attribute) = attribute {
            self.attributes[attribute].clone()
        } else {
            let sort = self.sort_of(&target.expr, scope);
            Attribute {
                type_oid: sort.type_oid,
                collation: Some(catalog::Collation {
                    name: String::new(),
                    is_bytes: sort.is_bytes,
                    is_deterministic: sort.is_deterministic,
                }),
                class: None,
            }
        };
        OutputColumn {
            name: target_name(target),
            attribute,
            is_pushable: false,
            known,
        }
    }

    fn star(&self, qualifier: &[String], joined: &Joined, scope: &Scope<'_>, output: &mut Output) {
        let push = |output: &mut Output, columns: &[Column]| {
            output
                .columns
                .extend(columns.iter().map(|column| OutputColumn {
                    name: column.name.clone(),
                    attribute: Some(column.attribute),
                    is_pushable: false,
                    known: self.attributes[column.attribute].clone(),
                }));
        };
        if qualifier.is_empty() {
            push(output, &joined.star);
            output.is_open |= joined.items.iter().any(|item| item.is_open);
        } else if let Some(item) = scope.item(qualifier) {
            push(output, &item.columns);
            output.is_open |= item.is_open;
        } else {
            output.is_open = true;
        }
        // Columns after unknown ones have unknown places, but names still find them.
    }

    /// Which columns a condition from outside may be tested on inside.
    fn pushable(&self, mut output: Output, block: BlockId) -> Output {
        let block = &self.blocks[block];
        let within = |list: &[Option<AttributeId>], attribute| list.contains(&Some(attribute));
        for column in &mut output.columns {
            let Some(attribute) = column.attribute else {
                continue;
            };
            column.is_pushable = !block.is_limited
                && !block.is_opaque
                && block
                    .group
                    .as_ref()
                    .is_none_or(|group| within(group, attribute))
                && block
                    .distinct
                    .as_ref()
                    .is_none_or(|distinct| within(distinct, attribute))
                && block.windows.iter().all(|window| within(window, attribute));
        }
        output
    }
}

// === impl Here ===

impl<'s> Here<'s> {
    /// An expression of a level without windows.
    pub(crate) fn plain(
        scope: &'s Scope<'s>,
        environment: Environment<'s>,
        block: BlockId,
    ) -> Self {
        Self {
            scope,
            environment,
            block,
            windows: &[],
        }
    }
}

/// A level without row sources of its own.
pub(crate) fn outer_scope(environment: Environment<'_>) -> Scope<'_> {
    const NONE: &[Item] = &[];
    Scope {
        items: NONE,
        parent: environment.scope,
    }
}

/// The target that a number or an alias in `GROUP BY`, `DISTINCT ON` or `ORDER BY` means; input columns come first.
pub(crate) fn named_target<'s>(
    expr: &Expr,
    select: &'s Select,
    scope: &Scope<'_>,
) -> Option<&'s Expr> {
    match &expr.kind {
        ExprKind::Const(sql::ast::Const {
            value: sql::ast::ConstValue::Integer(number),
            ..
        }) => {
            let at = usize::try_from(*number).ok()?.checked_sub(1)?;
            select.targets.get(at).map(|target| &target.expr)
        }
        ExprKind::Column(name) => {
            let [single] = name.parts.as_slice() else {
                return None;
            };
            if matches!(scope.column(&name.parts), Meaning::Local(_)) {
                return None;
            }
            let target = select
                .targets
                .iter()
                .find(|target| target_name(target) == *single);
            target.map(|target| &target.expr)
        }
        _ => None,
    }
}

/// The name that PostgreSQL gives a column of the result.
pub(crate) fn target_name(target: &Target) -> String {
    if let Some(alias) = &target.alias {
        return alias.clone();
    }
    match &target.expr.kind {
        ExprKind::Column(name) => name.parts.last().cloned().unwrap_or_default(),
        ExprKind::Call(call) => call.name.parts.last().cloned().unwrap_or_default(),
        ExprKind::Cast { operand, type_name } => match &operand.kind {
            ExprKind::Column(name) => name.parts.last().cloned().unwrap_or_default(),
            ExprKind::Call(call) => call.name.parts.last().cloned().unwrap_or_default(),
            _ => type_name.name.parts.last().cloned().unwrap_or_default(),
        },
        _ => "?column?".to_owned(),
    }
}

/// Columns that a condition compares by `=` in such a way that it can't be true of NULL.
fn strictly_compared<'e>(expr: &'e Expr, found: &mut Vec<&'e [String]>) {
    match &expr.kind {
        ExprKind::And(parts) => parts.iter().for_each(|part| strictly_compared(part, found)),
        ExprKind::Operator {
            name,
            left: Some(left),
            right,
        } if crate::equality::is_builtin_equality(name) => {
            for side in [left, right] {
                if let ExprKind::Column(name) = &side.kind {
                    found.push(&name.parts);
                }
            }
        }
        _ => {}
    }
}

/// Whether a statement names a relation of that name, anywhere.
fn names(body: &Body, name: &str) -> bool {
    let mut found = false;
    crate::volatile::tree::walk_body(body, &mut |node| {
        if let crate::volatile::tree::Node::Table(table) = node {
            found |= table.name.parts.len() == 1 && table.name.parts[0] == name;
        }
        !found
    });
    found
}
