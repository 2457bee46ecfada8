//! Queries.

use pg_raw_parse::raw::{
    CTEMaterialize, GroupingSetKind, LimitOption, LockClauseStrength, LockWaitPolicy, SetOperation,
    SortByDir, SortByNulls,
};
use pg_raw_parse::{Node, list, nodes};

use super::expr::{detail, node_list};
use super::{Converter, Result, Stop, location, name, owned, relation, strings, text};
use crate::ast;
use crate::scan::TokenKind;

/// `FRAMEOPTION_NONDEFAULT`: a frame clause was written.
const FRAME_WRITTEN: i32 = 1;

impl Converter<'_> {
    /// A query that must be one.
    pub(super) fn query_node(&self, node: Node<'_>) -> Result<ast::Query> {
        match node {
            Node::SelectStmt(select) => self.query(select),
            _ => Err(Stop::Unexpected("a statement where a query belongs")),
        }
    }

    pub(super) fn query(&self, select: &nodes::SelectStmt) -> Result<ast::Query> {
        self.nested(|| {
            Ok(ast::Query {
                with: self.with(select.with_clause())?,
                body: self.query_body(select)?,
                order_by: self.sort_keys(select.sort_clause())?,
                limit: self.optional(select.limit_count())?,
                offset: self.optional(select.limit_offset())?,
                with_ties: select.limit_option == LimitOption::LIMIT_OPTION_WITH_TIES,
                locking: select
                    .locking_clause()
                    .iter()
                    .map(locking)
                    .collect::<Result<_>>()?,
            })
        })
    }

    fn query_body(&self, select: &nodes::SelectStmt) -> Result<ast::QueryBody> {
        let op = match select.op {
            SetOperation::SETOP_NONE if !select.values_lists().is_empty() => {
                return Ok(ast::QueryBody::Values(self.rows(select.values_lists())?));
            }
            SetOperation::SETOP_NONE => {
                return Ok(ast::QueryBody::Select(Box::new(self.select(select)?)));
            }
            SetOperation::SETOP_UNION => ast::SetOperator::Union,
            SetOperation::SETOP_INTERSECT => ast::SetOperator::Intersect,
            _ => ast::SetOperator::Except,
        };
        let (Some(left), Some(right)) = (select.larg(), select.rarg()) else {
            return Err(Stop::Unexpected("a set operation without its sides"));
        };
        Ok(ast::QueryBody::SetOperation {
            op,
            all: select.all,
            left: Box::new(self.query(left)?),
            right: Box::new(self.query(right)?),
        })
    }

    pub(super) fn rows(&self, lists: &list::NodeList) -> Result<Vec<Vec<ast::Expr>>> {
        lists
            .iter()
            .map(|row| self.exprs(node_list(row)?))
            .collect()
    }

    fn select(&self, select: &nodes::SelectStmt) -> Result<ast::Select> {
        let targets = self.targets(select.target_list().iter())?;
        let location = targets
            .first()
            .and_then(|target| self.select_word(target.location?));
        Ok(ast::Select {
            distinct: self.distinct(select.distinct_clause())?,
            targets,
            into: select
                .into_clause()
                .and_then(nodes::IntoClause::rel)
                .map(relation),
            from: self.items_of_from(select.from_clause())?,
            filter: self.optional(select.where_clause())?,
            group_by: select
                .group_clause()
                .iter()
                .map(|item| self.group_item(item))
                .collect::<Result<_>>()?,
            group_distinct: select.group_distinct,
            having: self.optional(select.having_clause())?,
            windows: select
                .window_clause()
                .iter()
                .map(|window| match window {
                    Node::WindowDef(window) => self.window(window),
                    _ => Err(Stop::Unexpected("a WINDOW clause without windows")),
                })
                .collect::<Result<_>>()?,
            location,
        })
    }

    /// Where the word `SELECT` stands whose first target is at `target`: before it come `ALL`, `DISTINCT` or
    /// `DISTINCT ON (...)`.
    fn select_word(&self, target: u32) -> Option<u32> {
        let mut index = self.source.at(target)?.checked_sub(1)?;
        if self.source.is(index, ")") {
            let open = self.source.partner(index)?;
            index = open.checked_sub(2)?;
        }
        if self.source.is_word(index, "all") || self.source.is_word(index, "distinct") {
            index = index.checked_sub(1)?;
        }
        let token = self.source.get(index)?;
        let found = token.kind == TokenKind::Word && self.source.is_word(index, "select");
        found.then_some(token.span.start)
    }

    fn distinct(&self, clause: &list::NodeList) -> Result<ast::Distinct> {
        match clause.first() {
            None => Ok(ast::Distinct::No),
            // A list of one empty list is a plain DISTINCT.
            Some(Node::None) => Ok(ast::Distinct::All),
            Some(_) => self.exprs(clause).map(ast::Distinct::On),
        }
    }

    /// A select list or the list of `RETURNING`.
    pub(super) fn targets<'n>(
        &self,
        list: impl Iterator<Item = &'n nodes::ResTarget>,
    ) -> Result<Vec<ast::Target>> {
        list.map(|target| {
            Ok(ast::Target {
                expr: self.expr(target.val())?,
                alias: owned(target.name()),
                location: location(target.location),
            })
        })
        .collect()
    }

    pub(super) fn with(&self, clause: Option<&nodes::WithClause>) -> Result<Option<ast::With>> {
        let Some(clause) = clause else {
            return Ok(None);
        };
        let ctes = clause
            .ctes()
            .iter()
            .map(|cte| self.cte(cte))
            .collect::<Result<_>>()?;
        Ok(Some(ast::With {
            recursive: clause.recursive,
            ctes,
        }))
    }

    fn cte(&self, cte: &nodes::CommonTableExpr) -> Result<ast::Cte> {
        let span = self.cte_span(cte);
        let whole = span.unwrap_or(ast::Span { start: 0, end: 0 });
        Ok(ast::Cte {
            name: text(cte.ctename()),
            columns: strings(cte.aliascolnames()),
            materialized: match cte.ctematerialized {
                CTEMaterialize::CTEMaterializeAlways => Some(true),
                CTEMaterialize::CTEMaterializeNever => Some(false),
                _ => None,
            },
            body: Box::new(self.body(cte.ctequery(), whole)?),
            search_or_cycle: cte.search_clause().is_some() || cte.cycle_clause().is_some(),
            span,
        })
    }

    /// `name (columns) AS [NOT] MATERIALIZED (statement)`.
    fn cte_span(&self, cte: &nodes::CommonTableExpr) -> Option<ast::Span> {
        let first = self.source.at(location(cte.location)?)?;
        let mut index = self.source.after_brackets(first + 1);
        for word in ["as", "not", "materialized"] {
            index += usize::from(self.source.is_word(index, word));
        }
        self.source.inside(index)
    }

    pub(super) fn sort_keys(
        &self,
        list: &list::CastNodeList<nodes::SortBy>,
    ) -> Result<Vec<ast::SortKey>> {
        list.iter().map(|key| self.sort_key(key)).collect()
    }

    fn sort_key(&self, key: &nodes::SortBy) -> Result<ast::SortKey> {
        Ok(ast::SortKey {
            expr: self.expr(key.node())?,
            descending: key.sortby_dir == SortByDir::SORTBY_DESC,
            nulls_first: match key.sortby_nulls {
                SortByNulls::SORTBY_NULLS_FIRST => Some(true),
                SortByNulls::SORTBY_NULLS_LAST => Some(false),
                _ => None,
            },
            using: (key.sortby_dir == SortByDir::SORTBY_USING)
                .then(|| name(key.use_op(), location(key.location))),
        })
    }

    pub(super) fn window(&self, window: &nodes::WindowDef) -> Result<ast::Window> {
        let mut frame = Vec::new();
        if window.frame_options & FRAME_WRITTEN != 0 {
            frame.push(detail(ast::ConstValue::Integer(window.frame_options)));
        }
        frame.extend(self.optional(window.start_offset())?);
        frame.extend(self.optional(window.end_offset())?);
        Ok(ast::Window {
            name: owned(window.name()),
            refname: owned(window.refname()),
            partition_by: self.exprs(window.partition_clause())?,
            order_by: self.sort_keys(window.order_clause())?,
            frame,
        })
    }

    fn group_item(&self, node: Node<'_>) -> Result<ast::GroupItem> {
        let Node::GroupingSet(set) = node else {
            return self.expr(node).map(ast::GroupItem::Expr);
        };
        let kind = match set.kind {
            GroupingSetKind::GROUPING_SET_EMPTY => "()",
            GroupingSetKind::GROUPING_SET_SIMPLE => "SIMPLE",
            GroupingSetKind::GROUPING_SET_ROLLUP => "ROLLUP",
            GroupingSetKind::GROUPING_SET_CUBE => "CUBE",
            _ => "GROUPING SETS",
        };
        let mut children = Vec::new();
        self.grouping_children(set, &mut children)?;
        Ok(ast::GroupItem::Sets { kind, children })
    }

    fn grouping_children(&self, set: &nodes::GroupingSet, into: &mut Vec<ast::Expr>) -> Result<()> {
        self.nested(|| {
            for item in set.content() {
                if let Node::GroupingSet(inner) = item {
                    self.grouping_children(inner, into)?;
                } else {
                    into.push(self.expr(item)?);
                }
            }
            Ok(())
        })
    }
}

fn locking(clause: &nodes::LockingClause) -> Result<ast::Locking> {
    let tables = clause
        .locked_rels()
        .iter()
        .filter_map(|node| match node {
            Node::RangeVar(range) => Some(relation(range)),
            _ => None,
        })
        .collect();
    Ok(ast::Locking {
        strength: match clause.strength {
            LockClauseStrength::LCS_FORKEYSHARE => "KEY SHARE",
            LockClauseStrength::LCS_FORSHARE => "SHARE",
            LockClauseStrength::LCS_FORNOKEYUPDATE => "NO KEY UPDATE",
            LockClauseStrength::LCS_FORUPDATE => "UPDATE",
            _ => return Err(Stop::Unexpected("an unknown row lock")),
        },
        tables,
        skip_locked: clause.wait_policy == LockWaitPolicy::LockWaitSkip,
        nowait: clause.wait_policy == LockWaitPolicy::LockWaitError,
    })
}
