//! What the cases run on: the project's own fixture, or Pagila from its dump.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::contents::Tables;
use super::corpus::problem;
use super::error::OracleError;
use super::target::{self, Target};
use crate::client::Address;

/// The files that make the project's fixture, in order, from the project's folder.
const FILES: [&str; 3] = [
    "examples/storefront/schema.sql",
    "tests/oracle/schema.sql",
    "tests/oracle/fixture.sql",
];
/// The share of a spread table of Pagila that a shard must hold, in per cent.
const SHARE: std::ops::RangeInclusive<usize> = 35..=65;
/// The tables of Pagila that are spread.
const SPREAD: [&str; 2] = ["rental", "payment"];

/// Rows and definitions, and the cases that go with them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fixture {
    /// The project's own, made to be difficult.
    Own,
    /// Pagila; holds the path of its dump, which is loaded unchanged by psql.
    Pagila(PathBuf),
}

impl Fixture {
    /// The topology, from the project's folder.
    #[must_use]
    pub fn topology(&self) -> &'static str {
        match self {
            Self::Own => "tests/oracle/topology.json",
            Self::Pagila(_) => "examples/pagila/topology.json",
        }
    }

    /// The folder of the cases, from the project's folder.
    #[must_use]
    pub fn cases(&self) -> &'static str {
        match self {
            Self::Own => "tests/oracle",
            Self::Pagila(_) => "tests/pagila",
        }
    }

    /// Loads it through a target's front door.
    ///
    /// # Errors
    /// A statement fails, or psql prints an error.
    pub(super) async fn load(
        &self,
        target: &Target,
        project: &Path,
        psql: &Path,
    ) -> Result<(), OracleError> {
        match self {
            Self::Own => load_files(target, project).await,
            Self::Pagila(dump) => load_dump(&target.name, &target.address, dump, psql).await,
        }
    }

    /// How the spread tables lie over the servers: a line each, and what is wrong with them.
    pub(super) fn shares(&self, target: &Target, seen: &[Tables]) -> (Vec<String>, Vec<String>) {
        let (mut lines, mut problems) = (Vec::new(), Vec::new());
        if *self == Self::Own {
            return (lines, problems);
        }
        for table in SPREAD {
            let counts: Vec<usize> = seen
                .iter()
                .map(|tables| tables.get(table).map_or(0, |rows| rows.len()))
                .collect();
            let all: usize = counts.iter().sum();
            for (server, count) in target.servers.iter().zip(counts) {
                let line = format!("{table} on {}: {count} of {all}", server.uid);
                let share = (count * 100).checked_div(all).unwrap_or(0);
                if !SHARE.contains(&share) {
                    problems.push(format!("  {line}, which is {share} %"));
                }
                lines.push(line);
            }
        }
        (lines, problems)
    }
}

/// Runs the fixture's files, statement by statement.
async fn load_files(target: &Target, project: &Path) -> Result<(), OracleError> {
    let mut client = target.session().await?;
    for file in files(project) {
        for statement in statements(&file)? {
            target::run(&mut client, &target.name, &statement).await?;
        }
    }
    client.close().await;
    Ok(())
}

/// Loads a dump as a person would, and takes every line of psql's that names an error for one.
async fn load_dump(
    name: &str,
    address: &Address,
    dump: &Path,
    psql: &Path,
) -> Result<(), OracleError> {
    let output = tokio::process::Command::new(psql)
        .args(["-X", "-q", "-o", "/dev/null", "-d", &address.url(), "-f"])
        .arg(dump)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|e| problem(psql, e))?;
    let told = String::from_utf8_lossy(&output.stderr);
    let marks = [
        "ERROR",
        "FATAL",
        "PANIC",
        "psql: error",
        "connection to server",
    ];
    let is_error = |line: &&str| marks.iter().any(|mark| line.contains(mark));
    let mut errors: Vec<&str> = told.lines().filter(is_error).take(20).collect();
    if errors.is_empty() && !output.status.success() {
        errors.push("psql failed without an error");
    }
    if errors.is_empty() {
        return Ok(());
    }
    Err(OracleError::Dump {
        target: name.to_owned(),
        errors: errors.join("\n"),
    })
}

/// The statements of a file; each ends with `;` at the end of a line.
pub(super) fn statements(path: &Path) -> Result<Vec<String>, OracleError> {
    let text = fs::read_to_string(path).map_err(|e| problem(path, e))?;
    let code: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with("--"))
        .collect();
    let code = code.join("\n");
    let parts = code
        .split_inclusive(";\n")
        .map(str::trim)
        .filter(|part| !part.is_empty());
    Ok(parts.map(str::to_owned).collect())
}

/// The files of the project's own fixture.
pub(super) fn files(project: &Path) -> impl Iterator<Item = PathBuf> {
    FILES.iter().map(move |file| project.join(file))
}
