//! Sentences hold for years: no notes to oneself, no paths of one machine, no numbers of a tracker.

use super::{Complaint, Rule};
use crate::tree::{File, Tree};

/// Texts that must not stand anywhere, in lower case where the first field says so. They are put together here, so
/// that this file does not complain about itself.
const FORBIDDEN: &[(bool, &str, &str)] = &[
    (false, concat!("TO", "DO"), UNFINISHED),
    (false, concat!("FIX", "ME"), UNFINISHED),
    (false, concat!("XX", "X:"), UNFINISHED),
    (true, concat!("for ", "now"), UNFINISHED),
    (false, concat!("/wo", "rk/"), MACHINE),
    (false, concat!("/ro", "ot/"), MACHINE),
    (true, concat!("crates", ".io"), HOST),
    (true, concat!("pypi", ".org"), HOST),
    (true, concat!("npmjs", ".org"), HOST),
    (true, concat!("golang", ".org"), HOST),
    (true, concat!("debian", ".org"), HOST),
    (
        true,
        concat!("vin", "dex"),
        "is another project's word: a shard index",
    ),
    (
        true,
        concat!("key", "space"),
        "is another project's word: a shard group",
    ),
];

const UNFINISHED: &str = "what is unfinished is refused by name, or left out";
const MACHINE: &str = "is a path of one machine";
const HOST: &str = "names a registry: the tools know where theirs is";

/// Kinds of files that are read.
const ENDINGS: [&str; 9] = [
    ".rs", ".md", ".toml", ".sql", ".test", ".sh", ".py", ".json", ".yml",
];

pub(crate) fn check(tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.files.iter().filter(|file| is_prose(file)) {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(what) = offence(line, file.is_page()) {
                complaints.push(Complaint::new(Rule::Prose, &file.path, index + 1, what));
            }
        }
    }
    complaints
}

fn is_prose(file: &File) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    ENDINGS.iter().any(|ending| name.ends_with(ending))
        || (!name.contains('.') && name != "LICENSE")
}

fn offence(line: &str, is_page: bool) -> Option<String> {
    let lower = line.to_lowercase();
    for (in_lower_case, word, why) in FORBIDDEN {
        let text = if *in_lower_case { &lower } else { line };
        if text
            .match_indices(word)
            .any(|(at, _)| is_whole(text, at, word))
        {
            return Some(format!("`{word}` {why}"));
        }
    }
    let is_comment = is_page || line.trim_start().starts_with("//");
    if is_comment && has_tracker_number(&lower) {
        return Some("a number of a tracker means nothing to a stranger".to_owned());
    }
    None
}

/// Not part of a longer word; and `now()` is a function.
fn is_whole(text: &str, at: usize, word: &str) -> bool {
    let before = text[..at].chars().next_back();
    let after = text[at + word.len()..].chars().next();
    let is_path = word.starts_with('/');
    is_path
        || !(before.is_some_and(char::is_alphanumeric)
            || after.is_some_and(|c| c == '(' || c.is_alphanumeric()))
}

/// `#12` as a word, or `issue 12`.
fn has_tracker_number(lower: &str) -> bool {
    let words: Vec<&str> = lower
        .split(|c: char| c.is_whitespace() || matches!(c, '(' | ')' | ',' | '.' | ':'))
        .collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let hash = |word: &str| word.strip_prefix('#').is_some_and(is_number);
    words.iter().any(|word| hash(word))
        || words
            .windows(2)
            .any(|pair| pair[0] == "issue" && is_number(pair[1]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_to_oneself_are_found() {
        let note = format!("// {}: later", FORBIDDEN[0].1);
        assert!(offence(&note, false).is_some());
        assert!(offence("the default for now() is", false).is_none());
        assert!(offence("// as told in #12.", false).is_some());
        assert!(offence("let a = \"#12\";", false).is_none());
        assert!(offence("see issue 7, please", true).is_some());
        assert!(offence("# 1. Begin", true).is_none());
    }
}
