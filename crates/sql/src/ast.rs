//! The tree of a statement: owned, printable, and complete down to every name and every constant.
//!
//! The tree follows PostgreSQL's raw parse tree (names unresolved), with positions as byte offsets into the text that was
//! parsed. It is for reading; changes are made to the text by [`crate::Edits`].

/// A half-open range of bytes in the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: u32,
    /// One past the last byte.
    pub end: u32,
}

/// A possibly qualified name, outermost part first. `public.orders` is `["public", "orders"]`.
///
/// Parts are as PostgreSQL's grammar gives them: unquoted ones are already in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name {
    /// The parts; never empty.
    pub parts: Vec<String>,
    /// Where the name begins, when the grammar keeps it.
    pub location: Option<u32>,
}

/// One statement of a query string.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    /// The statement without its semicolon and without surrounding blanks.
    pub span: Span,
    /// What it is.
    pub body: Body,
}

/// What a statement is.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// `SELECT`, `VALUES`, `TABLE`, set operations; `SELECT INTO` has [`Select::into`].
    Query(Box<Query>),
    /// `INSERT`.
    Insert(Box<Insert>),
    /// `UPDATE`.
    Update(Box<Update>),
    /// `DELETE`.
    Delete(Box<Delete>),
    /// `MERGE`.
    Merge(Box<Merge>),
    /// `COPY`.
    Copy(Box<Copy>),
    /// `EXPLAIN`.
    Explain(Box<Explain>),
    /// `BEGIN`, `COMMIT`, savepoints and two-phase commands.
    Transaction(Transaction),
    /// `SET`, `RESET`, `SET TRANSACTION`, ...
    Set(Set),
    /// `SHOW name`; `all` for `SHOW ALL`.
    Show(String),
    /// `SET CONSTRAINTS`.
    SetConstraints {
        /// The constraints; empty means all.
        names: Vec<Name>,
        /// `DEFERRED` rather than `IMMEDIATE`.
        deferred: bool,
    },
    /// `PREPARE name (types) AS body`.
    Prepare {
        /// The statement's name.
        name: String,
        /// Declared parameter types.
        types: Vec<TypeName>,
        /// The prepared statement.
        body: Box<Body>,
        /// Where the prepared statement's own text lies.
        span: Span,
    },
    /// `EXECUTE name (args)`.
    Execute {
        /// The statement's name.
        name: String,
        /// Its arguments.
        arguments: Vec<Expr>,
    },
    /// `DEALLOCATE name`; `None` for `ALL`.
    Deallocate(Option<String>),
    /// `DECLARE name CURSOR FOR query`.
    Declare {
        /// The cursor's name.
        name: String,
        /// `WITH HOLD`.
        hold: bool,
        /// `SCROLL` asked for explicitly.
        scroll: bool,
        /// `BINARY`.
        binary: bool,
        /// The query.
        query: Box<Query>,
        /// Where the query's own text lies.
        span: Span,
    },
    /// `FETCH` or `MOVE`.
    Fetch {
        /// The cursor's name.
        cursor: String,
        /// `MOVE` rather than `FETCH`.
        is_move: bool,
        /// Direction.
        direction: FetchDirection,
        /// Count; `i64::MAX` for `ALL`.
        count: i64,
    },
    /// `CLOSE name`; `None` for `ALL`.
    Close(Option<String>),
    /// `LISTEN`, `UNLISTEN`, `NOTIFY`.
    Notification(Notification),
    /// `DISCARD`.
    Discard(DiscardTarget),
    /// `LOCK TABLE`.
    Lock {
        /// The tables.
        tables: Vec<TableRef>,
    },
    /// `TRUNCATE`.
    Truncate {
        /// The tables.
        tables: Vec<TableRef>,
        /// `RESTART IDENTITY`.
        restart_identity: bool,
        /// `CASCADE`.
        cascade: bool,
    },
    /// `REFRESH MATERIALIZED VIEW`.
    Refresh {
        /// The view.
        view: Name,
        /// `CONCURRENTLY`.
        concurrently: bool,
        /// `WITH NO DATA`.
        no_data: bool,
    },
    /// `VACUUM`, `ANALYZE`, `CLUSTER`, `REINDEX`, `CHECKPOINT`.
    Maintenance {
        /// Upper-case command word.
        command: &'static str,
        /// Its tables, when it names some.
        tables: Vec<Name>,
    },
    /// `CALL procedure(...)`.
    Call(Box<Call>),
    /// `DO`.
    Do,
    /// Definitions: `CREATE`, `ALTER`, `DROP`, `COMMENT`, `GRANT`, ...
    Ddl(Box<Ddl>),
    /// Anything else, by PostgreSQL's node name (`LoadStmt`, `CreatedbStmt`, ...).
    Other(&'static str),
}

/// A query with what surrounds its body.
#[derive(Clone, Debug, PartialEq)]
pub struct Query {
    /// `WITH`.
    pub with: Option<With>,
    /// The body.
    pub body: QueryBody,
    /// `ORDER BY`.
    pub order_by: Vec<SortKey>,
    /// `LIMIT` / `FETCH FIRST`.
    pub limit: Option<Expr>,
    /// `OFFSET`.
    pub offset: Option<Expr>,
    /// `FETCH FIRST ... WITH TIES`.
    pub with_ties: bool,
    /// `FOR UPDATE` and its kin.
    pub locking: Vec<Locking>,
}

/// The body of a query.
#[derive(Clone, Debug, PartialEq)]
pub enum QueryBody {
    /// `SELECT ...`.
    Select(Box<Select>),
    /// `VALUES ...`.
    Values(Vec<Vec<Expr>>),
    /// `UNION`, `INTERSECT`, `EXCEPT`.
    SetOperation {
        /// Which.
        op: SetOperator,
        /// `ALL`.
        all: bool,
        /// Left side.
        left: Box<Query>,
        /// Right side.
        right: Box<Query>,
    },
}

/// Which set operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetOperator {
    /// `UNION`.
    Union,
    /// `INTERSECT`.
    Intersect,
    /// `EXCEPT`.
    Except,
}

/// `SELECT` proper.
#[derive(Clone, Debug, PartialEq)]
pub struct Select {
    /// `DISTINCT`.
    pub distinct: Distinct,
    /// The select list.
    pub targets: Vec<Target>,
    /// `INTO table`.
    pub into: Option<Name>,
    /// `FROM`.
    pub from: Vec<FromItem>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `GROUP BY`.
    pub group_by: Vec<GroupItem>,
    /// `GROUP BY DISTINCT`.
    pub group_distinct: bool,
    /// `HAVING`.
    pub having: Option<Expr>,
    /// `WINDOW name AS (...)`.
    pub windows: Vec<Window>,
    /// Where the word `SELECT` begins, when it could be found.
    pub location: Option<u32>,
}

/// `DISTINCT` clause.
#[derive(Clone, Debug, PartialEq)]
pub enum Distinct {
    /// None.
    No,
    /// `DISTINCT`.
    All,
    /// `DISTINCT ON (...)`.
    On(Vec<Expr>),
}

/// One entry of a select list or of `RETURNING`.
#[derive(Clone, Debug, PartialEq)]
pub struct Target {
    /// The expression; a star is [`ExprKind::Star`].
    pub expr: Expr,
    /// `AS alias`.
    pub alias: Option<String>,
    /// Where the entry begins.
    pub location: Option<u32>,
}

/// `WITH`.
#[derive(Clone, Debug, PartialEq)]
pub struct With {
    /// `RECURSIVE`.
    pub recursive: bool,
    /// The common table expressions.
    pub ctes: Vec<Cte>,
}

/// One common table expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Cte {
    /// Its name.
    pub name: String,
    /// Column aliases.
    pub columns: Vec<String>,
    /// `MATERIALIZED` / `NOT MATERIALIZED`.
    pub materialized: Option<bool>,
    /// Its statement: a query or a data-modifying statement.
    pub body: Box<Body>,
    /// Expressions of `SEARCH` / `CYCLE` clauses are present.
    pub search_or_cycle: bool,
    /// Where the statement's own text lies, inside its parentheses.
    pub span: Option<Span>,
}

/// An entry of `FROM`.
#[derive(Clone, Debug, PartialEq)]
pub enum FromItem {
    /// A table, view or common table expression.
    Table(TableRef),
    /// A join.
    Join(Box<Join>),
    /// A sub-select.
    Subquery {
        /// `LATERAL`.
        lateral: bool,
        /// The query.
        query: Box<Query>,
        /// Alias.
        alias: Option<Alias>,
    },
    /// Set-returning functions.
    Function {
        /// `LATERAL`.
        lateral: bool,
        /// The calls (several for `ROWS FROM`).
        calls: Vec<Expr>,
        /// `WITH ORDINALITY`.
        ordinality: bool,
        /// Alias.
        alias: Option<Alias>,
    },
    /// `TABLESAMPLE`.
    Sample {
        /// What is sampled.
        item: Box<FromItem>,
        /// Expressions of the clause.
        arguments: Vec<Expr>,
    },
    /// `XMLTABLE`, `JSON_TABLE`.
    Other {
        /// PostgreSQL's node name.
        node: &'static str,
        /// Every expression inside.
        children: Vec<Expr>,
        /// Alias.
        alias: Option<Alias>,
    },
}

/// A table as named in a statement.
#[derive(Clone, Debug, PartialEq)]
pub struct TableRef {
    /// Its name, as written.
    pub name: Name,
    /// `ONLY`.
    pub only: bool,
    /// Alias.
    pub alias: Option<Alias>,
}

/// `AS alias (columns)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alias {
    /// The alias.
    pub name: String,
    /// Column aliases.
    pub columns: Vec<String>,
}

/// A join of two entries of `FROM`.
#[derive(Clone, Debug, PartialEq)]
pub struct Join {
    /// Which.
    pub kind: JoinKind,
    /// `NATURAL`.
    pub natural: bool,
    /// Left side.
    pub left: FromItem,
    /// Right side.
    pub right: FromItem,
    /// `USING (columns)`.
    pub using: Vec<String>,
    /// `ON`.
    pub on: Option<Expr>,
    /// Alias of the whole join.
    pub alias: Option<Alias>,
}

/// Which join; a `CROSS JOIN` is an inner join without a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// `INNER`, `CROSS`.
    Inner,
    /// `LEFT`.
    Left,
    /// `RIGHT`.
    Right,
    /// `FULL`.
    Full,
}

/// An entry of `GROUP BY`.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupItem {
    /// A plain expression.
    Expr(Expr),
    /// `ROLLUP`, `CUBE`, `GROUPING SETS`, `()`, with every expression inside.
    Sets {
        /// The upper-case word.
        kind: &'static str,
        /// Every expression inside.
        children: Vec<Expr>,
    },
}

/// An entry of `ORDER BY`.
#[derive(Clone, Debug, PartialEq)]
pub struct SortKey {
    /// The expression.
    pub expr: Expr,
    /// `DESC`.
    pub descending: bool,
    /// `NULLS FIRST` / `NULLS LAST`, when said.
    pub nulls_first: Option<bool>,
    /// `USING operator`.
    pub using: Option<Name>,
}

/// A window definition, named or inline.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    /// Its own name.
    pub name: Option<String>,
    /// The name of the window that it refers to.
    pub refname: Option<String>,
    /// `PARTITION BY`.
    pub partition_by: Vec<Expr>,
    /// `ORDER BY`.
    pub order_by: Vec<SortKey>,
    /// Offsets of the frame clause; before them, when the frame was written, a number without a token: PostgreSQL's frame options.
    pub frame: Vec<Expr>,
}

/// `FOR UPDATE OF tables ...`.
#[derive(Clone, Debug, PartialEq)]
pub struct Locking {
    /// `UPDATE`, `NO KEY UPDATE`, `SHARE`, `KEY SHARE`.
    pub strength: &'static str,
    /// `OF` names.
    pub tables: Vec<Name>,
    /// `SKIP LOCKED`.
    pub skip_locked: bool,
    /// `NOWAIT`.
    pub nowait: bool,
}

/// `INSERT`.
#[derive(Clone, Debug, PartialEq)]
pub struct Insert {
    /// `WITH`.
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// The column list; empty when left out.
    pub columns: Vec<InsertColumn>,
    /// Where the rows come from.
    pub source: InsertSource,
    /// `OVERRIDING SYSTEM VALUE` (`Some(true)`) or `USER VALUE` (`Some(false)`).
    pub overriding_system: Option<bool>,
    /// `ON CONFLICT`.
    pub on_conflict: Option<OnConflict>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// A column of an `INSERT`'s list.
#[derive(Clone, Debug, PartialEq)]
pub struct InsertColumn {
    /// The column.
    pub name: String,
    /// Field selection or subscripts follow.
    pub has_indirection: bool,
    /// Where it begins.
    pub location: Option<u32>,
}

/// Where an `INSERT`'s rows come from.
#[derive(Clone, Debug, PartialEq)]
pub enum InsertSource {
    /// `DEFAULT VALUES`.
    Default,
    /// A plain list of rows, without `ORDER BY`, `LIMIT` and `WITH` of its own.
    Values {
        /// The rows; `DEFAULT` is [`ExprKind::Default`].
        rows: Vec<Vec<Expr>>,
        /// Each row's span, its parentheses included.
        spans: Vec<Span>,
    },
    /// Any other query.
    Query(Box<Query>),
}

/// `ON CONFLICT`.
#[derive(Clone, Debug, PartialEq)]
pub struct OnConflict {
    /// Inferred columns or expressions.
    pub target: Vec<Expr>,
    /// Predicate of the inferred index.
    pub target_filter: Option<Expr>,
    /// `ON CONSTRAINT name`.
    pub constraint: Option<String>,
    /// `DO UPDATE SET`; `None` for `DO NOTHING`.
    pub update: Option<Vec<Assignment>>,
    /// `WHERE` of `DO UPDATE`.
    pub filter: Option<Expr>,
}

/// `column = expression` of `SET`.
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The columns; several for `(a, b) = ...`.
    pub columns: Vec<String>,
    /// Field selection or subscripts are assigned to.
    pub has_indirection: bool,
    /// The value, once for all the columns.
    pub value: Expr,
    /// Where the first column begins.
    pub location: Option<u32>,
}

/// `UPDATE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// `WITH`.
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `SET`.
    pub assignments: Vec<Assignment>,
    /// `FROM`.
    pub from: Vec<FromItem>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// `DELETE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Delete {
    /// `WITH`.
    pub with: Option<With>,
    /// The table.
    pub table: TableRef,
    /// `USING`.
    pub using: Vec<FromItem>,
    /// `WHERE`.
    pub filter: Option<Expr>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// `MERGE`.
#[derive(Clone, Debug, PartialEq)]
pub struct Merge {
    /// `WITH`.
    pub with: Option<With>,
    /// The target.
    pub table: TableRef,
    /// `USING`.
    pub source: FromItem,
    /// `ON`.
    pub on: Expr,
    /// Conditions and values of the `WHEN` clauses.
    pub children: Vec<Expr>,
    /// Assignments of `WHEN MATCHED THEN UPDATE`.
    pub updates: Vec<Assignment>,
    /// Columns and values of each `WHEN NOT MATCHED THEN INSERT`.
    pub inserts: Vec<(Vec<String>, Vec<Expr>)>,
    /// `RETURNING`.
    pub returning: Vec<Target>,
}

/// `COPY`.
#[derive(Clone, Debug, PartialEq)]
pub struct Copy {
    /// The table, or `None` when a query is copied.
    pub table: Option<TableRef>,
    /// The column list; empty when left out.
    pub columns: Vec<String>,
    /// The statement of `COPY (statement) TO`.
    pub query: Option<Box<Body>>,
    /// Where that statement's own text lies.
    pub query_span: Option<Span>,
    /// `FROM` rather than `TO`.
    pub is_from: bool,
    /// A server-side file or program rather than STDIN/STDOUT.
    pub server_side: bool,
    /// Options, lower-case name and value as text; a list is joined with commas.
    pub options: Vec<(String, Option<String>)>,
    /// `WHERE`.
    pub filter: Option<Expr>,
}

/// `EXPLAIN`.
#[derive(Clone, Debug, PartialEq)]
pub struct Explain {
    /// Options, lower-case name and value as text.
    pub options: Vec<(String, Option<String>)>,
    /// What is explained.
    pub body: Box<Body>,
    /// Where its own text lies.
    pub span: Span,
}

/// Transaction control.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Transaction {
    /// `BEGIN`, `START TRANSACTION`.
    Begin(TransactionModes),
    /// `COMMIT`, `END`.
    Commit {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `ROLLBACK`, `ABORT`.
    Rollback {
        /// `AND CHAIN`.
        chain: bool,
    },
    /// `SAVEPOINT name`.
    Savepoint(String),
    /// `RELEASE name`.
    Release(String),
    /// `ROLLBACK TO name`.
    RollbackTo(String),
    /// `PREPARE TRANSACTION gid`.
    Prepare(String),
    /// `COMMIT PREPARED gid`.
    CommitPrepared(String),
    /// `ROLLBACK PREPARED gid`.
    RollbackPrepared(String),
}

/// Modes of `BEGIN` and `SET TRANSACTION`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TransactionModes {
    /// Lower-case isolation level, such as `repeatable read`.
    pub isolation: Option<String>,
    /// `READ ONLY` / `READ WRITE`.
    pub read_only: Option<bool>,
    /// `DEFERRABLE` / `NOT DEFERRABLE`.
    pub deferrable: Option<bool>,
}

/// `SET` and `RESET`.
#[derive(Clone, Debug, PartialEq)]
pub enum Set {
    /// `SET [LOCAL] name = values`; `values` is `None` for `DEFAULT`.
    Variable {
        /// Lower-case name; `SET TIME ZONE` is `timezone`, `SET ROLE` is `role`.
        name: String,
        /// The values as written, without quotes; `None` for `DEFAULT`.
        values: Option<Vec<String>>,
        /// `LOCAL`.
        local: bool,
    },
    /// `RESET name`.
    Reset(String),
    /// `RESET ALL`.
    ResetAll,
    /// `SET [LOCAL] name FROM CURRENT`.
    FromCurrent(String),
    /// `SET TRANSACTION modes`.
    Transaction(TransactionModes),
    /// `SET SESSION CHARACTERISTICS AS TRANSACTION modes`.
    SessionCharacteristics(TransactionModes),
    /// `SET TRANSACTION SNAPSHOT id`.
    Snapshot(String),
}

/// Direction of `FETCH`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchDirection {
    /// `FORWARD`.
    Forward,
    /// `BACKWARD`.
    Backward,
    /// `ABSOLUTE`.
    Absolute,
    /// `RELATIVE`.
    Relative,
}

/// `LISTEN`, `UNLISTEN`, `NOTIFY`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notification {
    /// `LISTEN channel`.
    Listen(String),
    /// `UNLISTEN channel`; `None` for `*`.
    Unlisten(Option<String>),
    /// `NOTIFY channel, payload`.
    Notify {
        /// Channel.
        channel: String,
        /// Payload.
        payload: Option<String>,
    },
}

/// What `DISCARD` discards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiscardTarget {
    /// `ALL`.
    All,
    /// `PLANS`.
    Plans,
    /// `SEQUENCES`.
    Sequences,
    /// `TEMP`.
    Temp,
}

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
        /// Upper-case object kind.
        object: &'static str,
        /// The objects.
        names: Vec<Name>,
    },
}

/// `CREATE TABLE`.
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

/// A type as written.
#[derive(Clone, Debug, PartialEq)]
pub struct TypeName {
    /// Its name; `int` is `pg_catalog.int4`.
    pub name: Name,
    /// Type modifiers are present (`numeric(10,2)`).
    pub has_modifiers: bool,
    /// The modifiers; fields of an interval are numbers without a token.
    pub modifiers: Vec<Expr>,
    /// Number of array dimensions.
    pub array_dimensions: u32,
    /// `SETOF`.
    pub set_of: bool,
}

/// An expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where its leading token (for an operator: the operator) lies.
    pub location: Option<u32>,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A column, possibly qualified.
    Column(Name),
    /// `*` or `t.*`; the qualifier's parts.
    Star(Vec<String>),
    /// A literal.
    Const(Const),
    /// `$n`, from 1.
    Param(u32),
    /// A binary or prefix operator.
    Operator {
        /// The operator, possibly qualified.
        name: Name,
        /// Left operand; `None` for a prefix operator.
        left: Option<Box<Expr>>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `left op ANY (right)` / `ALL (right)` over an array.
    AnyAll {
        /// The operator.
        name: Name,
        /// `ALL` rather than `ANY`.
        all: bool,
        /// Left operand.
        left: Box<Expr>,
        /// The array.
        right: Box<Expr>,
    },
    /// `left [NOT] IN (list)`.
    In {
        /// `NOT`.
        negated: bool,
        /// Left operand.
        left: Box<Expr>,
        /// The list.
        list: Vec<Expr>,
    },
    /// `[NOT] BETWEEN [SYMMETRIC]`.
    Between {
        /// `NOT`.
        negated: bool,
        /// `SYMMETRIC`.
        symmetric: bool,
        /// The operand.
        operand: Box<Expr>,
        /// Lower bound.
        low: Box<Expr>,
        /// Upper bound.
        high: Box<Expr>,
    },
    /// `IS [NOT] DISTINCT FROM`.
    DistinctFrom {
        /// `NOT`.
        negated: bool,
        /// Left operand.
        left: Box<Expr>,
        /// Right operand.
        right: Box<Expr>,
    },
    /// `AND`.
    And(Vec<Expr>),
    /// `OR`.
    Or(Vec<Expr>),
    /// `NOT`.
    Not(Box<Expr>),
    /// `IS [NOT] NULL`.
    IsNull {
        /// `NOT`.
        negated: bool,
        /// The operand.
        operand: Box<Expr>,
    },
    /// A function call.
    Call(Box<Call>),
    /// `CURRENT_TIMESTAMP`, `CURRENT_USER` and their kin: the upper-case word.
    SqlValue(&'static str),
    /// `expr::type`, `CAST(expr AS type)`.
    Cast {
        /// What is cast.
        operand: Box<Expr>,
        /// To what.
        type_name: TypeName,
    },
    /// `CASE`.
    Case {
        /// The operand.
        operand: Option<Box<Expr>>,
        /// `WHEN` and `THEN`.
        branches: Vec<(Expr, Expr)>,
        /// `ELSE`.
        otherwise: Option<Box<Expr>>,
    },
    /// A sub-select.
    Sublink {
        /// Which.
        kind: SublinkKind,
        /// Left operand of `IN`, `ANY`, `ALL`.
        operand: Option<Box<Expr>>,
        /// The operator; empty for `IN`.
        operator: Option<Name>,
        /// The query.
        query: Box<Query>,
    },
    /// `ROW(...)` or `(a, b)`.
    Row(Vec<Expr>),
    /// `ARRAY[...]`.
    Array(Vec<Expr>),
    /// `expr COLLATE name`.
    Collate {
        /// The operand.
        operand: Box<Expr>,
        /// The collation.
        collation: Name,
    },
    /// `DEFAULT` as a value.
    Default,
    /// Anything else, by PostgreSQL's node name (`CoalesceExpr`, `A_Indirection`, `JsonObjectConstructor`, ...).
    Other {
        /// The node.
        node: &'static str,
        /// Every expression inside. What else tells two such nodes apart (the field of an `A_Indirection`, `GREATEST` or
        /// `LEAST`, the clauses of a JSON function) is among them as a string constant without token and location.
        children: Vec<Expr>,
    },
}

/// A literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Const {
    /// Its value.
    pub value: ConstValue,
    /// The token that it was written as, when it is exactly one (a sign before a number is not part of it: the token is then
    /// the number, and `negated` is set). `true`, `false` and `NULL` are no literals to the scanner and have none.
    pub token: Option<Span>,
    /// A minus sign before the token was folded into the value.
    pub negated: bool,
}

/// The value of a literal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConstValue {
    /// `NULL`.
    Null,
    /// `true` / `false`.
    Bool(bool),
    /// Fits int4.
    Integer(i32),
    /// Any other number, as decimal text (int8 when it fits, else numeric).
    Number(String),
    /// A string (type unknown).
    String(String),
    /// A bit string, with its leading `b` or `x`.
    Bits(String),
}

/// A function call.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// The function.
    pub name: Name,
    /// Arguments; named ones lose their names here and are listed in `named`.
    pub arguments: Vec<Expr>,
    /// Names of arguments, by position, where given.
    pub named: Vec<Option<String>>,
    /// `count(*)`.
    pub star: bool,
    /// `DISTINCT`.
    pub distinct: bool,
    /// `VARIADIC`.
    pub variadic: bool,
    /// `ORDER BY` inside the call.
    pub order_by: Vec<SortKey>,
    /// `WITHIN GROUP`.
    pub within_group: bool,
    /// `FILTER (WHERE ...)`.
    pub filter: Option<Expr>,
    /// `OVER`.
    pub over: Option<Box<Window>>,
    /// From the name's first byte to one past the closing parenthesis of the argument list, when it was written as `name(...)`.
    pub span: Option<Span>,
}

/// Which sub-select.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SublinkKind {
    /// `EXISTS (...)`.
    Exists,
    /// `x IN (...)`, `x op ANY (...)`.
    Any,
    /// `x op ALL (...)`.
    All,
    /// A scalar sub-select.
    Scalar,
    /// `ARRAY(SELECT ...)`.
    Array,
    /// `(a, b) = (SELECT ...)` and multiple assignment.
    Row,
}
