//! What every file of the project has to keep to. Each rule is a file; each complaint names the page that
//! gives the rule's reason. `cargo test` runs all of them.

use std::path::Path;
use std::{fmt, io};

use crate::tree::Tree;

mod exception;
mod floor;
mod fresh;
mod link;
mod module;
mod name;
mod prose;
mod size;

/// One thing that is not as it should be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Complaint {
    path: String,
    line: usize,
    what: String,
    rule: Rule,
}

/// Which rule was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// An edge between crates points down.
    Floors,
    /// Files are short.
    Sizes,
    /// A stranger can begin at the top of any file.
    ModuleDocs,
    /// Names say what a thing is.
    Names,
    /// Sentences hold for years.
    Prose,
    /// Links lead somewhere.
    Links,
    /// What is generated is generated.
    Fresh,
}

// === impl Rule ===

impl Rule {
    /// Where its reason is written.
    pub(crate) fn page(self) -> &'static str {
        match self {
            Self::Floors => "docs/style.md#floors",
            Self::Sizes => "docs/style.md#sizes",
            Self::ModuleDocs => "docs/style.md#module-docs",
            Self::Names => "docs/style.md#names",
            Self::Prose => "docs/style.md#prose",
            Self::Links => "docs/style.md#links",
            Self::Fresh => "docs/style.md#generated-pages",
        }
    }
}

// === impl Complaint ===

impl Complaint {
    /// A complaint about a line, from 1.
    pub(crate) fn new(rule: Rule, path: &str, line: usize, what: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            what: what.into(),
            rule,
        }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            path, line, what, ..
        } = self;
        write!(f, "{path}:{line}: {what} (see {})", self.rule.page())
    }
}

/// Every complaint about the project, in the order of the rules.
///
/// # Errors
/// A file can't be read, or `cargo metadata` fails.
pub(crate) fn check(root: &Path) -> io::Result<Vec<Complaint>> {
    let tree = Tree::read(root)?;
    let mut complaints = floor::check(root, &tree)?;
    complaints.extend(size::check(&tree, exception::LONG_FILES));
    complaints.extend(module::check(&tree));
    complaints.extend(name::check(&tree));
    complaints.extend(prose::check(&tree));
    complaints.extend(link::check(root, &tree));
    complaints.extend(fresh::check(root, &tree)?);
    Ok(complaints)
}

/// Fails with all complaints, one a line.
///
/// # Errors
/// There is a complaint, or [`check`] fails.
pub(crate) fn report(root: &Path) -> io::Result<()> {
    let complaints = check(root)?;
    if complaints.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    lines.push(format!("{} complaints", complaints.len()));
    Err(io::Error::other(lines.join("\n")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_project_is_tidy() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        if let Err(complaints) = report(&root) {
            panic!("{complaints}");
        }
    }
}
