//! The document against the catalog: do the key columns exist, and can the indexes take their types?
//! Apart from compiling, because a table may be declared before it is created.

use crate::document::UniqueOffKey;
use crate::expression::{KeyColumns, KeyExpression};
use crate::json::member_path;
use crate::mistake::{Mistake, MistakeKind};
use crate::placement::{Placement, Sharded, TableName};
use crate::topology::Topology;

/// What the catalog knows about columns; implemented over a catalog snapshot.
pub trait ColumnTypes {
    /// Whether the table exists.
    fn has_table(&self, table: TableName<'_>) -> bool;

    /// A column of a table; none where there is none of that name.
    fn column(&self, table: TableName<'_>, column: &str) -> Option<ColumnFact>;

    /// The primary key, unique constraints and unique indexes of a table.
    fn unique_constraints(&self, table: TableName<'_>) -> Vec<UniqueConstraint>;
}

/// A primary key, unique constraint or unique index.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UniqueConstraint {
    /// Its name.
    pub name: String,
    /// Its columns; none stands for an expression.
    pub columns: Vec<Option<String>>,
}

/// A column as the catalog knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnFact {
    /// Its key type, domains resolved; none where values of the type can't be keys.
    pub key_type: Option<pg::KeyType>,
    /// PostgreSQL's name of the type.
    pub type_name: String,
    /// Its collation.
    pub collation: CollationFact,
}

/// What about a collation matters to keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollationFact {
    /// Equal means equal bytes, and ASCII letters change case as everywhere; or there is no collation.
    Plain,
    /// As plain, but the case of `i` changes in a way of its own: Turkish, Azerbaijani.
    OwnCase,
    /// Different bytes may be equal.
    Nondeterministic,
}

// === impl Topology ===

impl Topology {
    /// Every declared table that exists but whose key its index can't take. Tables that do not exist are
    /// passed over: they are checked when they are created.
    #[must_use]
    pub fn check(&self, types: &dyn ColumnTypes) -> Vec<Mistake> {
        let mut mistakes = Vec::new();
        for (database, entry) in &self.document.databases {
            for (schema, entry) in &entry.schemas {
                for table in entry.tables.keys() {
                    let name = TableName {
                        database,
                        schema,
                        table,
                    };
                    mistakes.extend(self.check_table(name, types));
                }
            }
        }
        mistakes
    }

    /// The mistakes of one declared table.
    #[must_use]
    pub fn check_table(&self, name: TableName<'_>, types: &dyn ColumnTypes) -> Vec<Mistake> {
        match self.declared(name) {
            Some(Placement::Sharded(sharded)) if types.has_table(name) => {
                self.check_placement(name, sharded, types)
            }
            _ => Vec::new(),
        }
    }

    /// The mistakes of a table at a placement, declared or not.
    #[must_use]
    pub fn check_placement(
        &self,
        name: TableName<'_>,
        sharded: &Sharded,
        types: &dyn ColumnTypes,
    ) -> Vec<Mistake> {
        let mut kinds = check_key(name, sharded, types);
        // Where there is one shard, it sees every row.
        if kinds.is_empty() && self.shards().len() > 1 {
            kinds.extend(check_unique(name, sharded, types));
        }
        let path = table_path(name);
        let mistake = |kind| Mistake {
            place: self.source.place(path.clone()),
            kind,
        };
        kinds.into_iter().map(mistake).collect()
    }

    /// The type of each part of a key; none where a column is missing or only a shard knows.
    #[must_use]
    pub fn key_types(
        &self,
        name: TableName<'_>,
        key: &KeyColumns,
        types: &dyn ColumnTypes,
    ) -> Vec<Option<pg::KeyType>> {
        let column = |column: &str| types.column(name, column)?.key_type;
        key.parts()
            .iter()
            .map(|part| part.key_type(&column))
            .collect()
    }
}

fn check_key(name: TableName<'_>, sharded: &Sharded, types: &dyn ColumnTypes) -> Vec<MistakeKind> {
    let mut kinds = Vec::new();
    for part in sharded.key.parts() {
        let before = kinds.len();
        for column in part.columns() {
            match types.column(name, column) {
                None => kinds.push(MistakeKind::NoKeyColumn {
                    table: table_text(name),
                    column: column.to_owned(),
                }),
                Some(fact) => {
                    kinds.extend(check_column(name, sharded, part, column, &fact));
                }
            }
        }
        if kinds.len() == before {
            kinds.extend(check_part(name, sharded, part, types));
        }
    }
    kinds
}

/// A constraint that holds every column of the key is kept by the shards; of any other the document must
/// say that it need not be kept between them.
fn check_unique(
    name: TableName<'_>,
    sharded: &Sharded,
    types: &dyn ColumnTypes,
) -> Vec<MistakeKind> {
    if sharded.unique_off_key == UniqueOffKey::Local {
        return Vec::new();
    }
    let key = sharded.key.columns();
    let holds = |constraint: &UniqueConstraint, part: &str| {
        constraint
            .columns
            .iter()
            .flatten()
            .any(|column| column == part)
    };
    let mut constraints = types.unique_constraints(name);
    constraints.retain(|constraint| !key.iter().all(|part| holds(constraint, part)));
    let kind = |constraint: UniqueConstraint| MistakeKind::UniqueOffKey {
        table: table_text(name),
        constraint: constraint.name,
        key: sharded.key.to_string(),
    };
    constraints.into_iter().map(kind).collect()
}

fn check_column(
    name: TableName<'_>,
    sharded: &Sharded,
    part: &KeyExpression,
    column: &str,
    fact: &ColumnFact,
) -> Option<MistakeKind> {
    let opaque = matches!(part, KeyExpression::Opaque { .. });
    let reason = match (fact.key_type, fact.collation) {
        // A shard computes the expression, so the types of its columns are PostgreSQL's affair.
        _ if opaque => return None,
        (None, _) if fact.type_name == "citext" => {
            "different texts are equal in it, use lower() as the key"
        }
        (None, _) => "its values have no canonical form",
        (_, CollationFact::Nondeterministic) => {
            "its collation calls different texts equal, use lower() as the key"
        }
        (_, CollationFact::OwnCase) if part.changes_case() => {
            "its collation changes the case of i in a way of its own"
        }
        _ => return None,
    };
    Some(refused(
        name,
        sharded,
        column,
        fact.type_name.clone(),
        reason,
    ))
}

fn check_part(
    name: TableName<'_>,
    sharded: &Sharded,
    part: &KeyExpression,
    types: &dyn ColumnTypes,
) -> Option<MistakeKind> {
    if matches!(part, KeyExpression::Opaque { .. }) {
        return None;
    }
    let text = part.to_string();
    let column = |column: &str| types.column(name, column)?.key_type;
    let Some(key_type) = part.key_type(&column) else {
        let reason = "its arguments are of different types";
        return Some(refused(name, sharded, &text, "unknown".to_owned(), reason));
    };
    let class = key_type.class;
    let reason = match sharded.index.function.refusal(class) {
        Some(reason) => reason,
        None if !sharded.ranges.takes(class) => "the bounds of its group are not of this type",
        None => return None,
    };
    let fact = part
        .as_column()
        .and_then(|column| types.column(name, column));
    let type_name = fact.map_or_else(|| class.name().to_owned(), |fact| fact.type_name);
    Some(refused(name, sharded, &text, type_name, reason))
}

fn refused(
    name: TableName<'_>,
    sharded: &Sharded,
    column: &str,
    type_name: String,
    reason: &'static str,
) -> MistakeKind {
    MistakeKind::KeyType {
        table: table_text(name),
        column: column.to_owned(),
        type_name,
        index_type: sharded.index.function.type_name(),
        reason,
    }
}

fn table_text(name: TableName<'_>) -> String {
    format!("{}.{}", name.schema, name.table)
}

fn table_path(name: TableName<'_>) -> String {
    let schemas = member_path(&member_path("databases", name.database), "schemas");
    member_path(
        &member_path(&member_path(&schemas, name.schema), "tables"),
        name.table,
    )
}
