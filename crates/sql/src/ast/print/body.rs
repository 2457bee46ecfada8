//! Statements as text.

use super::super::{
    Assignment, Body, Copy, Delete, Expr, FromItem, Insert, InsertSource, Merge, Name,
    Notification, OnConflict, Set, TableRef, Transaction, TransactionModes, TypeName, Update, With,
};
use super::expr::exprs;
use super::query::{targets, values};
use super::{Builder, Sexpr, atom, name, string_atom, word_atom};

impl Body {
    /// The statement as text.
    #[must_use]
    pub fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Query(query) => query.to_sexpr(),
            Self::Insert(insert) => insert.to_sexpr(),
            Self::Update(update) => update.to_sexpr(),
            Self::Delete(delete) => delete.to_sexpr(),
            Self::Merge(merge) => merge.to_sexpr(),
            Self::Copy(copy) => copy.to_sexpr(),
            Self::Explain(explain) => Builder::new("explain")
                .all(options(&explain.options))
                .push(explain.body.to_sexpr())
                .done(),
            Self::Transaction(transaction) => transaction.to_sexpr(),
            Self::Set(set) => set.to_sexpr(),
            Self::Show(setting) => Builder::new("show").word(setting).done(),
            Self::SetConstraints { names, deferred } => Builder::new("set-constraints")
                .all(names.iter().map(name))
                .flag(*deferred, "DEFERRED")
                .done(),
            Self::Execute { name, arguments } => Builder::new("execute")
                .word(name)
                .all(arguments.iter().map(Expr::to_sexpr))
                .done(),
            Self::Deallocate(name) => or_all("deallocate", name.as_deref()),
            Self::Close(name) => or_all("close", name.as_deref()),
            Self::Notification(notification) => notification.to_sexpr(),
            Self::Discard(target) => Builder::new("discard")
                .push(Sexpr::Atom(format!("{target:?}")))
                .done(),
            Self::Lock { tables } => Builder::new("lock")
                .all(tables.iter().map(TableRef::to_sexpr))
                .done(),
            Self::Maintenance { command, tables } => Builder::new("maintenance")
                .push(Sexpr::Atom(command.replace(' ', "-")))
                .all(tables.iter().map(name))
                .done(),
            Self::Call(call) => Builder::new("procedure").push(call.to_sexpr()).done(),
            Self::Do => Builder::new("do").done(),
            Self::Ddl(ddl) => ddl.to_sexpr(),
            Self::Other(node) => Builder::new("other").push(atom(node)).done(),
            other => with_clauses(other),
        }
    }
}

fn with_clauses(body: &Body) -> Sexpr {
    match body {
        Body::Prepare {
            name, types, body, ..
        } => Builder::new("prepare")
            .word(name)
            .list("types", types.iter().map(TypeName::to_sexpr))
            .push(body.to_sexpr())
            .done(),
        Body::Declare {
            name,
            hold,
            scroll,
            binary,
            query,
            ..
        } => Builder::new("declare")
            .word(name)
            .flag(*hold, "HOLD")
            .flag(*scroll, "SCROLL")
            .flag(*binary, "BINARY")
            .push(query.to_sexpr())
            .done(),
        Body::Fetch {
            cursor,
            is_move,
            direction,
            count,
        } => Builder::new(if *is_move { "move" } else { "fetch" })
            .word(cursor)
            .push(Sexpr::Atom(format!("{direction:?}")))
            .push(if *count == i64::MAX {
                atom("ALL")
            } else {
                Sexpr::Atom(count.to_string())
            })
            .done(),
        Body::Truncate {
            tables,
            restart_identity,
            cascade,
        } => Builder::new("truncate")
            .all(tables.iter().map(TableRef::to_sexpr))
            .flag(*restart_identity, "RESTART-IDENTITY")
            .flag(*cascade, "CASCADE")
            .done(),
        Body::Refresh {
            view,
            concurrently,
            no_data,
        } => Builder::new("refresh")
            .push(name(view))
            .flag(*concurrently, "CONCURRENTLY")
            .flag(*no_data, "NO-DATA")
            .done(),
        _ => atom("?"),
    }
}

fn or_all(tag: &str, name: Option<&str>) -> Sexpr {
    Builder::new(tag)
        .push(name.map_or_else(|| atom("ALL"), word_atom))
        .done()
}

fn options(list: &[(String, Option<String>)]) -> Option<Sexpr> {
    let inner = list.iter().map(|(name, value)| {
        Builder::new(name)
            .all(value.as_deref().map(string_atom))
            .done()
    });
    (!list.is_empty()).then(|| Builder::new("options").all(inner).done())
}

impl Insert {
    fn to_sexpr(&self) -> Sexpr {
        let source = match &self.source {
            InsertSource::Default => atom("DEFAULT-VALUES"),
            InsertSource::Values { rows, .. } => values(rows),
            InsertSource::Query(query) => query.to_sexpr(),
        };
        let columns = self.columns.iter().map(|column| {
            if column.has_indirection {
                Builder::new("part-of")
                    .word(&column.name)
                    .all(column.indirection.iter().map(Expr::to_sexpr))
                    .done()
            } else {
                word_atom(&column.name)
            }
        });
        Builder::new("insert")
            .all(self.with.as_ref().map(With::to_sexpr))
            .push(self.table.to_sexpr())
            .list("columns", columns)
            .flag(self.overriding_system == Some(true), "OVERRIDING-SYSTEM")
            .flag(self.overriding_system == Some(false), "OVERRIDING-USER")
            .push(source)
            .all(self.on_conflict.as_ref().map(OnConflict::to_sexpr))
            .list("returning", targets(&self.returning))
            .done()
    }
}

impl OnConflict {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("on-conflict")
            .list("target", self.target.iter().map(Expr::to_sexpr))
            .list(
                "target-where",
                self.target_filter.as_ref().map(Expr::to_sexpr),
            )
            .list("constraint", self.constraint.as_deref().map(word_atom))
            .flag(self.update.is_none(), "NOTHING")
            .list(
                "set",
                self.update.iter().flatten().map(Assignment::to_sexpr),
            )
            .list("where", self.filter.as_ref().map(Expr::to_sexpr))
            .done()
    }
}

impl Assignment {
    fn to_sexpr(&self) -> Sexpr {
        let columns = Builder(Vec::new()).words(&self.columns).done();
        Builder::new("=")
            .push(match &self.columns[..] {
                [column] => word_atom(column),
                _ => columns,
            })
            .flag(self.has_indirection, "PART")
            .list("at", self.indirection.iter().map(Expr::to_sexpr))
            .push(self.value.to_sexpr())
            .done()
    }
}

impl Update {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("update")
            .all(self.with.as_ref().map(With::to_sexpr))
            .push(self.table.to_sexpr())
            .list("set", self.assignments.iter().map(Assignment::to_sexpr))
            .list("from", self.from.iter().map(FromItem::to_sexpr))
            .list("where", self.filter.as_ref().map(Expr::to_sexpr))
            .list("returning", targets(&self.returning))
            .done()
    }
}

impl Delete {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("delete")
            .all(self.with.as_ref().map(With::to_sexpr))
            .push(self.table.to_sexpr())
            .list("using", self.using.iter().map(FromItem::to_sexpr))
            .list("where", self.filter.as_ref().map(Expr::to_sexpr))
            .list("returning", targets(&self.returning))
            .done()
    }
}

impl Merge {
    fn to_sexpr(&self) -> Sexpr {
        let inserts = self.inserts.iter().map(|(columns, values)| {
            Builder::new("insert")
                .list("columns", columns.iter().map(|column| word_atom(column)))
                .push(exprs("row", values))
                .done()
        });
        Builder::new("merge")
            .all(self.with.as_ref().map(With::to_sexpr))
            .push(self.table.to_sexpr())
            .list("using", [self.source.to_sexpr()])
            .list("on", [self.on.to_sexpr()])
            .list("children", self.children.iter().map(Expr::to_sexpr))
            .list("set", self.updates.iter().map(Assignment::to_sexpr))
            .all(inserts)
            .list("returning", targets(&self.returning))
            .done()
    }
}

impl Copy {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("copy")
            .all(self.table.as_ref().map(TableRef::to_sexpr))
            .list(
                "columns",
                self.columns.iter().map(|column| word_atom(column)),
            )
            .all(self.query.as_ref().map(|body| body.to_sexpr()))
            .push(atom(if self.is_from { "FROM" } else { "TO" }))
            .flag(self.server_side, "SERVER-SIDE")
            .all(options(&self.options))
            .list("where", self.filter.as_ref().map(Expr::to_sexpr))
            .done()
    }
}

impl Transaction {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Begin(modes) => modes.to_sexpr("begin"),
            Self::Commit { chain } => Builder::new("commit").flag(*chain, "CHAIN").done(),
            Self::Rollback { chain } => Builder::new("rollback").flag(*chain, "CHAIN").done(),
            Self::Savepoint(name) => Builder::new("savepoint").word(name).done(),
            Self::Release(name) => Builder::new("release").word(name).done(),
            Self::RollbackTo(name) => Builder::new("rollback-to").word(name).done(),
            Self::Prepare(gid) => Builder::new("prepare-transaction")
                .push(string_atom(gid))
                .done(),
            Self::CommitPrepared(gid) => Builder::new("commit-prepared")
                .push(string_atom(gid))
                .done(),
            Self::RollbackPrepared(gid) => Builder::new("rollback-prepared")
                .push(string_atom(gid))
                .done(),
        }
    }
}

impl TransactionModes {
    fn to_sexpr(&self, tag: &str) -> Sexpr {
        Builder::new(tag)
            .all(self.isolation.as_deref().map(string_atom))
            .flag(self.read_only == Some(true), "READ-ONLY")
            .flag(self.read_only == Some(false), "READ-WRITE")
            .flag(self.deferrable == Some(true), "DEFERRABLE")
            .flag(self.deferrable == Some(false), "NOT-DEFERRABLE")
            .done()
    }
}

impl Set {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Variable {
                name,
                values,
                local,
            } => Builder::new("set")
                .flag(*local, "LOCAL")
                .word(name)
                .flag(values.is_none(), "DEFAULT")
                .all(values.iter().flatten().map(|value| string_atom(value)))
                .done(),
            Self::Reset(name) => Builder::new("reset").word(name).done(),
            Self::ResetAll => Builder::new("reset").push(atom("ALL")).done(),
            Self::FromCurrent(name) => Builder::new("set-from-current").word(name).done(),
            Self::Transaction(modes) => modes.to_sexpr("set-transaction"),
            Self::SessionCharacteristics(modes) => modes.to_sexpr("set-session-characteristics"),
            Self::Snapshot(id) => Builder::new("set-snapshot").push(string_atom(id)).done(),
        }
    }
}

impl Notification {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::Listen(channel) => Builder::new("listen").word(channel).done(),
            Self::Unlisten(channel) => or_all("unlisten", channel.as_deref()),
            Self::Notify { channel, payload } => Builder::new("notify")
                .word(channel)
                .all(payload.as_deref().map(string_atom))
                .done(),
        }
    }
}

pub(super) fn names(list: &[Name]) -> impl Iterator<Item = Sexpr> {
    list.iter().map(name)
}
