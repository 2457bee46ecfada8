//! Expressions without a variant of their own: their children are found by PostgreSQL's own walker.

use std::ops::ControlFlow;

use pg_raw_parse::raw::{BoolTestType, MinMaxOp};
use pg_raw_parse::{Node, nodes, walk};

use super::expr::detail;
use super::{Converter, Result, Stop, location, text};
use crate::ast::{self, Expr, ExprKind};

impl Converter<'_> {
    /// An expression that [`ExprKind`] has no variant for.
    pub(super) fn other(&self, node: Node<'_>) -> Result<Expr> {
        let (name, at, mut children) = match node {
            Node::CoalesceExpr(coalesce) => (
                "CoalesceExpr",
                coalesce.location,
                self.exprs(coalesce.args())?,
            ),
            Node::MinMaxExpr(extreme) => {
                let mut children = self.exprs(extreme.args())?;
                let greatest = extreme.op == MinMaxOp::IS_GREATEST;
                children.push(word(if greatest { "GREATEST" } else { "LEAST" }));
                ("MinMaxExpr", extreme.location, children)
            }
            Node::BooleanTest(test) => {
                let children = vec![self.expr(test.arg())?, word(boolean_test(test)?)];
                ("BooleanTest", test.location, children)
            }
            Node::A_Indirection(indirection) => {
                ("A_Indirection", -1, self.indirection(indirection)?)
            }
            Node::GroupingFunc(grouping) => (
                "GroupingFunc",
                grouping.location,
                self.exprs(grouping.args())?,
            ),
            Node::CurrentOfExpr(current) => (
                "CurrentOfExpr",
                -1,
                vec![word(current.cursor_name().unwrap_or_default())],
            ),
            Node::MultiAssignRef(assign) => {
                ("MultiAssignRef", -1, vec![self.expr(assign.source())?])
            }
            Node::NamedArgExpr(argument) => {
                let children = vec![self.expr(argument.arg())?, word(&text(argument.name()))];
                ("NamedArgExpr", argument.location, children)
            }
            Node::NodeList(list) => ("List", -1, self.exprs(list)?),
            Node::SelectStmt(_) => {
                let query = Box::new(self.query_node(node)?);
                return Ok(Expr {
                    kind: ExprKind::Sublink {
                        kind: ast::SublinkKind::Scalar,
                        operand: None,
                        operator: None,
                        query,
                    },
                    location: None,
                });
            }
            node => self.walked(node)?,
        };
        children.shrink_to_fit();
        Ok(Expr {
            kind: ExprKind::Other {
                node: name,
                children,
            },
            location: location(at),
        })
    }

    fn indirection(&self, indirection: &nodes::A_Indirection) -> Result<Vec<Expr>> {
        let mut children = vec![self.expr(indirection.arg())?];
        for step in indirection.indirection() {
            match step {
                Node::String(field) => children.push(word(field.sval().unwrap_or_default())),
                Node::A_Star(_) => children.push(Expr {
                    kind: ExprKind::Star(Vec::new()),
                    location: None,
                }),
                Node::A_Indices(indices) => {
                    children.push(word(if indices.is_slice { "[:]" } else { "[]" }));
                    children.extend(self.optional(indices.lidx())?);
                    if indices.is_slice {
                        children.push(word(":"));
                    }
                    children.extend(self.optional(indices.uidx())?);
                }
                _ => return Err(Stop::Unexpected("an unknown indirection")),
            }
        }
        Ok(children)
    }

    /// XML and JSON expressions, and whatever the grammar adds next.
    fn walked(&self, node: Node<'_>) -> Result<(&'static str, i32, Vec<Expr>)> {
        let name = walked_name(node).ok_or(Stop::Unexpected("an expression of an unknown kind"))?;
        let mut children = Vec::new();
        self.children(node, &mut children)?;
        children.push(fingerprint(node));
        Ok((name, -1, children))
    }

    /// Every expression directly inside a node, through the nodes that only hold others together.
    pub(super) fn children(&self, node: Node<'_>, into: &mut Vec<Expr>) -> Result<()> {
        let found = walk::walk_manual(node, |child| match child {
            Node::None
            | Node::String(_)
            | Node::Integer(_)
            | Node::Float(_)
            | Node::Boolean(_)
            | Node::TypeName(_)
            | Node::Alias(_) => walk::Recurse::no(),
            child if is_holder(child) => walk::Recurse::yes(),
            child => match self.expr(child) {
                Ok(expr) => {
                    into.push(expr);
                    walk::Recurse::no()
                }
                Err(stop) => ControlFlow::Break(stop),
            },
        });
        found.map_or(Ok(()), Err)
    }
}

/// Nodes that are no expressions themselves.
fn is_holder(node: Node<'_>) -> bool {
    matches!(
        node,
        Node::NodeList(_)
            | Node::ResTarget(_)
            | Node::SortBy(_)
            | Node::WindowDef(_)
            | Node::JsonFormat(_)
            | Node::JsonReturning(_)
            | Node::JsonOutput(_)
            | Node::JsonValueExpr(_)
            | Node::JsonArgument(_)
            | Node::JsonBehavior(_)
            | Node::JsonKeyValue(_)
            | Node::JsonAggConstructor(_)
            | Node::JsonTableColumn(_)
            | Node::JsonTablePathSpec(_)
            | Node::RangeTableFuncCol(_)
            | Node::CTESearchClause(_)
            | Node::CTECycleClause(_)
    )
}

fn walked_name(node: Node<'_>) -> Option<&'static str> {
    Some(match node {
        Node::XmlExpr(_) => "XmlExpr",
        Node::XmlSerialize(_) => "XmlSerialize",
        Node::MergeSupportFunc(_) => "MergeSupportFunc",
        Node::JsonObjectConstructor(_) => "JsonObjectConstructor",
        Node::JsonArrayConstructor(_) => "JsonArrayConstructor",
        Node::JsonArrayQueryConstructor(_) => "JsonArrayQueryConstructor",
        Node::JsonObjectAgg(_) => "JsonObjectAgg",
        Node::JsonArrayAgg(_) => "JsonArrayAgg",
        Node::JsonFuncExpr(_) => "JsonFuncExpr",
        Node::JsonParseExpr(_) => "JsonParseExpr",
        Node::JsonScalarExpr(_) => "JsonScalarExpr",
        Node::JsonSerializeExpr(_) => "JsonSerializeExpr",
        Node::JsonIsPredicate(_) => "JsonIsPredicate",
        Node::JsonValueExpr(_) => "JsonValueExpr",
        Node::JsonArgument(_) => "JsonArgument",
        Node::JsonBehavior(_) => "JsonBehavior",
        Node::JsonTablePathSpec(_) => "JsonTablePathSpec",
        _ => return None,
    })
}

fn boolean_test(test: &nodes::BooleanTest) -> Result<&'static str> {
    Ok(match test.booltesttype {
        BoolTestType::IS_TRUE => "IS TRUE",
        BoolTestType::IS_NOT_TRUE => "IS NOT TRUE",
        BoolTestType::IS_FALSE => "IS FALSE",
        BoolTestType::IS_NOT_FALSE => "IS NOT FALSE",
        BoolTestType::IS_UNKNOWN => "IS UNKNOWN",
        BoolTestType::IS_NOT_UNKNOWN => "IS NOT UNKNOWN",
        _ => return Err(Stop::Unexpected("an unknown test of a boolean")),
    })
}

fn word(text: &str) -> Expr {
    detail(ast::ConstValue::String(text.to_owned()))
}

/// Tells apart two nodes of a kind whose clauses the tree does not keep: a hash over everything but places.
pub(super) fn fingerprint(node: Node<'_>) -> Expr {
    let printed = format!("{node:?}");
    let mut plain = String::with_capacity(printed.len());
    // Fields that are places end in one of these words.
    let place = |text: &str| {
        ["location: ", "list_start: ", "list_end: "]
            .iter()
            .filter_map(|word| text.find(word).map(|found| found + word.len()))
            .min()
    };
    let mut rest = printed.as_str();
    while let Some(found) = place(rest) {
        let (before, after) = rest.split_at(found);
        plain.push_str(before);
        rest = after.trim_start_matches(|c: char| c == '-' || c.is_ascii_digit());
    }
    plain.push_str(rest);
    let hash = twox_hash::XxHash3_64::oneshot(plain.as_bytes());
    word(&format!("{hash:016x}"))
}
