use super::*;
use crate::ast::{Body, Expr, ExprKind, Query, QueryBody, Statement, walk};

fn statement(text: &str) -> Statement {
    crate::parse(text).unwrap().into_iter().next().unwrap()
}

fn query(statement: &Statement) -> &Query {
    match &statement.body {
        Body::Query(query) => query,
        other => panic!("a query, not {other}"),
    }
}

fn select(query: &Query) -> &Select {
    match &query.body {
        QueryBody::Select(select) => select,
        _ => panic!("a select"),
    }
}

fn places(text: &str) -> Places<'_> {
    Places::new(text, ParseOptions::default())
}

#[test]
fn select_lists_end_before_their_clause() {
    for (text, list) in [
        ("select a, b from t", "a, b"),
        (
            "select distinct on (a, b) a.from, c as where , d is distinct from e from t",
            "a.from, c as where , d is distinct from e",
        ),
        (
            "select percentile_cont(0.5) within group (order by x) group by 1",
            "percentile_cont(0.5) within group (order by x)",
        ),
        (
            "select extract(year from a) limit 1",
            "extract(year from a)",
        ),
        ("select 1;", "1"),
        ("(select (1) union select 2)", "(1)"),
        ("select all 1 for update", "1"),
    ] {
        let statement = statement(text);
        let mut shown = None;
        walk::for_each_query(&statement.body, &mut |query| {
            if let QueryBody::Select(select) = &query.body {
                assert!(select.location.is_some(), "{text}");
                shown = shown.or(places(text).select_list(select));
            }
        });
        assert_eq!(
            shown.map(|span| places(text).text(span)),
            Some(list),
            "{text}"
        );
    }
}

#[test]
fn entries_of_a_select_list_have_spans() {
    let text = "select a as x, f(b, c) , 'd' from t";
    let statement = statement(text);
    let places = places(text);
    let spans = places.targets(&select(query(&statement)).targets).unwrap();
    let texts: Vec<_> = spans.into_iter().map(|span| places.text(span)).collect();
    assert_eq!(texts, ["a as x", "f(b, c)", "'d'"]);
}

#[test]
fn clauses_stand_behind_the_body() {
    let cases = [
        (
            "select a from t order by a, b limit 5 offset $1 for update of t for share",
            [
                "order by a, b",
                "limit 5",
                "offset $1",
                "for update of t for share",
            ],
            "select a from t",
        ),
        (
            "select a from t offset 1 rows fetch first 2 rows only",
            ["", "fetch first 2 rows only", "offset 1 rows", ""],
            "select a from t",
        ),
        (
            "(select a from t order by 1 limit 2) offset 3",
            ["order by 1", "limit 2", "offset 3", ""],
            "(select a from t",
        ),
        (
            "(select 1 limit 1) union (select 2 order by 1) order by 1",
            ["order by 1", "", "", ""],
            "(select 1 limit 1) union (select 2 order by 1)",
        ),
        (
            "with c as (select 1 limit 1) select a.limit as order from c",
            ["", "", "", ""],
            "with c as (select 1 limit 1) select a.limit as order from c",
        ),
        (
            "values (1) order by 1 /* c */",
            ["order by 1", "", "", ""],
            "values (1)",
        ),
    ];
    for (text, expected, body) in cases {
        let statement = statement(text);
        let places = places(text);
        let clauses = places.clauses(query(&statement), statement.span).unwrap();
        let shown = [
            clauses.order_by,
            clauses.limit,
            clauses.offset,
            clauses.locking,
        ]
        .map(|span| span.map_or("", |span| places.text(span)));
        assert_eq!(shown, expected, "{text}");
        assert_eq!(&text[..clauses.body_end as usize], body);
    }
}

#[test]
fn inserts_and_names() {
    for (text, list) in [
        (
            "insert into s.t as x (a, b) values (1, 2) returning a, b",
            Some("(a, b)"),
        ),
        ("insert into s . t select 1 returning *", None),
    ] {
        let statement = statement(text);
        let Body::Insert(insert) = &statement.body else {
            panic!("an insert");
        };
        let places = places(text);
        assert!(
            places
                .table_name(&insert.table)
                .is_some_and(|span| places.text(span).starts_with('s'))
        );
        match places.insert_columns(insert).unwrap() {
            InsertColumns::List(span) => assert_eq!(Some(places.text(span)), list),
            InsertColumns::Missing(at) => assert!(text[at as usize..].starts_with(" select")),
        }
        let returning = places.returning_list(&insert.returning).unwrap();
        assert!(text.ends_with(places.text(returning)));
    }
}

#[test]
fn regions_are_what_brackets_hold() {
    let text = "select (select a from t where b in (1, 2) limit 1) from u";
    let at = u32::try_from(text.find("limit").unwrap()).unwrap();
    let places = places(text);
    let whole = Span { start: 0, end: 57 };
    assert_eq!(
        places.text(places.region(at, whole)),
        "select a from t where b in (1, 2) limit 1"
    );
    assert_eq!(places.region(2, whole), whole);
}

#[test]
fn expressions_have_exact_spans() {
    for expected in [
        "a",
        "t.a",
        "1",
        "-5",
        "'x'",
        "$1",
        "null",
        "true",
        "current_date",
        "a + b",
        "(a + b) * c",
        "a * (b + c)",
        "- a",
        "a and b or not (c)",
        "(a or b) and c",
        "a is not null",
        "a isnull",
        "a in (1, (2))",
        "a not in (1)",
        "a = any (b)",
        "a between 1 and (2)",
        "a is distinct from b",
        "f(a, (b))",
        "s.f(a) filter (where b)",
        "f(a) over (order by b)",
        "f() over w",
        "p(1) within group (order by a)",
        "a::int",
        "(a + 1)::numeric(10, 2)[]",
        "a::timestamp (3) with time zone",
        "a::double precision",
        "a::s.typ",
        "cast(a as interval year)",
        "case when a then case b when 1 then 2 end else (3) end",
        "exists (select 1)",
        "array(select 1)",
        "(select 1)",
        "a in (select 1)",
        "a not in (select 1)",
        "a = all (select 1)",
        "row(1, 2)",
        "(1, 2)",
        "array[1, 2]",
        "a collate \"C\"",
        "coalesce(a, b)",
        "greatest(a, b)",
        "x'1f'",
        "a || 'b' || c",
        "not a = b",
        "a like 'x'",
    ] {
        let text = format!("select /* c */ {expected} from t");
        let statement = statement(&text);
        let places = places(&text);
        let expr = &select(query(&statement)).targets[0].expr;
        assert_eq!(
            places.expr(expr).map(|span| places.text(span)),
            Some(expected),
            "{expr}"
        );
    }
}

#[test]
fn every_span_that_is_found_parses_to_the_same_expression() {
    for text in [
        "select ((a)) + (b), (((1))), (a).b, interval '1' year, a like b escape 'c', extract(year from a) + 1, x at time zone 'y'",
        "select f(a, b => g(c)) from t where (a, b) = (1, 2) and (c or d) and e in (select (h) from u where -(-i) < 5)",
        "select case (a) when 1 then b::text end || (c collate \"C\"), a[1:2], nullif(a, b), (select 1) + (2)",
    ] {
        let statement = statement(text);
        let places = places(text);
        let mut found = 0;
        walk::for_each_expr(&statement.body, &mut |expr: &Expr| {
            let Some(span) = places.expr(expr) else {
                return;
            };
            if matches!(expr.kind, ExprKind::Default) {
                return;
            }
            found += 1;
            let again = format!("select ({})", places.text(span));
            let parsed = crate::parse(&again).unwrap_or_else(|error| panic!("{again}: {error}"));
            let QueryBody::Select(select) = &query(&parsed[0]).body else {
                panic!("a select");
            };
            assert!(
                crate::ast::same(&select.targets[0].expr, expr),
                "{again} is not {expr}"
            );
        });
        assert!(found > 5, "{text}");
    }
}
