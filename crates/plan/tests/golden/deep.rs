//! Statements as deep as the parser lets through are planned on an ordinary thread's stack.

use crate::scene::Scene;

#[track_caller]
fn check(begin: &str, open: &str, inner: &str, close: &str) {
    let scene = Scene::default();
    // Deeper and deeper, until the parser refuses: nothing before that may end the process.
    for depth in (10..2000).step_by(10) {
        let text = format!(
            "{begin}{}{inner}{}",
            open.repeat(depth),
            close.repeat(depth)
        );
        if scene.plan(&text)[0].starts_with("does not parse") {
            assert!(depth > 20, "{depth}");
            return;
        }
    }
}

#[test]
fn nested_row_sources() {
    check(
        "",
        "SELECT * FROM (",
        "SELECT * FROM orders WHERE customer_id = 1",
        ") x",
    );
}

#[test]
fn nested_subqueries() {
    check(
        "",
        "SELECT * FROM orders WHERE customer_id IN (",
        "SELECT 1",
        ")",
    );
}

#[test]
fn nested_with() {
    check(
        "",
        "WITH a AS (",
        "SELECT * FROM orders WHERE customer_id = 1",
        ") SELECT * FROM a",
    );
}

#[test]
fn nested_expressions() {
    check(
        "SELECT * FROM orders WHERE customer_id = ",
        "(1 + ",
        "1",
        ")",
    );
    check("SELECT 1 WHERE ", "NOT (", "true", ")");
}

#[test]
fn nested_unions() {
    check("", "(SELECT 1 UNION ALL ", "SELECT 2", ")");
}

#[test]
fn with_queries_that_double_are_refused_soon() {
    let doubled = (1..40).map(|at| {
        let before = at - 1;
        format!(", a{at} AS (SELECT x.n FROM a{before} x, a{before} y)")
    });
    let doubled = doubled.collect::<Vec<_>>().concat();
    let text = format!("WITH a0 AS (SELECT 1 AS n){doubled} SELECT * FROM a39");
    let plan = Scene::default().plan(&text);
    assert!(plan[1].contains("kintsugi/too-many-levels"), "{plan:?}");
}
