//! The text and its tokens, for the places that the parser's tree does not keep.

use crate::ast::Span;
use crate::scan::Token;

/// A text with its tokens and the partner of every bracket.
pub(crate) struct Source<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    partners: Vec<u32>,
}

impl<'t> Source<'t> {
    pub(crate) fn new(text: &'t str, tokens: Vec<Token>) -> Self {
        Self {
            text,
            partners: partners(text, &tokens),
            tokens,
        }
    }

    pub(crate) fn tokens(&self) -> &[Token] {
        &self.tokens
    }

    /// What lies between the first and the last token of a raw statement.
    pub(crate) fn trim(&self, location: i32, length: i32) -> Span {
        let start = u32::try_from(location).unwrap_or(0);
        let end = match u32::try_from(length) {
            Ok(length) if length > 0 => start.saturating_add(length),
            _ => crate::scan::offset(self.text.len()),
        };
        let first = self.from(start);
        let mut last = self.from(end);
        // Without a length the statement goes to the end of the text, which may hold semicolons still.
        while last > first && self.is(last - 1, ";") {
            last -= 1;
        }
        match (self.tokens.get(first), last.checked_sub(1)) {
            (Some(token), Some(last)) if last >= first => Span {
                start: token.span.start,
                end: self.tokens[last].span.end,
            },
            _ => Span { start, end },
        }
    }

    /// Index of the first token that begins at `offset` or later.
    pub(crate) fn from(&self, offset: u32) -> usize {
        self.tokens
            .partition_point(|token| token.span.start < offset)
    }

    /// Index of the token that begins exactly at `offset`.
    pub(crate) fn at(&self, offset: u32) -> Option<usize> {
        self.tokens
            .binary_search_by_key(&offset, |token| token.span.start)
            .ok()
    }

    pub(crate) fn text_of(&self, span: Span) -> &'t str {
        self.text
            .get(span.start as usize..span.end as usize)
            .unwrap_or("")
    }

    pub(crate) fn get(&self, index: usize) -> Option<Token> {
        self.tokens.get(index).copied()
    }

    pub(crate) fn token_text(&self, index: usize) -> &'t str {
        self.tokens
            .get(index)
            .map_or("", |token| token.text(self.text))
    }

    /// Whether the token is this punctuation or operator.
    pub(crate) fn is(&self, index: usize, what: &str) -> bool {
        self.token_text(index) == what
    }

    pub(crate) fn is_word(&self, index: usize, word: &str) -> bool {
        self.tokens
            .get(index)
            .is_some_and(|token| token.is_word(self.text, word))
    }

    /// Index of the bracket that belongs to the one at `index`.
    pub(crate) fn partner(&self, index: usize) -> Option<usize> {
        let partner = *self.partners.get(index)?;
        (partner != u32::MAX).then_some(partner as usize)
    }

    /// Index behind a possibly qualified name that begins at `index`.
    pub(crate) fn after_name(&self, index: usize) -> usize {
        let mut next = index + 1;
        while self.is(next, ".") {
            next += 2;
        }
        next
    }

    /// Index behind a bracketed list, when one begins at `index`.
    pub(crate) fn after_brackets(&self, index: usize) -> usize {
        if self.is(index, "(") {
            self.partner(index).map_or(index, |close| close + 1)
        } else {
            index
        }
    }

    /// From token `first` to the end of `within`.
    pub(crate) fn rest(&self, first: usize, within: Span) -> Span {
        Span {
            start: self.get(first).map_or(within.end, |token| token.span.start),
            end: within.end,
        }
    }

    /// What lies between the bracket at `open` and its partner, without blanks around it.
    pub(crate) fn inside(&self, open: usize) -> Option<Span> {
        let close = self.partner(open)?;
        if close <= open + 1 {
            return None;
        }
        Some(Span {
            start: self.tokens[open + 1].span.start,
            end: self.tokens[close - 1].span.end,
        })
    }
}

/// For each bracket the index of its partner; `u32::MAX` for every other token.
fn partners(text: &str, tokens: &[Token]) -> Vec<u32> {
    let mut partners = vec![u32::MAX; tokens.len()];
    let mut open = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token.text(text) {
            "(" | "[" => open.push(index),
            ")" | "]" => {
                if let Some(start) = open.pop() {
                    partners[start] = crate::scan::offset(index);
                    partners[index] = crate::scan::offset(start);
                }
            }
            _ => {}
        }
    }
    partners
}
