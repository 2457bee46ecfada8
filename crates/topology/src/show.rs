//! A topology as text for people: what `kintsugi topology show` prints.

use std::fmt::{self, Write as _};

use crate::id::{GroupId, ShardId};
use crate::placement::{Placement, TableName};
use crate::topology::{Group, Topology};

impl fmt::Display for Topology {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "revision {}", self.revision())?;
        writeln!(f, "shards")?;
        let rows = self.shards().iter().map(|shard| {
            let region = shard.region.clone().unwrap_or_default();
            [shard.uid.clone(), shard.primary.clone(), region]
        });
        table(f, &rows.collect::<Vec<_>>())?;
        writeln!(f, "groups")?;
        let groups = self
            .groups()
            .iter()
            .flat_map(|group| self.group_rows(group));
        table(f, &groups.collect::<Vec<_>>())?;
        for (database, entry) in &self.document().databases {
            writeln!(f, "database {database}")?;
            let mut rows = Vec::new();
            for (schema, entry) in &entry.schemas {
                for name in entry.tables.keys().chain(entry.reference_tables.keys()) {
                    let full = TableName {
                        database,
                        schema,
                        table: name,
                    };
                    let placement = self.declared(full).map(|p| self.placement_text(p));
                    let text = placement.unwrap_or_default();
                    rows.push([format!("{schema}.{name}"), text, String::new()]);
                }
                for name in entry.sequences.keys() {
                    let place = self.sequence(database, schema, name);
                    let group = &self.group(place.group).uid;
                    let text = format!("sequence in {group}, drawn {} at a time", place.block);
                    rows.push([format!("{schema}.{name}"), text, String::new()]);
                }
                for (name, function) in &entry.functions {
                    let (group, argument) = (&function.shard_group, &function.shard_key_argument);
                    let text = format!("function in {group} by argument {argument}");
                    rows.push([format!("{schema}.{name}"), text, String::new()]);
                }
            }
            table(f, &rows)?;
        }
        Ok(())
    }
}

// === impl Topology ===

impl Topology {
    fn group_rows(&self, group: &Group) -> Vec<[String; 3]> {
        let mut notes = Vec::new();
        if group.id == self.authoritative_group() {
            notes.push("authoritative");
        }
        if group.id == self.default_group("", "") {
            notes.push("default");
        }
        let kind = match &group.index {
            None => format!("on {}", self.shard_names(&group.shards)),
            Some((index, _)) if index.columns.is_empty() => {
                format!("{} {}", index.name, index.function.type_name())
            }
            Some((index, _)) => {
                format!(
                    "{} {}({})",
                    index.name,
                    index.function.type_name(),
                    index.columns
                )
            }
        };
        let mut rows = vec![[group.uid.clone(), kind, notes.join(", ")]];
        let entry = self
            .document()
            .shard_groups
            .iter()
            .find(|entry| entry.uid == group.uid);
        let ranges = entry
            .filter(|_| group.is_sharded())
            .map(|entry| entry.key_ranges.as_slice());
        for range in ranges.unwrap_or_default() {
            let bound = |bound: &Option<String>| bound.clone().unwrap_or_default();
            let bounds = format!("  {}..{}", bound(&range.start), bound(&range.end));
            rows.push([bounds, range.shard_uid.clone(), String::new()]);
        }
        rows
    }

    fn placement_text(&self, placement: &Placement) -> String {
        let uid = |group: GroupId| self.group(group).uid.as_str();
        match placement {
            Placement::Sharded(sharded) => format!("{} by {}", uid(sharded.group), sharded.key),
            Placement::Reference(reference) => {
                let groups: Vec<&str> = reference.groups.iter().map(|group| uid(*group)).collect();
                format!("a copy on every shard of {}", groups.join(", "))
            }
            Placement::Unsharded { group, shard } => {
                format!("{} on {}", uid(*group), self.shard(*shard).uid)
            }
        }
    }

    fn shard_names(&self, shards: &[ShardId]) -> String {
        let uids: Vec<&str> = shards
            .iter()
            .map(|id| self.shard(*id).uid.as_str())
            .collect();
        uids.join(", ")
    }
}

/// Rows in columns, two blanks in and two apart, nothing at the end of a line.
fn table(f: &mut fmt::Formatter<'_>, rows: &[[String; 3]]) -> fmt::Result {
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .max()
            .unwrap_or_default()
    };
    let widths = [width(0), width(1)];
    for [first, second, third] in rows {
        let mut line = String::new();
        write!(
            line,
            "  {first:0$}  {second:1$}  {third}",
            widths[0], widths[1]
        )?;
        writeln!(f, "{}", line.trim_end())?;
    }
    Ok(())
}
