//! Conditions: which columns are equal to which, and to which constants. Invariant (with that of [`crate::scope`]):
//! only conditions that must be true of a row that matters are read, never those in `OR`, `CASE`, `NOT` or a select
//! list, and only the builtin `=` within one class.

use std::ops::Range;

use sql::ast::{Const, ConstValue, Expr, ExprKind, Name, SublinkKind, TypeName};
use topology::{Function, KeyExpression};

use crate::PlanError;
use crate::key::{Class, Constant, ConstantKind};
use crate::plan::KeySource;
use crate::scope::{Analysis, AttributeId, Binding, Here, Meaning, Scope};

mod reach;

pub(crate) use reach::{Fixture, Graph};

impl Analysis<'_> {
    /// Reads a condition that must be true of every row that matters. `allowed` are the attributes of the row sources
    /// that it may leave rows out of; on others it is only tested.
    pub(crate) fn condition(
        &mut self,
        expr: &Expr,
        here: Here<'_>,
        allowed: &Range<AttributeId>,
    ) -> Result<(), PlanError> {
        match &expr.kind {
            ExprKind::And(parts) => parts
                .iter()
                .try_for_each(|part| self.condition(part, here, allowed)),
            ExprKind::Sublink {
                kind: SublinkKind::Any,
                operand: Some(operand),
                operator,
                query,
            } if operator.as_ref().is_none_or(is_builtin_equality) => {
                self.expression(operand, here)?;
                let output = self.sublink(query, here)?;
                self.membership(operand, &output, here, allowed);
                Ok(())
            }
            ExprKind::Not(negated) => match &negated.kind {
                ExprKind::Sublink {
                    kind: SublinkKind::Any,
                    operand: Some(operand),
                    operator,
                    query,
                } if operator.as_ref().is_none_or(is_builtin_equality) => {
                    self.expression(operand, here)?;
                    let output = self.sublink(query, here)?;
                    self.absence(operand, &output, here);
                    Ok(())
                }
                _ => self.expression(expr, here),
            },
            _ => {
                self.predicate(expr, here, allowed);
                self.expression(expr, here)
            }
        }
    }

    /// `x NOT IN (SELECT key ...)`: rows of other keys make no difference, as a key is never NULL.
    fn absence(&mut self, operand: &Expr, output: &crate::scope::Output, here: Here<'_>) {
        let [column] = output.columns.as_slice() else {
            return;
        };
        let is_key = |attribute: &AttributeId| {
            let mut uses = self.uses.iter().filter(|used| used.is_preserved);
            uses.any(|used| {
                used.parts
                    .iter()
                    .any(|part| part.expression.is_none() && part.whole == *attribute)
            })
        };
        if let Some(inner) = column.attribute.filter(is_key)
            && column.is_pushable
            && let Some(outer) = self.attribute_of(operand, here.scope)
            && self.is_comparable(outer, inner)
        {
            self.edges.push((outer, inner));
        }
    }

    /// `x IN (SELECT y ...)`: both are equal in some row of the sub-select.
    fn membership(
        &mut self,
        operand: &Expr,
        output: &crate::scope::Output,
        here: Here<'_>,
        allowed: &Range<AttributeId>,
    ) {
        let operands = match &operand.kind {
            ExprKind::Row(fields) => fields.iter().collect(),
            _ => vec![operand],
        };
        let item = self.item_of(output);
        if item.is_open || item.columns.len() != operands.len() {
            return;
        }
        for (operand, column) in operands.into_iter().zip(&item.columns) {
            let inner = column.attribute;
            if let Some(outer) = self.attribute_of(operand, here.scope)
                && self.is_comparable(outer, inner)
            {
                self.edges.push((outer, inner));
                if allowed.contains(&outer) {
                    self.edges.push((inner, outer));
                }
            } else if let Some(constant) = self.constant(operand) {
                self.bind(inner, constant);
            }
        }
    }

    fn predicate(&mut self, expr: &Expr, here: Here<'_>, allowed: &Range<AttributeId>) {
        match &expr.kind {
            ExprKind::Operator {
                name,
                left: Some(left),
                right,
            } if is_builtin_equality(name) => self.comparison(left, right, here, allowed),
            ExprKind::DistinctFrom {
                negated: true,
                left,
                right,
            } => {
                // A NULL parameter would make this a test for NULL.
                let is_literal = |expr: &Expr| {
                    self.constant(expr).is_some_and(|constant| {
                        !matches!(constant.kind, ConstantKind::Param(_) | ConstantKind::Null)
                    })
                };
                if is_literal(left) || is_literal(right) {
                    self.comparison(left, right, here, allowed);
                }
            }
            ExprKind::In {
                negated: false,
                left,
                list,
            } => self.listed(left, list, here, allowed),
            ExprKind::AnyAll {
                name,
                all: false,
                left,
                right,
            } if is_builtin_equality(name) => self.any(left, right, here, allowed),
            ExprKind::Or(branches) => self.alternatives(branches, here, allowed),
            _ => {}
        }
    }

    fn comparison(
        &mut self,
        left: &Expr,
        right: &Expr,
        here: Here<'_>,
        allowed: &Range<AttributeId>,
    ) {
        if let (ExprKind::Row(left), ExprKind::Row(right)) = (&left.kind, &right.kind) {
            if left.len() == right.len() {
                for (left, right) in left.iter().zip(right) {
                    self.comparison(left, right, here, allowed);
                }
            }
            return;
        }
        let a = self.attribute_of(left, here.scope);
        let b = self.attribute_of(right, here.scope);
        match (a, b) {
            (Some(a), Some(b)) => self.equal(a, b, allowed),
            (Some(attribute), None) => self.compared(attribute, right, allowed),
            (None, Some(attribute)) => self.compared(attribute, left, allowed),
            (None, None) => {}
        }
    }

    fn compared(&mut self, attribute: AttributeId, other: &Expr, allowed: &Range<AttributeId>) {
        if let Some(constant) = self.constant(other) {
            self.compared_param(attribute, &constant);
            if allowed.contains(&attribute) {
                self.bind(attribute, constant);
            }
        }
    }

    fn compared_param(&mut self, attribute: AttributeId, constant: &Constant) {
        if let (KeySource::Param(number), Some(class)) =
            (&constant.source, self.attributes[attribute].class)
        {
            self.param(*number).compared.push(class);
        }
    }

    /// `a = b`, both columns.
    pub(crate) fn equal(&mut self, a: AttributeId, b: AttributeId, allowed: &Range<AttributeId>) {
        if !self.is_comparable(a, b) {
            return;
        }
        if allowed.contains(&b) {
            self.edges.push((a, b));
        }
        if allowed.contains(&a) {
            self.edges.push((b, a));
        }
    }

    /// Whether `=` between them is equality within one class.
    pub(crate) fn is_comparable(&self, a: AttributeId, b: AttributeId) -> bool {
        let (a, b) = (&self.attributes[a], &self.attributes[b]);
        matches!((a.class, b.class), (Some(a), Some(b)) if a.is_same(b))
    }

    pub(crate) fn bind(&mut self, attribute: AttributeId, constant: Constant) {
        let class = self.attributes[attribute].class;
        if class.is_some_and(|class| class.accepts(constant.kind)) {
            self.bindings.push((attribute, Binding::One(constant)));
        }
    }

    fn listed(&mut self, left: &Expr, list: &[Expr], here: Here<'_>, allowed: &Range<AttributeId>) {
        if let [single] = list {
            return self.comparison(left, single, here, allowed);
        }
        let Some(attribute) = self.attribute_of(left, here.scope) else {
            return;
        };
        let Some(constants) = self.constants(attribute, list) else {
            return;
        };
        if allowed.contains(&attribute) {
            self.bindings.push((attribute, Binding::List(constants)));
        }
    }

    /// The constants of a list, if it holds nothing else and each is exactly a value of the column.
    fn constants(&mut self, attribute: AttributeId, list: &[Expr]) -> Option<Vec<Constant>> {
        let class = self.attributes[attribute].class?;
        let constants: Vec<Constant> = list
            .iter()
            .map(|expr| self.constant(expr))
            .collect::<Option<_>>()?;
        // Among several types PostgreSQL chooses one for all of them: then a text is no longer read as the key's type.
        let has_decimal = constants
            .iter()
            .any(|constant| constant.kind == ConstantKind::Decimal);
        let has_text = constants
            .iter()
            .any(|constant| constant.kind == ConstantKind::Quoted);
        let is_exact = constants
            .iter()
            .all(|constant| class.accepts(constant.kind));
        if !is_exact || (has_decimal && has_text) {
            return None;
        }
        for constant in &constants {
            self.compared_param(attribute, constant);
        }
        Some(constants)
    }

    fn any(&mut self, left: &Expr, right: &Expr, here: Here<'_>, allowed: &Range<AttributeId>) {
        let Some(attribute) = self.attribute_of(left, here.scope) else {
            return;
        };
        if let ExprKind::Array(elements) = &right.kind {
            return self.listed(left, elements, here, allowed);
        }
        let Some(array) = self.array(attribute, right) else {
            return;
        };
        if allowed.contains(&attribute) {
            self.bindings.push((attribute, Binding::Array(array)));
        }
    }

    /// An array parameter or literal whose elements are of the column's class.
    fn array(&self, attribute: AttributeId, expr: &Expr) -> Option<Constant> {
        let class = self.attributes[attribute].class?;
        let (operand, declared) = match &expr.kind {
            ExprKind::Cast { operand, type_name } if type_name.array_dimensions == 1 => {
                (&**operand, Some(self.type_named(type_name)?))
            }
            _ => (expr, None),
        };
        if declared.is_some_and(|element| !class.accepts(ConstantKind::Typed(element))) {
            return None;
        }
        match &operand.kind {
            ExprKind::Param(number) => {
                let type_oid = self.param_type(*number);
                let element = type_oid.element();
                let is_fine = type_oid == pg::Oid::INVALID
                    || element.is_some_and(|element| class.accepts(ConstantKind::Typed(element)));
                let is_alone = type_oid != pg::Oid::INVALID
                    || declared.is_some()
                    || self
                        .params
                        .get(*number as usize)
                        .is_none_or(|known| known.count == 0);
                (is_fine && is_alone).then_some(Constant {
                    source: KeySource::Param(*number),
                    kind: ConstantKind::Param(type_oid),
                })
            }
            ExprKind::Const(
                literal @ Const {
                    value: ConstValue::String(_),
                    ..
                },
            ) => Some(Constant {
                source: self.literal(literal)?,
                kind: ConstantKind::Quoted,
            }),
            _ => None,
        }
    }

    /// `k = 1 OR k = 2`: a list, when every branch names the same column.
    fn alternatives(&mut self, branches: &[Expr], here: Here<'_>, allowed: &Range<AttributeId>) {
        let mut found: Option<AttributeId> = None;
        let mut constants = Vec::new();
        for branch in branches {
            let Some((attribute, constant)) = self.alternative(branch, here.scope) else {
                return;
            };
            if found.is_some_and(|known| known != attribute) {
                return;
            }
            found = Some(attribute);
            constants.push(constant);
        }
        if let Some(attribute) = found
            && allowed.contains(&attribute)
            && let Some(class) = self.attributes[attribute].class
            && constants
                .iter()
                .all(|constant| class.accepts(constant.kind))
        {
            for constant in &constants {
                self.compared_param(attribute, constant);
            }
            self.bindings.push((attribute, Binding::List(constants)));
        }
    }

    fn alternative(&self, branch: &Expr, scope: &Scope<'_>) -> Option<(AttributeId, Constant)> {
        let parts = match &branch.kind {
            ExprKind::And(parts) => parts.as_slice(),
            _ => std::slice::from_ref(branch),
        };
        parts.iter().find_map(|part| {
            let ExprKind::Operator {
                name,
                left: Some(left),
                right,
            } = &part.kind
            else {
                return None;
            };
            if !is_builtin_equality(name) {
                return None;
            }
            let pair = |a: &Expr, b: &Expr| Some((self.attribute_of(a, scope)?, self.constant(b)?));
            pair(left, right).or_else(|| pair(right, left))
        })
    }

    /// The attribute that an expression is: a column, or the expression that a key is made of.
    pub(crate) fn attribute_of(&self, expr: &Expr, scope: &Scope<'_>) -> Option<AttributeId> {
        match &expr.kind {
            ExprKind::Column(name) => match scope.column(&name.parts) {
                Meaning::Local(attribute) | Meaning::Outer(attribute) => Some(attribute),
                Meaning::Unknown => None,
            },
            ExprKind::Cast { operand, type_name } => self
                .unchanged(operand, type_name, scope)
                .or_else(|| self.key_expression(expr, scope)),
            ExprKind::Call(_) | ExprKind::Operator { .. } | ExprKind::Other { .. } => {
                self.key_expression(expr, scope)
            }
            _ => None,
        }
    }

    /// A column cast to a type of its own class that holds all of its values.
    fn unchanged(
        &self,
        operand: &Expr,
        type_name: &TypeName,
        scope: &Scope<'_>,
    ) -> Option<AttributeId> {
        if type_name.has_modifiers || type_name.array_dimensions > 0 {
            return None;
        }
        let attribute = self.attribute_of(operand, scope)?;
        let from = self.attributes[attribute].class?;
        let to = Class::of_type(self.context.catalog, self.type_named(type_name)?)?;
        (from.is_same(to) && to.key.width >= from.key.width).then_some(attribute)
    }

    /// The part of a table's key that an expression is.
    fn key_expression(&self, expr: &Expr, scope: &Scope<'_>) -> Option<AttributeId> {
        let mut over = None;
        let wanted = self.as_key_expression(expr, scope, &mut over)?;
        let column = over?;
        sql::ast::walk::for_each_in(expr, false, &mut |inner| {
            if let ExprKind::Const(literal) = &inner.kind {
                self.rely_on(literal);
            }
        });
        let parts = self.uses.iter().flat_map(|used| &used.parts);
        let mut matching = parts.filter(|part| {
            let Some(expression) = &part.expression else {
                return false;
            };
            part.column == Some(column) && same_shape(expression, &wanted)
        });
        matching.next().map(|part| part.whole)
    }

    /// The expression in the topology's form, every column written alike, if it is over one column only.
    fn as_key_expression(
        &self,
        expr: &Expr,
        scope: &Scope<'_>,
        over: &mut Option<AttributeId>,
    ) -> Option<KeyExpression> {
        let mut inner = |expr: &Expr| self.as_key_expression(expr, scope, over);
        match &expr.kind {
            ExprKind::Column(_) => {
                let attribute = self.attribute_of(expr, scope)?;
                if over.is_some_and(|known| known != attribute) {
                    return None;
                }
                *over = Some(attribute);
                Some(KeyExpression::Column(String::new()))
            }
            ExprKind::Const(Const { value, .. }) => match value {
                ConstValue::Integer(value) => Some(KeyExpression::Integer(i64::from(*value))),
                ConstValue::String(text) => Some(KeyExpression::Text(text.clone())),
                _ => None,
            },
            ExprKind::Call(call) => {
                let plain =
                    call.order_by.is_empty() && call.filter.is_none() && call.over.is_none();
                let [name] = call.name.parts.as_slice() else {
                    return self.qualified(call, scope, over);
                };
                let function = Function::called(name, call.arguments.len()).filter(|_| plain)?;
                let arguments = call.arguments.iter().map(inner).collect::<Option<_>>()?;
                Some(KeyExpression::Call {
                    function,
                    arguments,
                })
            }
            ExprKind::Other {
                node: "CoalesceExpr",
                children,
            } => Some(KeyExpression::Call {
                function: Function::Coalesce,
                arguments: children.iter().map(inner).collect::<Option<_>>()?,
            }),
            ExprKind::Operator {
                name,
                left: Some(left),
                right,
            } if name.parts == ["%"] => {
                let arguments = vec![inner(left)?, inner(right)?];
                Some(KeyExpression::Call {
                    function: Function::Modulo,
                    arguments,
                })
            }
            ExprKind::Cast { operand, type_name } => {
                let is_text = self.type_named(type_name) == Some(pg::oid::TEXT);
                let argument = inner(operand).filter(|_| is_text && !type_name.has_modifiers)?;
                Some(KeyExpression::Call {
                    function: Function::Text,
                    arguments: vec![argument],
                })
            }
            _ => None,
        }
    }

    fn qualified(
        &self,
        call: &sql::ast::Call,
        scope: &Scope<'_>,
        over: &mut Option<AttributeId>,
    ) -> Option<KeyExpression> {
        let [schema, name] = call.name.parts.as_slice() else {
            return None;
        };
        let function = Function::called(name, call.arguments.len());
        let function = function.filter(|_| schema == "pg_catalog")?;
        let arguments = call.arguments.iter();
        let arguments = arguments.map(|expr| self.as_key_expression(expr, scope, over));
        Some(KeyExpression::Call {
            function,
            arguments: arguments.collect::<Option<_>>()?,
        })
    }

    /// The constant that an expression is.
    pub(crate) fn constant(&self, expr: &Expr) -> Option<Constant> {
        match &expr.kind {
            ExprKind::Const(literal) => {
                let kind = match &literal.value {
                    ConstValue::Null => {
                        return Some(Constant {
                            source: KeySource::Null,
                            kind: ConstantKind::Null,
                        });
                    }
                    ConstValue::Bool(value) => {
                        return Some(Constant {
                            source: KeySource::Value(pg::KeyValue::Bool(*value)),
                            kind: ConstantKind::Typed(pg::oid::BOOL),
                        });
                    }
                    ConstValue::Bits(_) => return None,
                    ConstValue::Integer(_) => ConstantKind::Integer,
                    ConstValue::Number(text) if text.parse::<i64>().is_ok() => {
                        ConstantKind::Integer
                    }
                    ConstValue::Number(_) => ConstantKind::Decimal,
                    ConstValue::String(_) => ConstantKind::Quoted,
                };
                Some(Constant {
                    source: self.literal(literal)?,
                    kind,
                })
            }
            ExprKind::Param(number) => Some(Constant {
                source: KeySource::Param(*number),
                kind: ConstantKind::Param(self.param_type(*number)),
            }),
            ExprKind::Cast { operand, type_name } => self.cast(operand, type_name),
            _ => None,
        }
    }

    /// A constant cast to a type that keeps its value.
    fn cast(&self, operand: &Expr, type_name: &TypeName) -> Option<Constant> {
        if type_name.has_modifiers || type_name.array_dimensions > 0 || type_name.set_of {
            return None;
        }
        let target = self.type_named(type_name)?;
        let class = Class::of_type(self.context.catalog, target)?;
        let constant = self.constant(operand)?;
        let keeps = match constant.kind {
            ConstantKind::Quoted | ConstantKind::Null | ConstantKind::Param(pg::Oid::INVALID) => {
                true
            }
            // The class's own number literal, or a parameter that is of the class already.
            ConstantKind::Integer => class.key.class == pg::KeyClass::Integer,
            ConstantKind::Typed(known) | ConstantKind::Param(known) => {
                let known = Class::of_type(self.context.catalog, known);
                known
                    .is_some_and(|known| known.is_same(class) && known.key.width <= class.key.width)
            }
            ConstantKind::Decimal => false,
        };
        keeps.then_some(Constant {
            kind: match constant.kind {
                ConstantKind::Null => ConstantKind::Null,
                _ => ConstantKind::Typed(self.context.catalog.base_type(target)),
            },
            ..constant
        })
    }

    fn literal(&self, literal: &Const) -> Option<KeySource> {
        if self.view_depth > 0 {
            // A view's literals are the view's, not the statement's.
            let text = |text: String, quoted| Some(KeySource::Text { text, quoted });
            return match &literal.value {
                ConstValue::Integer(value) => text(value.to_string(), false),
                ConstValue::Number(number) => text(number.clone(), false),
                ConstValue::String(value) => text(value.clone(), true),
                _ => None,
            };
        }
        self.slots.source(literal)
    }

    fn param_type(&self, number: u32) -> pg::Oid {
        let at = (number as usize).checked_sub(1);
        let known = at.and_then(|at| self.context.param_types.get(at)).copied();
        known.unwrap_or(pg::Oid::INVALID)
    }

    pub(crate) fn type_named(&self, type_name: &TypeName) -> Option<pg::Oid> {
        let parts = &type_name.name.parts;
        let found = self
            .context
            .catalog
            .type_named(parts, self.context.search_path);
        let last = parts.last()?;
        let is_builtin = parts.len() == 1 || parts[0] == "pg_catalog";
        found
            .map(|known| known.oid)
            .or_else(|| is_builtin.then(|| pg::Oid::from_type_name(last)).flatten())
    }
}

/// The operator `=` of PostgreSQL.
pub(crate) fn is_builtin_equality(name: &Name) -> bool {
    match name.parts.as_slice() {
        [operator] => operator == "=",
        [schema, operator] => schema == "pg_catalog" && operator == "=",
        _ => false,
    }
}

/// Whether two key expressions are the same but for the names of their columns.
fn same_shape(a: &KeyExpression, b: &KeyExpression) -> bool {
    match (a, b) {
        (KeyExpression::Column(_), KeyExpression::Column(_)) => true,
        (
            KeyExpression::Call {
                function: of_a,
                arguments: a,
            },
            KeyExpression::Call {
                function: of_b,
                arguments: b,
            },
        ) => of_a == of_b && a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same_shape(a, b)),
        _ => a == b,
    }
}
