//! A tree as text: one S-expression, without places. What is empty is left out.
//!
//! Invariant: two expressions with one text mean the same ([`same`]); so everything that an expression says is printed.

mod body;
mod ddl;
mod expr;
mod query;

use std::fmt;

use super::{Body, Expr, Name, Query, Statement};

/// A printed tree. `{}` gives one line, `{:#}` as many as it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sexpr {
    /// A word.
    Atom(String),
    /// A list in brackets; its first entry says what it is.
    List(Vec<Sexpr>),
}

/// Whether two expressions say the same, wherever they stand and however their literals are written.
#[must_use]
pub fn same(left: &Expr, right: &Expr) -> bool {
    left.to_sexpr() == right.to_sexpr()
}

/// Lines of the long form are up to this wide.
const WIDTH: usize = 100;

impl Sexpr {
    fn write(&self, out: &mut String, indent: Option<usize>) {
        let list = match self {
            Self::Atom(atom) => return out.push_str(atom),
            Self::List(list) => list,
        };
        let start = out.len();
        out.push('(');
        for (index, item) in list.iter().enumerate() {
            if index > 0 {
                out.push(' ');
            }
            item.write(out, None);
        }
        out.push(')');
        if let Some(indent) = indent
            && indent + out.len() - start > WIDTH
        {
            out.truncate(start);
            Self::write_lines(list, out, indent);
        }
    }

    fn write_lines(list: &[Self], out: &mut String, indent: usize) {
        out.push('(');
        for (index, item) in list.iter().enumerate() {
            let inner = indent + 2;
            if index > 0 {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', inner));
            }
            item.write(out, Some(inner));
        }
        out.push(')');
    }
}

impl fmt::Display for Sexpr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = String::new();
        self.write(&mut out, f.alternate().then_some(0));
        f.write_str(&out)
    }
}

/// Builds a list step by step, leaving out what is empty.
struct Builder(Vec<Sexpr>);

impl Builder {
    fn new(tag: &str) -> Self {
        Self(vec![Sexpr::Atom(tag.to_owned())])
    }

    fn push(mut self, item: Sexpr) -> Self {
        self.0.push(item);
        self
    }

    fn all(mut self, items: impl IntoIterator<Item = Sexpr>) -> Self {
        self.0.extend(items);
        self
    }

    fn flag(self, set: bool, word: &str) -> Self {
        if set { self.push(atom(word)) } else { self }
    }

    fn word(self, word: &str) -> Self {
        self.push(word_atom(word))
    }

    fn words<S: AsRef<str>>(self, words: impl IntoIterator<Item = S>) -> Self {
        self.all(words.into_iter().map(|word| word_atom(word.as_ref())))
    }

    /// A list within the list, when it has entries.
    fn list(self, tag: &str, items: impl IntoIterator<Item = Sexpr>) -> Self {
        let inner = Self::new(tag).all(items);
        if inner.0.len() > 1 {
            self.push(inner.done())
        } else {
            self
        }
    }

    fn done(self) -> Sexpr {
        Sexpr::List(self.0)
    }
}

fn atom(word: &str) -> Sexpr {
    Sexpr::Atom(word.to_owned())
}

/// An identifier: as it is when it is plain, else quoted.
fn word_atom(word: &str) -> Sexpr {
    let plain = !word.is_empty()
        && word
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '$'))
        && !word.chars().any(char::is_uppercase);
    Sexpr::Atom(if plain {
        word.to_owned()
    } else {
        format!("{word:?}")
    })
}

fn string_atom(string: &str) -> Sexpr {
    Sexpr::Atom(format!("'{}'", string.escape_debug()))
}

fn name(name: &Name) -> Sexpr {
    let parts: Vec<_> = name
        .parts
        .iter()
        .map(|part| word_atom(part).to_string())
        .collect();
    Sexpr::Atom(parts.join("."))
}

/// An operator is written as it is.
fn operator(name: &Name) -> Sexpr {
    Sexpr::Atom(name.parts.join("."))
}

impl Statement {
    /// The statement as text.
    #[must_use]
    pub fn to_sexpr(&self) -> Sexpr {
        self.body.to_sexpr()
    }
}

macro_rules! display {
    ($($type:ty),*) => {$(
        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.to_sexpr().fmt(f)
            }
        }
    )*};
}

display!(Statement, Body, Query, Expr);
