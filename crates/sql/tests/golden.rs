//! Trees as text. `tests/golden/*.test` holds cases: statements, a line `----`, the tree or the error, an empty line.
//! With `UPDATE_GOLDEN` set the trees are written anew; read the difference before keeping it.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

use std::fmt::Write as _;
use std::path::Path;

fn answer(text: &str) -> String {
    match sql::parse(text) {
        Err(error) => format!("error: {error}\n"),
        Ok(statements) => statements.iter().fold(String::new(), |mut out, statement| {
            writeln!(out, "{statement:#}").unwrap();
            out
        }),
    }
}

fn check(path: &Path) {
    let before = std::fs::read_to_string(path).unwrap();
    let mut after = String::new();
    for case in before.split("\n\n").filter(|case| !case.trim().is_empty()) {
        let case = case.trim_end();
        if case.starts_with('#') {
            writeln!(after, "{case}\n").unwrap();
            continue;
        }
        let text = case.split_once("\n----").map_or(case, |(text, _)| text);
        writeln!(after, "{text}\n----\n{}", answer(text)).unwrap();
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, &after).unwrap();
        return;
    }
    let differs = before
        .lines()
        .zip(after.lines())
        .position(|(before, after)| before != after);
    if let Some(line) = differs {
        let shown = |text: &str| {
            text.lines()
                .skip(line)
                .take(5)
                .collect::<Vec<_>>()
                .join("\n")
        };
        panic!(
            "{}:{}\nexpected\n{}\ngot\n{}",
            path.display(),
            line + 1,
            shown(&before),
            shown(&after)
        );
    }
    assert_eq!(before.trim_end(), after.trim_end(), "{}", path.display());
}

#[test]
fn trees_are_as_recorded() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut seen = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "test")
        {
            check(&path);
            seen += 1;
        }
    }
    assert!(seen >= 4, "the cases are there");
}
