//! Utility statements that define nothing.

use pg_raw_parse::raw::{DiscardMode, FetchDirection, ReindexObjectType, TransactionStmtKind};
use pg_raw_parse::{Node, list, nodes};

use super::expr::node_list;
use super::{Converter, Result, Stop, location, named, owned, relation, strings, table, text};
use crate::ast::{self, Body};

/// Bits of `DeclareCursorStmt.options`.
const CURSOR_BINARY: i32 = 0x01;
const CURSOR_SCROLL: i32 = 0x02;
const CURSOR_HOLD: i32 = 0x20;

impl Converter<'_> {
    pub(super) fn utility(&self, node: Node<'_>, span: ast::Span) -> Result<Body> {
        Ok(match node {
            Node::CopyStmt(copy) => Body::Copy(Box::new(self.copy(copy, span)?)),
            Node::ExplainStmt(explain) => Body::Explain(Box::new(self.explain(explain, span)?)),
            Node::TransactionStmt(transaction) => Body::Transaction(transaction_body(transaction)?),
            Node::VariableSetStmt(set) => Body::Set(self.set(set, span)?),
            Node::VariableShowStmt(show) => Body::Show(text(show.name())),
            Node::ConstraintsSetStmt(set) => Body::SetConstraints {
                names: range_names(set.constraints()),
                deferred: set.deferred,
            },
            Node::PrepareStmt(prepare) => self.prepare(prepare, span)?,
            Node::ExecuteStmt(execute) => Body::Execute {
                name: text(execute.name()),
                arguments: self.exprs(execute.params())?,
            },
            Node::DeallocateStmt(deallocate) => Body::Deallocate(owned(deallocate.name())),
            Node::DeclareCursorStmt(declare) => self.declare(declare, span)?,
            Node::FetchStmt(fetch) => fetch_body(fetch),
            Node::ClosePortalStmt(close) => Body::Close(owned(close.portalname())),
            Node::CallStmt(call) => {
                let call = call
                    .funccall()
                    .ok_or(Stop::Unexpected("a CALL of nothing"))?;
                Body::Call(Box::new(self.call(call)?))
            }
            other => match simple(other)? {
                Some(body) => body,
                None => self.definition(other)?,
            },
        })
    }

    fn copy(&self, copy: &nodes::CopyStmt, span: ast::Span) -> Result<ast::Copy> {
        let open = self.source.from(span.start) + 1;
        let (query, query_span) = match copy.query() {
            Node::None => (None, None),
            query => {
                let inside = self
                    .source
                    .inside(open)
                    .ok_or(Stop::Unexpected("a COPY of a statement without brackets"))?;
                (Some(Box::new(self.body(query, inside)?)), Some(inside))
            }
        };
        Ok(ast::Copy {
            table: copy.relation().map(table),
            columns: strings(copy.attlist()),
            query,
            query_span,
            is_from: copy.is_from,
            server_side: copy.is_program || copy.filename().is_some(),
            options: options(copy.options()),
            filter: self.optional(copy.where_clause())?,
        })
    }

    /// `EXPLAIN [ANALYZE] [VERBOSE] statement`, `EXPLAIN (options) statement`; without options a bracket is the
    /// statement's own.
    fn explain(&self, explain: &nodes::ExplainStmt, span: ast::Span) -> Result<ast::Explain> {
        let options = options(explain.options());
        let mut index = self.source.from(span.start) + 1;
        if !options.is_empty() {
            index = self.source.after_brackets(index);
        }
        for words in [["analyze", "analyse"], ["verbose", "verbose"]] {
            let found = words.iter().any(|word| self.source.is_word(index, word));
            index += usize::from(found);
        }
        let inner = self.source.rest(index, span);
        Ok(ast::Explain {
            options,
            body: Box::new(self.body(explain.query(), inner)?),
            span: inner,
        })
    }

    /// `PREPARE name [(types)] AS statement`.
    fn prepare(&self, prepare: &nodes::PrepareStmt, span: ast::Span) -> Result<Body> {
        let first = self.source.from(span.start);
        let index = self.source.after_brackets(first + 2) + 1;
        let inner = self.source.rest(index, span);
        Ok(Body::Prepare {
            name: text(prepare.name()),
            types: prepare
                .argtypes()
                .iter()
                .map(|name| self.type_name(name))
                .collect::<Result<_>>()?,
            body: Box::new(self.body(prepare.query(), inner)?),
            span: inner,
        })
    }

    /// `DECLARE name options CURSOR [WITH HOLD] FOR query`; `FOR` is reserved, so the first one after the name is it.
    fn declare(&self, declare: &nodes::DeclareCursorStmt, span: ast::Span) -> Result<Body> {
        let mut index = self.source.from(span.start) + 2;
        while self.source.get(index).is_some() && !self.source.is_word(index, "for") {
            index += 1;
        }
        Ok(Body::Declare {
            name: text(declare.portalname()),
            hold: declare.options & CURSOR_HOLD != 0,
            scroll: declare.options & CURSOR_SCROLL != 0,
            binary: declare.options & CURSOR_BINARY != 0,
            query: Box::new(self.query_node(declare.query())?),
            span: self.source.rest(index + 1, span),
        })
    }
}

/// Statements that need neither expressions nor places.
fn simple(node: Node<'_>) -> Result<Option<Body>> {
    Ok(Some(match node {
        Node::ListenStmt(listen) => {
            Body::Notification(ast::Notification::Listen(text(listen.conditionname())))
        }
        Node::UnlistenStmt(unlisten) => {
            Body::Notification(ast::Notification::Unlisten(owned(unlisten.conditionname())))
        }
        Node::NotifyStmt(notify) => Body::Notification(ast::Notification::Notify {
            channel: text(notify.conditionname()),
            payload: owned(notify.payload()),
        }),
        Node::DiscardStmt(discard) => Body::Discard(match discard.target {
            DiscardMode::DISCARD_ALL => ast::DiscardTarget::All,
            DiscardMode::DISCARD_PLANS => ast::DiscardTarget::Plans,
            DiscardMode::DISCARD_SEQUENCES => ast::DiscardTarget::Sequences,
            DiscardMode::DISCARD_TEMP => ast::DiscardTarget::Temp,
            _ => return Err(Stop::Unexpected("an unknown DISCARD")),
        }),
        Node::LockStmt(lock) => Body::Lock {
            tables: tables(lock.relations()),
        },
        Node::TruncateStmt(truncate) => Body::Truncate {
            tables: tables(truncate.relations()),
            restart_identity: truncate.restart_seqs,
            cascade: truncate.behavior == pg_raw_parse::raw::DropBehavior::DROP_CASCADE,
        },
        Node::RefreshMatViewStmt(refresh) => Body::Refresh {
            view: relation(super::required(refresh.relation())?),
            concurrently: refresh.concurrent,
            no_data: refresh.skip_data,
        },
        Node::DoStmt(_) => Body::Do,
        other => return Ok(maintenance(other)),
    }))
}

fn maintenance(node: Node<'_>) -> Option<Body> {
    let (command, tables) = match node {
        Node::VacuumStmt(vacuum) => (
            if vacuum.is_vacuumcmd {
                "VACUUM"
            } else {
                "ANALYZE"
            },
            vacuum
                .rels()
                .iter()
                .filter_map(nodes::VacuumRelation::relation)
                .map(relation)
                .collect(),
        ),
        Node::ClusterStmt(cluster) => (
            "CLUSTER",
            cluster.relation().map(relation).into_iter().collect(),
        ),
        Node::ReindexStmt(reindex) => (
            match reindex.kind {
                ReindexObjectType::REINDEX_OBJECT_INDEX
                | ReindexObjectType::REINDEX_OBJECT_TABLE => "REINDEX",
                _ => "REINDEX DATABASE",
            },
            reindex.relation().map(relation).into_iter().collect(),
        ),
        Node::CheckPointStmt(_) => ("CHECKPOINT", Vec::new()),
        _ => return None,
    };
    Some(Body::Maintenance { command, tables })
}

fn tables(list: &list::NodeList) -> Vec<ast::TableRef> {
    list.iter()
        .filter_map(|node| match node {
            Node::RangeVar(range) => Some(table(range)),
            _ => None,
        })
        .collect()
}

fn range_names(list: &list::NodeList) -> Vec<ast::Name> {
    tables(list).into_iter().map(|table| table.name).collect()
}

fn fetch_body(fetch: &nodes::FetchStmt) -> Body {
    Body::Fetch {
        cursor: text(fetch.portalname()),
        is_move: fetch.ismove,
        direction: match fetch.direction {
            FetchDirection::FETCH_BACKWARD => ast::FetchDirection::Backward,
            FetchDirection::FETCH_ABSOLUTE => ast::FetchDirection::Absolute,
            FetchDirection::FETCH_RELATIVE => ast::FetchDirection::Relative,
            _ => ast::FetchDirection::Forward,
        },
        count: fetch.how_many,
    }
}

fn transaction_body(statement: &nodes::TransactionStmt) -> Result<ast::Transaction> {
    let savepoint = || text(statement.savepoint_name());
    let gid = || text(statement.gid());
    let chain = statement.chain;
    Ok(match statement.kind {
        TransactionStmtKind::TRANS_STMT_BEGIN | TransactionStmtKind::TRANS_STMT_START => {
            ast::Transaction::Begin(modes(statement.options()))
        }
        TransactionStmtKind::TRANS_STMT_COMMIT => ast::Transaction::Commit { chain },
        TransactionStmtKind::TRANS_STMT_ROLLBACK => ast::Transaction::Rollback { chain },
        TransactionStmtKind::TRANS_STMT_SAVEPOINT => ast::Transaction::Savepoint(savepoint()),
        TransactionStmtKind::TRANS_STMT_RELEASE => ast::Transaction::Release(savepoint()),
        TransactionStmtKind::TRANS_STMT_ROLLBACK_TO => ast::Transaction::RollbackTo(savepoint()),
        TransactionStmtKind::TRANS_STMT_PREPARE => ast::Transaction::Prepare(gid()),
        TransactionStmtKind::TRANS_STMT_COMMIT_PREPARED => ast::Transaction::CommitPrepared(gid()),
        TransactionStmtKind::TRANS_STMT_ROLLBACK_PREPARED => {
            ast::Transaction::RollbackPrepared(gid())
        }
        _ => return Err(Stop::Unexpected("an unknown transaction command")),
    })
}

/// Modes of a transaction; of two that say the same the last wins, as in PostgreSQL.
pub(super) fn modes(list: &list::NodeList) -> ast::TransactionModes {
    let mut modes = ast::TransactionModes::default();
    for node in list {
        let Node::DefElem(element) = node else {
            continue;
        };
        let value = value_text(element.arg());
        let on = value.as_deref() == Some("1");
        match element.defname().unwrap_or_default() {
            "transaction_isolation" => modes.isolation = value,
            "transaction_read_only" => modes.read_only = Some(on),
            "transaction_deferrable" => modes.deferrable = Some(on),
            _ => {}
        }
    }
    modes
}

/// Options as lower-case names and values as text.
pub(super) fn options(list: &list::CastNodeList<nodes::DefElem>) -> Vec<(String, Option<String>)> {
    list.iter()
        .map(|option| {
            let name = text(option.defname()).to_ascii_lowercase();
            (name, value_text(option.arg()))
        })
        .collect()
}

/// The value of an option, or of a setting, as text.
pub(super) fn value_text(node: Node<'_>) -> Option<String> {
    match node {
        Node::String(string) => owned(string.sval()),
        Node::Integer(integer) => Some(integer.ival.to_string()),
        Node::Float(float) => owned(float.fval()),
        Node::Boolean(boolean) => Some(boolean.boolval.to_string()),
        Node::A_Star(_) => Some("*".to_owned()),
        Node::A_Const(constant) => constant.val().map(|value| value.to_string()),
        Node::TypeName(name) => Some(super::typed_strings(name.names()).join(".")),
        Node::NodeList(list) => {
            let parts: Vec<_> = list.iter().filter_map(value_text).collect();
            Some(parts.join(","))
        }
        _ => None,
    }
}

/// The name of a role; the keywords that stand for one are spelt in upper case.
pub(super) fn role(role: &nodes::RoleSpec) -> ast::Name {
    named(vec![text(role.rolename())], location(role.location))
}

/// The names of a list whose elements are strings, lists of strings, tables, types or functions.
pub(super) fn object_names(list: &list::NodeList) -> Vec<ast::Name> {
    list.iter().filter_map(object_name).collect()
}

/// The name of an object, however the grammar gives it.
pub(super) fn object_name(node: Node<'_>) -> Option<ast::Name> {
    match node {
        Node::String(_) => Some(named(vec![node.as_str()?.to_owned()], None)),
        Node::RangeVar(range) => Some(relation(range)),
        Node::TypeName(name) => Some(named(
            super::typed_strings(name.names()),
            location(name.location),
        )),
        Node::ObjectWithArgs(object) => Some(named(strings(object.objname()), None)),
        Node::RoleSpec(spec) => Some(role(spec)),
        Node::NodeList(_) => {
            let list = node_list(node).ok()?;
            let parts = strings(list);
            if parts.is_empty() {
                // `OPERATOR CLASS`, casts and transforms: the first element that is a name of its own.
                return list.iter().find_map(object_name);
            }
            Some(named(parts, None))
        }
        _ => None,
    }
}
