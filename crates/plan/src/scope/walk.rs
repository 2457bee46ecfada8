//! Expressions: sub-selects, function calls, windows and parameters inside them.

use sql::ast::{Body, Call, Expr, ExprKind, InsertSource, Name, TableRef, TypeName, Window};

use super::from::Standing;
use super::{Analysis, BlockId, CallUse, Environment, Here, Meaning, Position, Scope};
use crate::function::{self, Class as FunctionClass};
use crate::place::Place;
use crate::{PlanError, Unsupported, UnsupportedId, session};

const SYSTEM_COLUMNS: &[&str] = &["ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"];

/// Types whose values are numbers of objects, which differ from shard to shard.
const OBJECT_TYPES: &[&str] = &[
    "regclass",
    "regproc",
    "regprocedure",
    "regoper",
    "regoperator",
    "regtype",
    "regrole",
    "regnamespace",
    "regcollation",
    "regconfig",
    "regdictionary",
];

/// Types whose input knows words for moments relative to now.
const DATE_TYPES: &[&str] = &["date", "time", "timetz", "timestamp", "timestamptz"];

impl Analysis<'_> {
    pub(crate) fn expressions<'e>(
        &mut self,
        list: impl IntoIterator<Item = &'e Expr>,
        here: Here<'_>,
    ) -> Result<(), PlanError> {
        list.into_iter()
            .try_for_each(|expr| self.expression(expr, here))
    }

    /// Looks inside an expression that is no condition.
    pub(crate) fn expression(&mut self, expr: &Expr, here: Here<'_>) -> Result<(), PlanError> {
        session::check_cursor(self.context, expr)?;
        match &expr.kind {
            ExprKind::Column(name) => {
                self.column(name, here);
                Ok(())
            }
            ExprKind::Param(number) => {
                self.param(*number).count += 1;
                Ok(())
            }
            ExprKind::Call(call) => self.call(call, expr.location, here),
            ExprKind::SqlValue(word) => {
                self.keyword(word, here.block);
                Ok(())
            }
            ExprKind::Sublink { operand, query, .. } => {
                self.expressions(operand.as_deref(), here)?;
                self.sublink(query, here).map(|_output| ())
            }
            ExprKind::Cast { operand, type_name } => {
                self.clock_word(operand, type_name, here.block);
                self.traits.has_object_cast |= is_object_type(type_name);
                self.expression(operand, here)
            }
            ExprKind::Operator { name, .. } | ExprKind::AnyAll { name, .. } => {
                self.operator(name)?;
                self.expressions(crate::volatile::tree::children(expr), here)
            }
            _ => self.expressions(crate::volatile::tree::children(expr), here),
        }
    }

    /// A sub-select of an expression.
    pub(crate) fn sublink(
        &mut self,
        query: &sql::ast::Query,
        here: Here<'_>,
    ) -> Result<super::Output, PlanError> {
        let environment = Environment {
            scope: Some(here.scope),
            ..here.environment
        };
        let position = Position {
            parent: Some(here.block),
            is_spine: false,
        };
        self.query(query, environment, position)
    }

    fn column(&mut self, name: &Name, here: Here<'_>) {
        let last = name.parts.last().map_or("", String::as_str);
        if SYSTEM_COLUMNS.contains(&last) && here.scope.column(&name.parts) == Meaning::Unknown {
            self.traits.has_system_column = true;
        }
    }

    fn keyword(&mut self, word: &str, block: BlockId) {
        let class = match word {
            "CURRENT_TIMESTAMP" | "CURRENT_DATE" | "CURRENT_TIME" | "LOCALTIME"
            | "LOCALTIMESTAMP" => FunctionClass::Clock,
            _ => FunctionClass::Free,
        };
        self.calls.push(CallUse {
            name: word.to_owned(),
            class,
            is_in_view: self.view_depth > 0,
            block,
        });
    }

    /// `'today'::date` reads the clock; so may a word that is only read as a date where it is used.
    fn clock_word(&mut self, operand: &Expr, type_name: &TypeName, block: BlockId) {
        let ExprKind::Const(literal) = &operand.kind else {
            return;
        };
        let sql::ast::ConstValue::String(text) = &literal.value else {
            return;
        };
        let last = type_name.name.parts.last().map_or("", String::as_str);
        if DATE_TYPES.contains(&last) && crate::volatile::is_clock_word(text) {
            self.calls.push(CallUse {
                name: format!("'{text}'::{last}"),
                class: FunctionClass::Clock,
                is_in_view: self.view_depth > 0,
                block,
            });
        }
        self.rely_on_date(literal, last);
    }

    fn rely_on_date(&self, literal: &sql::ast::Const, type_name: &str) {
        if DATE_TYPES.contains(&type_name) {
            self.rely_on(literal);
        }
    }

    fn call(
        &mut self,
        call: &Call,
        location: Option<u32>,
        here: Here<'_>,
    ) -> Result<(), PlanError> {
        let name = call.name.parts.join(".");
        let mut class = function::classify(self.context, call);
        session::check_call(self.context, call)?;
        let refusal = match class {
            FunctionClass::Unproven => Some(UnsupportedId::FunctionUser),
            FunctionClass::Dynamic => Some(UnsupportedId::FunctionDynamic),
            FunctionClass::Snapshot => Some(UnsupportedId::SnapshotExport),
            _ => None,
        };
        match refusal {
            Some(id) if self.context.is_spread() => {
                return Err(Unsupported::about(id, name).into());
            }
            // The only shard has all rows.
            Some(_) => class = FunctionClass::Authority,
            None if class == FunctionClass::Unknown => {
                let position = location.and_then(|at| crate::place::character(self.source, at));
                return Err(PlanError::UndefinedFunction { name, position });
            }
            None => {}
        }
        self.calls.push(CallUse {
            name,
            class,
            is_in_view: self.view_depth > 0,
            block: here.block,
        });
        self.traits.has_sequence |= class == FunctionClass::Sequence;
        if let Some(window) = &call.over {
            self.window(window, here)?;
            let partition = self.partition(window, here);
            self.blocks[here.block].windows.push(partition);
        } else if function::is_aggregate(self.context, &call.name) {
            self.aggregate(call, here);
        }
        self.expressions(&call.arguments, here)?;
        self.expressions(call.order_by.iter().map(|key| &key.expr), here)?;
        self.expressions(&call.filter, here)
    }

    /// An aggregate belongs to the innermost level whose columns its arguments use.
    fn aggregate(&mut self, call: &Call, here: Here<'_>) {
        let mut is_local = call.arguments.is_empty();
        let mut has_column = false;
        for argument in &call.arguments {
            crate::volatile::tree::walk_expr(argument, &mut |node| {
                if let crate::volatile::tree::Node::Expr(inner) = node
                    && let ExprKind::Column(name) = &inner.kind
                {
                    has_column = true;
                    is_local |= !matches!(here.scope.column(&name.parts), Meaning::Outer(_));
                }
                true
            });
        }
        if is_local || !has_column {
            self.blocks[here.block].group.get_or_insert_default();
            return;
        }
        let mut block = Some(here.block);
        while let Some(at) = block {
            self.blocks[at].is_opaque = true;
            block = self.blocks[at].parent;
        }
    }

    pub(crate) fn window(&mut self, window: &Window, here: Here<'_>) -> Result<(), PlanError> {
        self.expressions(&window.partition_by, here)?;
        self.expressions(window.order_by.iter().map(|key| &key.expr), here)?;
        self.expressions(&window.frame, here)
    }

    /// What a window is partitioned by, through the windows that it refers to.
    fn partition(&self, window: &Window, here: Here<'_>) -> Vec<Option<super::AttributeId>> {
        let attributes = window.partition_by.iter();
        let mut partition: Vec<_> = attributes
            .map(|expr| self.attribute_of(expr, here.scope))
            .collect();
        let named = window.refname.as_ref().or(window.name.as_ref());
        let referred = named.and_then(|name| {
            here.windows
                .iter()
                .find(|known| known.name.as_ref() == Some(name))
        });
        if let Some(referred) = referred
            && !std::ptr::eq(referred, window)
        {
            let attributes = referred.partition_by.iter();
            partition.extend(attributes.map(|expr| self.attribute_of(expr, here.scope)));
        }
        partition
    }

    fn operator(&mut self, name: &Name) -> Result<(), PlanError> {
        let operator = name.parts.last().map_or("", String::as_str);
        let is_theirs = self
            .context
            .catalog
            .user_operators
            .iter()
            .any(|known| known == operator);
        let is_builtin = name
            .parts
            .first()
            .is_some_and(|schema| schema == "pg_catalog");
        if !is_theirs || is_builtin || self.traits.has_user_operator {
            return Ok(());
        }
        self.traits.has_user_operator = true;
        if !self.context.is_spread() || function::every_function_is_proven(self.context) {
            return Ok(());
        }
        Err(Unsupported::about(UnsupportedId::OperatorUser, operator).into())
    }

    /// A data-modifying statement; the answer is the place of its target among the uses.
    pub(crate) fn write(
        &mut self,
        body: &Body,
        environment: Environment<'_>,
        position: Position,
    ) -> Result<usize, PlanError> {
        let block = self.block(position);
        let (with, table, from, filter) = match body {
            Body::Update(update) => (
                &update.with,
                &update.table,
                update.from.as_slice(),
                update.filter.as_ref(),
            ),
            Body::Delete(delete) => (
                &delete.with,
                &delete.table,
                delete.using.as_slice(),
                delete.filter.as_ref(),
            ),
            Body::Insert(insert) => (&insert.with, &insert.table, &[][..], None),
            _ => return Err(Unsupported::new(UnsupportedId::WriteInCte).into()),
        };
        let mut target = 0;
        self.with(
            with.as_ref(),
            environment,
            block,
            &mut |analysis, environment| {
                let start = analysis.attributes.len();
                target = analysis.uses.len();
                let mut joined = analysis.target(table, environment, block)?;
                let others = analysis.from(from, filter, environment, block)?;
                joined.extend(others.items);
                let scope = Scope {
                    items: &joined,
                    parent: environment.scope,
                };
                let here = Here::plain(&scope, environment, block);
                let local = start..analysis.attributes.len();
                if let Some(filter) = filter {
                    analysis.condition(filter, here, &local)?;
                }
                if let (Body::Insert(_), Some(used)) = (body, analysis.uses.get_mut(target)) {
                    used.is_inserted = true;
                }
                analysis.written(body, here)?;
                Ok(super::Output::default())
            },
        )?;
        Ok(target)
    }

    /// What a data-modifying `WITH` can't do: write through a view, or assign a key, after which the row may belong to
    /// another shard.
    pub(crate) fn check_target(&self, body: &Body, target: usize) -> Result<(), PlanError> {
        let Some(used) = self.uses.get(target).filter(|used| used.is_target) else {
            return Err(Unsupported::new(UnsupportedId::WriteView).into());
        };
        let Place::Sharded(sharded) = &used.place else {
            return Ok(());
        };
        let assignments = match body {
            Body::Update(update) => update.assignments.as_slice(),
            Body::Insert(insert) => {
                let conflict = insert.on_conflict.as_ref();
                conflict
                    .and_then(|conflict| conflict.update.as_deref())
                    .unwrap_or_default()
            }
            _ => &[],
        };
        let key = sharded.key.columns();
        let mut assigned = assignments.iter().flat_map(|set| &set.columns);
        if assigned.any(|column| key.contains(&column.as_str())) {
            return Err(Unsupported::about(UnsupportedId::KeyUpdate, &used.name).into());
        }
        Ok(())
    }

    /// The table that is written.
    pub(crate) fn target(
        &mut self,
        table: &TableRef,
        environment: Environment<'_>,
        block: BlockId,
    ) -> Result<Vec<super::Item>, PlanError> {
        let first = self.uses.len();
        // The target of a write is never a common table expression.
        let environment = Environment {
            ctes: None,
            ..environment
        };
        let standing = Standing {
            environment,
            block,
            left: &[],
            is_preserved: true,
            strict: &[],
        };
        let joined = self.table(table, standing)?;
        for used in &mut self.uses[first..] {
            used.is_written = true;
            // A view's tables belong to levels of their own.
            used.is_target = used.block == block;
        }
        Ok(joined.items)
    }

    /// The expressions of a write.
    fn written(&mut self, body: &Body, here: Here<'_>) -> Result<(), PlanError> {
        match body {
            Body::Update(update) => {
                self.expressions(update.assignments.iter().map(|set| &set.value), here)?;
                self.expressions(update.returning.iter().map(|target| &target.expr), here)
            }
            Body::Delete(delete) => {
                self.expressions(delete.returning.iter().map(|target| &target.expr), here)
            }
            Body::Insert(insert) => {
                self.expressions(insert.returning.iter().map(|target| &target.expr), here)?;
                if let Some(conflict) = &insert.on_conflict {
                    let updates = conflict.update.iter().flatten().map(|set| &set.value);
                    self.expressions(updates.chain(&conflict.filter), here)?;
                }
                match &insert.source {
                    InsertSource::Default => Ok(()),
                    InsertSource::Values { rows, .. } => {
                        self.inserted(insert, rows, here);
                        self.expressions(rows.iter().flatten(), here)
                    }
                    InsertSource::Query(query) => self.sublink(query, here).map(|_output| ()),
                }
            }
            _ => Ok(()),
        }
    }

    /// One row of constants binds the key of the table that it goes to.
    fn inserted(&mut self, insert: &sql::ast::Insert, rows: &[Vec<Expr>], here: Here<'_>) {
        let ([row], Some(item)) = (rows, here.scope.items.first()) else {
            return;
        };
        let named: Vec<&str> = if insert.columns.is_empty() {
            item.columns
                .iter()
                .map(|column| column.name.as_str())
                .collect()
        } else {
            insert
                .columns
                .iter()
                .map(|column| column.name.as_str())
                .collect()
        };
        for (name, value) in named.into_iter().zip(row) {
            if let (Some(attribute), Some(constant)) = (item.column(name), self.constant(value)) {
                self.compared_param(attribute, &constant);
                self.bind(attribute, constant);
            }
        }
    }
}

fn is_object_type(type_name: &TypeName) -> bool {
    let last = type_name.name.parts.last().map_or("", String::as_str);
    OBJECT_TYPES.contains(&last)
}
