//! `docs/reference/settings.md`: the router's own settings.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io;

use syn::{Expr, Item};

use super::{origin, row};
use crate::source::{self, Source};

const INTRO: &str = "# Settings

A client sets these as any other setting: `SET kintsugi.fanout = 'single'`, `SET LOCAL`, `set_config`, the `options` of a
connection. They follow transactions as PostgreSQL's settings do. Another name that begins with `kintsugi.` is refused, so
a misspelt one is noticed.

| setting | values, the default first | what it does |
|---|---|---|
";

/// What each setting does, and its values where any is allowed.
const SENTENCES: [(&str, &str); 3] = [
    (
        "kintsugi.default_shard_group",
        "The shard group of tables that the session creates and that the topology doesn't name. Unset, the topology's own \
         default decides.",
    ),
    (
        "kintsugi.transaction_mode",
        "`atomic`: a transaction over several shards commits on all or on none. \
         `single`: a transaction that would need a second shard is refused.",
    ),
    (
        "kintsugi.fanout",
        "How many shards one statement may use. `scatter`: any number. `multi`: those of the keys that it lists. `single`: one. \
         A statement that needs more is refused, which shows in tests what would be slow in production.",
    ),
];

/// The page.
///
/// # Errors
/// The session's table of settings is not found, or a setting has no sentence here.
pub(crate) fn page(sources: &[Source]) -> io::Result<String> {
    let own = constant(sources, "OWN")?;
    let not_yet = constant(sources, "NOT_YET")?;
    let sentences: BTreeMap<&str, &str> = SENTENCES.into_iter().collect();
    let mut text = origin("`session::command::set`") + INTRO;
    for setting in elements(own) {
        let Expr::Tuple(pair) = setting else { continue };
        let mut pair = pair.elems.iter();
        let name = pair.next().and_then(source::string).unwrap_or_default();
        let values: Vec<String> = pair
            .next()
            .map(|values| elements(values).into_iter().filter_map(source::string))
            .map(|values| values.map(|value| format!("`{value}`")).collect())
            .unwrap_or_default();
        let values = if values.is_empty() {
            "a name".to_owned()
        } else {
            values.join(", ")
        };
        let sentence = sentences.get(name.as_str()).ok_or_else(|| {
            io::Error::other(format!(
                "{name} has no sentence in xtask/src/docs/setting.rs"
            ))
        })?;
        text.push_str(&row(&[&format!("`{name}`"), &values, sentence]));
    }
    text.push_str("\nThese are known by name and refused, because nothing acts on them yet:\n\n");
    for name in elements(not_yet).into_iter().filter_map(source::string) {
        let _ = writeln!(text, "- `{name}`");
    }
    Ok(text)
}

fn constant<'a>(sources: &'a [Source], name: &str) -> io::Result<&'a Expr> {
    sources
        .iter()
        .filter(|source| source.path == "crates/session/src/command/set.rs")
        .flat_map(|source| &source.items)
        .find_map(|item| match item {
            Item::Const(constant) if constant.ident == name => Some(&*constant.expr),
            _ => None,
        })
        .ok_or_else(|| io::Error::other(format!("session::command::set has no {name}")))
}

fn elements(expr: &Expr) -> Vec<&Expr> {
    match expr {
        Expr::Array(array) => array.elems.iter().collect(),
        Expr::Reference(reference) => elements(&reference.expr),
        _ => Vec::new(),
    }
}
