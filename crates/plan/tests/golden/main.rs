//! Statements and their plans as text files: `tests/golden/**/*.test`, one behaviour a file.
//!
//! A line that begins with `> ` is part of a statement; the lines below it, up to an empty one, are its plan or refusal. Lines
//! that begin with `! ` set the scene for all that follow: `! fixture storefront`, `! shards 4`, `! params int8 text`,
//! `! path a b`, `! run CREATE TABLE ...`. `UPDATE_EXPECT=1` writes what is found.

#![expect(clippy::unwrap_used, clippy::panic, reason = "tests fail by panic")]

mod deep;
mod fixture;
mod pagila;
mod scene;

use std::path::{Path, PathBuf};

use scene::Scene;

#[test]
fn plans_are_as_written_in_the_files() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files = Vec::new();
    collect(&root, &mut files);
    files.sort();
    assert!(!files.is_empty(), "no golden files");
    let update = std::env::vars().any(|(name, _)| name == "UPDATE_EXPECT");
    let mut wrong = Vec::new();
    for file in files {
        let before = std::fs::read_to_string(&file).unwrap();
        let after = render(&before);
        if before == after {
            continue;
        }
        if update {
            std::fs::write(&file, after).unwrap();
        } else {
            wrong.push(format!(
                "{}\n{}",
                file.display(),
                first_difference(&before, &after)
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, files);
        } else if path
            .extension()
            .is_some_and(|extension| extension == "test")
        {
            files.push(path);
        }
    }
}

fn render(text: &str) -> String {
    let mut scene = Scene::default();
    let mut out = String::new();
    let mut statement = String::new();
    let mut is_answer = false;
    for line in text.lines().chain([""]) {
        if let Some(part) = line.strip_prefix("> ") {
            statement.push_str(part);
            statement.push('\n');
            is_answer = true;
        } else if !statement.is_empty() && !line.is_empty() {
            continue;
        }
        if line.is_empty() && !statement.is_empty() {
            for shown in scene.plan(statement.trim()) {
                out.push_str(&shown);
                out.push('\n');
            }
            statement.clear();
        } else if let Some(directive) = line.strip_prefix("! ") {
            scene.set(directive);
        }
        out.push_str(line);
        out.push('\n');
    }
    assert!(is_answer, "a golden file without a statement");
    format!("{}\n", out.trim_end())
}

fn first_difference(before: &str, after: &str) -> String {
    let mut lines = before.lines().zip(after.lines()).enumerate();
    let (line, (wanted, found)) = lines
        .find(|(_, (wanted, found))| wanted != found)
        .unwrap_or((0, ("(length)", "(length)")));
    format!(
        "line {}\n  expected: {wanted}\n  found:    {found}",
        line + 1
    )
}
