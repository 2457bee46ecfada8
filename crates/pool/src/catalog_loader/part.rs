//! One half of a database's definitions: what came with PostgreSQL, or what people made.

use std::collections::HashMap;
use std::sync::Arc;

use catalog::{
    Collation, Column, Constraint, ConstraintKind, Default, Function, FunctionKind, Identity,
    Index, Relation, RelationKind, Trigger, Type, TypeKind, Volatility,
};
use pg::Oid;

use super::row::Row;
use super::{Answers, LoadError, volatility};

/// Definitions as read, still without what links the halves.
#[derive(Debug, Default)]
pub(super) struct Part {
    pub(super) relations: Vec<Arc<Relation>>,
    pub(super) types: Vec<Arc<Type>>,
    pub(super) functions: Vec<Arc<Function>>,
    /// Every function's volatility by OID.
    pub(super) volatilities: HashMap<Oid, Volatility>,
}

type Collations = HashMap<Oid, Collation>;

// === impl Part ===

impl Part {
    /// Reads a half. `others` are the volatilities of the other one's functions.
    pub(super) fn read(
        answers: &Answers,
        others: &HashMap<Oid, Volatility>,
    ) -> Result<Self, LoadError> {
        let collations = collations(answers)?;
        let functions = functions(answers)?;
        let mut volatilities = others.clone();
        volatilities.extend(
            functions
                .iter()
                .map(|function| (function.oid, function.volatility)),
        );
        let relations = relations(answers, &collations, &volatilities)?;
        let types = types(answers, &collations)?;
        Ok(Self {
            relations,
            types,
            functions,
            volatilities,
        })
    }
}

/// The database's default collation compares bytes.
pub(super) fn default_is_bytes(answers: &Answers) -> bool {
    let mut rows = answers.rows("database");
    rows.next()
        .is_some_and(|row| is_bytes(row.letter(2), row.text(3)))
}

fn is_bytes(provider: char, locale: &str) -> bool {
    match provider {
        'b' => true,
        'c' => matches!(locale, "C" | "POSIX" | "C.UTF-8" | "C.utf8"),
        _ => false,
    }
}

fn collations(answers: &Answers) -> Result<Collations, LoadError> {
    let default_is_bytes = default_is_bytes(answers);
    let read = |row: Row<'_>| {
        let (provider, is_default) = (row.letter(2), row.letter(2) == 'd');
        let collation = Collation {
            name: if is_default {
                "default".to_owned()
            } else {
                row.text(1).to_owned()
            },
            is_bytes: if is_default {
                default_is_bytes
            } else {
                is_bytes(provider, row.text(3))
            },
            is_deterministic: row.flag(4),
        };
        Ok((row.oid(0)?, collation))
    };
    answers.rows("collations").map(read).collect()
}

fn relations(
    answers: &Answers,
    collations: &Collations,
    volatilities: &HashMap<Oid, Volatility>,
) -> Result<Vec<Arc<Relation>>, LoadError> {
    let mut relations = HashMap::new();
    for row in answers.rows("relations") {
        let relation = relation(&row)?;
        relations.insert(relation.oid, relation);
    }
    for row in answers.rows("columns") {
        if let Some(relation) = relations.get_mut(&row.oid(0)?) {
            relation
                .columns
                .push(column(&row, collations, volatilities)?);
        }
    }
    for row in answers.rows("constraints") {
        if let Some(relation) = relations.get_mut(&row.oid(0)?) {
            relation.constraints.push(constraint(&row)?);
        }
    }
    for row in answers.rows("indexes") {
        if let Some(relation) = relations.get_mut(&row.oid(0)?) {
            relation.indexes.push(index(&row)?);
        }
    }
    for row in answers.rows("triggers") {
        if let Some(relation) = relations.get_mut(&row.oid(0)?) {
            relation.triggers.push(trigger(&row)?);
        }
    }
    for row in answers.rows("inheritance") {
        let (child, parent) = (row.oid(0)?, row.oid(1)?);
        if let Some(relation) = relations.get_mut(&child) {
            relation.parents.push(parent);
        }
        if let Some(relation) = relations.get_mut(&parent) {
            relation.children.push(child);
        }
    }
    for row in answers.rows("view reads") {
        if let Some(relation) = relations.get_mut(&row.oid(0)?) {
            relation.reads.push(row.oid(1)?);
        }
    }
    let mut relations: Vec<_> = relations.into_values().map(Arc::new).collect();
    relations.sort_by_key(|relation| relation.oid);
    Ok(relations)
}

fn relation(row: &Row<'_>) -> Result<Relation, LoadError> {
    let kind = match row.letter(3) {
        'r' => RelationKind::Table,
        'p' => RelationKind::Partitioned,
        'v' => RelationKind::View,
        'm' => RelationKind::Materialized,
        'S' => RelationKind::Sequence,
        'f' => RelationKind::Foreign,
        'c' => RelationKind::Composite,
        'i' | 'I' => RelationKind::Index,
        _ => return Err(row.malformed(3)),
    };
    let definition = row
        .optional(7)
        .map(|text| text.trim().trim_end_matches(';').to_owned());
    Ok(Relation {
        oid: row.oid(0)?,
        schema: row.text(1).to_owned(),
        name: row.text(2).to_owned(),
        kind,
        columns: Vec::new(),
        constraints: Vec::new(),
        indexes: Vec::new(),
        triggers: Vec::new(),
        parents: Vec::new(),
        children: Vec::new(),
        is_partition: row.flag(4),
        reads: Vec::new(),
        definition,
        has_rules: row.flag(8),
        has_row_security: row.flag(5),
        persistence: row.letter(6),
    })
}

fn column(
    row: &Row<'_>,
    collations: &Collations,
    volatilities: &HashMap<Oid, Volatility>,
) -> Result<Column, LoadError> {
    let generated = row.letter(7) != ' ';
    let default = match (row.optional(9), row.optional(10)) {
        (Some(expression), Some(tree)) if !generated => {
            let sequences = row.oids(11)?;
            let sequence = match sequences[..] {
                [sequence] if volatility::is_plain_nextval(expression) => Some(sequence),
                _ => None,
            };
            Some(Default {
                expression: expression.to_owned(),
                sequence,
                volatility: volatility::of_tree(tree, volatilities),
            })
        }
        _ => None,
    };
    let identity = match row.letter(6) {
        ' ' => None,
        letter => Some(Identity {
            always: letter == 'a',
            sequence: row.oid(12)?,
        }),
    };
    Ok(Column {
        name: row.text(2).to_owned(),
        number: row.number(1)?,
        type_oid: row.oid(3)?,
        type_modifier: row.number(4)?,
        not_null: row.flag(5),
        default,
        identity,
        generated,
        collation: collations.get(&row.oid(8)?).cloned(),
    })
}

fn constraint(row: &Row<'_>) -> Result<Constraint, LoadError> {
    let kind = match row.letter(2) {
        'p' => ConstraintKind::Primary,
        'u' => ConstraintKind::Unique,
        'c' => ConstraintKind::Check,
        'x' => ConstraintKind::Exclusion,
        'f' => ConstraintKind::Foreign {
            table: row.oid(4)?,
            columns: row.numbers(5)?,
            on_update: pg::ForeignAction::of_letter(row.letter(6)),
            on_delete: pg::ForeignAction::of_letter(row.letter(7)),
            reset: row.numbers(8)?,
        },
        _ => return Err(row.malformed(2)),
    };
    Ok(Constraint {
        name: row.text(1).to_owned(),
        kind,
        columns: row.numbers(3)?,
    })
}

fn index(row: &Row<'_>) -> Result<Index, LoadError> {
    let mut columns: Vec<i16> = row.numbers(5)?;
    columns.truncate(row.number(6)?);
    let several = row.texts(7)?;
    let expressions = match (several.len(), row.optional(8)) {
        (1, Some(single)) => vec![single.to_owned()],
        _ => several,
    };
    Ok(Index {
        name: row.text(1).to_owned(),
        oid: row.oid(2)?,
        unique: row.flag(3),
        primary: row.flag(4),
        columns,
        expressions,
        is_partial: row.flag(9),
        is_valid: row.flag(10),
    })
}

fn trigger(row: &Row<'_>) -> Result<Trigger, LoadError> {
    Ok(Trigger {
        name: row.text(1).to_owned(),
        function: row.oid(2)?,
        kind: row.number(3)?,
        is_enabled: matches!(row.letter(4), 'O' | 'A'),
    })
}

fn types(answers: &Answers, collations: &Collations) -> Result<Vec<Arc<Type>>, LoadError> {
    let mut labels: HashMap<Oid, Vec<String>> = HashMap::new();
    for row in answers.rows("labels") {
        labels
            .entry(row.oid(0)?)
            .or_default()
            .push(row.text(1).to_owned());
    }
    let mut types = Vec::new();
    for row in answers.rows("types") {
        let oid = row.oid(0)?;
        let kind = match (row.letter(3), row.oid(7)?) {
            ('b', Oid::INVALID) => TypeKind::Base,
            ('b', element) => TypeKind::Array(element),
            ('e', _) => TypeKind::Enum(labels.remove(&oid).unwrap_or_default()),
            ('d', _) => TypeKind::Domain(row.oid(6)?),
            ('c', _) => TypeKind::Composite,
            ('r' | 'm', _) => TypeKind::Range,
            ('p', _) => TypeKind::Pseudo,
            _ => return Err(row.malformed(3)),
        };
        types.push(Arc::new(Type {
            oid,
            schema: row.text(1).to_owned(),
            name: row.text(2).to_owned(),
            kind,
            array: row.oid(4)?,
            collation: collations.get(&row.oid(5)?).cloned(),
        }));
    }
    Ok(types)
}

fn functions(answers: &Answers) -> Result<Vec<Arc<Function>>, LoadError> {
    answers
        .rows("functions")
        .map(|row| function(&row).map(Arc::new))
        .collect()
}

fn function(row: &Row<'_>) -> Result<Function, LoadError> {
    let kind = match row.letter(3) {
        'f' => FunctionKind::Function,
        'p' => FunctionKind::Procedure,
        'a' => FunctionKind::Aggregate,
        'w' => FunctionKind::Window,
        _ => return Err(row.malformed(3)),
    };
    let volatility = match row.letter(4) {
        'i' => Volatility::Immutable,
        's' => Volatility::Stable,
        'v' => Volatility::Volatile,
        _ => return Err(row.malformed(4)),
    };
    let oid = row.oid(0)?;
    Ok(Function {
        oid,
        schema: row.text(1).to_owned(),
        name: row.text(2).to_owned(),
        kind,
        volatility,
        arguments: row.oids(5)?,
        defaults: row.number(6)?,
        is_variadic: row.flag(7),
        result: row.oid(8)?,
        returns_set: row.flag(9),
        is_builtin: oid.0 < 16384,
        language: row.text(10).to_owned(),
        source: row.text(11).to_owned(),
        reads: row.oids(12)?,
    })
}
