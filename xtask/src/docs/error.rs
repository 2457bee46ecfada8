//! `docs/reference/errors.md`: every error of the router's own that reaches a client.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use syn::parse::{Parse, ParseStream};
use syn::{Expr, ImplItem, Item, Pat, Stmt};

use super::raised::{self, Raised};
use super::{origin, row};
use crate::source::{self, Source};

const INTRO: &str = "# Errors

An error that a shard raised passes through as PostgreSQL sent it, with a line of context that names the shard. The errors
below are the router's own. They use PostgreSQL's codes, so a driver treats them as it treats a server's. `{...}` stands for
what the error is about.

A code of class 0A with a detail that begins with `kintsugi/` is a refusal: nothing has been done. All refusals are in
[what SQL works today](../guide/what-sql-works-today.md). `08007` is the one code after which a client can't know whether
its transaction is there; the message says which shard to look at.

";

/// One kind of error.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kind {
    /// What the client reads.
    pub(crate) message: String,
    /// When it happens.
    pub(crate) when: String,
    /// Names of its SQLSTATEs.
    pub(crate) states: Vec<String>,
    /// The detail, where it is written down.
    pub(crate) detail: Option<String>,
    /// The way out.
    pub(crate) hint: Option<String>,
}

/// The page.
///
/// # Errors
/// A SQLSTATE is not in PostgreSQL's list.
pub(crate) fn page(sources: &[Source]) -> io::Result<String> {
    let codes = codes(sources);
    let mut rows: BTreeMap<(String, String), Kind> = BTreeMap::new();
    let kinds = kinds(sources);
    let raised = raised::collect(sources);
    let raised = raised.iter().filter(|raised| raised.refusal.is_none());
    let raised = raised.map(as_kind).filter(|kind| kind.message != "{}");
    for kind in kinds.into_iter().chain(raised) {
        for state in &kind.states {
            let (code, _) = codes.get(state).ok_or_else(|| {
                io::Error::other(format!("SqlState::{state} is not in PostgreSQL's list"))
            })?;
            let key = (code.clone(), kind.message.clone());
            rows.entry(key).or_insert_with(|| kind.clone());
        }
    }
    let mut text = origin("the error enums and `Diagnostic`s of the crates");
    text.push_str(INTRO);
    let mut last = "";
    for ((code, message), kind) in &rows {
        if code != last {
            let name = codes.values().find(|(known, _)| known == code);
            let name = name.map_or("", |(_, name)| name.as_str());
            let head = "| message | when | way out |\n|---|---|---|";
            let _ = write!(text, "\n## {code} {name}\n\n{head}\n");
            last = code;
        }
        let hint = kind.hint.as_deref().unwrap_or("");
        text.push_str(&row(&[message, &kind.when, hint]));
    }
    Ok(text)
}

fn as_kind(raised: &Raised) -> Kind {
    Kind {
        message: raised.message.clone(),
        states: raised.states.clone(),
        hint: raised.hint.clone(),
        ..Kind::default()
    }
}

/// Codes and their names, by the names of their constants.
fn codes(sources: &[Source]) -> BTreeMap<String, (String, String)> {
    let mut codes = BTreeMap::new();
    for constant in sources
        .iter()
        .filter(|source| source.path.ends_with("generated/sqlstate.rs"))
        .flat_map(|source| &source.items)
        .filter_map(|item| match item {
            Item::Impl(block) => Some(&block.items),
            _ => None,
        })
        .flatten()
    {
        if let ImplItem::Const(constant) = constant {
            let docs = source::docs(&constant.attrs);
            if let Some((code, name)) = docs.split_once(": ") {
                let (code, name) = (code.trim_matches('`'), name.trim_end_matches('.'));
                let code = (code.to_owned(), name.to_owned());
                codes.insert(constant.ident.to_string(), code);
            }
        }
    }
    codes
}

/// Every variant of every enum that tells clients what it is: those that implement `Diagnose`.
pub(crate) fn kinds(sources: &[Source]) -> Vec<Kind> {
    let mut found = Vec::new();
    for (source, block) in sources.iter().flat_map(|source| {
        source
            .items
            .iter()
            .filter_map(diagnose)
            .map(move |block| (source, block))
    }) {
        let syn::Type::Path(name) = &*block.self_ty else {
            continue;
        };
        let name = name.path.segments.last().map(|last| last.ident.to_string());
        let definition = sources
            .iter()
            .filter(|other| other.crate_name == source.crate_name)
            .flat_map(|other| &other.items)
            .find_map(|item| match item {
                Item::Enum(item) if Some(item.ident.to_string()) == name => Some(item),
                _ => None,
            });
        if let Some(definition) = definition {
            found.extend(variants(definition, block));
        }
    }
    found
}

fn diagnose(item: &Item) -> Option<&syn::ItemImpl> {
    match item {
        Item::Impl(block) => {
            let (_, name, _) = block.trait_.as_ref()?;
            (name.segments.last()?.ident == "Diagnose").then_some(block)
        }
        _ => None,
    }
}

fn variants(definition: &syn::ItemEnum, block: &syn::ItemImpl) -> Vec<Kind> {
    let (states, details, hints) = (
        arms(block, "sqlstate"),
        arms(block, "detail"),
        arms(block, "hint"),
    );
    let of = |arms: &BTreeMap<String, Expr>, variant: &str| {
        arms.get(variant).or_else(|| arms.get("_")).cloned()
    };
    let mut kinds = Vec::new();
    for variant in &definition.variants {
        let Some(message) = message(&variant.attrs) else {
            // It shows another error's words, which has a row of its own.
            continue;
        };
        let name = variant.ident.to_string();
        kinds.push(Kind {
            message,
            when: source::docs(&variant.attrs),
            states: of(&states, &name)
                .map(|expr| source::states(&expr))
                .unwrap_or_default(),
            detail: of(&details, &name).and_then(|expr| source::first_string(&expr)),
            hint: of(&hints, &name).and_then(|expr| source::first_string(&expr)),
        });
    }
    kinds
}

/// The text of `#[error("...")]`.
fn message(attrs: &[syn::Attribute]) -> Option<String> {
    let attr = attrs.iter().find(|attr| attr.path().is_ident("error"))?;
    attr.parse_args_with(|input: ParseStream<'_>| {
        let text: syn::LitStr = input.parse()?;
        // The arguments of the format are not shown.
        input.parse::<Rest>()?;
        Ok(text.value())
    })
    .ok()
    .filter(|text| text != "{}" && text != "{0}")
}

/// Whatever is left of a macro's input.
struct Rest;

impl Parse for Rest {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.step(|cursor| {
            let mut rest = *cursor;
            while let Some((_, next)) = rest.token_tree() {
                rest = next;
            }
            Ok((Self, rest))
        })
    }
}

/// What a method answers for each variant; `_` for all others.
fn arms(block: &syn::ItemImpl, method: &str) -> BTreeMap<String, Expr> {
    let body = block.items.iter().find_map(|item| match item {
        ImplItem::Fn(function) if function.sig.ident == method => Some(&function.block),
        _ => None,
    });
    let mut arms = BTreeMap::new();
    match body.and_then(|body| body.stmts.last()) {
        Some(Stmt::Expr(Expr::Match(found), _)) => {
            for arm in &found.arms {
                for name in pattern_names(&arm.pat) {
                    arms.insert(name, (*arm.body).clone());
                }
            }
        }
        Some(Stmt::Expr(only, _)) => {
            arms.insert("_".to_owned(), only.clone());
        }
        _ => {}
    }
    arms
}

fn pattern_names(pattern: &Pat) -> Vec<String> {
    let last = |path: &syn::Path| {
        path.segments
            .last()
            .map(|segment| segment.ident.to_string())
            .into_iter()
            .collect()
    };
    match pattern {
        Pat::Or(either) => either.cases.iter().flat_map(pattern_names).collect(),
        Pat::TupleStruct(found) => last(&found.path),
        Pat::Struct(found) => last(&found.path),
        Pat::Path(found) => last(&found.path),
        _ => vec!["_".to_owned()],
    }
}
