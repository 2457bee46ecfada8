//! What a session keeps of statements: shapes with their plans, prepared statements, portals.

use std::sync::{Arc, OnceLock};

use bytes::{Bytes, BytesMut};
use pg::{Diagnostic, Format, Oid};
use pool::StatementId;
use wire::frontend::Bind;

use crate::cache::Setting;

/// A planned statement, shared by every session that sends its shape.
#[derive(Debug)]
pub struct Shaped {
    /// Its number on backends, when it is prepared there.
    pub id: StatementId,
    /// The text that it was planned from.
    pub text: Arc<str>,
    /// That text's tree; `None` for an empty text.
    pub statement: Option<sql::ast::Statement>,
    /// The text's literals, where the plan may name them; only of prepared statements.
    pub lifted: Option<sql::Lifted>,
    /// What to do.
    pub action: Action,
    /// What the plan depends on besides the text.
    pub setting: Arc<Setting>,
    /// Types of its parameters and columns; only of prepared statements.
    pub description: OnceLock<Arc<Description>>,
}

/// What is done with a statement.
#[derive(Debug)]
pub enum Action {
    /// It runs on shards.
    Run(Box<plan::Planned>),
    /// The session itself does it: transaction control, settings, prepared statements, cursors ...
    Command,
    /// It is refused.
    Refuse(Box<Diagnostic>),
}

/// What PostgreSQL said a statement takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Description {
    /// Types of the parameters.
    pub parameters: Vec<Oid>,
    /// The body of `RowDescription`, formats all text; `None` when no rows come.
    pub row: Option<Bytes>,
}

/// A statement that the client prepared.
#[derive(Clone, Debug)]
pub(crate) struct Prepared {
    /// Its plan.
    pub shaped: Arc<Shaped>,
    /// Parameter types as the client declared them.
    pub declared: Arc<[Oid]>,
    /// What the client may have been told.
    pub description: Arc<Description>,
}

/// A statement with its parameters.
#[derive(Clone, Debug)]
pub(crate) struct Portal {
    /// The statement.
    pub prepared: Prepared,
    /// The body of the client's `Bind`.
    pub bind: Bytes,
    /// It lives on a backend, under the client's name, on this shard.
    pub shard: Option<topology::ShardId>,
    /// How far it has been run.
    pub state: PortalState,
}

/// How far a portal of the session's own has been run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PortalState {
    /// Not yet.
    Fresh,
    /// To its end.
    Done,
    /// Up to a row limit; these messages are left, perhaps none.
    Rest(Bytes),
    /// Up to a row limit; what was left was too much to be kept.
    Cut,
}

/// An SQL cursor, which lives on a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cursor {
    /// Its shard.
    pub(crate) shard: topology::ShardId,
    /// `WITH HOLD`, once its transaction has committed.
    pub(crate) is_held: bool,
}

/// How an execution is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Columns are told before the rows.
    pub(crate) says_columns: bool,
    /// At most so many rows; 0 is all.
    pub(crate) rows_max: u32,
}

// === impl Description ===

impl Description {
    /// Writes `ParameterDescription` and then `RowDescription` or `NoData`.
    pub fn write_statement(&self, out: &mut BytesMut) {
        let types = self.parameters.clone();
        wire::backend::Message::ParameterDescription { types }.encode(out);
        self.write_row(out, |_| Format::Text);
    }

    /// Writes `RowDescription`, each column in its format, or `NoData`.
    pub fn write_row(&self, out: &mut BytesMut, format: impl Fn(usize) -> Format) {
        let Some(body) = &self.row else {
            return wire::backend::Message::NoData.encode(out);
        };
        if let Ok(wire::backend::Message::RowDescription(mut fields)) =
            wire::backend::Message::parse(b'T', body)
        {
            for (index, field) in fields.iter_mut().enumerate() {
                field.format = format(index);
            }
            wire::backend::Message::RowDescription(fields).encode(out);
        }
    }
}

// === impl Portal ===

impl Portal {
    /// The client's `Bind`.
    pub(crate) fn bind(&self) -> Bind<'_> {
        match wire::frontend::Message::parse(b'B', &self.bind) {
            Ok(wire::frontend::Message::Bind(bind)) => bind,
            _ => unreachable!("a portal is made from a Bind that was read before"),
        }
    }
}
