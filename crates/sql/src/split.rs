//! Cutting a query string into statements by the lexer alone.

use crate::ast::Span;
use crate::parse::ParseOptions;
use crate::scan::{Scanner, Token};

/// The statements of a query string: without semicolons, blanks and comments around them; empty ones are left out.
///
/// Semicolons inside brackets and inside `BEGIN ATOMIC ... END` of a function do not end a statement (as in psql). The
/// text after something that the lexer refuses is one statement.
#[must_use]
pub fn split(text: &str, options: ParseOptions) -> Vec<Span> {
    let mut splitter = Splitter::default();
    for token in Scanner::new(text, options.standard_conforming_strings) {
        splitter.take(token, text);
    }
    splitter.finish();
    splitter.found
}

#[derive(Default)]
struct Splitter {
    found: Vec<Span>,
    current: Option<Span>,
    /// Open brackets.
    brackets: u32,
    /// Open `BEGIN`s and `CASE`s of a function's body.
    blocks: u32,
    head: Head,
}

/// How far a statement looks like the creation of a function.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Head {
    #[default]
    Start,
    Create,
    Function,
    Other,
}

impl Splitter {
    fn take(&mut self, token: Token, text: &str) {
        match token.text(text) {
            "(" => self.brackets += 1,
            ")" => self.brackets = self.brackets.saturating_sub(1),
            ";" if self.brackets == 0 && self.blocks == 0 => return self.finish(),
            _ => self.word(token, text),
        }
        let span = self.current.get_or_insert(token.span);
        span.end = token.span.end;
    }

    fn word(&mut self, token: Token, text: &str) {
        let is = |word| token.is_word(text, word);
        self.head = match self.head {
            Head::Start if is("create") => Head::Create,
            Head::Create if is("or") || is("replace") => Head::Create,
            Head::Create if is("function") || is("procedure") => Head::Function,
            Head::Function => Head::Function,
            _ => Head::Other,
        };
        if self.head != Head::Function || self.brackets > 0 {
            return;
        }
        if is("begin") || (self.blocks > 0 && is("case")) {
            self.blocks += 1;
        } else if is("end") {
            self.blocks = self.blocks.saturating_sub(1);
        }
    }

    fn finish(&mut self) {
        self.found.extend(self.current.take());
        self.brackets = 0;
        self.blocks = 0;
        self.head = Head::Start;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_cut_at_semicolons() {
        let text = "; select ';' /* ; */ ; -- x\n create rule r as on insert to t do (select 1; select 2);\
            create or replace function f() returns int begin atomic select case when a then 1 end; select 2; end;\
            create function begin_() returns int return 1; $$;$$ ; select (1";
        let texts: Vec<_> = split(text, ParseOptions::default())
            .into_iter()
            .map(|span| &text[span.start as usize..span.end as usize])
            .collect();
        assert_eq!(texts.len(), 6, "{texts:#?}");
        assert_eq!(texts[0], "select ';'");
        assert!(texts[2].ends_with("end"));
        assert_eq!(texts[5], "select (1");
    }
}
