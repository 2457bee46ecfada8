//! All case files of a folder.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::case::{self, Case};
use super::error::OracleError;

/// Reads every `.test` file below `folder`, in the order of their names.
///
/// # Errors
/// A file can't be read or understood, or two cases are the same.
pub fn read(folder: &Path) -> Result<Vec<Case>, OracleError> {
    let mut files = Vec::new();
    find(folder, &mut files)?;
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|e| problem(&file, e))?;
        cases.extend(case::read(&file, &text)?);
    }
    refuse_repetitions(&cases)?;
    Ok(cases)
}

fn find(folder: &Path, files: &mut Vec<PathBuf>) -> Result<(), OracleError> {
    for entry in folder.read_dir().map_err(|e| problem(folder, e))? {
        let path = entry.map_err(|e| problem(folder, e))?.path();
        if path.is_dir() {
            find(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "test")
        {
            files.push(path);
        }
    }
    Ok(())
}

fn refuse_repetitions(cases: &[Case]) -> Result<(), OracleError> {
    let mut texts: HashMap<String, &Case> = HashMap::new();
    let mut names: HashMap<(&Path, &str), &Case> = HashMap::new();
    for case in cases {
        let first = texts
            .insert(case.text(), case)
            .or_else(|| names.insert((&case.file, &case.name), case));
        if let Some(first) = first {
            return Err(OracleError::Repeated {
                first: first.place(),
                second: case.place(),
            });
        }
    }
    Ok(())
}

/// A file that can't be used.
pub(super) fn problem(path: &Path, source: std::io::Error) -> OracleError {
    OracleError::File {
        path: path.to_owned(),
        source,
    }
}
