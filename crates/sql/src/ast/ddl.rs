//! Definitions.

use super::{Expr, Name, Query, TypeName};

/// A definition statement.
#[derive(Clone, Debug, PartialEq)]
pub struct Ddl {
    /// What it does.
    pub action: DdlAction,
    /// Every table, view or sequence that it names (definition, references, queries inside).
    pub relations: Vec<Name>,
    /// Every query inside (views, `CREATE TABLE AS`).
    pub queries: Vec<Query>,
    /// Every expression inside (defaults, checks, index expressions, partition bounds).
    pub expressions: Vec<Expr>,
    /// It can't run inside a transaction block (`CREATE INDEX CONCURRENTLY`, `CREATE DATABASE` ...).
    pub outside_transaction: bool,
}

/// What a definition statement does, as far as placement needs to know.
#[derive(Clone, Debug, PartialEq)]
pub enum DdlAction {
    /// `CREATE TABLE`, not `AS`.
    CreateTable(Box<CreateTable>),
    /// `CREATE TABLE AS`, `SELECT INTO`, `CREATE MATERIALIZED VIEW`.
    CreateTableAs {
        /// The new relation.
        name: Name,
        /// `MATERIALIZED VIEW`.
        materialized: bool,
        /// `TEMPORARY`.
        temporary: bool,
        /// `WITH NO DATA`.
        no_data: bool,
        /// `IF NOT EXISTS`.
        if_not_exists: bool,
    },
    /// `ALTER TABLE` and `ALTER INDEX/VIEW/SEQUENCE ...` by sub-commands.
    AlterTable {
        /// The relation.
        name: Name,
        /// Sub-commands.
        commands: Vec<AlterCommand>,
        /// Upper-case object kind: `TABLE`, `INDEX`, `VIEW`, `SEQUENCE`, ...
        object: &'static str,
    },
    /// `CREATE INDEX`.
    CreateIndex {
        /// The table.
        table: Name,
        /// `UNIQUE`.
        unique: bool,
        /// `CONCURRENTLY`.
        concurrently: bool,
        /// Plain columns of the key; `None` for an expression.
        columns: Vec<Option<String>>,
        /// Index name.
        name: Option<String>,
    },
    /// `CREATE [OR REPLACE] VIEW`.
    CreateView {
        /// The view.
        name: Name,
        /// `TEMPORARY`.
        temporary: bool,
    },
    /// `CREATE SEQUENCE`.
    CreateSequence {
        /// The sequence.
        name: Name,
        /// `TEMPORARY`.
        temporary: bool,
    },
    /// `ALTER SEQUENCE`.
    AlterSequence {
        /// The sequence.
        name: Name,
    },
    /// `CREATE FUNCTION` / `PROCEDURE` / `AGGREGATE`.
    CreateFunction {
        /// The function.
        name: Name,
    },
    /// `CREATE TRIGGER`.
    CreateTrigger {
        /// The table.
        table: Name,
        /// The function that it calls.
        function: Name,
    },
    /// `CREATE TYPE`, `CREATE DOMAIN`, `CREATE SCHEMA`, `CREATE EXTENSION`, ... : no table is concerned.
    CreateOther {
        /// Upper-case object kind.
        object: &'static str,
        /// Its name, when it has one.
        name: Option<Name>,
    },
    /// `DROP`.
    Drop {
        /// Upper-case object kind.
        object: &'static str,
        /// The names.
        names: Vec<Name>,
        /// `CONCURRENTLY`.
        concurrently: bool,
    },
    /// `ALTER ... RENAME`.
    Rename {
        /// Upper-case object kind (`TABLE`, `COLUMN`, `CONSTRAINT`, `TYPE`, ...).
        object: &'static str,
        /// The relation or object.
        name: Option<Name>,
        /// The sub-object (a column) that is renamed.
        part: Option<String>,
        /// The new name.
        to: String,
    },
    /// `ALTER ... SET SCHEMA`, `OWNER TO`, `ALTER TYPE`, `ALTER DOMAIN`, `ALTER FUNCTION`, ...
    AlterOther {
        /// Upper-case object kind.
        object: &'static str,
        /// The object.
        name: Option<Name>,
    },
    /// `GRANT`, `REVOKE`, `COMMENT`, `SECURITY LABEL`, `ALTER DEFAULT PRIVILEGES`, policies, rules, statistics, publications.
    Attribute {
        /// Upper-case command.
        command: &'static str,
        /// Upper-case object kind; `ALL IN SCHEMA` when the names are schemas and their contents are meant.
        object: &'static str,
        /// The objects.
        names: Vec<Name>,
    },
}

/// `CREATE TABLE`.
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a word of the grammar, independent of the others"
)]
#[derive(Clone, Debug, PartialEq)]
pub struct CreateTable {
    /// The table.
    pub name: Name,
    /// `TEMPORARY`.
    pub temporary: bool,
    /// `IF NOT EXISTS`.
    pub if_not_exists: bool,
    /// Column definitions.
    pub columns: Vec<ColumnDef>,
    /// Table constraints.
    pub constraints: Vec<Constraint>,
    /// `INHERITS` parents, or the parent of `PARTITION OF`.
    pub parents: Vec<Name>,
    /// It is a partition (`PARTITION OF`).
    pub is_partition: bool,
    /// `LIKE` sources.
    pub like: Vec<Name>,
    /// `PARTITION BY`.
    pub is_partitioned: bool,
}

/// A column definition.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnDef {
    /// The column.
    pub name: String,
    /// Its type.
    pub type_name: Option<TypeName>,
    /// `COLLATE`.
    pub collation: Option<Name>,
    /// Its constraints, with the column filled in.
    pub constraints: Vec<Constraint>,
}

/// A constraint.
#[derive(Clone, Debug, PartialEq)]
pub struct Constraint {
    /// Its name.
    pub name: Option<String>,
    /// What it demands.
    pub kind: ConstraintKind,
}

/// What a constraint demands.
#[derive(Clone, Debug, PartialEq)]
pub enum ConstraintKind {
    /// `NOT NULL`.
    NotNull,
    /// `NULL`.
    Null,
    /// `DEFAULT`.
    Default(Expr),
    /// `GENERATED ... AS IDENTITY`.
    Identity {
        /// `ALWAYS` rather than `BY DEFAULT`.
        always: bool,
    },
    /// `GENERATED ALWAYS AS (...)`.
    Generated(Expr),
    /// `CHECK`.
    Check(Expr),
    /// `PRIMARY KEY`, with its columns.
    Primary(Vec<String>),
    /// `UNIQUE`, with its columns.
    Unique(Vec<String>),
    /// `PRIMARY KEY` or `UNIQUE` `USING INDEX name`.
    UsingIndex(String),
    /// `EXCLUDE`.
    Exclude,
    /// `FOREIGN KEY`.
    Foreign {
        /// Its columns.
        columns: Vec<String>,
        /// The referenced table.
        table: Name,
        /// The referenced columns; empty for the primary key.
        referenced: Vec<String>,
        /// `ON UPDATE`.
        on_update: pg::ForeignAction,
        /// `ON DELETE`.
        on_delete: pg::ForeignAction,
        /// The columns of `ON DELETE SET NULL (...)`; empty for all.
        reset: Vec<String>,
    },
    /// Deferrability attributes.
    Attribute,
}

/// A sub-command of `ALTER TABLE`.
#[derive(Clone, Debug, PartialEq)]
pub enum AlterCommand {
    /// `ADD COLUMN`.
    AddColumn(ColumnDef),
    /// `DROP COLUMN`.
    DropColumn(String),
    /// `ALTER COLUMN ... TYPE`, with the `USING` expression.
    AlterType {
        /// The column.
        column: String,
        /// The new type.
        type_name: Option<TypeName>,
        /// `USING`.
        using: Option<Expr>,
    },
    /// `ADD CONSTRAINT`.
    AddConstraint(Constraint),
    /// `ATTACH PARTITION`.
    AttachPartition(Name),
    /// `DETACH PARTITION`.
    DetachPartition {
        /// The partition.
        partition: Name,
        /// `CONCURRENTLY`.
        concurrently: bool,
    },
    /// `INHERIT` / `NO INHERIT`.
    Inherit(Name),
    /// `ALTER COLUMN ... SET DEFAULT` / `DROP DEFAULT`.
    SetDefault {
        /// The column.
        column: String,
        /// The default; `None` drops it.
        value: Option<Expr>,
    },
    /// Any other, by PostgreSQL's sub-command name without `AT_` (`SetNotNull`, `ChangeOwner`, ...).
    Other {
        /// The sub-command.
        name: &'static str,
        /// The column or object that it names.
        target: Option<String>,
    },
}
