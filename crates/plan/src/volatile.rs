//! Which parts of an expression could give another value on another shard, and how each is made the same everywhere.
//!
//! A call of `now()` is one value for a statement, a call of `random()` one for each evaluation, a call of `nextval` one of
//! the cluster's; all else that isn't immutable is either known to depend on settings only, which every shard shares, or is
//! not proven. Invariant: what no finding mentions has the same value on every shard, given the same rows.

mod known;
pub(crate) mod tree;

use catalog::{Function, FunctionKind, Relation, RelationKind, TypeKind, Volatility};
use pg::Oid;
use sql::ast;

use crate::Context;
use tree::Node;

/// Something in an expression whose value depends on where or when it is computed.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Finding {
    /// What it is.
    pub(crate) what: What,
    /// Where it stands in the text, when that is known exactly.
    pub(crate) span: Option<ast::Span>,
    /// As it is called in messages.
    pub(crate) name: String,
    /// It could be computed before the statement: neither columns nor sub-selects nor parameters of unknown place are inside.
    pub(crate) is_row_free: bool,
}

/// What a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// One value for the whole statement.
    Clock {
        /// Its type.
        type_oid: Oid,
    },
    /// Another value with each evaluation.
    Fresh {
        /// Its type.
        type_oid: Oid,
    },
    /// `nextval` of a sequence.
    NextVal(Oid),
    /// `currval` of a sequence.
    CurrVal(Oid),
    /// `lastval`.
    LastVal,
    /// `setval` of a sequence.
    SetVal(Oid),
    /// A sequence function whose sequence can't be told before the statement runs.
    UnknownSequence,
    /// Not proven to be the same everywhere.
    Unproven,
}

/// Everything in `expr` (sub-selects included) that could differ from shard to shard, in the order of the text.
pub(crate) fn findings(cx: &Context<'_>, text: &str, expr: &ast::Expr) -> Vec<Finding> {
    let mut found = Vec::new();
    tree::walk_expr(expr, &mut |node| {
        if let Node::Expr(inner) = node {
            return examine(cx, text, inner, &mut found);
        }
        true
    });
    found
}

/// The same for every expression of a query.
pub(crate) fn findings_in_query(cx: &Context<'_>, text: &str, query: &ast::Query) -> Vec<Finding> {
    let mut found = Vec::new();
    tree::walk_query(query, &mut |node| match node {
        Node::Expr(inner) => examine(cx, text, inner, &mut found),
        _ => true,
    });
    found
}

/// The same for every expression of a statement.
pub(crate) fn findings_in_body(cx: &Context<'_>, text: &str, body: &ast::Body) -> Vec<Finding> {
    let mut found = Vec::new();
    tree::walk_body(body, &mut |node| match node {
        Node::Expr(inner) => examine(cx, text, inner, &mut found),
        _ => true,
    });
    found
}

/// Whether a text constant means a moment that moves when it is read as a date or a time.
#[must_use]
pub fn is_clock_word(text: &str) -> bool {
    let mut words = text
        .split(|c: char| c.is_whitespace() || c == ',')
        .filter(|word| !word.is_empty());
    let is_special = |word: &str| {
        known::CLOCK_WORDS
            .iter()
            .any(|special| word.eq_ignore_ascii_case(special))
    };
    words.clone().count() <= 4 && words.any(is_special)
}

/// Whether text put into a column of this type may be read as a moment.
pub(crate) fn reads_clock_words(cx: &Context<'_>, type_oid: Oid) -> bool {
    let base = cx.catalog.base_type(type_oid);
    match cx.catalog.types.get(&base).map(|known| &known.kind) {
        Some(TypeKind::Array(element)) => reads_clock_words(cx, *element),
        Some(TypeKind::Range | TypeKind::Composite) => true,
        _ => known::CLOCK_TYPES.contains(&base),
    }
}

/// Whether a function of PostgreSQL's own is known to look at no table.
pub(crate) fn reads_no_tables(name: &str) -> bool {
    [
        known::CLOCK_FUNCTIONS,
        known::FRESH_FUNCTIONS,
        known::SETTLED_FUNCTIONS,
    ]
    .iter()
    .any(|list| list.contains(&name))
}

/// Looks at one node; the answer says whether to look inside.
fn examine(cx: &Context<'_>, text: &str, expr: &ast::Expr, found: &mut Vec<Finding>) -> bool {
    match &expr.kind {
        ast::ExprKind::Call(call) => {
            if let Some(what) = examine_call(cx, call) {
                let is_sequence = matches!(
                    what,
                    What::NextVal(_) | What::CurrVal(_) | What::LastVal | What::SetVal(_)
                );
                found.push(Finding {
                    what,
                    span: call.span,
                    name: format!("{}()", call.name.parts.join(".")),
                    is_row_free: call.over.is_none() && call.filter.is_none() && is_row_free(expr),
                });
                return !(is_sequence && matches!(call.arguments.len(), 0 | 1));
            }
            true
        }
        ast::ExprKind::SqlValue(word) => {
            if let Some(type_oid) = known::clock_keyword(word) {
                found.push(Finding {
                    what: What::Clock { type_oid },
                    span: expr.location.map(|start| keyword_span(text, start, word)),
                    name: (*word).to_owned(),
                    is_row_free: true,
                });
            }
            true
        }
        ast::ExprKind::Cast { operand, type_name } => {
            found.extend(examine_cast(cx, text, operand, type_name));
            true
        }
        ast::ExprKind::Operator { name, .. } | ast::ExprKind::AnyAll { name, .. } => {
            found.extend(examine_operator(cx, name));
            true
        }
        _ => true,
    }
}

fn examine_operator(cx: &Context<'_>, name: &ast::Name) -> Option<Finding> {
    let operator = name.parts.last()?;
    let is_theirs = cx
        .catalog
        .user_operators
        .iter()
        .any(|known| known == operator);
    (is_theirs
        && name
            .parts
            .first()
            .is_none_or(|schema| schema != "pg_catalog"))
    .then(|| Finding {
        what: What::Unproven,
        span: None,
        name: format!("operator {operator}"),
        is_row_free: false,
    })
}

/// A cast of `'now'` to a date or a time is a clock; one to a type whose values are OIDs differs from shard to shard.
fn examine_cast(
    cx: &Context<'_>,
    text: &str,
    operand: &ast::Expr,
    type_name: &ast::TypeName,
) -> Option<Finding> {
    let name = type_name.name.parts.join(".");
    if type_name
        .name
        .parts
        .last()
        .is_some_and(|last| known::OID_TYPES.contains(&last.as_str()))
    {
        return Some(Finding {
            what: What::Unproven,
            span: None,
            name: format!("cast to {name}"),
            is_row_free: false,
        });
    }
    let ast::ExprKind::Const(ast::Const {
        value: ast::ConstValue::String(word),
        token,
        ..
    }) = &operand.kind
    else {
        return None;
    };
    if !is_clock_word(word) {
        return None;
    }
    let resolved = cx.catalog.type_named(&type_name.name.parts, cx.search_path);
    if resolved.is_some_and(|known| !reads_clock_words(cx, known.oid)) {
        return None;
    }
    let type_oid = resolved.map(|known| cx.catalog.base_type(known.oid));
    let is_plain = type_oid.is_some_and(|oid| known::CLOCK_TYPES.contains(&oid))
        && type_name.array_dimensions == 0;
    let span = token.filter(|span| is_plain && is_cast_after(text, *span));
    Some(Finding {
        what: type_oid
            .filter(|_| is_plain)
            .map_or(What::Unproven, |type_oid| What::Clock { type_oid }),
        span,
        name: format!("'{word}'::{name}"),
        is_row_free: true,
    })
}

/// Whether the token at `span` may be replaced by an expression: `'now'::date` and `CAST('now' AS date)`, not `date 'now'`.
fn is_cast_after(text: &str, span: ast::Span) -> bool {
    let rest = text.get(span.end as usize..).unwrap_or("").trim_start();
    rest.starts_with("::")
        || rest
            .get(..3)
            .is_some_and(|word| word.trim_end().eq_ignore_ascii_case("as"))
}

/// `CURRENT_TIMESTAMP`, with its precision when one follows.
fn keyword_span(text: &str, start: u32, word: &str) -> ast::Span {
    let end = start as usize + word.len();
    let rest = text.get(end..).unwrap_or("");
    let blanks = rest.len() - rest.trim_start().len();
    let closing = rest
        .trim_start()
        .starts_with('(')
        .then(|| rest.find(')'))
        .flatten();
    let length = closing.map_or(0, |at| at + 1);
    debug_assert!(length == 0 || length > blanks);
    let end = u32::try_from(end + length).unwrap_or(u32::MAX);
    ast::Span { start, end }
}

fn examine_call(cx: &Context<'_>, call: &ast::Call) -> Option<What> {
    let candidates = candidates(cx, call);
    if candidates.is_empty() {
        return Some(What::Unproven);
    }
    if candidates.iter().all(is_sequence_function) {
        return Some(examine_sequence(cx, call));
    }
    let least = candidates
        .iter()
        .map(|function| function.volatility)
        .max()?;
    if least == Volatility::Immutable || candidates.iter().all(|f| is_settled(f, call)) {
        return None;
    }
    let result = common_result(&candidates);
    let name = call.name.parts.last().map_or("", String::as_str);
    let is_builtin = candidates.iter().all(|function| function.is_builtin);
    let is_library = candidates.iter().all(|function| function.language == "c");
    Some(match result {
        Some(type_oid) if is_builtin && known::CLOCK_FUNCTIONS.contains(&name) => {
            What::Clock { type_oid }
        }
        Some(type_oid)
            if (is_builtin && known::FRESH_FUNCTIONS.contains(&name))
                || (is_library && known::FRESH_LIBRARY_FUNCTIONS.contains(&name)) =>
        {
            What::Fresh { type_oid }
        }
        _ => What::Unproven,
    })
}

/// Stable, but by the session's settings only.
fn is_settled(function: &Function, call: &ast::Call) -> bool {
    let is_known =
        function.is_builtin && known::SETTLED_FUNCTIONS.contains(&function.name.as_str());
    let is_pure_aggregate = function.is_builtin
        && function.kind != FunctionKind::Function
        && function.volatility != Volatility::Volatile;
    function.volatility == Volatility::Immutable
        || (is_known && function.volatility == Volatility::Stable)
        || (is_pure_aggregate && !call.star)
}

/// The functions that a call may mean, by name and number of arguments.
pub(crate) fn candidates(cx: &Context<'_>, call: &ast::Call) -> Vec<Function> {
    let count = call.arguments.len();
    cx.catalog
        .functions_named(&call.name.parts, cx.search_path)
        .into_iter()
        .filter(|function| takes(function, count) || call.star)
        .map(|function| (**function).clone())
        .collect()
}

fn takes(function: &Function, count: usize) -> bool {
    let most = function.arguments.len();
    let least = most.saturating_sub(usize::try_from(function.defaults).unwrap_or(0));
    if function.is_variadic {
        return count + 1 >= most;
    }
    function.kind == FunctionKind::Aggregate || (least..=most).contains(&count)
}

fn common_result(candidates: &[Function]) -> Option<Oid> {
    let first = candidates.first()?;
    let is_common = candidates
        .iter()
        .all(|f| f.result == first.result && !f.returns_set);
    is_common.then_some(first.result)
}

fn is_sequence_function(function: &Function) -> bool {
    function.is_builtin && known::SEQUENCE_FUNCTIONS.contains(&function.name.as_str())
}

fn examine_sequence(cx: &Context<'_>, call: &ast::Call) -> What {
    let name = call.name.parts.last().map_or("", String::as_str);
    if name == "lastval" {
        return What::LastVal;
    }
    let Some(sequence) = call
        .arguments
        .first()
        .and_then(|argument| sequence_named(cx, argument))
    else {
        return What::UnknownSequence;
    };
    match name {
        "nextval" => What::NextVal(sequence.oid),
        "currval" => What::CurrVal(sequence.oid),
        _ => What::SetVal(sequence.oid),
    }
}

/// The sequence that the argument of `nextval` names: `'s'`, `'s'::regclass`, `pg_get_serial_sequence('t', 'c')`.
fn sequence_named<'a>(cx: &Context<'a>, argument: &ast::Expr) -> Option<&'a Relation> {
    match &argument.kind {
        ast::ExprKind::Const(ast::Const {
            value: ast::ConstValue::String(name),
            ..
        }) => {
            let parts = identifier_parts(name)?;
            cx.catalog
                .relation(&parts, cx.search_path)
                .map(AsRef::as_ref)
                .filter(|relation| relation.kind == RelationKind::Sequence)
        }
        ast::ExprKind::Cast { operand, type_name } => {
            let is_plain = type_name
                .name
                .parts
                .last()
                .is_some_and(|last| matches!(last.as_str(), "regclass" | "text" | "varchar"));
            is_plain.then(|| sequence_named(cx, operand)).flatten()
        }
        ast::ExprKind::Call(call)
            if call
                .name
                .parts
                .last()
                .is_some_and(|last| last == "pg_get_serial_sequence") =>
        {
            serial_sequence(cx, call)
        }
        _ => None,
    }
}

fn serial_sequence<'a>(cx: &Context<'a>, call: &ast::Call) -> Option<&'a Relation> {
    let [table, column] = call.arguments.as_slice() else {
        return None;
    };
    let parts = identifier_parts(text_constant(table)?)?;
    let relation = cx.catalog.relation(&parts, cx.search_path)?;
    let column = relation.column(text_constant(column)?)?;
    let owned = column.identity.map(|identity| identity.sequence);
    // Ownership isn't in the snapshot; a default that draws from the sequence is the serial that pg_get_serial_sequence finds
    // in all but contrived schemas, and those have a sequence of another name.
    let oid = owned.or_else(|| column.default.as_ref()?.sequence)?;
    let sequence = cx.catalog.relations.get(&oid)?;
    let expected = format!("{}_{}_seq", relation.name, column.name);
    (owned.is_some() || sequence.name == expected).then_some(sequence.as_ref())
}

fn text_constant(expr: &ast::Expr) -> Option<&str> {
    match &expr.kind {
        ast::ExprKind::Const(ast::Const {
            value: ast::ConstValue::String(text),
            ..
        }) => Some(text),
        ast::ExprKind::Cast { operand, .. } => text_constant(operand),
        _ => None,
    }
}

/// `public."Seq"` as PostgreSQL reads a name in a string; `None` when it is none.
pub(crate) fn identifier_parts(text: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let mut rest = text.trim();
    loop {
        let (part, after) = if let Some(quoted) = rest.strip_prefix('"') {
            quoted_part(quoted)?
        } else {
            let end = rest.find(['.', ' ', '"']).unwrap_or(rest.len());
            (rest[..end].to_lowercase(), &rest[end..])
        };
        if part.is_empty() {
            return None;
        }
        parts.push(part);
        let after = after.trim_start();
        if after.is_empty() {
            return Some(parts);
        }
        rest = after.strip_prefix('.')?.trim_start();
    }
}

fn quoted_part(text: &str) -> Option<(String, &str)> {
    let mut part = String::new();
    let mut rest = text;
    loop {
        let end = rest.find('"')?;
        part.push_str(&rest[..end]);
        rest = &rest[end + 1..];
        match rest.strip_prefix('"') {
            Some(more) => {
                part.push('"');
                rest = more;
            }
            None => return Some((part, rest)),
        }
    }
}

/// Neither a column nor a sub-select is inside.
pub(crate) fn is_row_free(expr: &ast::Expr) -> bool {
    let mut is_free = true;
    tree::walk_expr(expr, &mut |node| {
        if let Node::Expr(inner) = node {
            is_free &= !matches!(
                inner.kind,
                ast::ExprKind::Column(_) | ast::ExprKind::Star(_) | ast::ExprKind::Sublink { .. }
            );
        }
        is_free
    });
    is_free
}
