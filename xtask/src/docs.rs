//! Pages that list things, made from the things: a page of its own hand would be wrong within a month.

use std::path::Path;
use std::{fs, io};

use crate::source;
use crate::tree::Tree;

mod error;
mod raised;
mod refusal;
mod setting;

/// A generated page.
pub(crate) struct Page {
    /// Below the project's root.
    pub(crate) path: &'static str,
    /// What has to be in it.
    pub(crate) text: String,
}

/// All of them, fresh.
///
/// # Errors
/// A source can't be read, or lacks what a page needs.
pub(crate) fn pages(tree: &Tree) -> io::Result<Vec<Page>> {
    let sources = source::product(tree)?;
    Ok(vec![
        Page {
            path: "docs/guide/what-sql-works-today.md",
            text: refusal::page(tree, &sources)?,
        },
        Page {
            path: "docs/reference/errors.md",
            text: error::page(&sources)?,
        },
        Page {
            path: "docs/reference/settings.md",
            text: setting::page(&sources)?,
        },
    ])
}

/// Writes them.
///
/// # Errors
/// As [`pages`], or a page can't be written.
pub(crate) fn write(root: &Path) -> io::Result<()> {
    for page in pages(&Tree::read(root)?)? {
        let path = root.join(page.path);
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder)?;
        }
        fs::write(path, page.text)?;
    }
    Ok(())
}

/// The line that tells people where to change a page.
fn origin(made_from: &str) -> String {
    format!("<!-- Made by `cargo run -p xtask -- docs` from {made_from}. Change it there. -->\n\n")
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
        .replace('\n', " ")
        .replace("{}", "{...}")
}

/// A row of a table.
fn row(cells: &[&str]) -> String {
    let cells: Vec<String> = cells.iter().map(|text| cell(text)).collect();
    format!("| {} |\n", cells.join(" | "))
}
