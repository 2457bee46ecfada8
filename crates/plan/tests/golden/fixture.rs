//! A catalog made from a schema's SQL, as a PostgreSQL that ran it would describe itself. It knows what the schemas of the
//! examples use, no more.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{
    Catalog, Collation, Column, Constraint, ConstraintKind, Function, FunctionKind, Identity,
    Index, Relation, RelationKind, Trigger, Type, TypeKind, Volatility,
};
use pg::Oid;
use sql::ast::{self, AlterCommand, Body, DdlAction};
use sql::scan::{self, Token, TokenKind};

/// A catalog that grows by definitions.
pub(crate) struct Fixture {
    pub(crate) catalog: Catalog,
    next: u32,
}

impl Fixture {
    /// PostgreSQL's own objects.
    pub(crate) fn new(database: &str) -> Self {
        let mut fixture = Self {
            catalog: Catalog {
                version: 1,
                database: database.to_owned(),
                server_version: 150_018,
                ascii_case_is_plain: true,
                schemas: vec!["pg_catalog".to_owned(), "public".to_owned()],
                ..Catalog::default()
            },
            next: 20_000,
        };
        for line in include_str!("builtin.txt").lines() {
            let fields: Vec<&str> = line.split(' ').collect();
            match fields[0] {
                "function" => fixture.builtin_function(&fields),
                _ => fixture.builtin_type(&fields),
            }
        }
        fixture
    }

    fn builtin_function(&mut self, fields: &[&str]) {
        let oids = |text: &str| match text {
            "-" => Vec::new(),
            list => list
                .split(',')
                .map(|oid| Oid(oid.parse().unwrap()))
                .collect(),
        };
        self.add_function(Function {
            oid: Oid(fields[1].parse().unwrap()),
            schema: "pg_catalog".to_owned(),
            name: fields[2].to_owned(),
            kind: match fields[3] {
                "a" => FunctionKind::Aggregate,
                "w" => FunctionKind::Window,
                "p" => FunctionKind::Procedure,
                _ => FunctionKind::Function,
            },
            volatility: volatility(fields[4]),
            arguments: oids(fields[9]),
            defaults: fields[5].parse().unwrap(),
            is_variadic: fields[6] == "1",
            result: Oid(fields[7].parse().unwrap()),
            returns_set: fields[8] == "1",
            is_builtin: true,
            language: "internal".to_owned(),
            source: String::new(),
            reads: Vec::new(),
        });
    }

    fn builtin_type(&mut self, fields: &[&str]) {
        let element: u32 = fields[5].parse().unwrap();
        let kind = match (fields[3], element) {
            ("p", _) => TypeKind::Pseudo,
            ("r" | "m", _) => TypeKind::Range,
            (_, 0) => TypeKind::Base,
            (_, element) => TypeKind::Array(Oid(element)),
        };
        self.add_type(Type {
            oid: Oid(fields[1].parse().unwrap()),
            schema: "pg_catalog".to_owned(),
            name: fields[2].to_owned(),
            kind,
            array: Oid(fields[4].parse().unwrap()),
            collation: collation(fields[6]),
        });
    }

    fn add_function(&mut self, function: Function) {
        let names = self
            .catalog
            .functions
            .entry(function.schema.clone())
            .or_default();
        names
            .entry(function.name.clone())
            .or_default()
            .push(Arc::new(function));
    }

    fn add_type(&mut self, known: Type) {
        let names = self
            .catalog
            .types_by_name
            .entry(known.schema.clone())
            .or_default();
        names.insert(known.name.clone(), known.oid);
        self.catalog.types.insert(known.oid, Arc::new(known));
    }

    fn oid(&mut self) -> Oid {
        self.next += 1;
        Oid(self.next)
    }

    /// Runs a schema.
    pub(crate) fn run(&mut self, text: &str) {
        for statement in sql::parse(text).expect("the schema parses") {
            self.apply(text, &statement);
        }
    }

    /// Runs one statement.
    pub(crate) fn apply(&mut self, text: &str, statement: &ast::Statement) {
        let Body::Ddl(definition) = &statement.body else {
            return;
        };
        let own = &text[statement.span.start as usize..statement.span.end as usize];
        match &definition.action {
            DdlAction::CreateTable(create) => self.create_table(create, own),
            DdlAction::CreateTableAs {
                name,
                materialized: true,
                ..
            } => {
                self.create_view(name, definition, own, RelationKind::Materialized);
            }
            DdlAction::CreateView { name, .. } => {
                self.create_view(name, definition, own, RelationKind::View);
            }
            DdlAction::CreateSequence { name, .. } => {
                self.relation(name, RelationKind::Sequence, Vec::new());
            }
            DdlAction::CreateOther {
                object: "TYPE" | "DOMAIN",
                name: Some(name),
            } => self.create_type(name, own),
            DdlAction::CreateOther {
                object: "SCHEMA",
                name: Some(name),
            } => {
                self.catalog.schemas.push(name.parts[0].clone());
            }
            DdlAction::CreateFunction { name } => self.create_function(name, own),
            DdlAction::CreateTrigger { table, function } => {
                self.create_trigger(table, function, own);
            }
            DdlAction::CreateIndex {
                table,
                unique,
                columns,
                name,
                ..
            } => {
                self.create_index(table, *unique, columns, name.as_deref());
            }
            DdlAction::AlterTable { name, commands, .. } => {
                for command in commands {
                    self.alter(name, command);
                }
            }
            _ => {}
        }
    }

    fn relation(&mut self, name: &ast::Name, kind: RelationKind, columns: Vec<Column>) -> Oid {
        let (schema, table) = split(name);
        let oid = self.oid();
        self.catalog
            .relations_by_name
            .entry(schema.clone())
            .or_default()
            .insert(table.clone(), oid);
        let relation = Relation {
            oid,
            schema,
            name: table,
            kind,
            columns,
            constraints: Vec::new(),
            indexes: Vec::new(),
            triggers: Vec::new(),
            parents: Vec::new(),
            children: Vec::new(),
            is_partition: false,
            reads: Vec::new(),
            definition: None,
            has_rules: false,
            has_row_security: false,
            persistence: 'p',
        };
        self.catalog.relations.insert(oid, Arc::new(relation));
        oid
    }

    fn find(&self, name: &ast::Name) -> Option<Oid> {
        let path = ["public".to_owned(), "pg_catalog".to_owned()];
        self.catalog
            .relation(&name.parts, &path)
            .map(|relation| relation.oid)
    }

    fn change(&mut self, oid: Oid, change: impl FnOnce(&mut Relation)) {
        let relation = self.catalog.relations.get_mut(&oid).expect("it is there");
        change(Arc::make_mut(relation));
    }

    fn create_table(&mut self, create: &ast::CreateTable, own: &str) {
        let mut columns = Vec::new();
        let parents: Vec<Oid> = create
            .parents
            .iter()
            .filter_map(|parent| self.find(parent))
            .collect();
        for parent in &parents {
            columns.extend(self.catalog.relations[parent].columns.clone());
        }
        for column in &create.columns {
            let number = i16::try_from(columns.len() + 1).unwrap();
            columns.push(self.column(&create.name, column, number, own));
        }
        let kind = if create.is_partitioned {
            RelationKind::Partitioned
        } else {
            RelationKind::Table
        };
        let oid = self.relation(&create.name, kind, columns);
        for parent in &parents {
            self.change(*parent, |relation| relation.children.push(oid));
        }
        self.change(oid, |relation| {
            relation.parents = parents;
            relation.is_partition = create.is_partition;
        });
        let inline = create.columns.iter().flat_map(|column| &column.constraints);
        for constraint in inline.chain(&create.constraints) {
            self.constrain(oid, constraint);
        }
    }

    fn column(
        &mut self,
        table: &ast::Name,
        definition: &ast::ColumnDef,
        number: i16,
        own: &str,
    ) -> Column {
        let written = definition.type_name.as_ref().expect("columns have types");
        let last = written.name.parts.last().unwrap().as_str();
        let serial = match last {
            "serial" => Some("int4"),
            "bigserial" => Some("int8"),
            _ => None,
        };
        let type_oid = self.type_oid(serial.unwrap_or(last), written.array_dimensions > 0);
        let mut column = Column {
            name: definition.name.clone(),
            number,
            type_oid,
            type_modifier: -1,
            not_null: serial.is_some(),
            default: None,
            identity: None,
            generated: false,
            collation: self
                .catalog
                .types
                .get(&type_oid)
                .and_then(|known| known.collation.clone()),
        };
        if serial.is_some() {
            let sequence = self.own_sequence(table, &definition.name);
            column.default = Some(self.draw(sequence));
        }
        for constraint in &definition.constraints {
            self.column_constraint(table, &mut column, &constraint.kind, own);
        }
        column
    }

    fn column_constraint(
        &mut self,
        table: &ast::Name,
        column: &mut Column,
        kind: &ast::ConstraintKind,
        own: &str,
    ) {
        match kind {
            ast::ConstraintKind::NotNull => column.not_null = true,
            ast::ConstraintKind::Identity { always } => {
                let sequence = self.own_sequence(table, &column.name);
                column.identity = Some(Identity {
                    always: *always,
                    sequence,
                });
            }
            ast::ConstraintKind::Generated(_) => column.generated = true,
            ast::ConstraintKind::Default(expr) => {
                column.default = Some(self.default(expr, &column.name, own));
            }
            _ => {}
        }
    }

    fn own_sequence(&mut self, table: &ast::Name, column: &str) -> Oid {
        let (schema, table) = split(table);
        let name = ast::Name {
            parts: vec![schema, format!("{table}_{column}_seq")],
            location: None,
        };
        self.relation(&name, RelationKind::Sequence, Vec::new())
    }

    fn draw(&self, sequence: Oid) -> catalog::Default {
        let name = &self.catalog.relations[&sequence].name;
        catalog::Default {
            expression: format!("nextval('{name}'::regclass)"),
            sequence: Some(sequence),
            volatility: Volatility::Volatile,
        }
    }

    /// The text of a default begins after the word DEFAULT that follows the column's name.
    fn default(&self, expr: &ast::Expr, column: &str, own: &str) -> catalog::Default {
        let tokens = scan::tokens(own, true);
        let at = tokens
            .iter()
            .position(|token| token.text(own).trim_matches('"') == column)
            .unwrap();
        let from = (at..tokens.len())
            .find(|at| tokens[*at].is_word(own, "default"))
            .unwrap()
            + 1;
        let text = expression_text(own, &tokens[from..]);
        if let ast::ExprKind::Call(call) = &expr.kind
            && call.name.parts.last().unwrap() == "nextval"
        {
            let quoted = text.split('\'').nth(1).unwrap();
            let parts: Vec<String> = quoted.split('.').map(str::to_owned).collect();
            return self.draw(
                self.find(&ast::Name {
                    parts,
                    location: None,
                })
                .unwrap(),
            );
        }
        let lower = text.to_lowercase();
        let is_clock = lower.contains("now(") || lower.contains("current_");
        let volatility = match () {
            () if lower.contains("random") || lower.contains("clock_timestamp") => {
                Volatility::Volatile
            }
            () if is_clock => Volatility::Stable,
            () => Volatility::Immutable,
        };
        catalog::Default {
            expression: text,
            sequence: None,
            volatility,
        }
    }

    fn type_oid(&self, name: &str, is_array: bool) -> Oid {
        let schemas = ["pg_catalog", "public"];
        let found = schemas
            .iter()
            .find_map(|schema| self.catalog.types_by_name.get(*schema)?.get(name));
        let oid = *found.unwrap_or_else(|| panic!("no type {name}"));
        if is_array {
            self.catalog.types[&oid].array
        } else {
            oid
        }
    }

    fn constrain(&mut self, oid: Oid, constraint: &ast::Constraint) {
        let relation = Arc::clone(&self.catalog.relations[&oid]);
        let numbers = |relation: &Relation, names: &[String]| -> Vec<i16> {
            names
                .iter()
                .map(|name| relation.column(name).unwrap().number)
                .collect()
        };
        let (kind, columns) = match &constraint.kind {
            ast::ConstraintKind::Primary(names) => {
                (ConstraintKind::Primary, numbers(&relation, names))
            }
            ast::ConstraintKind::Unique(names) => {
                (ConstraintKind::Unique, numbers(&relation, names))
            }
            ast::ConstraintKind::Foreign {
                columns,
                table,
                referenced,
                on_update,
                on_delete,
                reset,
            } => {
                let Some(parent) = self.find(table) else {
                    return;
                };
                let target = &self.catalog.relations[&parent];
                let primary = target
                    .constraints
                    .iter()
                    .find(|c| c.kind == ConstraintKind::Primary);
                let referenced = if referenced.is_empty() {
                    primary.map_or_else(Vec::new, |primary| primary.columns.clone())
                } else {
                    numbers(target, referenced)
                };
                (
                    ConstraintKind::Foreign {
                        table: parent,
                        columns: referenced,
                        on_update: *on_update,
                        on_delete: *on_delete,
                        reset: numbers(&relation, reset),
                    },
                    numbers(&relation, columns),
                )
            }
            _ => return,
        };
        let suffix = if kind == ConstraintKind::Primary {
            "pkey"
        } else {
            "key"
        };
        let name = constraint
            .name
            .clone()
            .unwrap_or_else(|| format!("{}_{suffix}", relation.name));
        let is_unique = matches!(kind, ConstraintKind::Primary | ConstraintKind::Unique);
        let index = is_unique.then(|| self.index(&name, true, columns.clone()));
        self.change(oid, |relation| {
            relation.indexes.extend(index);
            relation.constraints.push(Constraint {
                name,
                kind,
                columns,
            });
        });
    }

    fn index(&mut self, name: &str, unique: bool, columns: Vec<i16>) -> Index {
        Index {
            name: name.to_owned(),
            oid: self.oid(),
            unique,
            primary: false,
            columns,
            expressions: Vec::new(),
            is_partial: false,
            is_valid: true,
        }
    }

    fn create_index(
        &mut self,
        table: &ast::Name,
        unique: bool,
        columns: &[Option<String>],
        name: Option<&str>,
    ) {
        let Some(oid) = self.find(table) else {
            return;
        };
        let relation = Arc::clone(&self.catalog.relations[&oid]);
        let number = |name: &String| relation.column(name).map_or(0, |column| column.number);
        let numbers = columns
            .iter()
            .map(|name| name.as_ref().map_or(0, number))
            .collect();
        let index = self.index(name.unwrap_or("index"), unique, numbers);
        self.change(oid, |relation| relation.indexes.push(index));
    }

    fn alter(&mut self, name: &ast::Name, command: &AlterCommand) {
        let Some(oid) = self.find(name) else {
            return;
        };
        match command {
            AlterCommand::AddConstraint(constraint) => self.constrain(oid, constraint),
            AlterCommand::AttachPartition(partition) => {
                let child = self.find(partition).unwrap();
                self.change(oid, |relation| relation.children.push(child));
                self.change(child, |relation| {
                    relation.parents.push(oid);
                    relation.is_partition = true;
                });
            }
            _ => {}
        }
    }

    fn create_view(
        &mut self,
        name: &ast::Name,
        definition: &ast::Ddl,
        own: &str,
        kind: RelationKind,
    ) {
        let tokens = scan::tokens(own, true);
        let after = tokens
            .iter()
            .find(|token| token.is_word(own, "as"))
            .unwrap()
            .span
            .end;
        let body = own[after as usize..].trim();
        let body = body.strip_suffix("WITH NO DATA").unwrap_or(body).trim();
        let reads: Vec<Oid> = definition
            .relations
            .iter()
            .filter(|read| *read != name)
            .filter_map(|read| self.find(read))
            .collect();
        let oid = self.relation(name, kind, Vec::new());
        let columns = self.view_columns(definition);
        self.change(oid, |relation| {
            relation.reads = reads;
            relation.definition = Some(body.to_owned());
            relation.columns = columns;
        });
    }

    fn view_columns(&self, definition: &ast::Ddl) -> Vec<Column> {
        let mut columns = Vec::new();
        let Some(ast::QueryBody::Select(select)) =
            definition.queries.first().map(|query| &query.body)
        else {
            return columns;
        };
        for (at, target) in select.targets.iter().enumerate() {
            let own = match &target.expr.kind {
                ast::ExprKind::Column(name) => name.parts.last().cloned(),
                ast::ExprKind::Call(call) => call.name.parts.last().cloned(),
                _ => None,
            };
            let name = target
                .alias
                .clone()
                .or(own)
                .unwrap_or_else(|| "?column?".to_owned());
            let mut source = definition
                .relations
                .iter()
                .filter_map(|read| self.find(read));
            let known = source.find_map(|oid| self.catalog.relations[&oid].column(&name).cloned());
            let template = known.unwrap_or_else(|| Column {
                name: name.clone(),
                number: 0,
                type_oid: pg::oid::TEXT,
                type_modifier: -1,
                not_null: false,
                default: None,
                identity: None,
                generated: false,
                collation: collation("default"),
            });
            columns.push(Column {
                name,
                number: i16::try_from(at + 1).unwrap(),
                default: None,
                ..template
            });
        }
        columns
    }

    fn create_type(&mut self, name: &ast::Name, own: &str) {
        let (schema, type_name) = split(name);
        let tokens = scan::tokens(own, true);
        let word = |at: usize| tokens[at].text(own).to_lowercase();
        let after = tokens
            .iter()
            .position(|token| token.is_word(own, "as"))
            .unwrap()
            + 1;
        let kind = match word(after).as_str() {
            "enum" => {
                let labels = tokens
                    .iter()
                    .filter(|token| token.kind == TokenKind::String);
                TypeKind::Enum(
                    labels
                        .map(|label| label.text(own).trim_matches('\'').to_owned())
                        .collect(),
                )
            }
            "(" => TypeKind::Composite,
            base => TypeKind::Domain(self.type_oid(plain_type(base), false)),
        };
        let collation = match &kind {
            TypeKind::Domain(base) => self.catalog.types[base].collation.clone(),
            _ => None,
        };
        let (oid, array) = (self.oid(), self.oid());
        self.add_type(Type {
            oid,
            schema: schema.clone(),
            name: type_name.clone(),
            kind,
            array,
            collation,
        });
        self.add_type(Type {
            oid: array,
            schema,
            name: format!("_{type_name}"),
            kind: TypeKind::Array(oid),
            array: Oid(0),
            collation: None,
        });
    }

    fn create_function(&mut self, name: &ast::Name, own: &str) {
        let (schema, function) = split(name);
        let tokens = scan::tokens(own, true);
        let after = |word: &str| {
            let at = tokens.iter().position(|token| token.is_word(own, word))?;
            tokens
                .get(at + 1)
                .map(|token| token.text(own).to_lowercase())
        };
        let is_aggregate = own.to_lowercase().starts_with("create aggregate");
        let body = tokens
            .iter()
            .find(|token| token.kind == TokenKind::DollarString);
        let has = |word: &str| tokens.iter().any(|token| token.is_word(own, word));
        let result = after("returns").map(|result| plain_type(&result).to_owned());
        let result = result.filter(|result| result != "trigger" && result != "setof");
        let oid = self.oid();
        let function = Function {
            oid,
            schema,
            name: function,
            kind: if is_aggregate {
                FunctionKind::Aggregate
            } else {
                FunctionKind::Function
            },
            volatility: match () {
                () if has("immutable") || is_aggregate => Volatility::Immutable,
                () if has("stable") => Volatility::Stable,
                () => Volatility::Volatile,
            },
            arguments: vec![pg::oid::TEXT; argument_count(own, &tokens)],
            defaults: 0,
            is_variadic: false,
            result: result.map_or(Oid(2279), |result| self.type_oid(&result, false)),
            returns_set: has("setof"),
            is_builtin: false,
            language: after("language").unwrap_or_else(|| "internal".to_owned()),
            source: match body {
                Some(body) => dollar_body(body.text(own)),
                None => {
                    after_equals(own, "sfunc").map_or_else(String::new, |name| format!("{name}()"))
                }
            },
            reads: Vec::new(),
        };
        self.add_function(function);
    }

    fn create_trigger(&mut self, table: &ast::Name, function: &ast::Name, own: &str) {
        let Some(oid) = self.find(table) else {
            return;
        };
        let path = ["public".to_owned(), "pg_catalog".to_owned()];
        let found = self.catalog.functions_named(&function.parts, &path);
        let function = found.first().expect("the trigger's function").oid;
        let head = own.to_lowercase();
        let head = head.split(" execute ").next().unwrap();
        let bits = [
            (" before ", 2),
            (" insert", 4),
            (" delete", 8),
            (" update", 16),
            (" each row", 1),
        ];
        let kind = bits
            .iter()
            .filter(|(word, _)| head.contains(word))
            .map(|(_, bit)| bit)
            .sum();
        let name = head.split_whitespace().nth(2).unwrap().to_owned();
        self.change(oid, |relation| {
            relation.triggers.push(Trigger {
                name,
                function,
                kind,
                is_enabled: true,
            });
        });
    }
}

fn split(name: &ast::Name) -> (String, String) {
    match name.parts.as_slice() {
        [table] => ("public".to_owned(), table.clone()),
        [.., schema, table] => (schema.clone(), table.clone()),
        [] => panic!("a name has parts"),
    }
}

fn volatility(letter: &str) -> Volatility {
    match letter {
        "i" => Volatility::Immutable,
        "s" => Volatility::Stable,
        _ => Volatility::Volatile,
    }
}

fn collation(name: &str) -> Option<Collation> {
    (name != "-").then(|| Collation {
        name: name.to_owned(),
        is_bytes: name == "C",
        is_deterministic: true,
    })
}

fn plain_type(name: &str) -> &str {
    match name {
        "integer" | "int" => "int4",
        "bigint" => "int8",
        "boolean" => "bool",
        other => other,
    }
}

/// An expression up to the next comma or closing bracket of its own level, or to the next constraint.
fn expression_text(own: &str, tokens: &[Token]) -> String {
    let mut depth = 0;
    let mut end = own.len();
    for token in tokens {
        let text = token.text(own);
        let is_constraint = ["not", "check", "primary", "references", "unique"]
            .iter()
            .any(|word| token.is_word(own, word));
        match text {
            "(" => depth += 1,
            ")" | "," if depth == 0 => {
                end = token.span.start as usize;
                break;
            }
            ")" => depth -= 1,
            _ if depth == 0 && is_constraint => {
                end = token.span.start as usize;
                break;
            }
            _ => {}
        }
    }
    own[tokens[0].span.start as usize..end].trim().to_owned()
}

fn argument_count(own: &str, tokens: &[Token]) -> usize {
    let open = tokens
        .iter()
        .position(|token| token.text(own) == "(")
        .unwrap();
    let close = tokens
        .iter()
        .position(|token| token.text(own) == ")")
        .unwrap();
    let inside = &tokens[open + 1..close];
    if inside.is_empty() {
        return 0;
    }
    let outs = inside
        .iter()
        .filter(|token| token.is_word(own, "out"))
        .count();
    1 + inside.iter().filter(|token| token.text(own) == ",").count() - outs
}

fn dollar_body(text: &str) -> String {
    let tag = text[1..].find('$').unwrap() + 2;
    text[tag..text.len() - tag].to_owned()
}

/// Names by which tests call parameter types.
pub(crate) fn types_named(names: &str) -> Vec<Oid> {
    let known: HashMap<&str, Oid> = HashMap::from([
        ("unknown", Oid(0)),
        ("int4", pg::oid::INT4),
        ("int8", pg::oid::INT8),
        ("text", pg::oid::TEXT),
        ("timestamptz", pg::oid::TIMESTAMPTZ),
        ("uuid", pg::oid::UUID),
    ]);
    names.split_whitespace().map(|name| known[name]).collect()
}

/// The name after `word =`.
fn after_equals(own: &str, word: &str) -> Option<String> {
    let tokens = scan::tokens(own, true);
    let at = tokens.iter().position(|token| token.is_word(own, word))?;
    let names = tokens[at + 2..]
        .iter()
        .take_while(|token| !token.is_punctuation(own, ",") && !token.is_punctuation(own, ")"));
    names.last().map(|token| token.text(own).to_owned())
}
