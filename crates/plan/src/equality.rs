//! Conditions: which columns are equal to which, and to which constants. Invariant (with that of [`crate::scope`]):
//! only conditions that must be true of a row that matters are read, never those in `OR`, `CASE`, `NOT` or a select
//! list, and only the builtin `=` within one class.

use std::ops::Range;

use sql::ast::{Const, ConstValue, Expr, ExprKind, Name, SublinkKind};

use crate::PlanError;
use crate::key::{Constant, ConstantKind};
use crate::plan::KeySource;
use crate::scope::{Analysis, AttributeId, Binding, Here, Scope};

mod reach;
mod term;

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

    pub(crate) fn compared_param(&mut self, attribute: AttributeId, constant: &Constant) {
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
}

/// The operator `=` of PostgreSQL.
pub(crate) fn is_builtin_equality(name: &Name) -> bool {
    match name.parts.as_slice() {
        [operator] => operator == "=",
        [schema, operator] => schema == "pg_catalog" && operator == "=",
        _ => false,
    }
}
