use super::*;

/// The expression as it is understood, or why it is not; opaque ones with their columns.
fn check(text: &str, expected: &str) {
    let shown = match KeyExpression::parse(text) {
        Err(error) => format!("error: {error}"),
        Ok(opaque @ KeyExpression::Opaque { .. }) => {
            format!("opaque {opaque} of {}", opaque.columns().join(", "))
        }
        Ok(expression) => expression.to_string(),
    };
    assert_eq!(shown, expected, "{text}");
}

#[test]
fn equal_expressions_print_equally() {
    check("sku", "sku");
    check("customerId", "\"customerId\"");
    check("\"order id\"", "\"order id\"");
    check("lower(sku)", "lower(sku)");
    check(" LOWER ( Sku )", "lower(sku)");
    check("lower((sku))", "lower(sku)");
    check("left(order_id, 4)", "left(order_id, 4)");
    check("order", "\"order\"");
    check("lower(\"left\")", "lower(\"left\")");
    check("left(order_id,-4)", "left(order_id, -4)");
    check("substring(a, 1, 2)", "substr(a, 1, 2)");
    check("id % 10", "id % 10");
    check("mod(id, 10)", "id % 10");
    check("(id % 10) % 3", "(id % 10) % 3");
    check("cast(id AS text)", "id::text");
    check("id::text", "id::text");
    check("(id % 7)::text", "(id % 7)::text");
    check("coalesce(a, b, 'x''y')", "coalesce(a, b, 'x''y')");
}

#[test]
fn what_is_not_known_is_opaque_as_a_whole() {
    check("md5(sku)", "opaque md5(sku) of sku");
    check("lower(md5(Sku))", "opaque lower(md5(sku)) of sku");
    check("a||'-'||b", "opaque a || '-' || b of a, b");
    check("date_trunc('month', at)", "error: it uses no column");
    check(
        "date_trunc('month', made_at)",
        "opaque date_trunc('month', made_at) of made_at",
    );
    check(
        "(doc->>'tenant')::int",
        "opaque (doc ->> 'tenant')::int of doc",
    );
    check("id::int4 % 3", "opaque id::int4 % 3 of id");
    check(
        "case when a then b end",
        "opaque case when a then b end of a, b",
    );
    check("\"my_hash\"(a)", "opaque my_hash(a) of a");
    check("\"time\" || a", "opaque \"time\" || a of time, a");
    check("lower(a, b)", "opaque lower(a, b) of a, b");
    check("\"A\".b || c", "opaque \"A\".b || c of b, c");
}

#[test]
fn what_is_no_expression_is_refused() {
    check("", "error: it is empty");
    check("lower(sku", "error: a parenthesis is not closed");
    check("lower(sku))", "error: a parenthesis is closed twice");
    check("a, b", "error: it holds more than one expression");
    check("'a", "error: a quote is not closed");
    check(
        "a; drop table b",
        "error: it holds a character that a key expression can't have",
    );
    check("a -- b", "error: it holds a comment");
    check("lower(user)", "error: it uses no column");
    check("42", "error: it uses no column");
    check("lower('A')", "error: it uses no column");
    check(&"lower(".repeat(400), "error: it is longer than 1000 bytes");
}

/// Evaluates over one column `c`; the text `NULL` is NULL, digits are an integer.
fn evaluate(text: &str, column: &str, expected: &str) {
    let expression = KeyExpression::parse_sql(text).unwrap();
    let value = match (column, column.parse()) {
        ("NULL", _) => None,
        (_, Ok(integer)) => Some(pg::KeyValue::Integer(integer)),
        (text, _) => Some(pg::KeyValue::Text(text.into())),
    };
    let shown = match expression.evaluate(&|_| value.clone()) {
        Evaluated::Value(value) => format!("{} {value}", value.class()),
        Evaluated::Null => "NULL".to_owned(),
        Evaluated::AskShard => "ask".to_owned(),
    };
    assert_eq!(shown, expected, "{text} of {column:?}");
}

/// Expected values are PostgreSQL 15's.
#[test]
fn what_is_computed_is_what_postgresql_computes() {
    evaluate("lower(c)", "AB-1042", "text ab-1042");
    evaluate("lower(c)", "ÄB", "ask");
    evaluate("upper(c)", "ab", "text AB");
    evaluate("lower(c)", "NULL", "NULL");
    evaluate("lower(c)", "12", "ask");
    evaluate("left(c, 2)", "กุญแจ", "text กุ");
    evaluate("left(c, -2)", "abcde", "text abc");
    evaluate("left(c, 9)", "abc", "text abc");
    evaluate("left(c, -9)", "abc", "text ");
    evaluate("right(c, 2)", "abcde", "text de");
    evaluate("right(c, -2)", "abcde", "text cde");
    evaluate("right(c, 0)", "abc", "text ");
    evaluate("substr(c, 2)", "abc", "text bc");
    evaluate("substr(c, 0)", "abc", "text abc");
    evaluate("substr(c, -1, 3)", "abc", "text a");
    evaluate("substr(c, 2, 1)", "鍵bc", "text b");
    evaluate("substr(c, -5, 3)", "abc", "text ");
    evaluate("substr(c, 1, -1)", "abc", "ask");
    evaluate("substr(c, 3, 2147483647)", "abcd", "text cd");
    evaluate("c % 10", "-7", "integer -7");
    evaluate("c % -10", "17", "integer 7");
    evaluate("c % 0", "1", "ask");
    evaluate("c % -1", "-9223372036854775808", "integer 0");
    evaluate("c % 10", "a", "ask");
    evaluate("abs(c)", "-5", "integer 5");
    evaluate("abs(c)", "-2147483648", "ask");
    evaluate("c::text", "-5", "text -5");
    evaluate("left(c::text, 2)", "12345", "text 12");
    evaluate("coalesce(c, 'none')", "NULL", "text none");
    evaluate("coalesce(c, 'none')", "x", "text x");
    evaluate("md5(c)", "x", "ask");
}
