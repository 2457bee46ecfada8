//! `SET` and `RESET`.

use pg_raw_parse::raw::VariableSetKind;
use pg_raw_parse::{Node, nodes};

use super::utility::{modes, value_text};
use super::{Converter, Result, Stop, text};
use crate::ast;

impl Converter<'_> {
    pub(super) fn set(&self, set: &nodes::VariableSetStmt, span: ast::Span) -> Result<ast::Set> {
        let name = text(set.name());
        Ok(match set.kind {
            VariableSetKind::VAR_SET_MULTI => match name.as_str() {
                "TRANSACTION" => ast::Set::Transaction(modes(set.args())),
                "SESSION CHARACTERISTICS" => ast::Set::SessionCharacteristics(modes(set.args())),
                "TRANSACTION SNAPSHOT" => {
                    ast::Set::Snapshot(set.args().first().and_then(value_text).unwrap_or_default())
                }
                _ => return Err(Stop::Unexpected("an unknown SET")),
            },
            VariableSetKind::VAR_SET_VALUE => ast::Set::Variable {
                name: name.to_ascii_lowercase(),
                values: Some(
                    set.args()
                        .iter()
                        .map(|value| self.value(value, span))
                        .collect(),
                ),
                local: set.is_local,
            },
            VariableSetKind::VAR_SET_DEFAULT => ast::Set::Variable {
                name: name.to_ascii_lowercase(),
                values: None,
                local: set.is_local,
            },
            VariableSetKind::VAR_SET_CURRENT => ast::Set::FromCurrent(name.to_ascii_lowercase()),
            VariableSetKind::VAR_RESET => ast::Set::Reset(name.to_ascii_lowercase()),
            VariableSetKind::VAR_RESET_ALL => ast::Set::ResetAll,
            _ => return Err(Stop::Unexpected("an unknown SET")),
        })
    }

    /// `SET TIME ZONE INTERVAL '...' HOUR TO MINUTE` is the only value that is no plain word, string or number: it is
    /// given as written.
    fn value(&self, value: Node<'_>, span: ast::Span) -> String {
        value_text(value).unwrap_or_else(|| {
            let mut index = self.source.from(span.start);
            while self.source.get(index).is_some() && !self.source.is_word(index, "interval") {
                index += 1;
            }
            self.source
                .text_of(self.source.rest(index, span))
                .to_owned()
        })
    }
}
