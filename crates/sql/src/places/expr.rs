//! Expressions.

use super::Places;
use crate::ast::{Call, Const, ConstValue, Expr, ExprKind, Span, SublinkKind};

impl Places<'_> {
    /// Where an expression stands. Brackets around the whole of it are not part of it; those that parts of it need are.
    #[must_use]
    pub fn expr(&self, expr: &Expr) -> Option<Span> {
        let span = match &expr.kind {
            ExprKind::Column(_) => {
                let first = self.index(expr)?;
                self.between(first, self.source.after_name(first))
            }
            ExprKind::Star(parts) => {
                let first = self.index(expr)?;
                self.between(first, first + 2 * parts.len() + 1)
            }
            ExprKind::Const(constant) => self.constant(expr, constant),
            ExprKind::Param(_) | ExprKind::SqlValue(_) | ExprKind::Default => {
                Some(self.source.get(self.index(expr)?)?.span)
            }
            ExprKind::Operator { left, right, .. } => {
                self.around(expr, left.iter().map(|left| &**left).chain([&**right]))
            }
            ExprKind::DistinctFrom { left, right, .. } => self.around(expr, [&**left, &**right]),
            ExprKind::Between { operand, high, .. } => self.around(expr, [&**operand, &**high]),
            ExprKind::And(list) | ExprKind::Or(list) => self.around(expr, list),
            ExprKind::Not(operand) => self.negation(expr, operand),
            ExprKind::IsNull { operand, .. } => self.null_test(expr, operand),
            ExprKind::In { left, .. } => self.up_to_brackets(expr, Some(left), &["not", "in"]),
            ExprKind::AnyAll { left, .. } => {
                let index = self.index(expr)? + 2;
                // A qualified operator, `OPERATOR(...)`, is another shape.
                if !self.source.is(index, "(") {
                    return None;
                }
                Some(join(self.expr(left)?, self.bracketed(index)?))
            }
            ExprKind::Call(call) => self.call(call),
            ExprKind::Cast { operand, .. } => self.cast(expr, operand),
            ExprKind::Case { .. } => self.case(expr),
            ExprKind::Sublink { kind, operand, .. } => {
                self.sublink(expr, *kind, operand.as_deref())
            }
            ExprKind::Row(_) => self.up_to_brackets(expr, None, &["row"]),
            ExprKind::Array(_) => self.up_to_brackets(expr, None, &["array"]),
            ExprKind::Collate { operand, .. } => {
                let first = self.index(expr)? + 1;
                let name = self.between(first, self.source.after_name(first))?;
                Some(join(self.expr(operand)?, name))
            }
            ExprKind::Other { node, .. } => match *node {
                "CoalesceExpr" | "MinMaxExpr" | "GroupingFunc" => {
                    let first = self.index(expr)?;
                    let brackets = self.bracketed(first + 1)?;
                    Some(join(self.source.get(first)?.span, brackets))
                }
                _ => None,
            },
        }?;
        self.balanced(span)
    }

    /// The token at the expression's location.
    fn index(&self, expr: &Expr) -> Option<usize> {
        self.source.at(expr.location?)
    }

    /// From the first to the last of the parts; a prefix operator's own token stands before them.
    fn around<'e>(&self, expr: &Expr, parts: impl IntoIterator<Item = &'e Expr>) -> Option<Span> {
        let mut span = self.source.get(self.index(expr)?)?.span;
        for part in parts {
            span = join(span, self.expr(part)?);
        }
        Some(span)
    }

    /// The brackets that open at token `index`.
    fn bracketed(&self, index: usize) -> Option<Span> {
        let close = self.source.partner(index).filter(|close| *close > index)?;
        self.between(index, close + 1)
    }

    /// Some words and brackets, with the operand that stands before them.
    fn up_to_brackets(&self, expr: &Expr, operand: Option<&Expr>, words: &[&str]) -> Option<Span> {
        let first = self.index(expr)?;
        let mut index = first;
        for word in words {
            index += usize::from(self.source.is_word(index, word));
        }
        let brackets = self.bracketed(index)?;
        let span = join(self.source.get(first)?.span, brackets);
        Some(match operand {
            Some(operand) => join(self.expr(operand)?, span),
            None => span,
        })
    }

    fn constant(&self, expr: &Expr, constant: &Const) -> Option<Span> {
        if let Some(token) = constant.token {
            let sign = self.source.get(self.index(expr)?)?.span;
            return Some(join(sign, token));
        }
        let word = match constant.value {
            ConstValue::Null => "null",
            ConstValue::Bool(true) => "true",
            ConstValue::Bool(false) => "false",
            _ => return None,
        };
        let index = self.index(expr)?;
        let token = self.source.get(index)?;
        self.source.is_word(index, word).then_some(token.span)
    }

    fn null_test(&self, expr: &Expr, operand: &Expr) -> Option<Span> {
        let first = self.index(expr)?;
        let mut index = first;
        if self.source.is_word(first, "is") {
            index += 1 + usize::from(self.source.is_word(first + 1, "not"));
        }
        let known = ["null", "isnull", "notnull"];
        let word = known.iter().any(|word| self.source.is_word(index, word));
        if !word {
            return None;
        }
        Some(join(self.expr(operand)?, self.source.get(index)?.span))
    }

    fn negation(&self, expr: &Expr, operand: &Expr) -> Option<Span> {
        if let ExprKind::Sublink {
            operand: Some(left),
            ..
        } = &operand.kind
            && operand.location == expr.location
        {
            return self.up_to_brackets(expr, Some(left), &["not", "in"]);
        }
        self.around(expr, [operand])
    }

    /// A call with what follows its brackets.
    fn call(&self, call: &Call) -> Option<Span> {
        let span = call.span?;
        let mut index = self.source.from(span.end);
        if call.within_group {
            index = self.after_words(index, &["within", "group"])?;
        }
        if call.filter.is_some() {
            index = self.after_words(index, &["filter"])?;
        }
        if call.over.is_some() {
            if !self.source.is_word(index, "over") {
                return None;
            }
            let brackets = self.source.after_brackets(index + 1);
            index = if brackets > index + 1 {
                brackets
            } else {
                index + 2
            };
        }
        self.between(self.source.at(span.start)?, index)
    }

    /// Index behind some words and the brackets after them.
    fn after_words(&self, mut index: usize, words: &[&str]) -> Option<usize> {
        for word in words {
            if !self.source.is_word(index, word) {
                return None;
            }
            index += 1;
        }
        let after = self.source.after_brackets(index);
        (after > index).then_some(after)
    }

    /// `expr::type` and `CAST(expr AS type)`; `type 'string'` has no location.
    fn cast(&self, expr: &Expr, operand: &Expr) -> Option<Span> {
        let first = self.index(expr)?;
        if self.source.is_word(first, "cast") {
            return self.up_to_brackets(expr, None, &["cast"]);
        }
        if !self.source.is(first, "::") {
            return None;
        }
        let end = self.after_type(first + 1)?;
        Some(join(self.expr(operand)?, self.between(first, end)?))
    }

    fn case(&self, expr: &Expr) -> Option<Span> {
        let first = self.index(expr)?;
        let mut index = first;
        let mut depth = 0_u32;
        loop {
            self.source.get(index)?;
            if !self.is_label(index) && self.source.is_word(index, "case") {
                depth += 1;
            } else if !self.is_label(index) && self.source.is_word(index, "end") {
                depth = depth.checked_sub(1)?;
            }
            if depth == 0 {
                return self.between(first, index + 1);
            }
            index = match self.source.partner(index) {
                Some(close) if close > index => close + 1,
                _ => index + 1,
            };
        }
    }

    fn sublink(&self, expr: &Expr, kind: SublinkKind, operand: Option<&Expr>) -> Option<Span> {
        match kind {
            SublinkKind::Exists => self.up_to_brackets(expr, None, &["exists"]),
            SublinkKind::Array => self.up_to_brackets(expr, None, &["array"]),
            SublinkKind::Scalar => self.up_to_brackets(expr, None, &[]),
            SublinkKind::Any | SublinkKind::All => {
                let index = self.index(expr)?;
                if self.source.is_word(index, "not") {
                    // `a NOT IN (SELECT ...)` is a `NOT` around `a IN (SELECT ...)`, which stands nowhere by itself.
                    return None;
                }
                if self.source.is_word(index, "in") {
                    return self.up_to_brackets(expr, Some(operand?), &["in"]);
                }
                Some(join(self.expr(operand?)?, self.bracketed(index + 2)?))
            }
            SublinkKind::Row => None,
        }
    }

    /// The span, grown until every bracket in it has its partner in it.
    fn balanced(&self, span: Span) -> Option<Span> {
        let mut first = self.source.at(span.start)?;
        let mut end = self.source.from(span.end);
        let mut index = first;
        while index < end {
            match self.source.partner(index) {
                Some(partner) if partner >= end => end = partner + 1,
                Some(partner) if partner < first => {
                    first = partner;
                    index = first;
                }
                _ => index += 1,
            }
        }
        self.between(first, end)
    }
}

fn join(left: Span, right: Span) -> Span {
    Span {
        start: left.start.min(right.start),
        end: left.end.max(right.end),
    }
}
