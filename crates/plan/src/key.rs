//! Keys of tables as the planner compares them: classes, and which constants of a statement are exactly a key.
//! Invariant: a constant is a key only if no other value of the key equals it; everything else is just a filter.

use catalog::{Catalog, Column, TypeKind};
use pg::{KeyClass, KeyType, Oid, oid};
use topology::KeyExpression;

use crate::evaluate::result_type;
use crate::plan::KeySource;

/// What is equal to what: enums are told apart by type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Class {
    pub(crate) key: KeyType,
    /// The enum's type; 0 for other classes.
    pub(crate) enumeration: Oid,
}

/// A constant that a column is compared with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Constant {
    pub(crate) source: KeySource,
    pub(crate) kind: ConstantKind,
}

/// How a constant is typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConstantKind {
    /// A quoted literal: it becomes what it is compared with.
    Quoted,
    /// An unquoted whole number.
    Integer,
    /// Any other unquoted number.
    Decimal,
    /// A literal cast to a type that keeps its value.
    Typed(Oid),
    /// A parameter; 0 when its type isn't known.
    Param(Oid),
    /// NULL.
    Null,
}

// === impl Class ===

impl Class {
    /// The class of a column's values; `None` when it can't be a key: its type is none of the classes, or its
    /// collation calls different texts equal.
    pub(crate) fn of_column(catalog: &Catalog, column: &Column) -> Option<Self> {
        if column
            .collation
            .as_ref()
            .is_some_and(|collation| !collation.is_deterministic)
        {
            return None;
        }
        Self::of_type(catalog, column.type_oid).map(|class| Self {
            key: class.key.with_typmod(column.type_modifier),
            ..class
        })
    }

    /// The class of a type's values.
    pub(crate) fn of_type(catalog: &Catalog, type_oid: Oid) -> Option<Self> {
        let base = catalog.base_type(type_oid);
        if let Some(key) = KeyType::of_builtin(base) {
            return Some(Self {
                key,
                enumeration: Oid::INVALID,
            });
        }
        match catalog.types.get(&base).map(|known| &known.kind) {
            Some(TypeKind::Enum(_)) => Some(Self {
                key: KeyType::ENUM,
                enumeration: base,
            }),
            _ => None,
        }
    }

    /// The class of a key expression's values over a column of this class; `None` where the router can't hand the
    /// column's value to a shard to compute it.
    pub(crate) fn of_expression(self, expression: &KeyExpression) -> Option<Self> {
        let plain = matches!(
            self.key.class,
            KeyClass::Text | KeyClass::Integer | KeyClass::Numeric | KeyClass::Uuid
        );
        plain.then(|| Self {
            key: result_type(expression, self.key),
            enumeration: Oid::INVALID,
        })
    }

    /// Whether `=` between columns of these classes is equality within one class.
    pub(crate) fn is_same(self, other: Self) -> bool {
        self.key.class == other.key.class && self.enumeration == other.enumeration
    }

    /// Whether `column = constant` singles out one value of the column.
    pub(crate) fn accepts(self, kind: ConstantKind) -> bool {
        let class = self.key.class;
        match kind {
            ConstantKind::Quoted
            | ConstantKind::Null
            | ConstantKind::Param(Oid::INVALID | oid::UNKNOWN) => true,
            ConstantKind::Integer | ConstantKind::Decimal => {
                matches!(class, KeyClass::Integer | KeyClass::Numeric)
                    || (class == KeyClass::Float && self.key.width == 8)
            }
            ConstantKind::Param(oid::NUMERIC) if class == KeyClass::Integer => true,
            ConstantKind::Typed(type_oid) | ConstantKind::Param(type_oid) => self.is_of(type_oid),
        }
    }

    fn is_of(self, type_oid: Oid) -> bool {
        match KeyClass::of_builtin(type_oid) {
            Some(class) if class == KeyClass::Float => {
                self.key.class == class && KeyType::of_builtin(type_oid) == Some(self.plain())
            }
            Some(class) => self.key.class == class,
            None => self.key.class == KeyClass::Enum && self.enumeration == type_oid,
        }
    }

    fn plain(self) -> KeyType {
        self.key.with_typmod(-1)
    }
}

/// The expression, made opaque when it folds case and the database's character type does that oddly even to ASCII.
pub(crate) fn opaque_where_case_is_odd(
    expression: &KeyExpression,
    ascii_case_is_plain: bool,
) -> KeyExpression {
    if ascii_case_is_plain || !expression.changes_case() {
        return expression.clone();
    }
    KeyExpression::Opaque {
        text: expression.to_string(),
        columns: expression
            .columns()
            .into_iter()
            .map(str::to_owned)
            .collect(),
    }
}
