//! A stranger can begin at the top of any file: what it is for comes first, and a crate says what it must not
//! know.

use super::{Complaint, Rule};
use crate::tree::{File, Tree};

/// What the documentation of a crate has to say, and the words that say it.
const CRATE_WORDS: [(&str, &str); 2] = [
    ("must not know", "what it must not know"),
    ("read first", "what to read first"),
];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.ending(".rs") {
        let mut complain =
            |what: String| complaints.push(Complaint::new(Rule::ModuleDocs, &file.path, 1, what));
        // Tests beside a module are what that module is for.
        if !file.text.starts_with("//!") && !file.path.ends_with("/tests.rs") {
            complain("begins without a `//!` that says what it is for".to_owned());
        }
        // Cargo's own convention for integration tests of several files is `tests/name/main.rs`.
        if file.path.ends_with("/mod.rs") {
            complain("is a `mod.rs`: use `name.rs` beside the folder `name`".to_owned());
        }
        if file.path.ends_with("/src/lib.rs") {
            missing_words(file).for_each(|missing| {
                complain(format!("the crate does not say {missing}"));
            });
        }
    }
    complaints
}

fn missing_words(file: &File) -> impl Iterator<Item = &'static str> {
    let docs: Vec<&str> = file
        .text
        .lines()
        .take_while(|line| line.starts_with("//!"))
        .map(|line| line.trim_start_matches("//!").trim())
        .collect();
    let docs = docs.join(" ").to_lowercase();
    CRATE_WORDS
        .into_iter()
        .filter(move |(words, _)| !docs.contains(words))
        .map(|(_, meaning)| meaning)
}
