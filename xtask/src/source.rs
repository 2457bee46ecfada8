//! The product's Rust, read as trees: what the generated pages are made from.

use std::collections::HashMap;
use std::io;

use syn::punctuated::Punctuated;
use syn::visit::{self, Visit};
use syn::{Expr, Lit, Pat, Token};

use crate::tree::Tree;

/// A source file of the product, without its tests.
pub(crate) struct Source {
    /// Below the project's root.
    pub(crate) path: String,
    /// The crate's name.
    pub(crate) crate_name: String,
    /// Its items.
    pub(crate) items: Vec<syn::Item>,
}

/// Reads every source of the product.
///
/// # Errors
/// A file is not Rust.
pub(crate) fn product(tree: &Tree) -> io::Result<Vec<Source>> {
    let mut sources = Vec::new();
    for file in tree.ending(".rs").filter(|file| !file.is_test()) {
        let Some(name) = file.crate_name().filter(|name| *name != "testkit") else {
            continue;
        };
        let parsed = syn::parse_file(&file.text)
            .map_err(|error| io::Error::other(format!("{}: {error}", file.path)))?;
        let items = parsed.items.into_iter().filter(|item| !is_test_only(item));
        sources.push(Source {
            path: file.path.clone(),
            crate_name: name.to_owned(),
            items: items.collect(),
        });
    }
    Ok(sources)
}

fn is_test_only(item: &syn::Item) -> bool {
    match item {
        syn::Item::Mod(module) => module.attrs.iter().any(|attr| attr.path().is_ident("cfg")),
        _ => false,
    }
}

/// The text of a documentation comment, as one paragraph.
pub(crate) fn docs(attrs: &[syn::Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attr| {
        let value = attr.meta.require_name_value().ok()?;
        let text = string(&value.value).filter(|_| value.path.is_ident("doc"))?;
        Some(text.trim().to_owned())
    });
    // The first paragraph says what it is; the rest is for those who read the code.
    let first: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
    first.join(" ")
}

/// A string literal.
pub(crate) fn string(expr: &Expr) -> Option<String> {
    match expr {
        Expr::Lit(literal) => match &literal.lit {
            Lit::Str(text) => Some(text.value()),
            _ => None,
        },
        _ => None,
    }
}

/// The first string literal anywhere in an expression, formats included.
pub(crate) fn first_string(expr: &Expr) -> Option<String> {
    let mut strings = Strings::default();
    strings.visit_expr(expr);
    strings.found.into_iter().next()
}

/// Every string literal of an expression.
#[derive(Default)]
struct Strings {
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for Strings {
    fn visit_lit_str(&mut self, literal: &'ast syn::LitStr) {
        self.found.push(literal.value());
    }

    fn visit_macro(&mut self, mac: &'ast syn::Macro) {
        let arguments = Punctuated::<Expr, Token![,]>::parse_terminated;
        if let Ok(arguments) = mac.parse_body_with(arguments) {
            for argument in &arguments {
                self.visit_expr(argument);
            }
        }
    }
}

/// The `SqlState::NAME`s that an expression names.
pub(crate) fn states(expr: &Expr) -> Vec<String> {
    let mut states = States::default();
    states.visit_expr(expr);
    states.found
}

#[derive(Default)]
struct States {
    found: Vec<String>,
}

impl<'ast> Visit<'ast> for States {
    fn visit_path(&mut self, path: &'ast syn::Path) {
        let mut names = path.segments.iter().rev();
        let (last, before) = (names.next(), names.next());
        if let (Some(name), Some(state)) = (last, before)
            && state.ident == "SqlState"
        {
            let name = name.ident.to_string();
            if !self.found.contains(&name) && name.chars().all(|c| !c.is_lowercase()) {
                self.found.push(name);
            }
        }
        visit::visit_path(self, path);
    }
}

/// What local names of a function stand for, where that is written down.
#[derive(Default)]
pub(crate) struct Locals {
    values: HashMap<String, Expr>,
}

// === impl Locals ===

impl Locals {
    /// Forgets everything: another function begins.
    pub(crate) fn clear(&mut self) {
        self.values.clear();
    }

    /// Notes `let name = value`, and pairs of them.
    pub(crate) fn note(&mut self, local: &syn::Local) {
        if let Some(init) = &local.init {
            self.note_pattern(&local.pat, &init.expr);
        }
    }

    fn note_pattern(&mut self, pattern: &Pat, value: &Expr) {
        match (pattern, value) {
            (Pat::Ident(name), value) => {
                self.values.insert(name.ident.to_string(), value.clone());
            }
            (Pat::Tuple(names), Expr::Tuple(values)) => {
                for (name, value) in names.elems.iter().zip(&values.elems) {
                    self.note_pattern(name, value);
                }
            }
            _ => {}
        }
    }

    /// What an argument says: itself, or what the local that it names was given.
    pub(crate) fn resolve<'a>(&'a self, expr: &'a Expr) -> &'a Expr {
        match expr {
            Expr::Reference(reference) => self.resolve(&reference.expr),
            Expr::Path(path) => path
                .path
                .get_ident()
                .and_then(|name| self.values.get(&name.to_string()))
                .unwrap_or(expr),
            Expr::MethodCall(call) if call.method == "into" || call.method == "clone" => {
                self.resolve(&call.receiver)
            }
            _ => expr,
        }
    }

    /// The text of an argument.
    pub(crate) fn text(&self, expr: &Expr) -> Option<String> {
        first_string(self.resolve(expr))
    }
}
