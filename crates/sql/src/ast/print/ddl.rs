//! Definitions as text.

use super::super::{
    AlterCommand, ColumnDef, Constraint, ConstraintKind, CreateTable, Ddl, DdlAction, Expr, Query,
    TypeName,
};
use super::body::names;
use super::{Builder, Sexpr, atom, name, word_atom};

impl Ddl {
    pub(super) fn to_sexpr(&self) -> Sexpr {
        Builder::new("ddl")
            .push(self.action.to_sexpr())
            .list("relations", names(&self.relations))
            .list("queries", self.queries.iter().map(Query::to_sexpr))
            .list("expressions", self.expressions.iter().map(Expr::to_sexpr))
            .flag(self.outside_transaction, "OUTSIDE-TRANSACTION")
            .done()
    }
}

fn kind(object: &str) -> Sexpr {
    Sexpr::Atom(object.replace(' ', "-"))
}

impl DdlAction {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::CreateTable(table) => table.to_sexpr(),
            Self::CreateView {
                name: view,
                temporary,
            } => named("create-view", view, *temporary),
            Self::CreateSequence {
                name: sequence,
                temporary,
            } => named("create-sequence", sequence, *temporary),
            Self::AlterSequence { name: sequence } => named("alter-sequence", sequence, false),
            Self::CreateFunction { name: function } => named("create-function", function, false),
            Self::CreateTrigger { table, function } => Builder::new("create-trigger")
                .push(name(table))
                .push(name(function))
                .done(),
            Self::CreateOther { object, name: what } => Builder::new("create")
                .push(kind(object))
                .all(what.as_ref().map(name))
                .done(),
            Self::AlterOther { object, name: what } => Builder::new("alter")
                .push(kind(object))
                .all(what.as_ref().map(name))
                .done(),
            Self::Drop {
                object,
                names: list,
                concurrently,
            } => Builder::new("drop")
                .push(kind(object))
                .all(names(list))
                .flag(*concurrently, "CONCURRENTLY")
                .done(),
            Self::Attribute {
                command,
                object,
                names: list,
            } => Builder::new("attribute")
                .push(kind(command))
                .push(kind(object))
                .all(names(list))
                .done(),
            other => other.with_clauses(),
        }
    }

    fn with_clauses(&self) -> Sexpr {
        match self {
            Self::CreateTableAs {
                name: table,
                materialized,
                temporary,
                no_data,
                if_not_exists,
            } => Builder::new("create-table-as")
                .push(name(table))
                .flag(*materialized, "MATERIALIZED")
                .flag(*temporary, "TEMPORARY")
                .flag(*no_data, "NO-DATA")
                .flag(*if_not_exists, "IF-NOT-EXISTS")
                .done(),
            Self::AlterTable {
                name: table,
                commands,
                object,
            } => Builder::new("alter-table")
                .push(kind(object))
                .push(name(table))
                .all(commands.iter().map(AlterCommand::to_sexpr))
                .done(),
            Self::CreateIndex {
                table,
                unique,
                concurrently,
                columns,
                name: index,
            } => Builder::new("create-index")
                .all(index.as_deref().map(word_atom))
                .push(name(table))
                .flag(*unique, "UNIQUE")
                .flag(*concurrently, "CONCURRENTLY")
                .list(
                    "columns",
                    columns.iter().map(|column| {
                        column
                            .as_deref()
                            .map_or_else(|| atom("EXPRESSION"), word_atom)
                    }),
                )
                .done(),
            Self::Rename {
                object,
                name: what,
                part,
                to,
            } => Builder::new("rename")
                .push(kind(object))
                .all(what.as_ref().map(name))
                .list("part", part.as_deref().map(word_atom))
                .list("to", [word_atom(to)])
                .done(),
            _ => atom("?"),
        }
    }
}

fn named(tag: &str, what: &super::Name, temporary: bool) -> Sexpr {
    Builder::new(tag)
        .push(name(what))
        .flag(temporary, "TEMPORARY")
        .done()
}

impl CreateTable {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("create-table")
            .push(name(&self.name))
            .flag(self.temporary, "TEMPORARY")
            .flag(self.if_not_exists, "IF-NOT-EXISTS")
            .all(self.columns.iter().map(ColumnDef::to_sexpr))
            .list(
                "constraints",
                self.constraints.iter().map(Constraint::to_sexpr),
            )
            .list(
                if self.is_partition {
                    "partition-of"
                } else {
                    "inherits"
                },
                names(&self.parents),
            )
            .list("like", names(&self.like))
            .flag(self.is_partitioned, "PARTITIONED")
            .done()
    }
}

impl ColumnDef {
    fn to_sexpr(&self) -> Sexpr {
        Builder::new("column")
            .word(&self.name)
            .all(self.type_name.as_ref().map(TypeName::to_sexpr))
            .list("collate", self.collation.as_ref().map(name))
            .all(self.constraints.iter().map(Constraint::to_sexpr))
            .done()
    }
}

impl Constraint {
    fn to_sexpr(&self) -> Sexpr {
        let kind = self.kind.to_sexpr();
        match &self.name {
            Some(name) => Builder::new("constraint").word(name).push(kind).done(),
            None => kind,
        }
    }
}

impl ConstraintKind {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::NotNull => atom("NOT-NULL"),
            Self::Null => atom("NULL"),
            Self::Default(expr) => Builder::new("default").push(expr.to_sexpr()).done(),
            Self::Identity { always } => Builder::new("identity").flag(*always, "ALWAYS").done(),
            Self::Generated(expr) => Builder::new("generated").push(expr.to_sexpr()).done(),
            Self::Check(expr) => Builder::new("check").push(expr.to_sexpr()).done(),
            Self::Primary(columns) => Builder::new("primary").words(columns).done(),
            Self::Unique(columns) => Builder::new("unique").words(columns).done(),
            Self::UsingIndex(index) => Builder::new("using-index").word(index).done(),
            Self::Exclude => atom("EXCLUDE"),
            Self::Foreign {
                columns,
                table,
                referenced,
                on_update,
                on_delete,
                reset,
            } => Builder::new("foreign")
                .push(Builder(Vec::new()).words(columns).done())
                .push(name(table))
                .push(Builder(Vec::new()).words(referenced).done())
                .list("on-update", action(*on_update))
                .list("on-delete", action(*on_delete))
                .list("reset", reset.iter().map(|column| word_atom(column)))
                .done(),
            Self::Attribute => atom("ATTRIBUTE"),
        }
    }
}

impl AlterCommand {
    fn to_sexpr(&self) -> Sexpr {
        match self {
            Self::AddColumn(column) => Builder::new("add").push(column.to_sexpr()).done(),
            Self::DropColumn(column) => Builder::new("drop-column").word(column).done(),
            Self::AlterType {
                column,
                type_name,
                using,
            } => Builder::new("alter-type")
                .word(column)
                .all(type_name.as_ref().map(TypeName::to_sexpr))
                .list("using", using.as_ref().map(Expr::to_sexpr))
                .done(),
            Self::AddConstraint(constraint) => {
                Builder::new("add").push(constraint.to_sexpr()).done()
            }
            Self::AttachPartition(partition) => named("attach", partition, false),
            Self::DetachPartition {
                partition,
                concurrently,
            } => Builder::new("detach")
                .push(name(partition))
                .flag(*concurrently, "CONCURRENTLY")
                .done(),
            Self::Inherit(parent) => named("inherit", parent, false),
            Self::SetDefault { column, value } => Builder::new("set-default")
                .word(column)
                .all(value.as_ref().map(Expr::to_sexpr))
                .done(),
            Self::Other { name, target } => Builder::new("other")
                .push(atom(name))
                .all(target.as_deref().map(word_atom))
                .done(),
        }
    }
}

fn action(action: pg::ForeignAction) -> Option<Sexpr> {
    let words = action.as_sql();
    (!words.is_empty()).then(|| atom(words))
}
