//! What a session's settings mean to a statement: names resolved, and the part of the plan cache's key that is the same for all of
//! the session's statements until a setting changes.

use std::sync::Arc;

use execute::Snapshot;

use crate::cache;
use crate::settings::Settings;

/// What a fresh backend of this user and database starts with, where it matters to planning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Defaults {
    /// `search_path`.
    pub search_path: String,
    /// `DateStyle`.
    pub date_style: String,
    /// `default_transaction_isolation`.
    pub isolation: String,
}

/// What the session's settings mean.
#[derive(Clone, Debug)]
pub(crate) struct Meaning {
    /// Database.
    pub database: Arc<str>,
    /// The user that logged in.
    pub user: Arc<str>,
    /// Schemas in the order in which PostgreSQL searches them.
    pub search_path: Vec<String>,
    /// Temporary relations of the session.
    pub temporary: Vec<String>,
    /// Settings that planning asks for.
    pub plan: plan::Settings,
    defaults: Arc<Defaults>,
    raw_path: Arc<str>,
    role: Arc<str>,
    default_group: Arc<str>,
    key: Option<Arc<cache::Setting>>,
}

impl Meaning {
    /// The meaning of a fresh session.
    pub(crate) fn new(
        database: Arc<str>,
        user: Arc<str>,
        defaults: Arc<Defaults>,
        settings: &Settings,
    ) -> Self {
        let mut meaning = Self {
            database,
            role: Arc::clone(&user),
            user,
            search_path: Vec::new(),
            temporary: Vec::new(),
            plan: plan::Settings::default(),
            default_group: Arc::from(""),
            raw_path: Arc::from(defaults.search_path.as_str()),
            defaults,
            key: None,
        };
        meaning.update(settings);
        meaning
    }

    /// Takes changed settings in.
    pub(crate) fn update(&mut self, settings: &Settings) {
        let path = settings
            .effective("search_path")
            .unwrap_or(&self.defaults.search_path);
        self.raw_path = Arc::from(path);
        let role = settings
            .effective("role")
            .filter(|role| *role != "none")
            .or_else(|| settings.effective("session_authorization"))
            .unwrap_or(&self.user);
        self.role = Arc::from(role);
        let group = settings
            .effective("kintsugi.default_shard_group")
            .unwrap_or_default();
        self.default_group = Arc::from(group);
        self.search_path = resolve_path(&self.raw_path, &self.role);
        let is = |name: &str, value: &str| settings.effective(name) == Some(value);
        let date_style = settings
            .effective("datestyle")
            .unwrap_or(&self.defaults.date_style);
        let isolation = settings.effective("default_transaction_isolation");
        let isolation = isolation.unwrap_or(&self.defaults.isolation);
        self.plan = plan::Settings {
            standard_conforming_strings: !is("standard_conforming_strings", "off"),
            date_style_is_iso: date_style.to_ascii_uppercase().starts_with("ISO"),
            transaction_mode: match settings.effective("kintsugi.transaction_mode") {
                Some("multi") => plan::TransactionMode::Multi,
                Some("single") => plan::TransactionMode::Single,
                _ => plan::TransactionMode::Atomic,
            },
            fanout: match settings.effective("kintsugi.fanout") {
                Some("multi") => plan::Fanout::Multi,
                Some("single") => plan::Fanout::Single,
                _ => plan::Fanout::Scatter,
            },
            above_read_committed: isolation.starts_with("repeat")
                || isolation.starts_with("serial"),
        };
        self.key = None;
    }

    /// The session's part of the plan cache's key.
    pub(crate) fn key(&mut self, snapshot: &Snapshot) -> Arc<cache::Setting> {
        let (catalog_version, topology_revision) =
            (snapshot.catalog.version, snapshot.topology.revision());
        if let Some(key) = &self.key
            && key.catalog_version == catalog_version
            && key.topology_revision == topology_revision
        {
            return Arc::clone(key);
        }
        let fresh = Arc::new(cache::Setting {
            database: Arc::clone(&self.database),
            role: Arc::clone(&self.role),
            search_path: Arc::clone(&self.raw_path),
            default_group: Arc::clone(&self.default_group),
            flags: flags(self.plan),
            catalog_version,
            topology_revision,
        });
        self.key = Some(Arc::clone(&fresh));
        fresh
    }

    /// How texts are read.
    pub(crate) fn parse_options(&self) -> sql::ParseOptions {
        let standard_conforming_strings = self.plan.standard_conforming_strings;
        sql::ParseOptions {
            standard_conforming_strings,
        }
    }

    /// What planning is given.
    pub(crate) fn context<'a>(
        &'a self,
        snapshot: &'a Snapshot,
        types: &'a [pg::Oid],
    ) -> plan::Context<'a> {
        plan::Context {
            catalog: &snapshot.catalog,
            topology: &snapshot.topology,
            database: &self.database,
            search_path: &self.search_path,
            temporary: &self.temporary,
            param_types: types,
            user: &self.role,
            default_group: snapshot
                .topology
                .group_named(&self.default_group)
                .map(|group| group.id),
            settings: self.plan,
        }
    }
}

fn flags(settings: plan::Settings) -> u32 {
    let fanout = match settings.fanout {
        plan::Fanout::Scatter => 0,
        plan::Fanout::Multi => 1,
        plan::Fanout::Single => 2,
    };
    let mode = match settings.transaction_mode {
        plan::TransactionMode::Atomic => 0,
        plan::TransactionMode::Multi => 1,
        plan::TransactionMode::Single => 2,
    };
    u32::from(settings.standard_conforming_strings)
        | u32::from(settings.date_style_is_iso) << 1
        | u32::from(settings.above_read_committed) << 2
        | fanout << 4
        | mode << 8
}

/// The schemas that a `search_path` means, `pg_catalog` where PostgreSQL looks for it: first, unless it is named.
fn resolve_path(path: &str, role: &str) -> Vec<String> {
    let mut schemas: Vec<String> = split_list(path)
        .into_iter()
        .map(|name| {
            if name == "$user" {
                role.to_owned()
            } else {
                name
            }
        })
        .filter(|name| name != "pg_temp")
        .collect();
    if !schemas.iter().any(|name| name == "pg_catalog") {
        schemas.insert(0, "pg_catalog".to_owned());
    }
    schemas
}

/// The names of a comma-separated list of identifiers; unquoted ones in lower case.
fn split_list(list: &str) -> Vec<String> {
    let mut names = Vec::new();
    let mut rest = list.trim_start();
    while !rest.is_empty() {
        let (name, after) = if let Some(quoted) = rest.strip_prefix('"') {
            take_quoted(quoted)
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            (rest[..end].trim().to_lowercase(), &rest[end..])
        };
        if !name.is_empty() {
            names.push(name);
        }
        let after = after.trim_start();
        rest = after.strip_prefix(',').unwrap_or("").trim_start();
    }
    names
}

fn take_quoted(quoted: &str) -> (String, &str) {
    let mut name = String::new();
    let mut rest = quoted;
    while let Some(at) = rest.find('"') {
        name.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        match rest.strip_prefix('"') {
            Some(after) => {
                name.push('"');
                rest = after;
            }
            None => return (name, rest),
        }
    }
    (name + rest, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, schemas: &[&str]) {
        assert_eq!(resolve_path(path, "ann"), schemas, "{path}");
    }

    #[test]
    fn paths_are_resolved_as_postgresql_does() {
        check("\"$user\", public", &["pg_catalog", "ann", "public"]);
        check("Public", &["pg_catalog", "public"]);
        check(
            "\"Weird \"\"name\",b , pg_catalog",
            &["Weird \"name", "b", "pg_catalog"],
        );
        check("", &["pg_catalog"]);
        check("\"\"", &["pg_catalog"]);
        check("pg_temp, x", &["pg_catalog", "x"]);
    }
}
