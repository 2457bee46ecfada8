//! From the parser's nodes to our tree.
//!
//! Invariant: complete. Each node kind that the grammar can put into an expression, a `FROM` list or a statement comes out;
//! a kind without a variant of its own becomes `Other` with every expression inside, found by PostgreSQL's own walker.

mod create;
mod ddl;
mod ddl_kind;
mod dml;
mod expr;
mod from;
mod other;
mod query;
mod set;
mod utility;

use std::cell::Cell;

use pg_raw_parse::{Node, StmtList, list, nodes};

use crate::ast;
use crate::source::Source;

/// Why a conversion ended early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stop {
    /// More levels than allowed.
    Deep,
    /// A definition statement with more tokens than allowed.
    Long,
    /// A node that the grammar does not put there.
    Unexpected(&'static str),
}

type Result<T> = std::result::Result<T, Stop>;

/// Converts every statement of a query string, down to `depth` levels. Definitions are refused unless `definitions`.
pub(crate) fn statements(
    list: &StmtList,
    source: &Source<'_>,
    depth: u32,
    definitions: bool,
) -> Result<Vec<ast::Statement>> {
    let converter = Converter {
        source,
        left: Cell::new(depth),
        shallow: depth <= crate::limits::SHALLOW_DEPTH,
        definitions,
    };
    list.iter()
        .map(|raw| {
            let span = source.trim(raw.stmt_location, raw.stmt_len);
            let body = converter.body(raw.stmt(), span)?;
            Ok(ast::Statement { span, body })
        })
        .collect()
}

/// Conversion of one query string.
struct Converter<'t> {
    source: &'t Source<'t>,
    left: Cell<u32>,
    shallow: bool,
    definitions: bool,
}

impl Converter<'_> {
    /// Runs `work` one level deeper.
    fn nested<T>(&self, work: impl FnOnce() -> Result<T>) -> Result<T> {
        let left = self.left.get().checked_sub(1).ok_or(Stop::Deep)?;
        self.left.set(left);
        let result = work();
        self.left.set(left + 1);
        result
    }

    /// A statement, whose own text is `span`.
    fn body(&self, node: Node<'_>, span: ast::Span) -> Result<ast::Body> {
        self.nested(|| match node {
            Node::SelectStmt(select) if select_into(select).is_none() => {
                Ok(ast::Body::Query(Box::new(self.query(select)?)))
            }
            Node::InsertStmt(insert) => Ok(ast::Body::Insert(Box::new(self.insert(insert)?))),
            Node::UpdateStmt(update) => Ok(ast::Body::Update(Box::new(self.update(update)?))),
            Node::DeleteStmt(delete) => Ok(ast::Body::Delete(Box::new(self.delete(delete)?))),
            Node::MergeStmt(merge) => Ok(ast::Body::Merge(Box::new(self.merge(merge)?))),
            other => self.utility(other, span),
        })
    }
}

/// The `INTO` of a `SELECT`: in a set operation it sits in the leftmost branch.
fn select_into(select: &nodes::SelectStmt) -> Option<&nodes::IntoClause> {
    let mut leftmost = select;
    while let Some(left) = leftmost.larg() {
        leftmost = left;
    }
    leftmost.into_clause()
}

/// A location; the parser says -1 for "unknown".
fn location(raw: i32) -> Option<u32> {
    u32::try_from(raw).ok()
}

fn text(value: Option<&str>) -> String {
    value.unwrap_or_default().to_owned()
}

fn owned(value: Option<&str>) -> Option<String> {
    value.map(str::to_owned)
}

/// The strings of a list; other nodes are left out.
fn strings(list: &list::NodeList) -> Vec<String> {
    list.iter()
        .filter_map(Node::as_str)
        .map(str::to_owned)
        .collect()
}

fn typed_strings(list: &list::CastNodeList<nodes::String>) -> Vec<String> {
    list.iter().map(|part| text(part.sval())).collect()
}

/// A name from a list of strings.
fn name(list: &list::NodeList, at: Option<u32>) -> ast::Name {
    named(strings(list), at)
}

fn named(parts: Vec<String>, location: Option<u32>) -> ast::Name {
    ast::Name { parts, location }
}

/// The name of a table.
fn relation(range: &nodes::RangeVar) -> ast::Name {
    let parts = [range.catalogname(), range.schemaname(), range.relname()];
    named(
        parts.into_iter().flatten().map(str::to_owned).collect(),
        location(range.location),
    )
}

fn table(range: &nodes::RangeVar) -> ast::TableRef {
    ast::TableRef {
        name: relation(range),
        only: !range.inh,
        alias: range.alias().map(alias),
    }
}

fn required(range: Option<&nodes::RangeVar>) -> Result<&nodes::RangeVar> {
    range.ok_or(Stop::Unexpected("a statement without its table"))
}

fn alias(alias: &nodes::Alias) -> ast::Alias {
    ast::Alias {
        name: text(alias.aliasname()),
        columns: strings(alias.colnames()),
    }
}
