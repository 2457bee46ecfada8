//! What a function call means for where a statement may run. Invariant: a function that could see the rows of a
//! sharded table is refused wherever it is called; what isn't known to be harmless anywhere is known to one shard.

use std::collections::HashSet;

use catalog::{Function, FunctionKind, Volatility};
use sql::ast::{Call, Name};
use sql::scan::{Token, TokenKind};

use crate::plan::{Effect, Facts, Fixed, Merge, Plan, Route, Target, Text, Tier};
use crate::{Context, PlanError, UnsupportedId, refuse};

mod builtin;

/// What a call means for where a statement may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    /// The same on every shard, given the same rows.
    Free,
    /// Another value with each call, on one PostgreSQL too.
    Fresh,
    /// The current time: one value for a statement.
    Clock,
    /// A sequence's value.
    Sequence,
    /// It tells about one server, or has an effect there.
    Authority,
    /// As [`Class::Authority`], and the session's state is on that backend afterwards.
    Pinning,
    /// It sends a notification.
    Notify,
    /// It changes a setting.
    SetConfig,
    /// It exports a snapshot.
    Snapshot,
    /// It runs SQL from a string.
    Dynamic,
    /// Not proven to touch no table.
    Unproven,
    /// Nothing has that name.
    Unknown,
}

/// What this call is.
pub(crate) fn classify(context: &Context<'_>, call: &Call) -> Class {
    // In FROM `unnest` takes any number of arrays: each is unnested by itself.
    let is_unnest = call.name.parts.last().is_some_and(|last| last == "unnest");
    let count = if is_unnest { 1 } else { call.arguments.len() };
    let candidates = candidates(context, &call.name, count, call.star);
    if candidates.is_empty() {
        return unresolved(context, &call.name, call.arguments.len());
    }
    let mut seen = HashSet::new();
    candidates
        .iter()
        .map(|function| match class_of(context, function, &mut seen) {
            // `age` counts from today only when it isn't told from when.
            Class::Clock if function.is_builtin && function.arguments.len() == 2 => Class::Free,
            class => class,
        })
        .max()
        .unwrap_or(Class::Unknown)
}

/// Plans `CALL`. A procedure that is proven to touch no table does the same everywhere.
///
/// # Errors
///
/// It isn't proven, or does not exist.
pub(crate) fn call(context: &Context<'_>, call: &Call) -> Result<crate::Planned, PlanError> {
    let name = call.name.parts.join(".");
    let class = classify(context, call);
    if class == Class::Unknown {
        let position = None;
        return Err(PlanError::UndefinedFunction { name, position });
    }
    let is_plain = call.arguments.iter().all(crate::volatile::is_row_free);
    if context.is_spread() && (class >= Class::Sequence || !is_plain) {
        return Err(refuse(UnsupportedId::FunctionUser, name));
    }
    Ok(alone("the procedure touches no table"))
}

/// Plans `DO`: its code is not looked into, so it runs where there is but one shard.
///
/// # Errors
///
/// There are several.
pub(crate) fn block(context: &Context<'_>) -> Result<crate::Planned, PlanError> {
    if context.is_spread() {
        return Err(refuse(UnsupportedId::FunctionUser, "DO"));
    }
    Ok(alone("there is only one shard"))
}

fn alone(reason: &str) -> crate::Planned {
    crate::Planned {
        plan: Plan {
            tier: Tier::PassThrough,
            compute: Vec::new(),
            target: Target::One {
                routes: smallvec::smallvec![Route::Authority],
                split: None,
            },
            text: Text::Verbatim,
            merge: Merge::Pass,
            effect: Effect::Write,
            reasons: vec![reason.to_owned()],
            notices: Vec::new(),
        },
        fixed: Fixed::All,
        facts: Facts::default(),
    }
}

/// Whether this call aggregates rows, unless it has an `OVER`.
pub(crate) fn is_aggregate(context: &Context<'_>, name: &Name) -> bool {
    if matches!(name.parts.as_slice(), [schema, _] if schema == "pg_catalog")
        || name.parts.len() == 1
    {
        let last = name.parts.last().map_or("", String::as_str);
        if builtin::AGGREGATES.contains(&last) {
            return true;
        }
    }
    context
        .catalog
        .functions_named(&name.parts, context.search_path)
        .iter()
        .any(|function| function.kind == FunctionKind::Aggregate)
}

fn candidates<'a>(
    context: &Context<'a>,
    name: &Name,
    count: usize,
    is_star: bool,
) -> Vec<&'a Function> {
    context
        .catalog
        .functions_named(&name.parts, context.search_path)
        .into_iter()
        .map(AsRef::as_ref)
        .filter(|function| is_star || takes(function, count))
        .collect()
}

fn takes(function: &Function, count: usize) -> bool {
    let most = function.arguments.len();
    let least = most.saturating_sub(usize::try_from(function.defaults).unwrap_or(0));
    match function.kind {
        FunctionKind::Aggregate => true,
        _ if function.is_variadic => count + 1 >= most,
        _ => (least..=most).contains(&count),
    }
}

/// `float8(x)` may be a cast, and `f(row)` a column; neither is a function.
fn unresolved(context: &Context<'_>, name: &Name, count: usize) -> Class {
    let is_cast = count == 1
        && context
            .catalog
            .type_named(&name.parts, context.search_path)
            .is_some();
    if is_cast { Class::Free } else { Class::Unknown }
}

fn class_of(context: &Context<'_>, function: &Function, seen: &mut HashSet<pg::Oid>) -> Class {
    if function.is_builtin {
        return builtin::class(&function.name, function.volatility);
    }
    if !seen.insert(function.oid) {
        // A recursive call adds nothing to what the first one is.
        return Class::Free;
    }
    if function.kind == FunctionKind::Aggregate {
        // Its source calls the functions behind it.
        return body(context, function, seen);
    }
    match function.language.as_str() {
        "c" | "internal" => library(function),
        "sql" | "plpgsql" => body(context, function, seen),
        _ => Class::Unproven,
    }
}

/// Code in C that may change within a statement might do anything.
fn library(function: &Function) -> Class {
    if builtin::FRESH_LIBRARY.contains(&function.name.as_str()) {
        Class::Fresh
    } else if function.volatility == Volatility::Immutable
        || builtin::SETTLED_LIBRARY.contains(&function.name.as_str())
    {
        Class::Free
    } else {
        Class::Unproven
    }
}

/// Whether no function of the user's (aggregates aside) could touch a table.
pub(crate) fn every_function_is_proven(context: &Context<'_>) -> bool {
    let schemas = context.catalog.functions.values();
    schemas
        .flat_map(|names| names.values().flatten())
        .all(|function| {
            function.is_builtin
                || function.kind == FunctionKind::Aggregate
                || class_of(context, function, &mut HashSet::new()) < Class::Dynamic
        })
}

/// A body is proven when it names no relation, runs no SQL from strings, and calls only proven functions.
fn body(context: &Context<'_>, function: &Function, seen: &mut HashSet<pg::Oid>) -> Class {
    if !function.reads.is_empty() || function.source.trim().is_empty() {
        return Class::Unproven;
    }
    let source = function.source.as_str();
    let tokens = sql::scan::tokens(source, true);
    let mut class = Class::Free;
    for (at, token) in tokens.iter().enumerate() {
        match token.kind {
            TokenKind::Word | TokenKind::QuotedWord => {}
            TokenKind::Invalid | TokenKind::UnicodeWord => return Class::Unproven,
            _ => continue,
        }
        let word = identifier(token, source);
        let is_bare = token.kind == TokenKind::Word;
        if (is_bare && builtin::STATEMENT_WORDS.contains(&word.as_str()))
            || names_relation(context, &word)
        {
            return Class::Unproven;
        }
        let is_call = tokens
            .get(at + 1)
            .is_some_and(|next| next.is_punctuation(source, "("));
        if is_call {
            class = class.max(named(context, function, &word, seen));
        }
        if is_bare && builtin::CLOCK_WORDS.contains(&word.as_str()) {
            class = class.max(Class::Clock);
        }
    }
    class
}

/// Every function that a word in a body may mean, in any schema.
fn named(
    context: &Context<'_>,
    caller: &Function,
    word: &str,
    seen: &mut HashSet<pg::Oid>,
) -> Class {
    let schemas = context.catalog.functions.values();
    schemas
        .filter_map(|names| names.get(word))
        .flatten()
        .filter(|function| function.oid != caller.oid)
        .map(|function| class_of(context, function, seen))
        .max()
        .unwrap_or(Class::Free)
}

fn names_relation(context: &Context<'_>, word: &str) -> bool {
    context.temporary.iter().any(|table| table == word)
        || context
            .catalog
            .relations_by_name
            .iter()
            .any(|(schema, names)| {
                !matches!(
                    schema.as_str(),
                    "pg_catalog" | "information_schema" | "pg_toast"
                ) && names.get(word).is_some_and(|oid| is_table(context, *oid))
            })
}

fn is_table(context: &Context<'_>, oid: pg::Oid) -> bool {
    context.catalog.relations.get(&oid).is_some_and(|relation| {
        !matches!(
            relation.kind,
            catalog::RelationKind::Index | catalog::RelationKind::Composite
        )
    })
}

fn identifier(token: &Token, source: &str) -> String {
    let text = token.text(source);
    match token.kind {
        TokenKind::QuotedWord => text.trim_matches('"').replace("\"\"", "\""),
        _ => text.to_lowercase(),
    }
}
