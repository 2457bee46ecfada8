//! No text ends the process: texts made of the golden statements by mutation, in a child process, so that a crash of the
//! parser is a failure and not the end of the test run. `KINTSUGI_FUZZ_CASES` and `KINTSUGI_FUZZ_SEED` make it longer.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::{Path, PathBuf};

use sql::ast::walk::{self, Part};
use sql::{Lifted, ParseErrorKind, ParseOptions, Places, scan};

const CHILD: &str = "KINTSUGI_FUZZ_CHILD";

/// A small generator of its own: the same cases on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 16).unwrap() % limit.max(1)
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

/// The texts of the golden cases, as tokens.
fn corpus() -> Vec<Vec<String>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for case in text.split("\n\n") {
            let text = case.split_once("\n----").map_or(case, |(text, _)| text);
            for span in sql::split(text, ParseOptions::default()) {
                let statement = &text[span.start as usize..span.end as usize];
                let tokens = scan::tokens(statement, true);
                cases.push(
                    tokens
                        .iter()
                        .map(|token| token.text(statement).to_owned())
                        .collect(),
                );
            }
        }
    }
    cases.sort();
    cases
}

fn mutant(corpus: &[Vec<String>], random: &mut Random) -> String {
    let mut tokens = random.pick(corpus).clone();
    for _ in 0..=random.below(3) {
        let other = random.pick(corpus);
        let (from, at) = (random.below(other.len()), random.below(tokens.len()));
        let length = 1 + random.below(6);
        let piece: Vec<_> = other.iter().skip(from).take(length).cloned().collect();
        match random.below(6) {
            0 => drop(tokens.drain(at..(at + length).min(tokens.len()))),
            1 => drop(tokens.splice(at..at, piece)),
            2 => drop(tokens.splice(at..(at + piece.len()).min(tokens.len()), piece)),
            3 => drop(
                tokens.splice(
                    at..at,
                    std::iter::once("(".to_owned())
                        .chain(other.clone())
                        .chain([")".to_owned()]),
                ),
            ),
            4 => {
                let to = random.below(tokens.len());
                let from = at.min(tokens.len().saturating_sub(1));
                if to < tokens.len() {
                    tokens.swap(from, to);
                }
            }
            _ => drop(
                tokens.splice(
                    at..at,
                    [(*random.pick(&[
                        "'",
                        "\"",
                        "$$",
                        "/*",
                        "--",
                        "\u{0}",
                        "é",
                        "\\",
                        "E'\\xff'",
                        "E'\\xc3'",
                        "U&'\\d800'",
                        "1e999999",
                        "null",
                        "(",
                        ")",
                        ";",
                        "\u{1}",
                    ]))
                    .to_owned()],
                ),
            ),
        }
    }
    let gap = *random.pick(&[" ", " ", " ", "\n", "", " /* c */ "]);
    tokens.join(gap)
}

/// Everything that is done with a text and its tree.
fn exercise(text: &str, parsed: &mut usize) {
    let mut lifted = Lifted::new();
    for standard_conforming_strings in [true, false] {
        let options = ParseOptions {
            standard_conforming_strings,
        };
        sql::lift(text, options, &mut lifted);
        for index in 0..lifted.slots().len() {
            let _ = lifted.literal(text, index).unwrap().value();
        }
        let _ = sql::split(text, options);
        let statements = match sql::parse_with(text, options) {
            Ok(statements) => statements,
            Err(error) => {
                assert_ne!(error.kind, ParseErrorKind::Internal, "{error}");
                continue;
            }
        };
        *parsed += 1;
        let places = Places::new(text, options);
        for statement in &statements {
            let _ = places.text(statement.span);
            let _ = statement.clone().to_string();
            walk::walk(Part::Body(&statement.body), &mut |part| {
                match part {
                    Part::Expr(expr) => drop(places.expr(expr)),
                    Part::Table(table) => drop(places.table_name(table)),
                    Part::Query(query) => drop(places.clauses(query, statement.span)),
                    _ => {}
                }
                true
            });
        }
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|value| value.parse().ok())
        .unwrap_or(default)
}

/// Runs only as a child: it writes each text down before it is tried.
#[test]
fn child() {
    let Some(note) = std::env::var_os(CHILD).map(PathBuf::from) else {
        return;
    };
    let corpus = corpus();
    assert!(corpus.len() > 200, "{} statements", corpus.len());
    let mut random = Random(number("KINTSUGI_FUZZ_SEED", 0x9e37_79b9_7f4a_7c15));
    let mut parsed = 0;
    for _ in 0..number("KINTSUGI_FUZZ_CASES", 10_000) {
        let text = mutant(&corpus, &mut random);
        std::fs::write(&note, &text).unwrap();
        exercise(&text, &mut parsed);
    }
    assert!(parsed > 500, "{parsed} mutants were statements");
}

#[test]
fn mutants_do_not_end_the_process() {
    let note = std::env::temp_dir().join(format!("kintsugi-sql-fuzz-{}", std::process::id()));
    let output = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CHILD, &note)
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&note).unwrap_or_default();
    let _ = std::fs::remove_file(&note);
    assert!(
        output.status.success(),
        "{} at {text:?}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
}
