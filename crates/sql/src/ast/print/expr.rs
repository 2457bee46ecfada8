//! Expressions as text.

use super::super::{
    Call, Const, ConstValue, Expr, ExprKind, SortKey, SublinkKind, TypeName, Window,
};
use super::{Builder, Sexpr, atom, name, operator, string_atom, word_atom};

impl Expr {
    /// The expression as text.
    #[must_use]
    pub fn to_sexpr(&self) -> Sexpr {
        match &self.kind {
            ExprKind::Column(column) => name(column),
            ExprKind::Star(qualifier) if qualifier.is_empty() => atom("*"),
            ExprKind::Star(qualifier) => Builder::new("*").words(qualifier).done(),
            ExprKind::Const(constant) => constant.to_sexpr(),
            ExprKind::Param(number) => Sexpr::Atom(format!("${number}")),
            ExprKind::Operator { name, left, right } => Builder(vec![operator(name)])
                .all(left.as_deref().map(Self::to_sexpr))
                .push(right.to_sexpr())
                .done(),
            ExprKind::AnyAll {
                name,
                all,
                left,
                right,
            } => Builder::new(if *all { "all" } else { "any" })
                .push(operator(name))
                .push(left.to_sexpr())
                .push(right.to_sexpr())
                .done(),
            ExprKind::And(list) => exprs("and", list),
            ExprKind::Or(list) => exprs("or", list),
            ExprKind::Row(list) => exprs("row", list),
            ExprKind::Array(list) => exprs("array", list),
            ExprKind::Not(operand) => Builder::new("not").push(operand.to_sexpr()).done(),
            ExprKind::IsNull { negated, operand } => {
                Builder::new(if *negated { "is-not-null" } else { "is-null" })
                    .push(operand.to_sexpr())
                    .done()
            }
            ExprKind::Call(call) => call.to_sexpr(),
            ExprKind::SqlValue(word) => Sexpr::Atom((*word).to_owned()),
            ExprKind::Cast { operand, type_name } => Builder::new("cast")
                .push(operand.to_sexpr())
                .push(type_name.to_sexpr())
                .done(),
            ExprKind::Collate { operand, collation } => Builder::new("collate")
                .push(operand.to_sexpr())
                .push(name(collation))
                .done(),
            ExprKind::Default => atom("DEFAULT"),
            ExprKind::Other { node, children } => exprs(node, children),
            kind => compound(kind),
        }
    }
}

/// The kinds with clauses of their own.
fn compound(kind: &ExprKind) -> Sexpr {
    match kind {
        ExprKind::In {
            negated,
            left,
            list,
        } => Builder::new(if *negated { "not-in" } else { "in" })
            .push(left.to_sexpr())
            .all(list.iter().map(Expr::to_sexpr))
            .done(),
        ExprKind::Between {
            negated,
            symmetric,
            operand,
            low,
            high,
        } => Builder::new(if *negated { "not-between" } else { "between" })
            .flag(*symmetric, "SYMMETRIC")
            .all([operand, low, high].map(|expr| expr.to_sexpr()))
            .done(),
        ExprKind::DistinctFrom {
            negated,
            left,
            right,
        } => Builder::new(if *negated { "not-distinct" } else { "distinct" })
            .push(left.to_sexpr())
            .push(right.to_sexpr())
            .done(),
        ExprKind::Case {
            operand,
            branches,
            otherwise,
        } => Builder::new("case")
            .all(operand.as_deref().map(Expr::to_sexpr))
            .all(branches.iter().map(|(when, then)| {
                Builder::new("when")
                    .push(when.to_sexpr())
                    .push(then.to_sexpr())
                    .done()
            }))
            .list("else", otherwise.as_deref().map(Expr::to_sexpr))
            .done(),
        ExprKind::Sublink {
            kind,
            operand,
            operator: by,
            query,
        } => Builder::new(match kind {
            SublinkKind::Exists => "exists",
            SublinkKind::Any => "any-query",
            SublinkKind::All => "all-query",
            SublinkKind::Scalar => "scalar-query",
            SublinkKind::Array => "array-query",
            SublinkKind::Row => "row-query",
        })
        .all(by.as_ref().map(operator))
        .all(operand.as_deref().map(Expr::to_sexpr))
        .push(query.to_sexpr())
        .done(),
        _ => atom("?"),
    }
}

pub(super) fn exprs(tag: &str, list: &[Expr]) -> Sexpr {
    Builder::new(tag)
        .all(list.iter().map(Expr::to_sexpr))
        .done()
}

impl Const {
    fn to_sexpr(&self) -> Sexpr {
        match &self.value {
            ConstValue::Null => atom("NULL"),
            ConstValue::Bool(value) => atom(if *value { "TRUE" } else { "FALSE" }),
            ConstValue::Integer(value) => Sexpr::Atom(value.to_string()),
            ConstValue::Number(digits) => Sexpr::Atom(digits.clone()),
            ConstValue::String(string) => string_atom(string),
            ConstValue::Bits(bits) => Builder::new("bits").word(bits).done(),
        }
    }
}

impl TypeName {
    pub(super) fn to_sexpr(&self) -> Sexpr {
        let plain = name(&self.name);
        if self.modifiers.is_empty() && self.array_dimensions == 0 && !self.set_of {
            return plain;
        }
        Builder::new("type")
            .push(plain)
            .all(self.modifiers.iter().map(Expr::to_sexpr))
            .all((0..self.array_dimensions).map(|_| atom("[]")))
            .flag(self.set_of, "SETOF")
            .done()
    }
}

impl Call {
    pub(super) fn to_sexpr(&self) -> Sexpr {
        let arguments = self.arguments.iter().enumerate().map(|(index, argument)| {
            match self.named.get(index).and_then(Option::as_ref) {
                Some(name) => Builder::new("=>")
                    .word(name)
                    .push(argument.to_sexpr())
                    .done(),
                None => argument.to_sexpr(),
            }
        });
        Builder::new("call")
            .push(name(&self.name))
            .flag(self.distinct, "DISTINCT")
            .flag(self.star, "*")
            .flag(self.variadic, "VARIADIC")
            .all(arguments)
            .list(
                if self.within_group {
                    "within-group"
                } else {
                    "order"
                },
                sort_keys(&self.order_by),
            )
            .list("filter", self.filter.as_ref().map(Expr::to_sexpr))
            .all(self.over.as_deref().map(|window| window.to_sexpr("over")))
            .done()
    }
}

impl Window {
    pub(super) fn to_sexpr(&self, tag: &str) -> Sexpr {
        Builder::new(tag)
            .all(self.name.as_deref().map(word_atom))
            .list("window", self.refname.as_deref().map(word_atom))
            .list("partition", self.partition_by.iter().map(Expr::to_sexpr))
            .list("order", sort_keys(&self.order_by))
            .list("frame", self.frame.iter().map(Expr::to_sexpr))
            .done()
    }
}

pub(super) fn sort_keys(keys: &[SortKey]) -> impl Iterator<Item = Sexpr> {
    keys.iter().map(|key| {
        let plain = !key.descending && key.nulls_first.is_none() && key.using.is_none();
        if plain {
            return key.expr.to_sexpr();
        }
        Builder::new("by")
            .push(key.expr.to_sexpr())
            .flag(key.descending, "DESC")
            .flag(key.nulls_first == Some(true), "NULLS-FIRST")
            .flag(key.nulls_first == Some(false), "NULLS-LAST")
            .list("using", key.using.as_ref().map(operator))
            .done()
    })
}
