//! The subcommands that change nothing.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use serde_json::json;
use topology::{Document, ShardEntry, TableName, Topology};

use super::{
    Cluster, ClusterFacts, CommandError, Outcome, Setting, Status, as_json, list, read_file,
};

/// Checks a document alone. Shards that it only names are taken as declared, for their addresses are the
/// configuration's.
///
/// # Errors
///
/// The file can't be read.
pub fn validate(
    path: &Path,
    configured: &IndexMap<String, ShardEntry>,
) -> Result<Outcome, CommandError> {
    let text = read_file(path)?;
    let document = match Document::read(&text) {
        Ok(read) => read.document,
        Err(mistakes) => return Ok(Outcome::mistaken(&mistakes)),
    };
    let mut shards = configured.clone();
    if document.shards.is_empty() && shards.is_empty() {
        let stand_in = || ShardEntry {
            primary: Some("unknown:1".to_owned()),
            ..ShardEntry::default()
        };
        shards.extend(
            document
                .named_shards()
                .iter()
                .map(|uid| ((*uid).to_owned(), stand_in())),
        );
    }
    let topology = match Topology::parse(&text, 0, &shards) {
        Ok(topology) => topology,
        Err(mistakes) => return Ok(Outcome::mistaken(&mistakes)),
    };
    let schemas = || {
        document
            .databases
            .values()
            .flat_map(|database| database.schemas.values())
    };
    let tables_count: usize = schemas().map(|schema| schema.tables.len()).sum();
    let references_count: usize = schemas().map(|schema| schema.reference_tables.len()).sum();
    let text = format!(
        "{}{} is sound: {} on {}, {}, {}\n",
        list(topology.warnings()),
        path.display(),
        counted(topology.groups().len(), "group"),
        counted(topology.shards().len(), "shard"),
        counted(tables_count, "table"),
        counted(references_count, "reference table"),
    );
    Ok(Outcome::done(
        text,
        json!({ "mistakes": as_json(topology.warnings()) }),
    ))
}

pub(super) async fn show<C: Cluster>(
    setting: &Setting<C>,
    revision: Option<u64>,
) -> Result<Outcome, CommandError> {
    let topology = match revision {
        Some(number) => setting.compile(&setting.revision(number).await?)?,
        None => setting.served().await?,
    };
    let document = serde_json::to_value(topology.document()).unwrap_or_default();
    let json = json!({ "revision": topology.revision(), "document": document });
    Ok(Outcome::done(topology.to_string(), json))
}

pub(super) async fn diff_file<C: Cluster>(
    setting: &Setting<C>,
    path: &Path,
) -> Result<Outcome, CommandError> {
    let text = read_file(path)?;
    let served = setting.served().await?;
    match Document::read(&text) {
        Err(mistakes) => Ok(Outcome::mistaken(&mistakes)),
        Ok(read) => Ok(differences(served.document(), &read.document)),
    }
}

pub(super) async fn diff_revisions<C: Cluster>(
    setting: &Setting<C>,
    from: Option<u64>,
    to: Option<u64>,
) -> Result<Outcome, CommandError> {
    let to = match to {
        Some(number) => number,
        None => setting.served().await?.revision(),
    };
    let from = from.unwrap_or(to.saturating_sub(1));
    let document = async |number| {
        if number == 0 {
            return Ok(Document::single(&setting.shards));
        }
        let read = setting.revision(number).await?.read();
        read.map(|read| read.document)
            .map_err(|source| CommandError::Store { source })
    };
    Ok(differences(&document(from).await?, &document(to).await?))
}

fn differences(old: &Document, new: &Document) -> Outcome {
    let diff = topology::diff(old, new);
    let text = if diff.is_empty() {
        "no difference\n".to_owned()
    } else {
        diff.to_string()
    };
    Outcome::done(text, serde_json::to_value(&diff).unwrap_or_default())
}

pub(super) async fn history<C: Cluster>(setting: &Setting<C>) -> Result<Outcome, CommandError> {
    let history = setting.store.history().await;
    let history = history.map_err(|source| CommandError::Store { source })?;
    let mut text = String::new();
    let mut json = Vec::new();
    for summary in &history {
        let at = moment(summary.at);
        let line = format!(
            "{:>5}  {at}  {}  {}",
            summary.number, summary.author, summary.comment
        );
        text.push_str(line.trim_end());
        text.push('\n');
        json.push(json!({
            "revision": summary.number,
            "at": at,
            "author": summary.author,
            "message": summary.comment,
        }));
    }
    if history.is_empty() {
        text.push_str("no document was applied yet; everything is on the first shard\n");
    }
    Ok(Outcome::done(text, json.into()))
}

pub(super) async fn shard_of<C: Cluster>(
    setting: &Setting<C>,
    table: &str,
    key: &[String],
) -> Result<Outcome, CommandError> {
    let topology = setting.served().await?;
    let facts = setting.cluster.facts().await;
    let facts = facts.map_err(|source| CommandError::Cluster { source })?;
    let first_database = topology.document().first_database().unwrap_or("postgres");
    let parts: Vec<&str> = table.split('.').collect();
    let name = match parts.as_slice() {
        [table] => TableName {
            database: first_database,
            schema: "public",
            table,
        },
        [schema, table] => TableName {
            database: first_database,
            schema,
            table,
        },
        [database, schema, table] => TableName {
            database,
            schema,
            table,
        },
        _ => {
            let text = format!("{table:?} is not table, schema.table or database.schema.table\n");
            return Ok(refused(text));
        }
    };
    if let Some(why) = missing(&topology, &facts, name) {
        return Ok(refused(why));
    }
    let root = facts.root(name);
    let name = root.as_ref().map_or(name, |(schema, table)| TableName {
        database: name.database,
        schema,
        table,
    });
    let texts: Vec<&str> = key.iter().map(String::as_str).collect();
    match topology.shard_of(name, &texts, &facts) {
        Ok(location) => Ok(found(&topology, &facts, (name, &location))),
        Err(error) => Ok(refused(format!("{error}\n"))),
    }
}

fn found(
    topology: &Topology,
    facts: &ClusterFacts,
    (name, location): (TableName<'_>, &topology::Location),
) -> Outcome {
    let uids: Vec<&str> = location
        .shards
        .iter()
        .map(|shard| topology.shard(*shard).uid.as_str())
        .collect();
    let value = location.routing_value.as_ref().map(ToString::to_string);
    let is_declared = topology.declared(name).is_some();
    let mut text = location.describe(topology);
    let has_column = |column: &str| topology::ColumnTypes::column(facts, name, column).is_some();
    if !is_declared
        && let Ok(topology::Placement::Unsharded { group, .. }) =
            topology.placement(name, &has_column)
    {
        let group = &topology.group(group).uid;
        text = format!("{text} (not declared in the topology: unsharded, in group {group})");
    }
    let json = json!({ "shards": uids, "routing_value": value, "is_declared": is_declared });
    Outcome::done(format!("{text}\n"), json)
}

/// Why a table has no rows to be asked for; none where it exists.
fn missing(topology: &Topology, facts: &ClusterFacts, name: TableName<'_>) -> Option<String> {
    let TableName {
        database,
        schema,
        table,
    } = name;
    if !facts.catalogs.contains_key(database) {
        let hint = "create it on every shard, or name another: database.schema.table";
        return Some(format!(
            "database {database:?} does not exist on the shards\n    hint: {hint}\n"
        ));
    }
    if topology::ColumnTypes::has_table(facts, name) {
        return None;
    }
    let full = format!("{database}.{schema}.{table}");
    if topology.declared(name).is_some() {
        return Some(format!(
            "table {full} is declared in the topology, but was not created yet\n    \
             hint: create it through the router first\n"
        ));
    }
    let near = facts.near(name);
    let hint = if near.is_empty() {
        String::new()
    } else {
        format!("    hint: did you mean {}?\n", near.join(" or "))
    };
    Some(format!("no such table: {full}\n{hint}"))
}

fn refused(text: String) -> Outcome {
    let json = json!({ "error": text.trim_end() });
    Outcome {
        text,
        json,
        status: Status::Refused,
    }
}

/// `1 table`, `2 tables`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 {
        format!("{count} {noun}")
    } else {
        format!("{count} {noun}s")
    }
}

/// A moment as `2026-11-30 18:57:00Z`.
fn moment(at: SystemTime) -> String {
    let seconds = at.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (days, second) = (seconds / 86_400, seconds % 86_400);
    // Days since 0000-03-01, so that leap days stand at the end of a year.
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_shifted + 2) / 5 + 1;
    let month = if month_shifted < 10 {
        month_shifted + 3
    } else {
        month_shifted - 9
    };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}Z")
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn moments_are_written_in_utc() {
        let check = |seconds, expected| {
            assert_eq!(moment(UNIX_EPOCH + Duration::from_secs(seconds)), expected);
        };
        check(0, "1970-01-01 00:00:00Z");
        check(951_782_400, "2000-02-29 00:00:00Z");
        check(1_796_065_020, "2026-11-30 18:57:00Z");
        check(4_107_542_399, "2100-02-28 23:59:59Z");
    }
}
