//! `docs/guide/what-sql-works-today.md`: what is refused, by its stable id, and the way out.

use std::collections::BTreeMap;
use std::io;

use syn::parse::{Parse, ParseStream};
use syn::{Ident, Item, LitStr};

use super::raised::{self, PREFIX};
use super::{error, origin, row};
use crate::source::Source;
use crate::tree::Tree;

/// The words before the tables are a page of their own, since no code knows them.
const INTRO: &str = "docs/guide/what-sql-works-today.intro.md";

/// One line of `plan::unsupported`'s table.
struct Refusal {
    reach: String,
    id: String,
    what: String,
    reason: String,
    hint: String,
}

/// The table.
struct Table(Vec<Refusal>);

/// The page.
///
/// # Errors
/// The table of refusals or the introduction is not found.
pub(crate) fn page(tree: &Tree, sources: &[Source]) -> io::Result<String> {
    let intro = tree
        .file(INTRO)
        .ok_or_else(|| io::Error::other(format!("{INTRO} is not there")))?;
    let Table(table) = table(sources)?;
    let mut text = origin("`plan::unsupported` and the introduction beside it");
    text.push_str(&intro.text);
    for (reach, heading) in [
        (
            "SeveralShards",
            "\n## Refused where several shards are needed\n\nThe same statement on one shard is passed through: with the shard key fixed, or over reference tables and unsharded groups only.\n",
        ),
        ("Always", "\n## Refused wherever it goes\n"),
    ] {
        text.push_str(heading);
        text.push_str(HEAD);
        for refusal in table.iter().filter(|refusal| refusal.reach == reach) {
            let Refusal {
                id,
                what,
                reason,
                hint,
                ..
            } = refusal;
            text.push_str(&row(&[&format!("`{id}`"), what, reason, hint]));
        }
    }
    text.push_str("\n## Refused while a statement runs or a client connects\n\nThese are found where the plan can't see them: in the protocol, in the session's own commands, or in what a shard answers. Nothing has been written by then.\n");
    text.push_str(HEAD);
    for (id, [what, reason, hint]) in others(sources) {
        let is_known = table.iter().any(|refusal| refusal.id == id);
        if !is_known {
            text.push_str(&row(&[&format!("`{id}`"), &what, &reason, &hint]));
        }
    }
    Ok(text)
}

const HEAD: &str = "\n| `kintsugi/...` | what | why | way out |\n|---|---|---|---|\n";

fn table(sources: &[Source]) -> io::Result<Table> {
    let found = sources
        .iter()
        .filter(|source| source.path == "crates/plan/src/unsupported/table.rs")
        .flat_map(|source| &source.items)
        .find_map(|item| match item {
            Item::Macro(item) if item.mac.path.is_ident("refusals") => Some(&item.mac),
            _ => None,
        })
        .ok_or_else(|| io::Error::other("plan::unsupported::table has no refusals!"))?;
    found.parse_body().map_err(io::Error::other)
}

/// Refusals that are raised outside of the planner: what, why and way out, by id.
fn others(sources: &[Source]) -> BTreeMap<String, [String; 3]> {
    let mut found = BTreeMap::new();
    let mut add = |detail: &str, message: String, hint: Option<String>| {
        let (id, reason) = detail.split_once(": ").unwrap_or((detail, ""));
        let reason = if reason.contains("{}") || reason.starts_with('{') {
            ""
        } else {
            reason.trim_end_matches('.')
        };
        let hint = hint.unwrap_or_default();
        found.entry(id.to_owned()).or_insert_with(|| {
            [
                noun(&message),
                reason.to_owned(),
                hint.trim_end_matches('.').to_owned(),
            ]
        });
    };
    for raised in raised::collect(sources) {
        if let Some(detail) = &raised.refusal {
            add(detail, raised.message, raised.hint);
        }
    }
    for kind in error::kinds(sources) {
        let detail = kind
            .detail
            .as_deref()
            .and_then(|text| text.strip_prefix(PREFIX));
        if let Some(detail) = detail.filter(|detail| !detail.starts_with('{')) {
            add(detail, kind.message, kind.hint);
        }
    }
    found
}

/// "a cursor over shards is not supported": the table says the rest.
fn noun(message: &str) -> String {
    let ends = [" is not supported", " are not supported"];
    let noun = ends.iter().find_map(|end| message.strip_suffix(end));
    noun.unwrap_or(message).to_owned()
}

// === impl Table ===

impl Parse for Table {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut refusals = Vec::new();
        while !input.is_empty() {
            input.parse::<Ident>()?;
            refusals.push(Refusal {
                reach: input.parse::<Ident>()?.to_string(),
                id: input.parse::<LitStr>()?.value(),
                what: input.parse::<LitStr>()?.value(),
                reason: input.parse::<LitStr>()?.value(),
                hint: input.parse::<LitStr>()?.value(),
            });
        }
        Ok(Self(refusals))
    }
}
