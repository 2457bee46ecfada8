//! Links between the project's pages lead somewhere, to the heading too.

use std::path::Path;

use super::{Complaint, Rule};
use crate::tree::{Tree, is_page};

pub(crate) fn check(root: &Path, tree: &Tree) -> Vec<Complaint> {
    let mut complaints = Vec::new();
    for file in tree.ending(".md") {
        for (index, line) in prose_lines(&file.text) {
            for target in targets(line) {
                if let Some(what) = broken(root, tree, &file.path, target) {
                    complaints.push(Complaint::new(Rule::Links, &file.path, index + 1, what));
                }
            }
        }
    }
    complaints
}

/// Lines outside of fenced code, with their numbers from 0.
fn prose_lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut is_code = false;
    text.lines().enumerate().filter(move |(_, line)| {
        let is_fence = line.trim_start().starts_with("```");
        is_code ^= is_fence;
        !is_code && !is_fence
    })
}

/// What the links of a line point to: `[text](target)`.
fn targets(line: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("](") {
        rest = &rest[at + 2..];
        let Some(end) = rest.find(')') else { break };
        found.push(&rest[..end]);
        rest = &rest[end..];
    }
    found
}

fn broken(root: &Path, tree: &Tree, from: &str, target: &str) -> Option<String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return None;
    }
    let (path, anchor) = match target.split_once('#') {
        Some((path, anchor)) => (path, Some(anchor)),
        None => (target, None),
    };
    let page = if path.is_empty() {
        from.to_owned()
    } else {
        resolve(from, path)?
    };
    if !root.join(&page).exists() {
        return Some(format!("the link to {target} leads nowhere"));
    }
    let anchor = anchor.filter(|_| is_page(&page))?;
    let text = &tree.file(&page)?.text;
    let mut headings = prose_lines(text).filter_map(|(_, line)| heading(line));
    let is_there = headings.any(|heading| heading == anchor);
    (!is_there).then(|| format!("{page} has no heading #{anchor}"))
}

/// A path as written on a page, below the project's root.
fn resolve(from: &str, path: &str) -> Option<String> {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// A heading's name in links: lower case, words joined by `-`, other signs left out.
fn heading(line: &str) -> Option<String> {
    let title = line.trim_start_matches('#');
    if title.len() == line.len() || !title.starts_with(' ') {
        return None;
    }
    let kept = title.trim().chars().filter_map(|c| match c {
        ' ' | '-' => Some('-'),
        c if c.is_alphanumeric() || c == '_' => Some(c.to_ascii_lowercase()),
        _ => None,
    });
    Some(kept.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_headings_are_read_as_on_the_web() {
        assert_eq!(
            resolve("docs/guide/a.md", "../b.md"),
            Some("docs/b.md".into())
        );
        assert_eq!(resolve("README.md", "docs/a.md"), Some("docs/a.md".into()));
        assert_eq!(resolve("README.md", "../a.md"), None);
        assert_eq!(
            heading("## Module docs: `//!`"),
            Some("module-docs-".into())
        );
        assert_eq!(heading("#[cfg(test)]"), None);
        assert_eq!(targets("a [b](c.md) and [d](e#f)"), ["c.md", "e#f"]);
    }
}
