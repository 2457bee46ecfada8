//! What a trigger function looks at, read from its source. Invariant: strict; what is not understood word by word is unproven.

use catalog::{Function, Volatility};
use sql::scan::{self, Token, TokenKind};

use crate::Context;

/// What the outcome of a trigger function depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reads {
    /// The row alone: every copy gets the same.
    RowOnly,
    /// The row and the clock, chance or the session: no table.
    Clock,
    /// Perhaps tables.
    Unproven,
}

/// PostgreSQL's own trigger functions that look at the row alone.
const BUILTIN: &[&str] = &[
    "tsvector_update_trigger",
    "tsvector_update_trigger_column",
    "suppress_redundant_updates_trigger",
];

/// Words of PL/pgSQL and of expressions that look at nothing but values.
const HARMLESS: &[&str] = &[
    "begin",
    "end",
    "declare",
    "if",
    "then",
    "elsif",
    "elseif",
    "else",
    "case",
    "when",
    "return",
    "new",
    "old",
    "null",
    "and",
    "or",
    "not",
    "is",
    "in",
    "between",
    "like",
    "ilike",
    "similar",
    "to",
    "distinct",
    "true",
    "false",
    "loop",
    "while",
    "exit",
    "continue",
    "for",
    "reverse",
    "by",
    "raise",
    "exception",
    "notice",
    "warning",
    "info",
    "log",
    "debug",
    "using",
    "errcode",
    "message",
    "detail",
    "hint",
    "constant",
    "default",
    "array",
    "row",
    "any",
    "all",
    "some",
    "collate",
    "as",
    "cast",
    "tg_op",
    "tg_name",
    "tg_when",
    "tg_level",
    "tg_table_name",
    "tg_table_schema",
    "tg_nargs",
    "tg_argv",
    "isnull",
    "notnull",
    "strict",
    "record",
    "coalesce",
    "nullif",
    "greatest",
    "least",
    "escape",
    "at",
    "time",
    "zone",
    "interval",
    "extract",
    "position",
    "substring",
    "trim",
    "overlay",
    "leading",
    "trailing",
    "both",
    "double",
    "precision",
    "varying",
    "character",
    "timestamp",
    "with",
    "without",
    "date",
    "text",
    "integer",
    "int",
    "bigint",
    "smallint",
    "numeric",
    "decimal",
    "boolean",
    "uuid",
    "jsonb",
    "json",
    "timestamptz",
    "real",
    "alias",
    "assert",
    "sqlstate",
    "others",
    "unknown",
    "symmetric",
    "foreach",
    "slice",
];

/// Words that read the clock or the session, and no table.
const CLOCK: &[&str] = &[
    "current_timestamp",
    "current_date",
    "current_time",
    "localtime",
    "localtimestamp",
    "current_user",
    "session_user",
    "user",
    "current_role",
    "tg_relid",
];

/// Words that begin or belong to SQL statements: a table may be near.
const STATEMENT: &[&str] = &[
    "select",
    "insert",
    "update",
    "delete",
    "merge",
    "perform",
    "execute",
    "copy",
    "truncate",
    "call",
    "from",
    "into",
    "table",
    "values",
    "notify",
    "listen",
    "unlisten",
    "refresh",
    "create",
    "drop",
    "alter",
    "lock",
    "set",
    "reset",
    "open",
    "fetch",
    "move",
    "query",
    "do",
    "cursor",
    "get",
    "commit",
    "rollback",
    "savepoint",
    "prepare",
    "vacuum",
    "analyze",
    "grant",
    "revoke",
    "nextval",
    "currval",
    "lastval",
    "setval",
    "with_query",
];

/// What a trigger function looks at.
pub(crate) fn reads(cx: &Context<'_>, function: &Function) -> Reads {
    if function.is_builtin {
        return if BUILTIN.contains(&function.name.as_str()) {
            Reads::RowOnly
        } else {
            Reads::Unproven
        };
    }
    if function.language != "plpgsql" {
        return Reads::Unproven;
    }
    let tokens = scan::tokens(&function.source, true);
    let mut worst = Reads::RowOnly;
    for (at, token) in tokens.iter().enumerate() {
        worst = worst.max(token_reads(cx, &function.source, &tokens, (at, token)));
    }
    worst
}

fn token_reads(
    cx: &Context<'_>,
    source: &str,
    tokens: &[Token],
    (at, token): (usize, &Token),
) -> Reads {
    match token.kind {
        TokenKind::Word => {}
        // A quoted word that is called may be any function; as a field or a variable it is a value.
        TokenKind::QuotedWord if !is_called(source, tokens, at) => return Reads::RowOnly,
        TokenKind::String
            if crate::volatile::is_clock_word(token.text(source).trim_matches('\'')) =>
        {
            return Reads::Clock;
        }
        TokenKind::Operator
            if cx
                .catalog
                .user_operators
                .iter()
                .any(|name| name == token.text(source)) =>
        {
            return Reads::Unproven;
        }
        TokenKind::Invalid | TokenKind::QuotedWord | TokenKind::UnicodeWord => {
            return Reads::Unproven;
        }
        _ => return Reads::RowOnly,
    }
    let word = token.text(source).to_lowercase();
    let is_field =
        at > 0 && tokens[at - 1].is_punctuation(source, ".") && !is_called(source, tokens, at);
    if is_field {
        return Reads::RowOnly;
    }
    if STATEMENT.contains(&word.as_str()) {
        return Reads::Unproven;
    }
    if CLOCK.contains(&word.as_str()) {
        return Reads::Clock;
    }
    if is_called(source, tokens, at) && !HARMLESS.contains(&word.as_str()) {
        return call_reads(cx, source, tokens, (at, &word));
    }
    Reads::RowOnly
}

fn is_called(source: &str, tokens: &[Token], at: usize) -> bool {
    tokens
        .get(at + 1)
        .is_some_and(|next| next.is_punctuation(source, "("))
}

/// PostgreSQL's own functions read no tables unless they say so in their names; those of users are not looked into.
fn call_reads(
    cx: &Context<'_>,
    source: &str,
    tokens: &[Token],
    (at, word): (usize, &str),
) -> Reads {
    let is_qualified = at > 1 && tokens[at - 1].is_punctuation(source, ".");
    let is_system = !is_qualified || tokens[at - 2].is_word(source, "pg_catalog");
    let name = vec![word.to_owned()];
    let candidates = cx.catalog.functions_named(&name, cx.search_path);
    let is_array_variable = candidates.is_empty();
    let is_builtin = !is_array_variable && candidates.iter().all(|function| function.is_builtin);
    if !is_system || !is_builtin {
        return Reads::Unproven;
    }
    let is_immutable = candidates
        .iter()
        .all(|function| function.volatility == Volatility::Immutable);
    match () {
        () if is_immutable => Reads::RowOnly,
        () if crate::volatile::reads_no_tables(word) => Reads::Clock,
        () => Reads::Unproven,
    }
}
