//! Every definition and every COPY of Pagila is planned. The data is found by `KINTSUGI_PAGILA`; without it nothing is tested.

use std::path::PathBuf;

use sql::ast::Body;

use crate::scene::Scene;

#[test]
fn pagila_is_planned_whole() {
    let found = std::env::vars_os().find(|(name, _)| name == "KINTSUGI_PAGILA");
    let Some((_, folder)) = found else {
        return;
    };
    let dump = std::fs::read_to_string(PathBuf::from(folder).join("pagila.sql")).unwrap();
    let mut scene = Scene::pagila();
    let mut refused = Vec::new();
    let (mut definitions, mut copies) = (0, 0);
    for text in statements(&dump) {
        let parsed = sql::parse(&text).unwrap();
        let Some(statement) = parsed.first() else {
            continue;
        };
        match &statement.body {
            Body::Ddl(_) => definitions += 1,
            Body::Copy(_) => copies += 1,
            _ => continue,
        }
        let plan = scene.plan(&text);
        if plan[0].starts_with("ERROR") {
            refused.push(format!("{text}\n{}", plan.join("\n")));
        }
        scene.run(&text);
    }
    assert!(refused.is_empty(), "{}", refused.join("\n\n"));
    assert!(
        definitions > 150 && copies > 20,
        "{definitions} definitions, {copies} copies"
    );
}

#[test]
fn pagila_views_are_planned_or_refused_by_id() {
    let found = std::env::vars_os().find(|(name, _)| name == "KINTSUGI_PAGILA");
    let Some((_, folder)) = found else {
        return;
    };
    let dump = std::fs::read_to_string(PathBuf::from(folder).join("pagila.sql")).unwrap();
    let mut scene = Scene::pagila();
    for text in statements(&dump) {
        scene.run(&text);
    }
    scene.set("path pg_catalog public");
    for (view, expected) in [
        ("actor_info", "One Shard"),
        ("customer_list", "One Shard"),
        ("film_list", "One Shard"),
        ("nicer_but_slower_film_list", "One Shard"),
        ("staff_list", "One Shard"),
        ("rental_by_category", "kintsugi/materialized-view"),
        ("sales_by_film_category", "kintsugi/derived-table"),
        ("sales_by_store", "kintsugi/derived-table"),
    ] {
        let plan = scene.plan(&format!("SELECT * FROM {view}")).join("\n");
        assert!(plan.contains(expected), "{view}: {plan}");
    }
}

/// The dump as psql sends it: statements end with a semicolon at the end of a line outside of dollar quotes, and the lines
/// after `FROM stdin;` up to `\.` are rows.
fn statements(dump: &str) -> Vec<String> {
    let mut statements = Vec::new();
    let mut statement = String::new();
    let mut is_row = false;
    for line in dump.lines() {
        if is_row {
            is_row = line != "\\.";
            continue;
        }
        if statement.is_empty() && (line.is_empty() || line.starts_with("--")) {
            continue;
        }
        statement.push_str(line);
        statement.push('\n');
        let dollars = ["$$", "$_$"]
            .iter()
            .map(|tag| statement.matches(tag).count())
            .sum::<usize>();
        if line.ends_with(';') && dollars % 2 == 0 {
            is_row = line.ends_with("FROM stdin;");
            statements.push(
                std::mem::take(&mut statement)
                    .trim_end()
                    .trim_end_matches(';')
                    .to_owned(),
            );
        }
    }
    statements
}
