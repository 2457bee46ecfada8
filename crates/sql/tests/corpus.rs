//! Every statement that is at hand: the golden files and, where it is found, the Pagila database.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use sql::ast::walk::{self, Part};
use sql::{Lifted, ParseOptions, Places};

/// The statements of the golden files.
fn golden() -> Vec<String> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        cases.extend(text.split("\n\n").filter_map(|case| {
            let (text, _) = case.split_once("\n----")?;
            Some(text.to_owned())
        }));
    }
    cases
}

/// Pagila's script, in the folder that `KINTSUGI_PAGILA` names.
fn pagila() -> Option<String> {
    let folder = std::path::PathBuf::from(std::env::var_os("KINTSUGI_PAGILA")?);
    std::fs::read_to_string(folder.join("pagila.sql")).ok()
}

fn check(text: &str) {
    let options = ParseOptions::default();
    let statements = sql::parse(text).unwrap_or_else(|error| panic!("{error}: {text:.300}"));
    let spans: Vec<_> = statements.iter().map(|statement| statement.span).collect();
    assert_eq!(sql::split(text, options), spans, "{text:.300}");
    let places = Places::new(text, options);
    for statement in &statements {
        let alone = places.text(statement.span);
        let again = sql::parse(alone).unwrap_or_else(|error| panic!("{error}: {alone:.300}"));
        assert_eq!(again.len(), 1);
        assert_eq!(
            again[0].to_string(),
            statement.to_string(),
            "the span is the whole statement"
        );
        walk::walk(Part::Body(&statement.body), &mut |part| {
            if let Part::Expr(expr) = part {
                check_expr(&places, expr);
            }
            true
        });
    }
    let mut lifted = Lifted::new();
    sql::lift(text, options, &mut lifted);
    assert!(lifted.is_valid());
    assert_eq!(lifted.is_multiple(), statements.len() > 1, "{text:.300}");
}

/// Where an expression has a place, its text alone is the same expression. Not all can stand alone.
fn check_expr(places: &Places<'_>, expr: &sql::ast::Expr) {
    let Some(span) = places.expr(expr) else {
        return;
    };
    let alone = format!("select ({})", places.text(span));
    let Ok(statements) = sql::parse(&alone) else {
        return;
    };
    let shown = statements[0].to_string();
    assert_eq!(shown, format!("(select {expr})"), "{alone}");
}

#[test]
fn golden_statements_hold_together() {
    for text in golden() {
        if sql::parse(&text).is_ok() {
            check(&text);
        }
    }
}

#[test]
fn pagila_is_understood_whole() {
    let Some(text) = pagila() else {
        eprintln!("skipped: KINTSUGI_PAGILA is not set");
        return;
    };
    let mut seen = 0;
    let mut rest = text.as_str();
    // The rows of `COPY ... FROM stdin` are no SQL: each stretch between them is parsed by itself.
    while !rest.is_empty() {
        let (sql_text, after) = match rest.find("FROM stdin;\n") {
            Some(found) => rest.split_at(found + "FROM stdin;\n".len()),
            None => (rest, ""),
        };
        let plain: String = sql_text
            .lines()
            .filter(|line| !line.starts_with('\\'))
            .fold(String::new(), |text, line| text + line + "\n");
        check(&plain);
        for statement in sql::parse(&plain).unwrap() {
            assert!(
                !matches!(statement.body, sql::ast::Body::Other(_)),
                "{}",
                statement
            );
            seen += 1;
        }
        rest = after.split_once("\n\\.\n").map_or("", |(_, rest)| rest);
        if after.is_empty() {
            break;
        }
    }
    assert!(seen > 200, "{seen} statements");
}

/// The text with its `index`th literal written as `series` has it.
fn with_literals(text: &str, lifted: &Lifted, series: char) -> (String, Vec<String>) {
    use sql::LiteralClass::{Bits, EscapeString, HexBits, Int4, Int8, Number, String};
    let mut edits = sql::Edits::new();
    let mut values = Vec::new();
    for (index, slot) in lifted.slots().iter().enumerate() {
        let digit = if series == 'p' { 3 } else { 7 };
        let (literal, value) = match slot.class {
            Int4 => (format!("{digit}1{index:04}"), format!("{digit}1{index:04}")),
            Int8 => (
                format!("{digit}00000000000{index:04}"),
                format!("{digit}00000000000{index:04}"),
            ),
            Number => (
                format!("{digit}.5{index:04}"),
                format!("{digit}.5{index:04}"),
            ),
            String => (
                format!("'{series}''{index:04}'"),
                format!("{series}\\'{index:04}"),
            ),
            EscapeString => (
                format!("E'{series}\\n{index:04}'"),
                format!("{series}\\n{index:04}"),
            ),
            Bits => (
                format!("B'1{digit}{index:04}'"),
                format!("b1{digit}{index:04}"),
            ),
            HexBits => (
                format!("X'{digit}{index:04}'"),
                format!("x{digit}{index:04}"),
            ),
        };
        edits.replace(slot.span, literal).unwrap();
        values.push(value);
    }
    (edits.apply(text), values)
}

#[test]
fn texts_of_one_shape_have_one_tree_but_for_their_literals() {
    let options = ParseOptions::default();
    let (mut seen, mut lifted, mut again) = (0, Lifted::new(), Lifted::new());
    for text in golden() {
        for span in sql::split(&text, options) {
            let text = &text[span.start as usize..span.end as usize];
            sql::lift(text, options, &mut lifted);
            let (one, ones) = with_literals(text, &lifted, 'p');
            let (other, others) = with_literals(text, &lifted, 'q');
            for changed in [&one, &other] {
                sql::lift(changed, options, &mut again);
                assert_eq!(again.shape(), lifted.shape(), "{changed}");
                assert_eq!(again.hash(), lifted.hash());
            }
            let (Ok(one), Ok(other)) = (sql::parse(&one), sql::parse(&other)) else {
                assert_eq!(
                    sql::parse(&one).is_ok(),
                    sql::parse(&other).is_ok(),
                    "{text}"
                );
                continue;
            };
            let mut shown = one[0].to_string();
            // Nodes with clauses that the tree does not keep are told apart by a hash over literals too; an interval as
            // a time zone is kept as written.
            let opaque = ["Json", "Xml", "RangeTableFunc", "timezone 'interval"];
            if opaque.iter().any(|word| shown.contains(word)) {
                continue;
            }
            for (value, by) in ones.iter().zip(&others) {
                shown = shown.replace(value.as_str(), by);
            }
            assert_eq!(shown, other[0].to_string(), "{text}");
            seen += 1;
        }
    }
    assert!(seen > 200, "{seen} statements");
}
