//! What shards must agree on, and whether they do.
//!
//! Clients rely on one server's version, encoding, defaults and collation; a cluster whose shards differ in these would
//! give answers that no single PostgreSQL gives.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::{Backend, BackendError, Settings};

/// The oldest PostgreSQL that is served, as `server_version_num`.
const VERSION_MIN: u32 = 150_000;

/// Settings whose defaults must be the same on every shard.
const SAME: [&str; 18] = [
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "array_nulls",
    "backslash_quote",
    "bytea_output",
    "default_text_search_config",
    "default_transaction_isolation",
    "extra_float_digits",
    "integer_datetimes",
    "lc_messages",
    "lc_monetary",
    "lc_numeric",
    "lc_time",
    "search_path",
    "standard_conforming_strings",
    "transform_null_equals",
    "xmloption",
];

/// What one shard says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardFacts {
    /// The shard's uid.
    pub uid: Arc<str>,
    /// The database that was asked.
    pub database: Arc<str>,
    /// `server_version_num`, such as 150018.
    pub server_version: u32,
    /// `server_version` as text.
    pub server_version_text: String,
    /// The database's encoding.
    pub encoding: String,
    /// Provider, locale and version of the database's collation.
    pub collation: String,
    /// `max_prepared_transactions`: 0 means no writes over several shards.
    pub max_prepared_transactions: u32,
    /// `max_connections`.
    pub max_connections: u32,
    /// The server is a standby.
    pub is_in_recovery: bool,
    /// Defaults of settings that must be the same everywhere.
    pub defaults: BTreeMap<String, String>,
}

/// Something that a person has to put right. Its `Display` says what and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The shard concerned.
    pub shard: Arc<str>,
    /// What is wrong, and the way out.
    pub text: String,
    /// No session can be served; otherwise only some statements are refused.
    pub is_fatal: bool,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "shard {}: {}", self.shard, self.text)
    }
}

/// Asks a shard for its facts. The backend is outside a transaction and stays so; its settings are reset.
///
/// # Errors
/// When the query fails.
///
/// # Cancel safety
/// Not cancel safe: the backend is then closed when it is given back.
pub async fn inspect(backend: &mut Backend) -> Result<ShardFacts, BackendError> {
    backend.apply(&Settings::empty()).await?;
    let names: Vec<String> = SAME
        .iter()
        .map(|name| crate::settings::literal(name))
        .collect();
    let sql = format!(
        "SELECT current_setting('server_version_num'), current_setting('server_version'), \
           pg_catalog.pg_encoding_to_char(encoding), \
           pg_catalog.concat_ws(' ', CASE datlocprovider WHEN 'c' THEN 'libc' WHEN 'i' THEN 'icu' ELSE 'builtin' END, \
             datcollate, datctype, coalesce(to_jsonb(d) ->> 'datlocale', to_jsonb(d) ->> 'daticulocale'), \
             'version ' || coalesce(pg_catalog.pg_database_collation_actual_version(oid), 'none')), \
           current_setting('max_prepared_transactions'), current_setting('max_connections'), \
           pg_catalog.pg_is_in_recovery() \
         FROM pg_catalog.pg_database d WHERE datname = pg_catalog.current_database(); \
         SELECT name, reset_val FROM pg_catalog.pg_settings WHERE name IN ({})",
        names.join(",")
    );
    let results = backend.simple(&sql).await?;
    let [about, defaults] = &results[..] else {
        return Err(backend.violation("another number of answers than of questions"));
    };
    let values = about.rows.first().cloned().unwrap_or_default();
    let text = |at: usize| values.get(at).cloned().flatten().unwrap_or_default();
    let number = |at: usize| text(at).parse().unwrap_or(0);
    let pair = |row: &Vec<Option<String>>| match &row[..] {
        [Some(name), value] => Some((name.clone(), value.clone().unwrap_or_default())),
        _ => None,
    };
    Ok(ShardFacts {
        uid: backend.shard().clone(),
        database: backend.identity().database.clone(),
        server_version: number(0),
        server_version_text: text(1),
        encoding: text(2),
        collation: text(3),
        max_prepared_transactions: number(4),
        max_connections: number(5),
        is_in_recovery: text(6) == "t",
        defaults: defaults.rows.iter().filter_map(pair).collect(),
    })
}

/// What is wrong with the shards, each by itself and compared with the first one, which is the authoritative one.
#[must_use]
pub fn compare(shards: &[ShardFacts]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let Some(first) = shards.first() else {
        return problems;
    };
    for shard in shards {
        alone(shard, &mut problems);
    }
    for shard in &shards[1..] {
        against(first, shard, &mut problems);
    }
    let cannot_prepare = |shard: &&ShardFacts| shard.max_prepared_transactions == 0;
    for shard in shards
        .iter()
        .filter(cannot_prepare)
        .filter(|_| shards.len() > 1)
    {
        problems.push(Problem {
            shard: shard.uid.clone(),
            text: "max_prepared_transactions is 0, so writes over several shards that concern it are refused; \
                   set it to at least the number of connections that write, and restart the shard"
                .to_owned(),
            is_fatal: false,
        });
    }
    problems
}

fn alone(shard: &ShardFacts, problems: &mut Vec<Problem>) {
    let mut fatal = |text: String| {
        problems.push(Problem {
            shard: shard.uid.clone(),
            text,
            is_fatal: true,
        });
    };
    if shard.server_version < VERSION_MIN {
        let version = &shard.server_version_text;
        fatal(format!(
            "PostgreSQL {version} is too old; upgrade it to 15 or newer"
        ));
    }
    if shard.encoding != "UTF8" {
        let (database, encoding) = (&shard.database, &shard.encoding);
        fatal(format!(
            "database {database} is encoded in {encoding}; create it anew with ENCODING 'UTF8'"
        ));
    }
    if shard
        .defaults
        .get("standard_conforming_strings")
        .is_some_and(|value| value != "on")
    {
        fatal("standard_conforming_strings is off by default; set it to on".to_owned());
    }
    if shard.is_in_recovery {
        fatal("it is a standby; name its primary instead".to_owned());
    }
}

fn against(first: &ShardFacts, shard: &ShardFacts, problems: &mut Vec<Problem>) {
    let mut differ = |what: &str, ours: &str, theirs: &str, way_out: &str| {
        let text = format!(
            "{what} is {theirs:?}, but {ours:?} on shard {}; {way_out}",
            first.uid
        );
        problems.push(Problem {
            shard: shard.uid.clone(),
            text,
            is_fatal: true,
        });
    };
    if first.server_version / 10_000 != shard.server_version / 10_000 {
        let (ours, theirs) = (&first.server_version_text, &shard.server_version_text);
        differ(
            "the PostgreSQL version",
            ours,
            theirs,
            "run one major version on all shards",
        );
    }
    if first.collation != shard.collation {
        let way_out = "sorting would differ: create the database with the same locale, on the same version of its library";
        differ(
            "the database's collation",
            &first.collation,
            &shard.collation,
            way_out,
        );
    }
    for (name, ours) in &first.defaults {
        let theirs = shard.defaults.get(name).map_or("", String::as_str);
        if ours != theirs {
            differ(
                &format!("the default of {name}"),
                ours,
                theirs,
                "set it to the same value on all shards",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(uid: &str) -> ShardFacts {
        ShardFacts {
            uid: uid.into(),
            database: "app".into(),
            server_version: 150_018,
            server_version_text: "15.18".into(),
            encoding: "UTF8".into(),
            collation: "libc C C version none".into(),
            max_prepared_transactions: 10,
            max_connections: 100,
            is_in_recovery: false,
            defaults: [("TimeZone", "UTC"), ("standard_conforming_strings", "on")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
        }
    }

    fn texts(shards: &[ShardFacts]) -> Vec<String> {
        compare(shards).iter().map(Problem::to_string).collect()
    }

    #[test]
    fn equal_shards_have_no_problems() {
        assert!(compare(&[facts("a"), facts("b")]).is_empty());
        assert!(compare(&[]).is_empty());
    }

    #[test]
    fn differences_name_both_shards_and_both_values() {
        let mut other = facts("b");
        other
            .defaults
            .insert("TimeZone".into(), "Europe/Paris".into());
        other.server_version = 160_000;
        other.server_version_text = "16.0".into();
        assert_eq!(
            texts(&[facts("a"), other]),
            [
                "shard b: the PostgreSQL version is \"16.0\", but \"15.18\" on shard a; run one major version on all \
                 shards",
                "shard b: the default of TimeZone is \"Europe/Paris\", but \"UTC\" on shard a; set it to the same value \
                 on all shards",
            ]
        );
    }

    #[test]
    fn what_one_shard_lacks_is_named() {
        let mut bad = facts("b");
        bad.max_prepared_transactions = 0;
        let problems = compare(&[facts("a"), bad.clone()]);
        assert_eq!(problems.len(), 1);
        assert!(!problems[0].is_fatal);
        assert!(problems[0].text.contains("max_prepared_transactions is 0"));
        bad.encoding = "LATIN1".into();
        bad.server_version = 140_000;
        assert!(compare(&[bad]).iter().all(|problem| problem.is_fatal));
    }
}
