//! A statement's text with parts of it replaced. Invariant: what is not replaced stays byte for byte.

use sql::ast::{Span, Target};

use crate::plan::Part;
use crate::{Context, label};

/// Replacements in one text, in its order: a statement may have as many as it has rows.
#[derive(Clone, Debug, Default)]
pub(super) struct Edits {
    edits: Vec<(Span, Vec<Part>)>,
}

// === impl Edits ===

impl Edits {
    /// Replaces a span; spans never overlap.
    pub(super) fn replace(&mut self, span: Span, parts: Vec<Part>) {
        let place = (span.start, span.end);
        let at = self
            .edits
            .partition_point(|(other, _)| (other.start, other.end) <= place);
        self.edits.insert(at, (span, parts));
    }

    /// Keeps the names of result columns in which something is replaced.
    pub(super) fn keep_names(&mut self, cx: &Context<'_>, text: &str, targets: &[Target]) {
        let replaced: Vec<Span> = self.edits.iter().map(|(span, _)| *span).collect();
        for (at, label) in label::labels(cx, text, targets, &replaced) {
            let place = Span { start: at, end: at };
            self.replace(place, vec![Part::Sql(label)]);
        }
    }

    /// Nothing is replaced.
    pub(super) fn is_empty(&self) -> bool {
        self.edits.is_empty()
    }

    /// The text between two places.
    pub(super) fn cut(&self, text: &str, within: Span) -> Vec<Part> {
        let first = self
            .edits
            .partition_point(|(span, _)| span.start < within.start);
        let edits = self.edits[first..]
            .iter()
            .take_while(|(span, _)| span.start <= within.end)
            .filter(|(span, _)| span.end <= within.end);
        let mut parts = Vec::new();
        let mut from = within.start;
        for (span, replacement) in edits {
            push_sql(
                &mut parts,
                text,
                Span {
                    start: from,
                    end: span.start,
                },
            );
            parts.extend(replacement.iter().cloned());
            from = span.end;
        }
        push_sql(
            &mut parts,
            text,
            Span {
                start: from,
                end: within.end,
            },
        );
        join(parts)
    }
}

fn push_sql(parts: &mut Vec<Part>, text: &str, span: Span) {
    if let Some(sql) = crate::compute::slice(text, span)
        && !sql.is_empty()
    {
        parts.push(Part::Sql(sql.to_owned()));
    }
}

/// Neighbouring pieces of SQL as one.
pub(super) fn join(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::with_capacity(parts.len());
    for part in parts {
        match (joined.last_mut(), part) {
            (Some(Part::Sql(before)), Part::Sql(sql)) => before.push_str(&sql),
            (_, part) => joined.push(part),
        }
    }
    joined
}

/// The spans of the elements between the parentheses of a row.
pub(super) fn cells(text: &str, row: Span, standard_strings: bool) -> Vec<Span> {
    let Some(inside) = text.get(row.start as usize..row.end as usize) else {
        return Vec::new();
    };
    let mut cells = Vec::new();
    let mut depth = 0_u32;
    let mut start = None;
    for token in sql::scan::tokens(inside, standard_strings) {
        let place = |at: u32| row.start + at;
        match token.text(inside) {
            "(" | "[" => {
                depth += 1;
                if depth == 1 {
                    start = Some(place(token.span.end));
                }
            }
            ")" | "]" if depth == 1 => {
                let end = place(token.span.start);
                cells.extend(start.take().map(|start| trimmed(text, Span { start, end })));
            }
            ")" | "]" => depth = depth.saturating_sub(1),
            "," if depth == 1 => {
                let end = place(token.span.start);
                cells.extend(
                    start
                        .replace(place(token.span.end))
                        .map(|start| trimmed(text, Span { start, end })),
                );
            }
            _ => {}
        }
    }
    cells
}

fn trimmed(text: &str, span: Span) -> Span {
    let inside = crate::compute::slice(text, span).unwrap_or("");
    let before = inside.len() - inside.trim_start().len();
    let after = inside.len() - inside.trim_end().len();
    let shift = |count: usize| u32::try_from(count).unwrap_or(0);
    let start = span.start + shift(before);
    Span {
        start,
        end: (span.end - shift(after)).max(start),
    }
}

/// Where the words stand side by side, outside of parentheses, at or after `from`.
pub(crate) fn find_words(
    text: &str,
    from: u32,
    words: &[&str],
    standard_strings: bool,
) -> Option<Span> {
    let rest = text.get(from as usize..)?;
    let tokens = sql::scan::tokens(rest, standard_strings);
    let mut depth = 0_u32;
    for (at, token) in tokens.iter().enumerate() {
        match token.text(rest) {
            "(" => depth += 1,
            ")" => depth = depth.saturating_sub(1),
            _ => {}
        }
        let follows = || {
            words.iter().enumerate().all(|(offset, word)| {
                tokens
                    .get(at + offset)
                    .is_some_and(|next| next.is_word(rest, word))
            })
        };
        if depth == 0 && follows() {
            let last = tokens[at + words.len() - 1];
            return Some(Span {
                start: from + token.span.start,
                end: from + last.span.end,
            });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_split_at_commas_of_the_row_only() {
        let text = "VALUES ( 1 , f(2, 3), 'a,)', \"b,\", $x$,$x$ )";
        let row = Span {
            start: 7,
            end: u32::try_from(text.len()).unwrap(),
        };
        let cells: Vec<&str> = cells(text, row, true)
            .into_iter()
            .map(|span| crate::compute::slice(text, span).unwrap())
            .collect();
        assert_eq!(cells, ["1", "f(2, 3)", "'a,)'", "\"b,\"", "$x$,$x$"]);
    }

    #[test]
    fn words_in_quotes_and_parentheses_are_passed_over() {
        let text = "\"DEFAULT VALUES\" (default values) /* default values */ Default  Values x";
        let found = find_words(text, 0, &["default", "values"], true).unwrap();
        assert_eq!(crate::compute::slice(text, found), Some("Default  Values"));
    }

    #[test]
    fn what_is_not_replaced_stays() {
        let mut edits = Edits::default();
        edits.replace(Span { start: 2, end: 3 }, vec![Part::Computed(0)]);
        let parts = edits.cut("abcd", Span { start: 1, end: 4 });
        let expected = [
            Part::Sql("b".to_owned()),
            Part::Computed(0),
            Part::Sql("d".to_owned()),
        ];
        assert_eq!(parts, expected);
    }
}
