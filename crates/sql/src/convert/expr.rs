//! Expressions.

use pg_raw_parse::raw::{A_Expr_Kind, BoolExprType, NullTestType, SQLValueFunctionOp, SubLinkType};
use pg_raw_parse::{ConstValue, Node, list, nodes};

use super::{Converter, Result, Stop, location, name, named, owned, strings, text, typed_strings};
use crate::ast::{self, Expr, ExprKind};
use crate::scan::TokenKind;

impl Converter<'_> {
    /// An expression.
    pub(super) fn expr(&self, node: Node<'_>) -> Result<Expr> {
        self.nested(|| match node {
            Node::ColumnRef(column) => Ok(column_ref(column)),
            Node::A_Const(constant) => Ok(self.constant(constant)),
            Node::ParamRef(param) => Ok(Expr {
                kind: ExprKind::Param(u32::try_from(param.number).unwrap_or(0)),
                location: location(param.location),
            }),
            Node::A_Expr(operation) => self.operation(operation),
            Node::BoolExpr(boolean) => self.boolean(boolean),
            Node::FuncCall(call) => self.call_expr(call),
            Node::TypeCast(cast) => self.cast(cast),
            Node::SubLink(link) => self.sublink(link),
            Node::NullTest(test) => Ok(Expr {
                kind: ExprKind::IsNull {
                    negated: test.nulltesttype == NullTestType::IS_NOT_NULL,
                    operand: Box::new(self.expr(test.arg())?),
                },
                location: location(test.location),
            }),
            Node::CaseExpr(case) => self.case(case),
            Node::RowExpr(row) => Ok(Expr {
                kind: ExprKind::Row(self.exprs(row.args())?),
                location: location(row.location),
            }),
            Node::A_ArrayExpr(array) => Ok(Expr {
                kind: ExprKind::Array(self.exprs(array.elements())?),
                location: location(array.location),
            }),
            Node::CollateClause(collate) => self.collate(collate),
            Node::SQLValueFunction(value) => sql_value(value),
            Node::SetToDefault(default) => Ok(Expr {
                kind: ExprKind::Default,
                location: location(default.location),
            }),
            other => self.other(other),
        })
    }

    /// An expression that may be missing.
    pub(super) fn optional(&self, node: Node<'_>) -> Result<Option<Expr>> {
        match node {
            Node::None => Ok(None),
            node => self.expr(node).map(Some),
        }
    }

    /// Every expression of a list.
    pub(super) fn exprs(&self, list: &list::NodeList) -> Result<Vec<Expr>> {
        list.iter().map(|node| self.expr(node)).collect()
    }

    fn boxed(&self, node: Node<'_>) -> Result<Box<Expr>> {
        self.expr(node).map(Box::new)
    }

    fn operation(&self, operation: &nodes::A_Expr) -> Result<Expr> {
        let kind = operation.kind;
        let negated_operator =
            || operation.name().iter().next_back().and_then(Node::as_str) == Some("<>");
        let kind = match kind {
            A_Expr_Kind::AEXPR_OP_ANY | A_Expr_Kind::AEXPR_OP_ALL => ExprKind::AnyAll {
                name: name(operation.name(), location(operation.location)),
                all: kind == A_Expr_Kind::AEXPR_OP_ALL,
                left: self.boxed(operation.lexpr())?,
                right: self.boxed(operation.rexpr())?,
            },
            A_Expr_Kind::AEXPR_DISTINCT | A_Expr_Kind::AEXPR_NOT_DISTINCT => {
                ExprKind::DistinctFrom {
                    negated: kind == A_Expr_Kind::AEXPR_NOT_DISTINCT,
                    left: self.boxed(operation.lexpr())?,
                    right: self.boxed(operation.rexpr())?,
                }
            }
            A_Expr_Kind::AEXPR_NULLIF => ExprKind::Other {
                node: "NullIfExpr",
                children: vec![self.expr(operation.lexpr())?, self.expr(operation.rexpr())?],
            },
            A_Expr_Kind::AEXPR_IN => ExprKind::In {
                negated: negated_operator(),
                left: self.boxed(operation.lexpr())?,
                list: self.exprs(node_list(operation.rexpr())?)?,
            },
            A_Expr_Kind::AEXPR_BETWEEN
            | A_Expr_Kind::AEXPR_NOT_BETWEEN
            | A_Expr_Kind::AEXPR_BETWEEN_SYM
            | A_Expr_Kind::AEXPR_NOT_BETWEEN_SYM => self.between(operation)?,
            // LIKE, ILIKE and SIMILAR TO are their operators (`~~`, `~~*`, `~`), as in PostgreSQL.
            _ => ExprKind::Operator {
                name: name(operation.name(), location(operation.location)),
                left: self.optional(operation.lexpr())?.map(Box::new),
                right: self.boxed(operation.rexpr())?,
            },
        };
        Ok(Expr {
            kind,
            location: location(operation.location),
        })
    }

    fn between(&self, operation: &nodes::A_Expr) -> Result<ExprKind> {
        let bounds = node_list(operation.rexpr())?;
        let bound = |index| {
            bounds
                .get(index)
                .ok_or(Stop::Unexpected("a BETWEEN without its bounds"))
        };
        Ok(ExprKind::Between {
            negated: matches!(
                operation.kind,
                A_Expr_Kind::AEXPR_NOT_BETWEEN | A_Expr_Kind::AEXPR_NOT_BETWEEN_SYM
            ),
            symmetric: matches!(
                operation.kind,
                A_Expr_Kind::AEXPR_BETWEEN_SYM | A_Expr_Kind::AEXPR_NOT_BETWEEN_SYM
            ),
            operand: self.boxed(operation.lexpr())?,
            low: self.boxed(bound(0)?)?,
            high: self.boxed(bound(1)?)?,
        })
    }

    fn boolean(&self, boolean: &nodes::BoolExpr) -> Result<Expr> {
        let arguments = self.exprs(boolean.args())?;
        let kind = match boolean.boolop {
            BoolExprType::AND_EXPR => ExprKind::And(arguments),
            BoolExprType::OR_EXPR => ExprKind::Or(arguments),
            _ => ExprKind::Not(Box::new(
                arguments
                    .into_iter()
                    .next()
                    .ok_or(Stop::Unexpected("a NOT without its operand"))?,
            )),
        };
        Ok(Expr {
            kind,
            location: location(boolean.location),
        })
    }

    fn cast(&self, cast: &nodes::TypeCast) -> Result<Expr> {
        let type_name = cast
            .type_name()
            .ok_or(Stop::Unexpected("a cast without its type"))?;
        Ok(Expr {
            kind: ExprKind::Cast {
                operand: self.boxed(cast.arg())?,
                type_name: self.type_name(type_name)?,
            },
            location: location(cast.location),
        })
    }

    /// A type as written.
    pub(super) fn type_name(&self, raw: &nodes::TypeName) -> Result<ast::TypeName> {
        Ok(ast::TypeName {
            name: named(typed_strings(raw.names()), location(raw.location)),
            has_modifiers: !raw.typmods().is_empty(),
            modifiers: self.exprs(raw.typmods())?,
            array_dimensions: u32::try_from(raw.array_bounds().len()).unwrap_or(u32::MAX),
            set_of: raw.setof,
        })
    }

    fn sublink(&self, link: &nodes::SubLink) -> Result<Expr> {
        let kind = match link.sub_link_type {
            SubLinkType::EXISTS_SUBLINK => ast::SublinkKind::Exists,
            SubLinkType::ALL_SUBLINK => ast::SublinkKind::All,
            SubLinkType::ANY_SUBLINK => ast::SublinkKind::Any,
            SubLinkType::ARRAY_SUBLINK => ast::SublinkKind::Array,
            SubLinkType::ROWCOMPARE_SUBLINK | SubLinkType::MULTIEXPR_SUBLINK => {
                ast::SublinkKind::Row
            }
            _ => ast::SublinkKind::Scalar,
        };
        let operator =
            (!link.oper_name().is_empty()).then(|| name(link.oper_name(), location(link.location)));
        Ok(Expr {
            kind: ExprKind::Sublink {
                kind,
                operand: self.optional(link.testexpr())?.map(Box::new),
                operator,
                query: Box::new(self.query_node(link.subselect())?),
            },
            location: location(link.location),
        })
    }

    fn case(&self, case: &nodes::CaseExpr) -> Result<Expr> {
        let branches = case
            .args()
            .iter()
            .map(|node| match node {
                Node::CaseWhen(when) => Ok((self.expr(when.expr())?, self.expr(when.result())?)),
                _ => Err(Stop::Unexpected("a CASE without WHEN")),
            })
            .collect::<Result<_>>()?;
        Ok(Expr {
            kind: ExprKind::Case {
                operand: self.optional(case.arg())?.map(Box::new),
                branches,
                otherwise: self.optional(case.defresult())?.map(Box::new),
            },
            location: location(case.location),
        })
    }

    fn collate(&self, collate: &nodes::CollateClause) -> Result<Expr> {
        Ok(Expr {
            kind: ExprKind::Collate {
                operand: self.boxed(collate.arg())?,
                collation: name(collate.collname(), location(collate.location)),
            },
            location: location(collate.location),
        })
    }

    fn call_expr(&self, call: &nodes::FuncCall) -> Result<Expr> {
        Ok(Expr {
            kind: ExprKind::Call(Box::new(self.call(call)?)),
            location: location(call.location),
        })
    }

    /// A function call.
    pub(super) fn call(&self, call: &nodes::FuncCall) -> Result<ast::Call> {
        let mut arguments = Vec::with_capacity(call.args().len());
        let mut names = Vec::with_capacity(call.args().len());
        for argument in call.args() {
            if let Node::NamedArgExpr(argument) = argument {
                names.push(owned(argument.name()));
                arguments.push(self.expr(argument.arg())?);
            } else {
                names.push(None);
                arguments.push(self.expr(argument)?);
            }
        }
        Ok(ast::Call {
            name: name(call.funcname(), location(call.location)),
            arguments,
            named: names,
            star: call.agg_star,
            distinct: call.agg_distinct,
            variadic: call.func_variadic,
            order_by: self.sort_keys(call.agg_order())?,
            within_group: call.agg_within_group,
            filter: self.optional(call.agg_filter())?,
            over: call
                .over()
                .map(|window| self.window(window).map(Box::new))
                .transpose()?,
            span: self.call_span(call),
        })
    }

    /// Grammar productions that are calls inside (`LIKE ... ESCAPE`, `AT TIME ZONE`) have no span: no name is written.
    fn call_span(&self, call: &nodes::FuncCall) -> Option<ast::Span> {
        let first = self.source.at(location(call.location)?)?;
        let open = self.source.after_name(first);
        let written = identifier(self.source.token_text(open - 1));
        let last = call.funcname().iter().next_back().and_then(Node::as_str)?;
        let explicit = call.funcformat == pg_raw_parse::raw::CoercionForm::COERCE_EXPLICIT_CALL;
        if !explicit
            || !self.source.is(open, "(")
            || written.as_deref().is_some_and(|word| word != last)
        {
            return None;
        }
        let close = self.source.get(self.source.partner(open)?)?;
        Some(ast::Span {
            start: self.source.get(first)?.span.start,
            end: close.span.end,
        })
    }

    /// A literal with its token.
    fn constant(&self, constant: &nodes::A_Const) -> Expr {
        let value = match constant.val() {
            _ if constant.isnull => ast::ConstValue::Null,
            Some(ConstValue::Integer(value)) => ast::ConstValue::Integer(value),
            Some(ConstValue::Float(digits)) => ast::ConstValue::Number(digits.to_owned()),
            Some(ConstValue::Boolean(value)) => ast::ConstValue::Bool(value),
            Some(ConstValue::String(string)) => ast::ConstValue::String(string.to_owned()),
            Some(ConstValue::BitString(bits)) => ast::ConstValue::Bits(bits.to_owned()),
            _ => ast::ConstValue::Null,
        };
        let at = location(constant.location);
        let (token, negated) = at
            .and_then(|at| self.literal_token(at, &value))
            .map_or((None, false), |(span, negated)| (Some(span), negated));
        Expr {
            kind: ExprKind::Const(ast::Const {
                value,
                token,
                negated,
            }),
            location: at,
        }
    }

    /// The token of the literal at `at`. A number's location is its sign's when the grammar folded one; brackets may
    /// stand between them.
    fn literal_token(&self, at: u32, value: &ast::ConstValue) -> Option<(ast::Span, bool)> {
        let mut index = self.source.at(at)?;
        let mut negated = false;
        let number = matches!(
            value,
            ast::ConstValue::Integer(_) | ast::ConstValue::Number(_)
        );
        while number && matches!(self.source.token_text(index), "-" | "+" | "(") {
            negated ^= self.source.is(index, "-");
            index += 1;
        }
        let token = self.source.get(index)?;
        let fits = match value {
            ast::ConstValue::Integer(_) | ast::ConstValue::Number(_) => {
                matches!(token.kind, TokenKind::Integer | TokenKind::Decimal)
            }
            ast::ConstValue::String(_) => matches!(
                token.kind,
                TokenKind::String
                    | TokenKind::EscapeString
                    | TokenKind::UnicodeString
                    | TokenKind::DollarString
            ),
            ast::ConstValue::Bits(_) => {
                matches!(token.kind, TokenKind::BitString | TokenKind::HexString)
            }
            ast::ConstValue::Null | ast::ConstValue::Bool(_) => false,
        };
        let mut span = token.span;
        if token.kind == TokenKind::UnicodeString && self.source.is_word(index + 1, "uescape") {
            span.end = self.source.get(index + 2)?.span.end;
        }
        fits.then_some((span, negated))
    }
}

/// What an identifier token says, when that is plain to see; `None` for one with Unicode escapes.
fn identifier(token: &str) -> Option<String> {
    if let Some(quoted) = token.strip_prefix('"') {
        return Some(quoted.strip_suffix('"')?.replace("\"\"", "\""));
    }
    token
        .bytes()
        .all(|byte| byte.is_ascii() && byte != b'"')
        .then(|| token.to_ascii_lowercase())
}

/// The list that a node must be.
pub(super) fn node_list(node: Node<'_>) -> Result<&list::NodeList> {
    node.as_node_list()
        .ok_or(Stop::Unexpected("a node where a list belongs"))
}

fn column_ref(column: &nodes::ColumnRef) -> Expr {
    let at = location(column.location);
    let parts = strings(column.fields());
    let star = column
        .fields()
        .iter()
        .any(|field| matches!(field, Node::A_Star(_)));
    let kind = if star {
        ExprKind::Star(parts)
    } else {
        ExprKind::Column(named(parts, at))
    };
    Expr { kind, location: at }
}

/// `CURRENT_TIMESTAMP` and its kin; a precision is a cast, which is what it means.
fn sql_value(value: &nodes::SQLValueFunction) -> Result<Expr> {
    let (word, with_precision) = match value.op {
        SQLValueFunctionOp::SVFOP_CURRENT_DATE => ("CURRENT_DATE", None),
        SQLValueFunctionOp::SVFOP_CURRENT_TIME => ("CURRENT_TIME", None),
        SQLValueFunctionOp::SVFOP_CURRENT_TIME_N => ("CURRENT_TIME", Some("timetz")),
        SQLValueFunctionOp::SVFOP_CURRENT_TIMESTAMP => ("CURRENT_TIMESTAMP", None),
        SQLValueFunctionOp::SVFOP_CURRENT_TIMESTAMP_N => ("CURRENT_TIMESTAMP", Some("timestamptz")),
        SQLValueFunctionOp::SVFOP_LOCALTIME => ("LOCALTIME", None),
        SQLValueFunctionOp::SVFOP_LOCALTIME_N => ("LOCALTIME", Some("time")),
        SQLValueFunctionOp::SVFOP_LOCALTIMESTAMP => ("LOCALTIMESTAMP", None),
        SQLValueFunctionOp::SVFOP_LOCALTIMESTAMP_N => ("LOCALTIMESTAMP", Some("timestamp")),
        SQLValueFunctionOp::SVFOP_CURRENT_ROLE => ("CURRENT_ROLE", None),
        SQLValueFunctionOp::SVFOP_CURRENT_USER => ("CURRENT_USER", None),
        SQLValueFunctionOp::SVFOP_USER => ("USER", None),
        SQLValueFunctionOp::SVFOP_SESSION_USER => ("SESSION_USER", None),
        SQLValueFunctionOp::SVFOP_CURRENT_CATALOG => ("CURRENT_CATALOG", None),
        SQLValueFunctionOp::SVFOP_CURRENT_SCHEMA => ("CURRENT_SCHEMA", None),
        _ => return Err(Stop::Unexpected("an unknown SQL value function")),
    };
    let at = location(value.location);
    let plain = Expr {
        kind: ExprKind::SqlValue(word),
        location: at,
    };
    let Some(type_name) = with_precision else {
        return Ok(plain);
    };
    let precision = ast::ConstValue::Integer(value.typmod);
    Ok(Expr {
        kind: ExprKind::Cast {
            operand: Box::new(plain),
            type_name: ast::TypeName {
                name: named(vec![text(Some("pg_catalog")), text(Some(type_name))], None),
                has_modifiers: true,
                modifiers: vec![detail(precision)],
                array_dimensions: 0,
                set_of: false,
            },
        },
        location: at,
    })
}

/// A constant that is not written as one.
pub(super) fn detail(value: ast::ConstValue) -> Expr {
    Expr {
        kind: ExprKind::Const(ast::Const {
            value,
            token: None,
            negated: false,
        }),
        location: None,
    }
}
