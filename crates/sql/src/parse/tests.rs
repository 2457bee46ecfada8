use super::*;

#[test]
fn statements_lie_where_their_tokens_lie() {
    let text = "-- one\nselect 1 ; /* two */ select 'é', -5 -- end\n;";
    let statements = parse(text).unwrap();
    let texts: Vec<_> = statements
        .iter()
        .map(|statement| &text[statement.span.start as usize..statement.span.end as usize])
        .collect();
    assert_eq!(texts, ["select 1", "select 'é', -5"]);
}

#[test]
fn errors_have_a_place() {
    let error = parse("select 'é' frm x y").unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::Syntax);
    let position = error.position.unwrap();
    assert_eq!((position.character, position.byte), (16, 16));
    let nul = parse("select \0").unwrap_err();
    assert_eq!(nul.position.map(|at| at.byte), Some(7));
}

#[test]
fn backslashes_mean_what_the_session_says() {
    let off = ParseOptions {
        standard_conforming_strings: false,
    };
    assert!(parse(r"select 'a\'b'").is_err());
    assert!(parse_with(r"select 'a\'b'", off).is_ok());
    assert!(parse(r"select 'a\'").is_ok(), "the setting does not linger");
}

#[test]
fn rows_of_an_insert_have_spans() {
    let text = "insert into values_ as v (a, b) overriding user value values (1, (2)), ('(', $1) returning a";
    let statements = parse(text).unwrap();
    let ast::Body::Insert(insert) = &statements[0].body else {
        panic!("an insert");
    };
    let ast::InsertSource::Values { spans, rows } = &insert.source else {
        panic!("values");
    };
    let texts: Vec<_> = spans
        .iter()
        .map(|span| &text[span.start as usize..span.end as usize])
        .collect();
    assert_eq!(texts, ["(1, (2))", "('(', $1)"]);
    assert_eq!(rows.len(), 2);
}

#[test]
fn deep_and_long_statements_do_not_end_the_process() {
    for (text, fits) in [
        (format!("select 1{}", " + 1".repeat(200)), true),
        (format!("select 1{}", " + 1".repeat(30_000)), false),
        (format!("select 1{}", " or a = 1".repeat(30_000)), true),
        (
            format!("select {}1{}", "(".repeat(10_000), ")".repeat(10_000)),
            false,
        ),
        (
            format!("select {}1{}", "(select ".repeat(3_000), ")".repeat(3_000)),
            false,
        ),
        (
            format!("select 1{}", " union all select 1".repeat(30_000)),
            false,
        ),
        (format!("select {} true", "not ".repeat(5_000)), false),
        (format!("select {} 1", "- ".repeat(5_000)), true),
        (
            format!("select array{}1{}", "[".repeat(5_000), "]".repeat(5_000)),
            false,
        ),
        (
            format!(
                "select * from {} a {}",
                "(".repeat(2_000),
                ")".repeat(2_000)
            ),
            false,
        ),
        (
            format!("select * from a{}", " join a on true".repeat(5_000)),
            false,
        ),
        (
            format!("create view v as select 1{}", " + 1".repeat(30_000)),
            false,
        ),
        (format!("select x{}", "[1]".repeat(30_000)), true),
        (
            format!("select {}", "case when a then ".repeat(5_000)),
            false,
        ),
    ] {
        let shown: String = text.chars().take(40).collect();
        let result = parse(&text);
        assert_eq!(result.is_ok(), fits, "{shown}: {result:.200?}");
        drop(result.clone());
    }
}

#[test]
fn comments_between_the_pieces_of_a_string_are_blanks() {
    let text = "select 'a' -- one\n -- two's\n 'b--c', e'x\\'' --\n 'y', c";
    let statements = parse(text).unwrap();
    assert_eq!(statements[0].to_string(), "(select 'ab--c' 'x\\'y' c)");
}

/// A test's thread has 2 MiB, as a runtime's worker has.
#[test]
fn the_deepest_trees_can_be_used_on_an_ordinary_stack() {
    let depth = MAX_DEPTH as usize - 5;
    for text in [
        format!("select 1{}", " + 1".repeat(depth)),
        format!("select {} true", "not ".repeat(depth)),
        format!("select 1{}", " union all select 1".repeat(depth - 10)),
        format!(
            "select {}1{}",
            "(select ".repeat(depth / 4),
            ")".repeat(depth / 4)
        ),
        format!("select * from a{}", " join a on true".repeat(depth)),
        format!(
            "select {} 1 {}",
            "case when a then ".repeat(depth),
            " end".repeat(depth)
        ),
    ] {
        let statements = parse(&text).unwrap();
        let copy = statements.clone();
        assert_eq!(copy, statements);
        assert!(!copy[0].to_string().is_empty());
        let places = crate::Places::new(&text, ParseOptions::default());
        let mut first = None;
        ast::walk::for_each_expr(&statements[0].body, &mut |expr| {
            first = first.or(Some(expr));
        });
        let _ = first.and_then(|expr| places.expr(expr));
    }
    let long = format!("select * from t where a = 1{}", " or a = 1".repeat(20_000));
    let statements = parse(&long).unwrap();
    let places = crate::Places::new(&long, ParseOptions::default());
    ast::walk::for_each_query(&statements[0].body, &mut |query| {
        if let ast::QueryBody::Select(select) = &query.body {
            let filter = select
                .filter
                .as_ref()
                .and_then(|filter| places.expr(filter));
            assert!(filter.is_some_and(|span| places.text(span).starts_with("a = 1 or")));
        }
    });
}
