//! What an expression is in a comparison: a column, the expression of a key, or a constant.

use sql::ast::{Const, ConstValue, Expr, ExprKind, TypeName};
use topology::{Function, KeyExpression};

use crate::key::{Class, Constant, ConstantKind};
use crate::plan::KeySource;
use crate::scope::{Analysis, AttributeId, Meaning, Scope};

impl Analysis<'_> {
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
                // A function of the user's may go by a built-in one's name, and come first on the path.
                let found = self
                    .context
                    .catalog
                    .functions_named(&call.name.parts, self.context.search_path);
                let is_builtin = found.iter().all(|function| function.is_builtin);
                let function =
                    Function::called(name, call.arguments.len()).filter(|_| plain && is_builtin)?;
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

    pub(super) fn literal(&self, literal: &Const) -> Option<KeySource> {
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

    pub(super) fn param_type(&self, number: u32) -> pg::Oid {
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
