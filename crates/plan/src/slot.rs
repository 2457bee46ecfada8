//! Which slot of the lifted text a literal of the tree is. Invariant: a literal whose slot isn't known for certain has
//! none, and a plan that depends on it then holds for its text only.

use sql::ast::{Const, ConstValue, Span};

use crate::plan::KeySource;

/// The places of a text's literals, by slot.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    spans: Vec<Span>,
}

// === impl Slots ===

impl Slots {
    /// The slots of a text.
    pub(crate) fn of_text(text: &str, standard_conforming_strings: bool) -> Self {
        let mut lifted = sql::Lifted::new();
        let options = sql::ParseOptions {
            standard_conforming_strings,
        };
        sql::lift(text, options, &mut lifted);
        let spans = lifted.slots().iter().map(|slot| slot.span).collect();
        Self { spans }
    }

    /// The slot of a literal's token.
    pub(crate) fn of(&self, token: Span) -> Option<u32> {
        // Slots are in the text's order; a statement may have a hundred thousand of them.
        let at = self.spans.partition_point(|span| span.start < token.start);
        let is_it = self.spans.get(at) == Some(&token);
        u32::try_from(at).ok().filter(|_| is_it)
    }

    /// Where a literal's value is found when the statement runs; `None` for NULL and for truth values.
    pub(crate) fn source(&self, literal: &Const) -> Option<KeySource> {
        let (text, quoted) = match &literal.value {
            ConstValue::Null | ConstValue::Bool(_) | ConstValue::Bits(_) => return None,
            ConstValue::Integer(value) => (value.to_string(), false),
            ConstValue::Number(text) => (text.clone(), false),
            ConstValue::String(text) => (text.clone(), true),
        };
        Some(match literal.token.and_then(|token| self.of(token)) {
            Some(slot) => KeySource::Literal {
                slot,
                negated: literal.negated,
                quoted,
            },
            None => KeySource::Text { text, quoted },
        })
    }
}
