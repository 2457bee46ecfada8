//! Types of expressions, as far as merging needs them. Invariant: a type is told only when PostgreSQL's resolution
//! leaves no other; everything else is `None`.

use pg::{Oid, oid};
use sql::ast::{ConstValue, Expr, ExprKind};

use crate::scope::{Analysis, Meaning, Scope};

/// What merging needs to know of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sort {
    /// Its base type, when it is known.
    pub(crate) type_oid: Option<Oid>,
    /// Text that it gives compares as bytes.
    pub(crate) is_bytes: bool,
    /// Texts are equal only when their bytes are.
    pub(crate) is_deterministic: bool,
}

impl Analysis<'_> {
    /// The base type and collation of an expression of the outermost level.
    pub(crate) fn sort_of(&self, expr: &Expr, scope: &Scope<'_>) -> Sort {
        Sort {
            type_oid: self
                .type_of(expr, scope)
                .map(|known| self.context.catalog.base_type(known)),
            is_bytes: self.is_bytes(expr, scope),
            is_deterministic: self.is_deterministic(expr, scope),
        }
    }

    /// The same of a column.
    pub(crate) fn sort_of_attribute(&self, attribute: Option<crate::scope::AttributeId>) -> Sort {
        let known = attribute.map(|attribute| &self.attributes[attribute]);
        let type_oid = known.and_then(|known| known.type_oid);
        let collation = known.and_then(|known| known.collation.as_ref());
        Sort {
            type_oid: type_oid.map(|known| self.context.catalog.base_type(known)),
            is_bytes: collation.map_or(
                self.context.catalog.default_collation_is_bytes,
                |collation| collation.is_bytes,
            ),
            is_deterministic: collation.is_none_or(|collation| collation.is_deterministic),
        }
    }

    /// Whether the router compares such values as PostgreSQL does.
    #[expect(clippy::unused_self, reason = "it reads as a question to the analysis")]
    pub(crate) fn is_comparable_sort(&self, sort: Sort) -> bool {
        sort.type_oid.is_none_or(|type_oid| {
            let direction = pg::order::Direction::default();
            pg::order::Comparator::for_type(type_oid, sort.is_bytes, direction).is_some()
        })
    }

    /// Whether the type is text of some kind, or an enum: values that have a collation or print as labels.
    #[expect(clippy::unused_self, reason = "it reads as a question to the analysis")]
    pub(crate) fn is_text(&self, type_oid: Oid) -> bool {
        matches!(type_oid, oid::TEXT | oid::VARCHAR | oid::BPCHAR | oid::NAME)
    }

    /// The type of an expression.
    pub(crate) fn type_of(&self, expr: &Expr, scope: &Scope<'_>) -> Option<Oid> {
        match &expr.kind {
            ExprKind::Column(name) => match scope.column(&name.parts) {
                Meaning::Local(attribute) | Meaning::Outer(attribute) => {
                    self.attributes[attribute].type_oid
                }
                Meaning::Unknown => None,
            },
            ExprKind::Const(literal) => match &literal.value {
                ConstValue::Bool(_) => Some(oid::BOOL),
                ConstValue::Integer(_) => Some(oid::INT4),
                ConstValue::Number(text) if text.parse::<i64>().is_ok() => Some(oid::INT8),
                ConstValue::Number(_) => Some(oid::NUMERIC),
                ConstValue::String(_) => Some(oid::TEXT),
                ConstValue::Null | ConstValue::Bits(_) => None,
            },
            ExprKind::Cast { type_name, .. } if type_name.array_dimensions == 0 => {
                self.type_named(type_name)
            }
            ExprKind::Operator { name, left, right } => {
                let operator = name.parts.last()?;
                self.operator_type(operator, left.as_deref(), right, scope)
            }
            ExprKind::And(_)
            | ExprKind::Or(_)
            | ExprKind::Not(_)
            | ExprKind::IsNull { .. }
            | ExprKind::In { .. }
            | ExprKind::Between { .. }
            | ExprKind::DistinctFrom { .. }
            | ExprKind::AnyAll { .. } => Some(oid::BOOL),
            ExprKind::Collate { operand, .. } => self.type_of(operand, scope),
            ExprKind::Call(call) => self.call_type(call, scope),
            ExprKind::Other {
                node: "CoalesceExpr" | "MinMaxExpr",
                children,
            } => self.common_type(children, scope),
            ExprKind::Case {
                branches,
                otherwise,
                ..
            } => {
                let results = branches.iter().map(|(_, then)| then);
                self.common_type(results.chain(otherwise.as_deref()), scope)
            }
            _ => None,
        }
    }

    fn call_type(&self, call: &sql::ast::Call, scope: &Scope<'_>) -> Option<Oid> {
        let name = call.name.parts.last()?;
        let argument = || {
            let known = self.type_of(call.arguments.first()?, scope)?;
            Some(self.context.catalog.base_type(known))
        };
        match name.as_str() {
            "count" => return Some(oid::INT8),
            "sum" => {
                return match argument()? {
                    oid::INT2 | oid::INT4 => Some(oid::INT8),
                    oid::INT8 | oid::NUMERIC => Some(oid::NUMERIC),
                    _ => None,
                };
            }
            "min" | "max" => return argument(),
            _ => {}
        }
        let arguments: Vec<Option<Oid>> = call
            .arguments
            .iter()
            .map(|argument| self.argument_type(argument, scope))
            .collect();
        let context = self.context;
        let functions = context
            .catalog
            .functions_named(&call.name.parts, context.search_path);
        let mut fitting = functions.iter().filter(|function| {
            function.arguments.len() == arguments.len()
                && !function.is_variadic
                && function
                    .arguments
                    .iter()
                    .zip(&arguments)
                    .all(|(wanted, given)| given.is_none_or(|given| given == *wanted))
        });
        let first = fitting.next()?;
        let is_one = fitting.all(|function| function.result == first.result);
        let is_plain = context
            .catalog
            .types
            .get(&first.result)
            .is_none_or(|known| known.kind != catalog::TypeKind::Pseudo);
        (is_one && is_plain && !first.returns_set).then_some(first.result)
    }

    /// The type that a function is looked up by; `None` fits any.
    fn argument_type(&self, argument: &Expr, scope: &Scope<'_>) -> Option<Oid> {
        let is_quoted = matches!(&argument.kind, ExprKind::Const(literal) if matches!(literal.value, ConstValue::String(_)));
        let known = self.type_of(argument, scope).filter(|_| !is_quoted)?;
        match self.context.catalog.base_type(known) {
            // Functions over text take both.
            oid::VARCHAR => Some(oid::TEXT),
            known => Some(known),
        }
    }

    /// The type of several results of one expression; NULL and quoted literals take that of the others.
    fn common_type<'e>(
        &self,
        results: impl IntoIterator<Item = &'e Expr>,
        scope: &Scope<'_>,
    ) -> Option<Oid> {
        let mut common: Option<Oid> = None;
        for result in results {
            if let ExprKind::Const(literal) = &result.kind
                && matches!(literal.value, ConstValue::Null | ConstValue::String(_))
            {
                continue;
            }
            let known = self.context.catalog.base_type(self.type_of(result, scope)?);
            common = match common {
                None => Some(known),
                Some(before) if before == known => Some(before),
                Some(before) => {
                    let rank = number_rank(before)?.max(number_rank(known)?);
                    NUMBERS.get(rank).copied()
                }
            };
        }
        common
    }

    fn operator_type(
        &self,
        operator: &str,
        left: Option<&Expr>,
        right: &Expr,
        scope: &Scope<'_>,
    ) -> Option<Oid> {
        match operator {
            "=" | "<>" | "!=" | "<" | ">" | "<=" | ">=" | "~" | "!~" | "~*" | "!~*" | "~~"
            | "!~~" | "~~*" | "!~~*" => return Some(oid::BOOL),
            "+" | "-" | "*" | "/" | "%" => {}
            _ => return None,
        }
        let base = |expr: &Expr| {
            self.type_of(expr, scope)
                .map(|known| self.context.catalog.base_type(known))
        };
        let right = base(right)?;
        let Some(left) = left else {
            return number_rank(right).map(|_rank| right);
        };
        let left = base(left)?;
        let rank = number_rank(left)?.max(number_rank(right)?);
        NUMBERS.get(rank).copied()
    }

    /// No collation in sight calls different texts equal.
    fn is_deterministic(&self, expr: &Expr, scope: &Scope<'_>) -> bool {
        let mut every = true;
        sql::ast::walk::for_each_in(expr, true, &mut |inner| match &inner.kind {
            ExprKind::Column(name) => match scope.column(&name.parts) {
                Meaning::Local(attribute) | Meaning::Outer(attribute) => {
                    let collation = self.attributes[attribute].collation.as_ref();
                    every &= collation.is_none_or(|collation| collation.is_deterministic);
                }
                Meaning::Unknown => {}
            },
            ExprKind::Collate { collation, .. } => {
                every &= collation
                    .parts
                    .last()
                    .is_some_and(|name| name == "C" || name == "POSIX");
            }
            _ => {}
        });
        every
    }

    fn is_bytes(&self, expr: &Expr, scope: &Scope<'_>) -> bool {
        if let ExprKind::Collate { collation, .. } = &expr.kind {
            let last = collation.parts.last().map_or("", String::as_str);
            return matches!(
                last,
                "C" | "POSIX" | "ucs_basic" | "C.UTF-8" | "C.utf8" | "pg_c_utf8"
            );
        }
        let mut every = true;
        let mut has_column = false;
        sql::ast::walk::for_each_in(expr, true, &mut |inner| match &inner.kind {
            ExprKind::Column(name) => match scope.column(&name.parts) {
                Meaning::Local(attribute) | Meaning::Outer(attribute) => {
                    if let Some(collation) = &self.attributes[attribute].collation {
                        has_column = true;
                        every &= collation.is_bytes;
                    }
                }
                Meaning::Unknown => every &= self.context.catalog.default_collation_is_bytes,
            },
            ExprKind::Collate { .. } => every = false,
            _ => {}
        });
        let is_column = matches!(expr.kind, ExprKind::Column(_));
        every && ((is_column && has_column) || self.context.catalog.default_collation_is_bytes)
    }
}

/// Numbers in the order of PostgreSQL's implicit casts.
const NUMBERS: &[Oid] = &[
    oid::INT2,
    oid::INT4,
    oid::INT8,
    oid::NUMERIC,
    oid::FLOAT4,
    oid::FLOAT8,
];

fn number_rank(type_oid: Oid) -> Option<usize> {
    NUMBERS.iter().position(|known| *known == type_oid)
}
