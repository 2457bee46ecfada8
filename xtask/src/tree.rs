//! The project's text files, read once. Folders that hold what is built or downloaded are left out.

use std::path::Path;
use std::{fs, io};

/// Folders that are not the project's text.
const LEFT_OUT: [&str; 4] = [".git", ".kintsugi", "target", "node_modules"];

/// Every text file of the project.
pub(crate) struct Tree {
    /// In the order of their paths.
    pub(crate) files: Vec<File>,
}

/// One text file.
pub(crate) struct File {
    /// Below the project's root, with `/` on every system.
    pub(crate) path: String,
    /// What is in it.
    pub(crate) text: String,
}

// === impl Tree ===

impl Tree {
    /// Reads the project.
    ///
    /// # Errors
    /// A folder or file can't be read.
    pub(crate) fn read(root: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        read_folder(root, "", &mut files)?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(Self { files })
    }

    /// Files with this ending.
    pub(crate) fn ending<'a>(&'a self, ending: &'a str) -> impl Iterator<Item = &'a File> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(ending))
    }

    /// The file at a path.
    pub(crate) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }
}

// === impl File ===

impl File {
    /// It holds tests only.
    pub(crate) fn is_test(&self) -> bool {
        self.path.contains("/tests/")
            || self.path.ends_with("/tests.rs")
            || self.path.contains("/benches/")
    }

    /// It is made from something else.
    pub(crate) fn is_generated(&self) -> bool {
        self.path.contains("/generated/")
    }

    /// It is a page for people.
    pub(crate) fn is_page(&self) -> bool {
        is_page(&self.path)
    }

    /// The crate that it is part of, by the name of its folder.
    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// The line, from 1, on which a text first stands.
    pub(crate) fn line_of(&self, needle: &str) -> usize {
        let at = self.text.find(needle).unwrap_or(0);
        self.text[..at].matches('\n').count() + 1
    }
}

/// A path of a page for people.
pub(crate) fn is_page(path: &str) -> bool {
    Path::new(path)
        .extension()
        .is_some_and(|ending| ending == "md")
}

fn read_folder(root: &Path, below: &str, files: &mut Vec<File>) -> io::Result<()> {
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let path = if below.is_empty() {
            name.clone()
        } else {
            format!("{below}/{name}")
        };
        let kind = entry.file_type()?;
        if kind.is_dir() && !LEFT_OUT.contains(&name.as_str()) {
            read_folder(root, &path, files)?;
        } else if kind.is_file() {
            // What isn't UTF-8 is no text of ours.
            if let Ok(text) = String::from_utf8(fs::read(root.join(&path))?) {
                files.push(File { path, text });
            }
        }
    }
    Ok(())
}
