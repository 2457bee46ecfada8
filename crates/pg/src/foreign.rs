//! What a foreign key does to the rows that refer to a changed one.

/// What becomes of a referring row when the row that it refers to is changed or deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ForeignAction {
    /// The change is refused: `NO ACTION`, `RESTRICT`.
    #[default]
    Keep,
    /// It is changed or deleted too: `CASCADE`.
    Cascade,
    /// Its columns become NULL: `SET NULL`.
    SetNull,
    /// Its columns get their defaults: `SET DEFAULT`.
    SetDefault,
}

// === impl ForeignAction ===

impl ForeignAction {
    /// The action of a letter of `pg_constraint.confupdtype` and `confdeltype`, which the parser uses too.
    #[must_use]
    pub fn of_letter(letter: char) -> Self {
        match letter {
            'c' => Self::Cascade,
            'n' => Self::SetNull,
            'd' => Self::SetDefault,
            _ => Self::Keep,
        }
    }

    /// Whether columns of the referring row lose their values.
    #[must_use]
    pub fn resets(self) -> bool {
        matches!(self, Self::SetNull | Self::SetDefault)
    }

    /// As SQL; empty for what happens when nothing is said.
    #[must_use]
    pub fn as_sql(self) -> &'static str {
        match self {
            Self::Keep => "",
            Self::Cascade => "CASCADE",
            Self::SetNull => "SET NULL",
            Self::SetDefault => "SET DEFAULT",
        }
    }
}
