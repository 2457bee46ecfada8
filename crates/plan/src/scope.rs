//! Names of a statement: which tables it uses, what each column is, which rows can meet. Every query level becomes a
//! [`Block`], every table a [`Use`], every column an attribute; equalities between attributes are edges of one graph.
//!
//! Invariant: an edge `a -> b` stands only where, if every row that matters has `a = c` (or `a` NULL by an outer join),
//! leaving out all rows with `b <> c` changes nothing. What isn't understood gives no edge.

use std::sync::Arc;

use catalog::{Collation, Column as CatalogColumn, Relation};
use pg::Oid;
use sql::ast::{self, Cte};
use topology::KeyExpression;

use crate::function::Class as FunctionClass;
use crate::key::{Class, Constant};
use crate::place::Place;
use crate::slot::Slots;
use crate::{Context, PlanError};

mod block;
mod from;
mod walk;

pub(crate) use block::{named_target, target_name};

/// A column of some row source, by its place among the attributes of the analysis.
pub(crate) type AttributeId = usize;

/// A query level, by its place among the blocks of the analysis.
pub(crate) type BlockId = usize;

/// What the whole statement names and compares.
pub(crate) struct Analysis<'a> {
    pub(crate) context: &'a Context<'a>,
    pub(crate) source: &'a str,
    pub(crate) slots: &'a Slots,
    pub(crate) uses: Vec<Use>,
    pub(crate) attributes: Vec<Attribute>,
    /// See the module's invariant.
    pub(crate) edges: Vec<(AttributeId, AttributeId)>,
    pub(crate) bindings: Vec<(AttributeId, Binding)>,
    pub(crate) blocks: Vec<Block>,
    /// The row sources of the outermost `FROM`.
    pub(crate) top: Vec<Item>,
    /// `*` of the outermost `FROM`.
    pub(crate) star: Vec<Column>,
    pub(crate) calls: Vec<CallUse>,
    /// For each `$n`: how often it stands in the statement, and the classes that it is compared with.
    pub(crate) params: Vec<ParamUse>,
    pub(crate) traits: Traits,
    /// Names after `FOR UPDATE OF`.
    pub(crate) locked: Vec<String>,
    /// Literals whose values the plan depends on.
    pub(crate) relied: std::cell::RefCell<Vec<Option<ast::Span>>>,
    /// How many views are being expanded.
    pub(crate) view_depth: usize,
}

/// A column.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attribute {
    /// Its type; `None` when it isn't known.
    pub(crate) type_oid: Option<Oid>,
    pub(crate) collation: Option<Collation>,
    /// What it can be compared as.
    pub(crate) class: Option<Class>,
}

/// A table in one place of a statement.
#[derive(Clone, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent facts of one table"
)]
pub(crate) struct Use {
    /// As messages call it.
    pub(crate) name: String,
    /// As `FOR UPDATE OF` calls it.
    pub(crate) label: String,
    pub(crate) place: Place,
    pub(crate) relation: Option<Arc<Relation>>,
    /// For sharded tables: the parts of the key.
    pub(crate) parts: Vec<KeyPart>,
    pub(crate) block: BlockId,
    /// Each of its rows is kept by the joins of its block, or it meets only inner joins.
    pub(crate) is_preserved: bool,
    pub(crate) is_written: bool,
    /// It is the target of a write itself, not through a view.
    pub(crate) is_target: bool,
    /// It gets new rows, whose keys are stored.
    pub(crate) is_inserted: bool,
}

/// One part of a sharded table's key.
#[derive(Clone, Debug)]
pub(crate) struct KeyPart {
    /// The part's value.
    pub(crate) whole: AttributeId,
    /// The one column that the part is an expression over.
    pub(crate) column: Option<AttributeId>,
    /// That expression.
    pub(crate) expression: Option<KeyExpression>,
}

/// What an attribute is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Binding {
    /// `= constant`.
    One(Constant),
    /// `IN (constants)`.
    List(Vec<Constant>),
    /// `= ANY (array)`.
    Array(Constant),
}

/// What a query level does with its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct Block {
    pub(crate) parent: Option<BlockId>,
    /// Its rows reach the outermost level through inner joins and preserved sides only.
    pub(crate) is_spine: bool,
    /// `LIMIT`, `OFFSET`.
    pub(crate) is_limited: bool,
    /// It groups or aggregates: the attributes that it groups by.
    pub(crate) group: Option<Vec<Option<AttributeId>>>,
    /// `DISTINCT`: the attributes that make rows distinct.
    pub(crate) distinct: Option<Vec<Option<AttributeId>>>,
    /// Each window's `PARTITION BY`.
    pub(crate) windows: Vec<Vec<Option<AttributeId>>>,
    /// A set operation other than `UNION ALL`, a recursion, `GROUPING SETS`.
    pub(crate) is_opaque: bool,
}

/// A row source as names see it.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// Alias, or the table's name.
    pub(crate) name: String,
    /// The table's schema, when it has no alias.
    pub(crate) schema: Option<String>,
    pub(crate) columns: Vec<Column>,
    /// Columns that an unqualified name doesn't see, since `USING` merged them.
    pub(crate) merged: Vec<String>,
    /// It has columns that aren't known.
    pub(crate) is_open: bool,
}

/// A named column.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) attribute: AttributeId,
}

/// What a query gives to the level above.
#[derive(Clone, Debug, Default)]
pub(crate) struct Output {
    pub(crate) columns: Vec<OutputColumn>,
    /// There are columns that aren't known.
    pub(crate) is_open: bool,
}

/// A column of a query's result.
#[derive(Clone, Debug)]
pub(crate) struct OutputColumn {
    pub(crate) name: String,
    /// The attribute that it is, when it is one.
    pub(crate) attribute: Option<AttributeId>,
    /// A condition on it from outside may be tested inside.
    pub(crate) is_pushable: bool,
    /// What is known of its values.
    pub(crate) known: Attribute,
}

/// A function call.
#[derive(Clone, Debug)]
pub(crate) struct CallUse {
    pub(crate) name: String,
    pub(crate) class: FunctionClass,
    /// It stands in a view's definition.
    pub(crate) is_in_view: bool,
    pub(crate) block: BlockId,
}

/// What is compared with a parameter.
#[derive(Clone, Debug, Default)]
pub(crate) struct ParamUse {
    pub(crate) count: usize,
    pub(crate) compared: Vec<Class>,
}

/// What else the statement holds.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent findings, each with a refusal of its own"
)]
pub(crate) struct Traits {
    pub(crate) has_locking: bool,
    /// A locking clause names no tables, so it locks rows of all.
    pub(crate) locks_all: bool,
    pub(crate) has_skip_locked: bool,
    pub(crate) has_recursion: bool,
    pub(crate) has_sample: bool,
    pub(crate) has_full_join: bool,
    pub(crate) has_system_column: bool,
    pub(crate) has_into: bool,
    pub(crate) has_write: bool,
    /// A cast to a type whose values are numbers of objects.
    pub(crate) has_object_cast: bool,
    /// It draws from or asks for a sequence.
    pub(crate) has_sequence: bool,
    /// Operators that users made.
    pub(crate) has_user_operator: bool,
}

/// The names that an expression sees.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'s> {
    pub(crate) items: &'s [Item],
    pub(crate) parent: Option<&'s Scope<'s>>,
}

/// The common table expressions that a query sees, nearest first.
pub(crate) struct Ctes<'s> {
    name: &'s str,
    body: CteBody<'s>,
    previous: Option<&'s Ctes<'s>>,
    is_referenced: std::cell::Cell<bool>,
}

enum CteBody<'s> {
    /// Its query is looked at anew wherever it is named, with what it saw where it was written.
    Query {
        cte: &'s Cte,
        environment: Environment<'s>,
    },
    /// Itself, within a recursion, or a data-modifying one: its columns aren't followed.
    Open,
}

/// What a query sees around it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Environment<'s> {
    pub(crate) scope: Option<&'s Scope<'s>>,
    pub(crate) ctes: Option<&'s Ctes<'s>>,
    /// Relations that the view reads whose definition this is.
    pub(crate) view: Option<&'s Relation>,
}

/// Where a query stands.
#[derive(Clone, Copy)]
pub(crate) struct Position {
    pub(crate) parent: Option<BlockId>,
    pub(crate) is_spine: bool,
}

/// What an expression sees, and which level it belongs to.
#[derive(Clone, Copy)]
pub(crate) struct Here<'s> {
    pub(crate) scope: &'s Scope<'s>,
    pub(crate) environment: Environment<'s>,
    pub(crate) block: BlockId,
    pub(crate) windows: &'s [ast::Window],
}

/// What an unqualified or qualified name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// This column of the innermost level.
    Local(AttributeId),
    /// This column of an outer level.
    Outer(AttributeId),
    /// Not known, or of a source whose columns aren't known.
    Unknown,
}

/// What a name means at one level.
enum Lookup {
    Column(AttributeId),
    /// It belongs here, but what it is isn't known.
    Unclear,
    Absent,
}

// === impl Analysis ===

impl<'a> Analysis<'a> {
    /// Looks at a query.
    ///
    /// # Errors
    ///
    /// It names what does not exist, or what is refused wherever it stands.
    pub(crate) fn of_query(
        context: &'a Context<'a>,
        source: &'a str,
        slots: &'a Slots,
        query: &ast::Query,
    ) -> Result<Self, PlanError> {
        let mut analysis = Self::empty(context, source, slots);
        let position = Position {
            parent: None,
            is_spine: true,
        };
        analysis.query(query, Environment::default(), position)?;
        Ok(analysis)
    }

    pub(crate) fn empty(context: &'a Context<'a>, source: &'a str, slots: &'a Slots) -> Self {
        Self {
            context,
            source,
            slots,
            uses: Vec::new(),
            attributes: Vec::new(),
            edges: Vec::new(),
            bindings: Vec::new(),
            blocks: Vec::new(),
            top: Vec::new(),
            star: Vec::new(),
            calls: Vec::new(),
            params: Vec::new(),
            traits: Traits::default(),
            locked: Vec::new(),
            relied: std::cell::RefCell::default(),
            view_depth: 0,
        }
    }

    pub(crate) fn attribute(&mut self, attribute: Attribute) -> AttributeId {
        self.attributes.push(attribute);
        self.attributes.len() - 1
    }

    pub(crate) fn column_attribute(&mut self, column: &CatalogColumn) -> AttributeId {
        let class = Class::of_column(self.context.catalog, column);
        self.attribute(Attribute {
            type_oid: Some(column.type_oid),
            collation: column.collation.clone(),
            class,
        })
    }

    /// Notes that the plan depends on a literal's value.
    pub(crate) fn rely_on(&self, literal: &ast::Const) {
        if self.view_depth == 0 {
            self.relied.borrow_mut().push(literal.token);
        }
    }

    pub(crate) fn param(&mut self, number: u32) -> &mut ParamUse {
        let at = number as usize;
        if self.params.len() <= at {
            self.params.resize_with(at + 1, ParamUse::default);
        }
        &mut self.params[at]
    }
}

// === impl Scope ===

impl Scope<'_> {
    /// What a column name means.
    pub(crate) fn column(&self, parts: &[String]) -> Meaning {
        match self.in_items(parts) {
            Lookup::Column(attribute) => Meaning::Local(attribute),
            Lookup::Unclear => Meaning::Unknown,
            Lookup::Absent => match self.parent.map(|parent| parent.column(parts)) {
                Some(Meaning::Local(attribute) | Meaning::Outer(attribute)) => {
                    Meaning::Outer(attribute)
                }
                Some(Meaning::Unknown) | None => Meaning::Unknown,
            },
        }
    }

    fn in_items(&self, parts: &[String]) -> Lookup {
        let Some((column, qualifier)) = parts.split_last() else {
            return Lookup::Absent;
        };
        if qualifier.is_empty() {
            return self.unqualified(column);
        }
        match self.item(qualifier) {
            Some(item) => item.column(column).map_or(Lookup::Unclear, Lookup::Column),
            None => Lookup::Absent,
        }
    }

    fn unqualified(&self, name: &str) -> Lookup {
        let mut found = self
            .items
            .iter()
            .filter(|item| !item.merged.iter().any(|merged| merged == name))
            .filter_map(|item| item.column(name));
        match (found.next(), found.next()) {
            (Some(attribute), None) => Lookup::Column(attribute),
            // Ambiguous: PostgreSQL says so.
            (Some(_), Some(_)) => Lookup::Unclear,
            (None, _) if self.items.iter().any(|item| item.is_open) => Lookup::Unclear,
            (None, _) => Lookup::Absent,
        }
    }

    /// The row source that a qualifier names.
    pub(crate) fn item(&self, qualifier: &[String]) -> Option<&Item> {
        match qualifier {
            [alias] => self.items.iter().find(|item| item.name == *alias),
            [.., schema, table] => self
                .items
                .iter()
                .find(|item| item.name == *table && item.schema.as_ref() == Some(schema)),
            [] => None,
        }
    }
}

// === impl Item ===

impl Item {
    pub(crate) fn column(&self, name: &str) -> Option<AttributeId> {
        self.columns
            .iter()
            .find(|column| column.name == name)
            .map(|column| column.attribute)
    }
}

// === impl Ctes ===

impl<'s> Ctes<'s> {
    /// The common table expression of that name.
    pub(crate) fn named(&'s self, name: &str) -> Option<&'s Self> {
        if self.name == name {
            return Some(self);
        }
        self.previous?.named(name)
    }
}
