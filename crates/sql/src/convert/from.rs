//! `FROM` lists.

use pg_raw_parse::raw::JoinType;
use pg_raw_parse::{Node, list, nodes};

use super::expr::node_list;
use super::{Converter, Result, Stop, alias, other, table, text, typed_strings};
use crate::ast;

impl Converter<'_> {
    pub(super) fn items_of_from(&self, list: &list::NodeList) -> Result<Vec<ast::FromItem>> {
        list.iter().map(|item| self.item_of_from(item)).collect()
    }

    pub(super) fn item_of_from(&self, node: Node<'_>) -> Result<ast::FromItem> {
        self.nested(|| match node {
            Node::RangeVar(range) => Ok(ast::FromItem::Table(table(range))),
            Node::JoinExpr(join) => self.join(join).map(Box::new).map(ast::FromItem::Join),
            Node::RangeSubselect(sub) => Ok(ast::FromItem::Subquery {
                lateral: sub.lateral,
                query: Box::new(self.query_node(sub.subquery())?),
                alias: sub.alias().map(alias),
            }),
            Node::RangeFunction(function) => self.range_function(function),
            Node::RangeTableSample(sample) => {
                let mut arguments = self.exprs(sample.args())?;
                arguments.extend(self.optional(sample.repeatable())?);
                Ok(ast::FromItem::Sample {
                    item: Box::new(self.item_of_from(sample.relation())?),
                    arguments,
                })
            }
            Node::RangeTableFunc(function) => {
                self.other_item("RangeTableFunc", node, function.alias())
            }
            Node::JsonTable(json) => self.other_item("JsonTable", node, json.alias()),
            _ => Err(Stop::Unexpected("an unknown entry of FROM")),
        })
    }

    fn other_item(
        &self,
        name: &'static str,
        node: Node<'_>,
        alias_node: Option<&nodes::Alias>,
    ) -> Result<ast::FromItem> {
        let mut children = Vec::new();
        self.children(node, &mut children)?;
        children.push(other::fingerprint(node));
        Ok(ast::FromItem::Other {
            node: name,
            children,
            alias: alias_node.map(alias),
        })
    }

    fn join(&self, join: &nodes::JoinExpr) -> Result<ast::Join> {
        Ok(ast::Join {
            kind: match join.jointype {
                JoinType::JOIN_INNER => ast::JoinKind::Inner,
                JoinType::JOIN_LEFT => ast::JoinKind::Left,
                JoinType::JOIN_RIGHT => ast::JoinKind::Right,
                JoinType::JOIN_FULL => ast::JoinKind::Full,
                _ => return Err(Stop::Unexpected("an unknown join")),
            },
            natural: join.is_natural,
            left: self.item_of_from(join.larg())?,
            right: self.item_of_from(join.rarg())?,
            using: typed_strings(join.using_clause()),
            on: self.optional(join.quals())?,
            alias: join.alias().or(join.join_using_alias()).map(alias),
        })
    }

    /// Each function is a list of the call and its column definitions.
    fn range_function(&self, function: &nodes::RangeFunction) -> Result<ast::FromItem> {
        let mut calls = Vec::with_capacity(function.functions().len());
        let mut defined: Vec<_> = function.coldeflist().iter().map(column_name).collect();
        for item in function.functions() {
            let pair = node_list(item)?;
            let call = pair
                .get(0)
                .ok_or(Stop::Unexpected("a function of FROM without its call"))?;
            calls.push(self.expr(call)?);
            if let Some(Node::NodeList(columns)) = pair.get(1) {
                defined.extend(columns.iter().filter_map(|column| match column {
                    Node::ColumnDef(column) => Some(column_name(column)),
                    _ => None,
                }));
            }
        }
        let mut alias = function.alias().map(alias);
        if let Some(alias) = &mut alias
            && alias.columns.is_empty()
        {
            alias.columns = defined;
        }
        Ok(ast::FromItem::Function {
            lateral: function.lateral,
            calls,
            ordinality: function.ordinality,
            alias,
        })
    }
}

fn column_name(column: &nodes::ColumnDef) -> String {
    text(column.colname())
}
