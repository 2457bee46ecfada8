//! What differs between two documents, and which rows would have to move. The first is for people; the
//! second decides whether a document may be applied. Invariant: a change that [`moves_rows`] does not
//! report changes the shard of no row that can exist.

mod moves;

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::document::Document;
use crate::json::member_path;

pub use moves::{KnownTable, Move, MoveCause, Moved, Subject, moves_rows};

/// Everything that differs between two documents.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// In the order of the new document; what is gone stands after what is there.
    pub changes: Vec<Change>,
}

/// One difference.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Change {
    /// Where; groups stand with their uid: `shard_groups.customer_data.key_ranges`.
    pub path: String,
    /// What stood there; none: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old: Option<Value>,
    /// What stands there; none: nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new: Option<Value>,
}

/// Compares two documents.
///
/// # Panics
///
/// Never: a document holds nothing that JSON can't.
#[must_use]
pub fn diff(old: &Document, new: &Document) -> Diff {
    let mut diff = Diff::default();
    compare("", &tree(old), &tree(new), &mut diff.changes);
    diff
}

/// The document with its groups as a map by uid and ranges as one text each.
fn tree(document: &Document) -> Value {
    let mut tree = serde_json::to_value(document)
        .expect("the document holds strings, numbers and string-keyed maps only");
    if let Some(Value::Array(groups)) = tree.get_mut("shard_groups").map(Value::take) {
        let mut by_uid = serde_json::Map::new();
        for (group, entry) in groups.into_iter().zip(&document.shard_groups) {
            by_uid.insert(entry.uid.clone(), group_tree(group));
        }
        tree["shard_groups"] = Value::Object(by_uid);
    }
    tree
}

fn group_tree(mut group: Value) -> Value {
    if let Some(Value::Array(ranges)) = group.get("key_ranges") {
        let text = |range: &Value, key: &str| {
            range
                .get(key)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        let line = |range: &Value| {
            let bounds = format!("{}..{}", text(range, "start"), text(range, "end"));
            Value::String(format!("{bounds} {}", text(range, "shard_uid")))
        };
        let lines = ranges.iter().map(line).collect();
        group["key_ranges"] = Value::Array(lines);
    }
    if let Value::Object(members) = &mut group {
        members.remove("uid");
    }
    group
}

fn compare(path: &str, old: &Value, new: &Value, changes: &mut Vec<Change>) {
    if old == new {
        return;
    }
    let (Value::Object(old_members), Value::Object(new_members)) = (old, new) else {
        let change = Change {
            path: path.to_owned(),
            old: Some(old.clone()),
            new: Some(new.clone()),
        };
        return changes.push(change);
    };
    for (key, new) in new_members {
        let path = member_path(path, key);
        match old_members.get(key) {
            Some(old) => compare(&path, old, new, changes),
            None => changes.push(Change {
                path,
                old: None,
                new: Some(new.clone()),
            }),
        }
    }
    for (key, old) in old_members {
        if !new_members.contains_key(key) {
            let path = member_path(path, key);
            changes.push(Change {
                path,
                old: Some(old.clone()),
                new: None,
            });
        }
    }
}

// === impl Diff ===

impl Diff {
    /// Whether the documents mean the same.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }
}

impl fmt::Display for Diff {
    /// A line for each change: `+` came, `-` went, `~` changed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.changes {
            match (&change.old, &change.new) {
                (None, Some(new)) => writeln!(f, "+ {}: {}", change.path, brief(new))?,
                (Some(old), None) => writeln!(f, "- {}: {}", change.path, brief(old))?,
                (Some(old), Some(new)) => {
                    writeln!(f, "~ {}: {} -> {}", change.path, brief(old), brief(new))?;
                }
                (None, None) => {}
            }
        }
        Ok(())
    }
}

/// Strings bare and lists in brackets, anything else as JSON.
fn brief(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(brief).collect();
            format!("[{}]", items.join(", "))
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests;
