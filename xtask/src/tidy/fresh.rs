//! What is generated is generated: a page or file that lists things is made from the things.

use std::path::Path;
use std::{fs, io};

use super::{Complaint, Rule};
use crate::tree::Tree;
use crate::{docs, sqlstate};

pub(crate) fn check(root: &Path, tree: &Tree) -> io::Result<Vec<Complaint>> {
    let mut complaints = Vec::new();
    for page in docs::pages(tree)? {
        let is_fresh = tree
            .file(page.path)
            .is_some_and(|file| file.text == page.text);
        if !is_fresh {
            let what = "is stale: run `cargo run -p xtask -- docs`";
            complaints.push(Complaint::new(Rule::Fresh, page.path, 1, what));
        }
    }
    if let Some(fresh) = sqlstate::fresh()? {
        let written = fs::read_to_string(root.join(sqlstate::TARGET))?;
        if !marks(&written).eq(marks(&fresh)) {
            let what = "is stale: run `cargo run -p xtask -- sqlstate`";
            complaints.push(Complaint::new(Rule::Fresh, sqlstate::TARGET, 1, what));
        }
    }
    Ok(complaints)
}

/// A text without what rustfmt decides: how lines are broken, and the comma before the end.
fn marks(text: &str) -> impl Iterator<Item = char> {
    text.chars().filter(|c| !c.is_whitespace() && *c != ',')
}
