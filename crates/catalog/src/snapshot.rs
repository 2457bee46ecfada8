//! The snapshot's types and its look-ups.

use std::collections::HashMap;
use std::sync::Arc;

use pg::Oid;

/// One database as the authoritative shard describes it.
#[derive(Debug, Default)]
pub struct Catalog {
    /// Grows with every snapshot of this process.
    pub version: u64,
    /// The database's name.
    pub database: String,
    /// `server_version_num`, such as 150018.
    pub server_version: u32,
    /// The database's default collation compares bytes (C, POSIX, C.UTF-8, builtin).
    pub default_collation_is_bytes: bool,
    /// `lower`/`upper` of ASCII text are the plain ASCII ones under the database's character type.
    pub ascii_case_is_plain: bool,
    /// Relations by OID.
    pub relations: HashMap<Oid, Arc<Relation>>,
    /// Relations by schema and name.
    pub relations_by_name: HashMap<String, HashMap<String, Oid>>,
    /// Types by OID; builtin ones included.
    pub types: HashMap<Oid, Arc<Type>>,
    /// Types by schema and name.
    pub types_by_name: HashMap<String, HashMap<String, Oid>>,
    /// Functions, procedures, aggregates and window functions by schema and name (overloads together); builtin ones included.
    pub functions: HashMap<String, HashMap<String, Vec<Arc<Function>>>>,
    /// Names of every schema.
    pub schemas: Vec<String>,
    /// Operators that are not PostgreSQL's own, by name.
    pub user_operators: Vec<String>,
}

/// A table, view, sequence, index-less composite ...
#[derive(Clone, Debug)]
pub struct Relation {
    /// OID on the authoritative shard.
    pub oid: Oid,
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: RelationKind,
    /// Live columns in order.
    pub columns: Vec<Column>,
    /// Primary key, unique, foreign key, check and exclusion constraints.
    pub constraints: Vec<Constraint>,
    /// Indexes.
    pub indexes: Vec<Index>,
    /// User triggers (not those of constraints).
    pub triggers: Vec<Trigger>,
    /// Direct parents (inheritance or the partitioned table).
    pub parents: Vec<Oid>,
    /// Direct children (partitions or inheriting tables).
    pub children: Vec<Oid>,
    /// It is a partition of its parent.
    pub is_partition: bool,
    /// For views and materialized views: the relations that the definition reads, directly.
    pub reads: Vec<Oid>,
    /// For views and materialized views: `pg_get_viewdef` without the closing semicolon.
    pub definition: Option<String>,
    /// Rewrite rules beyond a view's own.
    pub has_rules: bool,
    /// Row-level security is enabled.
    pub has_row_security: bool,
    /// `t`, `u` or `p` (temporary, unlogged, permanent).
    pub persistence: char,
}

/// What a relation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RelationKind {
    /// Ordinary table.
    Table,
    /// Partitioned table.
    Partitioned,
    /// View.
    View,
    /// Materialized view.
    Materialized,
    /// Sequence.
    Sequence,
    /// Foreign table.
    Foreign,
    /// Composite type.
    Composite,
    /// Index.
    Index,
}

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Name.
    pub name: String,
    /// `attnum`.
    pub number: i16,
    /// Type.
    pub type_oid: Oid,
    /// Type modifier, -1 for none; of a column of a domain, the domain's.
    pub type_modifier: i32,
    /// `NOT NULL`.
    pub not_null: bool,
    /// Default.
    pub default: Option<Default>,
    /// Identity.
    pub identity: Option<Identity>,
    /// `GENERATED ALWAYS AS (...)`.
    pub generated: bool,
    /// Collation, when the type has one.
    pub collation: Option<Collation>,
}

/// Collation of a column or of a type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collation {
    /// Its qualified name; `default` for the database's.
    pub name: String,
    /// It compares bytes.
    pub is_bytes: bool,
    /// It is deterministic.
    pub is_deterministic: bool,
}

/// A column's default.
#[derive(Clone, Debug)]
pub struct Default {
    /// `pg_get_expr`.
    pub expression: String,
    /// The sequence that its `nextval` draws from, when the default is exactly a call of `nextval` on one.
    pub sequence: Option<Oid>,
    /// The least stable function or keyword inside.
    pub volatility: Volatility,
}

/// Identity column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// `ALWAYS` rather than `BY DEFAULT`.
    pub always: bool,
    /// The sequence behind it.
    pub sequence: Oid,
}

/// A constraint.
#[derive(Clone, Debug)]
pub struct Constraint {
    /// Name.
    pub name: String,
    /// What it demands.
    pub kind: ConstraintKind,
    /// Its columns' numbers.
    pub columns: Vec<i16>,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstraintKind {
    /// Primary key.
    Primary,
    /// Unique.
    Unique,
    /// Check.
    Check,
    /// Exclusion.
    Exclusion,
    /// Foreign key.
    Foreign {
        /// The referenced table.
        table: Oid,
        /// The referenced columns' numbers.
        columns: Vec<i16>,
        /// `ON UPDATE`.
        on_update: pg::ForeignAction,
        /// `ON DELETE`.
        on_delete: pg::ForeignAction,
        /// Numbers of the columns of `ON DELETE SET NULL (...)`; empty for all.
        reset: Vec<i16>,
    },
}

/// An index.
#[expect(
    clippy::struct_excessive_bools,
    reason = "PostgreSQL keeps them as independent flags"
)]
#[derive(Clone, Debug)]
pub struct Index {
    /// Name.
    pub name: String,
    /// OID.
    pub oid: Oid,
    /// Unique.
    pub unique: bool,
    /// Primary key's.
    pub primary: bool,
    /// Key columns' numbers; 0 for an expression.
    pub columns: Vec<i16>,
    /// Expressions, as `pg_get_expr` gives them.
    pub expressions: Vec<String>,
    /// Partial.
    pub is_partial: bool,
    /// Valid and ready.
    pub is_valid: bool,
}

/// A trigger.
#[derive(Clone, Debug)]
pub struct Trigger {
    /// Name.
    pub name: String,
    /// The function that it calls.
    pub function: Oid,
    /// `tgtype` bits as in PostgreSQL's `pg_trigger`.
    pub kind: i16,
    /// It is enabled in ordinary sessions.
    pub is_enabled: bool,
}

/// A type.
#[derive(Clone, Debug)]
pub struct Type {
    /// OID on the authoritative shard.
    pub oid: Oid,
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: TypeKind,
    /// The array type over it; 0 for none.
    pub array: Oid,
    /// Collation of its values, when it has one.
    pub collation: Option<Collation>,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TypeKind {
    /// Base type.
    Base,
    /// Array of an element type.
    Array(Oid),
    /// Enum, its labels in order.
    Enum(Vec<String>),
    /// Domain over a type.
    Domain(Oid),
    /// Composite.
    Composite,
    /// Range or multirange.
    Range,
    /// Pseudo-type.
    Pseudo,
}

/// A function.
#[derive(Clone, Debug)]
pub struct Function {
    /// OID on the authoritative shard.
    pub oid: Oid,
    /// Schema.
    pub schema: String,
    /// Name.
    pub name: String,
    /// What it is.
    pub kind: FunctionKind,
    /// Volatility.
    pub volatility: Volatility,
    /// Input argument types.
    pub arguments: Vec<Oid>,
    /// Number of arguments with defaults.
    pub defaults: i16,
    /// Its last argument is variadic.
    pub is_variadic: bool,
    /// Result type.
    pub result: Oid,
    /// It returns a set.
    pub returns_set: bool,
    /// It came with PostgreSQL (OID below 16384).
    pub is_builtin: bool,
    /// Language name (`internal`, `c`, `sql`, `plpgsql`).
    pub language: String,
    /// Source text (`prosrc`) of functions that are not builtin; of aggregates calls of the functions behind them.
    pub source: String,
    /// Relations that PostgreSQL records it to depend on (`BEGIN ATOMIC` bodies).
    pub reads: Vec<Oid>,
}

/// What a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FunctionKind {
    /// Ordinary function.
    Function,
    /// Procedure.
    Procedure,
    /// Aggregate.
    Aggregate,
    /// Window function.
    Window,
}

/// How stable a result is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Volatility {
    /// Same arguments, same result.
    Immutable,
    /// Same within a statement.
    Stable,
    /// May differ with every call.
    Volatile,
}

impl Catalog {
    /// The relation that `name` means under `search_path` (schemas in order, `pg_catalog` already placed where PostgreSQL would
    /// look for it; `pg_temp` left out). Names of one part are searched, of two parts looked up, of three must name this database.
    #[must_use]
    pub fn relation(&self, name: &[String], search_path: &[String]) -> Option<&Arc<Relation>> {
        let (schemas, relation) = self.scope(name, search_path)?;
        schemas.iter().find_map(|schema| {
            let oid = self.relations_by_name.get(schema.as_str())?.get(relation)?;
            self.relations.get(oid)
        })
    }

    /// The type that `name` means under `search_path`.
    #[must_use]
    pub fn type_named(&self, name: &[String], search_path: &[String]) -> Option<&Arc<Type>> {
        let (schemas, type_name) = self.scope(name, search_path)?;
        schemas.iter().find_map(|schema| {
            let oid = self.types_by_name.get(schema.as_str())?.get(type_name)?;
            self.types.get(oid)
        })
    }

    /// Every function that `name` may mean under `search_path`, nearest schema first.
    #[must_use]
    pub fn functions_named(&self, name: &[String], search_path: &[String]) -> Vec<&Arc<Function>> {
        let Some((schemas, function)) = self.scope(name, search_path) else {
            return Vec::new();
        };
        schemas
            .iter()
            .filter_map(|schema| self.functions.get(schema.as_str())?.get(function))
            .flatten()
            .collect()
    }

    /// The type below all domains.
    #[must_use]
    pub fn base_type(&self, mut oid: Oid) -> Oid {
        while let Some(TypeKind::Domain(base)) = self.types.get(&oid).map(|t| &t.kind) {
            oid = *base;
        }
        oid
    }

    fn scope<'a>(
        &self,
        name: &'a [String],
        search_path: &'a [String],
    ) -> Option<(&'a [String], &'a str)> {
        match name {
            [single] => Some((search_path, single)),
            [_, last] => Some((&name[..1], last)),
            [database, _, last] if *database == self.database => Some((&name[1..2], last)),
            _ => None,
        }
    }
}

impl Relation {
    /// The column of that name.
    #[must_use]
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// The column of that number.
    #[must_use]
    pub fn column_numbered(&self, number: i16) -> Option<&Column> {
        self.columns.iter().find(|column| column.number == number)
    }
}
