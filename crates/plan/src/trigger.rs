//! What a trigger function looks at, read from its source. Invariant: strict; what is not understood word by word is unproven.

use catalog::{Function, Volatility};
use sql::scan::{self, Token, TokenKind};

use crate::Context;
use crate::place::{self, Place};

/// What the outcome of a trigger function depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reads {
    /// The row alone: every copy gets the same.
    RowOnly,
    /// The row and the clock, chance or the session: no table.
    Clock,
    /// Tables that are whole where unsharded tables are, and no others.
    Unsharded,
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

/// Words of SQL statements that read and write rows: tables are near.
const DATA: &[&str] = &[
    "select", "insert", "update", "delete", "merge", "perform", "from", "into", "table", "values",
    "set", "query", "get", "cursor", "nextval", "currval", "lastval", "setval",
];

/// Words of all other statements, and of SQL in strings.
const STATEMENT: &[&str] = &[
    "execute",
    "copy",
    "truncate",
    "call",
    "notify",
    "listen",
    "unlisten",
    "refresh",
    "create",
    "drop",
    "alter",
    "lock",
    "reset",
    "open",
    "fetch",
    "move",
    "do",
    "commit",
    "rollback",
    "savepoint",
    "prepare",
    "vacuum",
    "analyze",
    "grant",
    "revoke",
];

/// Words that change rows.
const WRITING: &[&str] = &["insert", "update", "delete", "merge"];

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
    if worst == Reads::Unsharded && !names_unsharded(cx, &function.source, &tokens) {
        return Reads::Unproven;
    }
    worst
}

/// Whether a row trigger leaves these columns of the new row as they are.
pub(crate) fn keeps_columns(function: &Function, columns: &[&str]) -> bool {
    if function.is_builtin {
        return BUILTIN.contains(&function.name.as_str());
    }
    let source = function.source.as_str();
    let tokens = scan::tokens(source, true);
    let word = |at: usize| tokens.get(at).map_or("", |token| token.text(source));
    let is = |at: usize, expected: &str| word(at).eq_ignore_ascii_case(expected);
    let assigns = |at: usize| matches!(word(at), "=" | ":=");
    (0..tokens.len()).all(|at| {
        if is(at, "return") {
            return ["new", "old", "null"].iter().any(|value| is(at + 1, value))
                && word(at + 2) == ";";
        }
        if is(at, "into") {
            return !is(at + 1, "new");
        }
        if !is(at, "new") || !begins_statement(source, &tokens, at) {
            return true;
        }
        let field = word(at + 2).trim_matches('"').to_lowercase();
        let is_field = word(at + 1) == "." && assigns(at + 3);
        is_field && !columns.iter().any(|column| column.to_lowercase() == field)
    })
}

/// Whether a statement of PL/pgSQL begins with this token.
fn begins_statement(source: &str, tokens: &[Token], at: usize) -> bool {
    const BEFORE: &[&str] = &[";", "begin", "then", "else", "loop", ">>"];
    let before = at
        .checked_sub(1)
        .map(|before| tokens[before].text(source).to_lowercase());
    before.is_none_or(|before| BEFORE.contains(&before.as_str()))
}

/// Whether every relation that a word may mean is whole on the authoritative shard, and is there only when rows are changed.
fn names_unsharded(cx: &Context<'_>, source: &str, tokens: &[Token]) -> bool {
    let writes = tokens
        .iter()
        .any(|token| WRITING.iter().any(|word| token.is_word(source, word)));
    tokens.iter().all(|token| {
        let name = match token.kind {
            TokenKind::Word => token.text(source).to_lowercase(),
            TokenKind::QuotedWord => token.text(source).trim_matches('"').replace("\"\"", "\""),
            _ => return true,
        };
        if cx.temporary.contains(&name) {
            return false;
        }
        let schemas = cx.catalog.relations_by_name.iter();
        let mut named = schemas
            .filter(|(schema, _)| !is_system(schema))
            .filter_map(|(_, names)| names.get(&name));
        named.all(|oid| {
            cx.catalog
                .relations
                .get(oid)
                .is_none_or(|relation| is_unsharded(cx, relation, writes))
        })
    })
}

fn is_system(schema: &str) -> bool {
    matches!(schema, "pg_catalog" | "information_schema" | "pg_toast")
}

fn is_unsharded(cx: &Context<'_>, relation: &catalog::Relation, writes: bool) -> bool {
    let authority = cx.topology.authoritative_shard();
    if writes {
        matches!(place::place(cx, relation), Ok(Place::Shard(home)) if home == authority)
    } else {
        crate::write::is_whole(cx, relation, &[authority]).unwrap_or(false)
    }
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
    // `SET search_path` would change what all other names mean.
    let is_setting = word == "set" && begins_statement(source, tokens, at);
    if STATEMENT.contains(&word.as_str()) || is_setting {
        return Reads::Unproven;
    }
    if DATA.contains(&word.as_str()) {
        return Reads::Unsharded;
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
        () if word.contains("_to_xml") || word == "ts_stat" => Reads::Unproven,
        () => Reads::Unsharded,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(source: &str) -> Function {
        Function {
            oid: pg::Oid(20_000),
            schema: "public".to_owned(),
            name: "f".to_owned(),
            kind: catalog::FunctionKind::Function,
            volatility: Volatility::Volatile,
            arguments: Vec::new(),
            defaults: 0,
            is_variadic: false,
            result: pg::Oid(2279),
            returns_set: false,
            is_builtin: false,
            language: "plpgsql".to_owned(),
            source: source.to_owned(),
            reads: Vec::new(),
        }
    }

    #[track_caller]
    fn check(source: &str, keeps: bool) {
        assert_eq!(keeps_columns(&function(source), &["id"]), keeps, "{source}");
    }

    #[test]
    fn an_assignment_to_the_key_is_seen() {
        check("BEGIN NEW.note := 'a'; RETURN NEW; END", true);
        check(
            "BEGIN IF NEW.id = 5 THEN NEW.note = NEW.id; END IF; RETURN NEW; END",
            true,
        );
        check("BEGIN NEW.id := 5; RETURN NEW; END", false);
        check("BEGIN NEW.\"id\" = 5; RETURN NEW; END", false);
        check("BEGIN NEW := OLD; RETURN NEW; END", false);
        check("BEGIN RETURN ROW(1); END", false);
        check("DECLARE r t; BEGIN RETURN r; END", false);
        check("BEGIN SELECT 1 INTO NEW.id; RETURN NEW; END", false);
    }
}
