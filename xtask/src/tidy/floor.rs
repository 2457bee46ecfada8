//! The house has floors, and an edge between crates points down. Whoever wants another edge changes the table here,
//! with a page in `docs/decisions` that gives the reason.

use std::path::Path;
use std::process::Command;
use std::{env, io};

use serde_json::Value;

use super::{Complaint, Rule};
use crate::tree::Tree;

/// The floor of each crate of the product.
const FLOORS: [(&str, u8); 16] = [
    ("stdx", 0),
    ("telemetry", 0),
    ("pg", 0),
    ("example", 0),
    ("wire", 1),
    ("sql", 1),
    ("topology", 1),
    ("catalog", 1),
    ("plan", 2),
    ("net", 2),
    ("cluster", 3),
    ("pool", 3),
    ("store", 3),
    ("execute", 4),
    ("session", 5),
    ("kintsugi", 7),
];

/// Crates that the product must not stand on.
const DEVELOPMENT: [&str; 2] = ["testkit", "xtask"];

/// Where the floors are shown to people.
const MAP: &str = "ARCHITECTURE.md";

pub(crate) fn check(root: &Path, tree: &Tree) -> io::Result<Vec<Complaint>> {
    let mut complaints = edges(root)?
        .iter()
        .filter_map(Edge::complaint)
        .collect::<Vec<_>>();
    let map = tree.file(MAP).map_or("", |file| file.text.as_str());
    for (name, _) in FLOORS {
        if !map.contains(&format!("`{name}`")) {
            let what = format!("the map does not show the crate `{name}`");
            complaints.push(Complaint::new(Rule::Floors, MAP, 1, what));
        }
    }
    Ok(complaints)
}

/// One crate of the workspace uses another.
#[derive(Debug)]
struct Edge {
    from: String,
    to: String,
    /// Only its tests do.
    is_dev: bool,
}

// === impl Edge ===

impl Edge {
    fn complaint(&self) -> Option<Complaint> {
        let Self { from, to, is_dev } = self;
        let is_development = |name: &String| DEVELOPMENT.contains(&name.as_str());
        if is_development(from) || *is_dev {
            return None;
        }
        let what = if is_development(to) {
            format!("`{from}` may use `{to}` in its tests only")
        } else {
            match (floor(from), floor(to)) {
                (Some(from), Some(to)) if to < from => return None,
                (Some(above), Some(below)) => {
                    format!("`{from}` (floor {above}) must not know `{to}` (floor {below})")
                }
                (None, _) => format!("`{from}` has no floor"),
                (_, None) => format!("`{to}` has no floor"),
            }
        };
        let path = format!("crates/{from}/Cargo.toml");
        Some(Complaint::new(Rule::Floors, &path, 1, what))
    }
}

fn floor(name: &str) -> Option<u8> {
    FLOORS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, floor)| *floor)
}

/// Every edge of the workspace, as Cargo sees it. A crate without any is an edge to itself, so that its floor is asked
/// for too.
fn edges(root: &Path) -> io::Result<Vec<Edge>> {
    let cargo = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
        ])
        .current_dir(root)
        .output()?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        return Err(io::Error::other(format!("cargo metadata failed: {said}")));
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let none = Vec::new();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = metadata["packages"].as_array().unwrap_or(&none);
    let mut edges = Vec::new();
    for package in packages {
        let from = package["name"].as_str().unwrap_or_default().to_owned();
        for dependency in list(&package["dependencies"]) {
            if dependency["path"].is_string() {
                edges.push(Edge {
                    from: from.clone(),
                    to: dependency["name"].as_str().unwrap_or_default().to_owned(),
                    is_dev: dependency["kind"] == "dev",
                });
            }
        }
        if floor(&from).is_none() && !DEVELOPMENT.contains(&from.as_str()) {
            edges.push(Edge {
                to: from.clone(),
                from,
                is_dev: false,
            });
        }
    }
    Ok(edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_edge(from: &str, to: &str, is_dev: bool) -> Option<String> {
        let (from, to) = (from.to_owned(), to.to_owned());
        let complaint = Edge { from, to, is_dev }.complaint()?;
        Some(complaint.to_string())
    }

    #[test]
    fn edges_point_down() {
        assert_eq!(check_edge("session", "plan", false), None);
        assert_eq!(check_edge("pool", "testkit", true), None);
        assert_eq!(check_edge("pool", "cluster", true), None);
        assert!(check_edge("plan", "session", false).is_some());
        assert!(check_edge("pool", "store", false).is_some());
        assert!(check_edge("pool", "testkit", false).is_some());
        assert!(check_edge("nobody", "pg", false).is_some());
    }
}
