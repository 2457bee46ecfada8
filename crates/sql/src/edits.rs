//! Changing a text without losing what the client wrote: replacements of spans, and the way back for error positions.
//!
//! Invariant: replacements do not overlap, and what none of them covers stays byte for byte.

#[cfg(test)]
mod tests;

use crate::ast::Span;

/// Replacements of spans of a text, in text order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Edits {
    list: Vec<Edit>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    span: Span,
    text: String,
}

/// Two replacements touch the same bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("edits of bytes {}..{} and {}..{} overlap", .first.start, .first.end, .second.start, .second.end)]
pub struct Overlap {
    /// The one that was there.
    pub first: Span,
    /// The one that was refused.
    pub second: Span,
}

impl Edits {
    /// No replacements.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Puts `text` before the byte at `at`. Insertions at one place keep the order in which they were made.
    ///
    /// # Errors
    ///
    /// When `at` is inside a replaced span.
    pub fn insert(&mut self, at: u32, text: impl Into<String>) -> Result<(), Overlap> {
        self.replace(Span { start: at, end: at }, text)
    }

    /// Removes `span`.
    ///
    /// # Errors
    ///
    /// As [`Edits::replace`].
    pub fn delete(&mut self, span: Span) -> Result<(), Overlap> {
        self.replace(span, "")
    }

    /// Puts `text` in the place of `span`.
    ///
    /// # Errors
    ///
    /// When another replacement touches the same bytes.
    pub fn replace(&mut self, span: Span, text: impl Into<String>) -> Result<(), Overlap> {
        let index = self
            .list
            .partition_point(|edit| (edit.span.start, edit.span.end) <= (span.start, span.end));
        let before = index.checked_sub(1).and_then(|index| self.list.get(index));
        let clash = before
            .filter(|edit| {
                edit.span.end > span.start || (edit.span == span && span.start < span.end)
            })
            .or_else(|| {
                self.list
                    .get(index)
                    .filter(|edit| edit.span.start < span.end)
            });
        if let Some(edit) = clash {
            return Err(Overlap {
                first: edit.span,
                second: span,
            });
        }
        let edit = Edit {
            span,
            text: text.into(),
        };
        self.list.insert(index, edit);
        Ok(())
    }

    /// The changed text.
    #[must_use]
    pub fn apply(&self, source: &str) -> String {
        self.apply_within(source, whole(source))
    }

    /// The changed text of one statement: only what lies in `within`.
    #[must_use]
    pub fn apply_within(&self, source: &str, within: Span) -> String {
        let mut out = String::with_capacity((within.end - within.start) as usize);
        for piece in self.pieces(within) {
            out.push_str(match piece {
                Piece::Kept(span) => slice(source, span),
                Piece::Replaced(edit) => &edit.text,
            });
        }
        out
    }

    /// Where a character of the changed text (from 1, as error positions count) was in the source (from 1). A character
    /// of a replacement was where the replaced span begins; one of an insertion was nowhere.
    #[must_use]
    pub fn map_position(&self, source: &str, within: Span, character: u32) -> Option<u32> {
        let mut left = usize::try_from(character.checked_sub(1)?).ok()?;
        let at = |byte: u32| {
            let before = slice(
                source,
                Span {
                    start: 0,
                    end: byte,
                },
            );
            u32::try_from(before.chars().count() + 1).ok()
        };
        for piece in self.pieces(within) {
            let (text, span) = match piece {
                Piece::Kept(span) => (slice(source, span), span),
                Piece::Replaced(edit) => (edit.text.as_str(), edit.span),
            };
            let length = text.chars().count();
            if left >= length {
                left -= length;
                continue;
            }
            return match piece {
                Piece::Kept(_) => at(span.start)?.checked_add(u32::try_from(left).ok()?),
                Piece::Replaced(_) if span.start == span.end => None,
                Piece::Replaced(_) => at(span.start),
            };
        }
        // An error at the end of the text is one past the last character.
        (left == 0).then(|| at(within.end)).flatten()
    }

    /// What stays and what replaces, in order.
    fn pieces(&self, within: Span) -> Vec<Piece<'_>> {
        let mut pieces = Vec::with_capacity(self.list.len() * 2 + 1);
        let mut position = within.start;
        for edit in &self.list {
            if edit.span.start < within.start || edit.span.end > within.end {
                continue;
            }
            if edit.span.start > position {
                pieces.push(Piece::Kept(Span {
                    start: position,
                    end: edit.span.start,
                }));
            }
            pieces.push(Piece::Replaced(edit));
            position = edit.span.end;
        }
        if within.end > position {
            pieces.push(Piece::Kept(Span {
                start: position,
                end: within.end,
            }));
        }
        pieces
    }
}

#[derive(Clone, Copy)]
enum Piece<'a> {
    Kept(Span),
    Replaced(&'a Edit),
}

fn whole(source: &str) -> Span {
    Span {
        start: 0,
        end: crate::scan::offset(source.len()),
    }
}

fn slice(source: &str, span: Span) -> &str {
    source
        .get(span.start as usize..span.end as usize)
        .unwrap_or("")
}
