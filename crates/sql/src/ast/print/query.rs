//! Queries as text.

use super::super::{
    Alias, Cte, Distinct, Expr, FromItem, GroupItem, Join, JoinKind, Locking, Query, QueryBody,
    Select, SetOperator, TableRef, Target, With,
};
use super::expr::{exprs, sort_keys};
use super::{Builder, Sexpr, atom, name};

impl Query {
    /// The query as text.
    #[must_use]
    pub fn to_sexpr(&self) -> Sexpr {
        let body = self.body.to_sexpr();
        let plain = self.with.is_none()
            && self.order_by.is_empty()
            && self.limit.is_none()
            && self.offset.is_none()
            && self.locking.is_empty();
        if plain {
            return body;
        }
        Builder::new("query")
            .all(self.with.as_ref().map(With::to_sexpr))
            .push(body)
            .list("order", sort_keys(&self.order_by))
            .list("limit", self.limit.as_ref().map(Expr::to_sexpr))
            .flag(self.with_ties, "WITH-TIES")
            .list("offset", self.offset.as_ref().map(Expr::to_sexpr))
            .all(self.locking.iter().map(Locking::to_sexpr))
            .done()
    }
}

impl QueryBody {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Select(select) => select.to_sexpr(),
            Self::Values(rows) => values(rows),
            Self::SetOperation {
                op,
                all,
                left,
                right,
            } => Builder::new(match op {
                SetOperator::Union => "union",
                SetOperator::Intersect => "intersect",
                SetOperator::Except => "except",
            })
            .flag(*all, "ALL")
            .push(left.to_sexpr())
            .push(right.to_sexpr())
            .done(),
        }
    }
}

pub(super) fn values(rows: &[Vec<Expr>]) -> Sexpr {
    Builder::new("values")
        .all(rows.iter().map(|row| exprs("row", row)))
        .done()
}

impl Select {
    fn to_sexpr(&self) -> Sexpr {
        let distinct = match &self.distinct {
            Distinct::No => None,
            Distinct::All => Some(atom("DISTINCT")),
            Distinct::On(list) => Some(exprs("distinct-on", list)),
        };
        Builder::new("select")
            .all(distinct)
            .all(targets(&self.targets))
            .list("into", self.into.as_ref().map(name))
            .list("from", self.from.iter().map(FromItem::to_sexpr))
            .list("where", self.filter.as_ref().map(Expr::to_sexpr))
            .list("group", self.group_by.iter().map(GroupItem::to_sexpr))
            .flag(self.group_distinct, "GROUP-DISTINCT")
            .list("having", self.having.as_ref().map(Expr::to_sexpr))
            .all(self.windows.iter().map(|window| window.to_sexpr("window")))
            .done()
    }
}

pub(super) fn targets(list: &[Target]) -> impl Iterator<Item = Sexpr> {
    list.iter().map(|target| match &target.alias {
        Some(alias) => Builder::new("as")
            .push(target.expr.to_sexpr())
            .word(alias)
            .done(),
        None => target.expr.to_sexpr(),
    })
}

impl GroupItem {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Expr(expr) => expr.to_sexpr(),
            Self::Sets { kind, children } => exprs(kind, children),
        }
    }
}

impl With {
    pub(super) fn to_sexpr(&self) -> Sexpr {
        Builder::new("with")
            .flag(self.recursive, "RECURSIVE")
            .all(self.ctes.iter().map(Cte::to_sexpr))
            .done()
    }
}

impl Cte {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("cte")
            .word(&self.name)
            .list(
                "columns",
                self.columns.iter().map(|column| super::word_atom(column)),
            )
            .flag(self.materialized == Some(true), "MATERIALIZED")
            .flag(self.materialized == Some(false), "NOT-MATERIALIZED")
            .flag(self.search_or_cycle, "SEARCH-OR-CYCLE")
            .push(self.body.to_sexpr())
            .done()
    }
}

impl FromItem {
    pub(super) fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Table(table) => table.to_sexpr(),
            Self::Join(join) => join.to_sexpr(),
            Self::Subquery {
                lateral,
                query,
                alias,
            } => Builder::new("subquery")
                .flag(*lateral, "LATERAL")
                .push(query.to_sexpr())
                .all(alias.as_ref().map(Alias::to_sexpr))
                .done(),
            Self::Function {
                lateral,
                calls,
                ordinality,
                alias,
            } => Builder::new("function")
                .flag(*lateral, "LATERAL")
                .all(calls.iter().map(Expr::to_sexpr))
                .flag(*ordinality, "ORDINALITY")
                .all(alias.as_ref().map(Alias::to_sexpr))
                .done(),
            Self::Sample { item, arguments } => Builder::new("sample")
                .push(item.to_sexpr())
                .all(arguments.iter().map(Expr::to_sexpr))
                .done(),
            Self::Other {
                node,
                children,
                alias,
            } => Builder::new(node)
                .all(children.iter().map(Expr::to_sexpr))
                .all(alias.as_ref().map(Alias::to_sexpr))
                .done(),
        }
    }
}

impl TableRef {
    pub(super) fn to_sexpr(&self) -> Sexpr {
        if !self.only && self.alias.is_none() {
            return name(&self.name);
        }
        Builder::new("table")
            .flag(self.only, "ONLY")
            .push(name(&self.name))
            .all(self.alias.as_ref().map(Alias::to_sexpr))
            .done()
    }
}

impl Alias {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("alias")
            .word(&self.name)
            .words(&self.columns)
            .done()
    }
}

impl Join {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new(match self.kind {
            JoinKind::Inner => "join",
            JoinKind::Left => "left-join",
            JoinKind::Right => "right-join",
            JoinKind::Full => "full-join",
        })
        .flag(self.natural, "NATURAL")
        .push(self.left.to_sexpr())
        .push(self.right.to_sexpr())
        .list(
            "using",
            self.using.iter().map(|column| super::word_atom(column)),
        )
        .list("on", self.on.as_ref().map(Expr::to_sexpr))
        .all(self.alias.as_ref().map(Alias::to_sexpr))
        .done()
    }
}

impl Locking {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("for")
            .push(Sexpr::Atom(self.strength.replace(' ', "-")))
            .all(self.tables.iter().map(name))
            .flag(self.skip_locked, "SKIP-LOCKED")
            .flag(self.nowait, "NOWAIT")
            .done()
    }
}
