//! What is wanted of one cluster.

use std::path::PathBuf;

/// How hard the server holds on to what it was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Durability {
    /// As PostgreSQL comes: a commit survives the loss of power.
    #[default]
    Durable,
    /// For tests: a commit survives the death of any process, but not of the machine. Commits
    /// stay synchronous, since a killed server must not lose them.
    Fast,
}

/// How clients prove who they are.
#[derive(Clone, PartialEq, Eq, Default)]
pub enum Auth {
    /// Not at all: for servers that only this machine reaches.
    #[default]
    Trust,
    /// By SCRAM with this password of user `postgres`, given when the cluster is made.
    Scram {
        /// The password.
        password: String,
    },
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Trust => f.write_str("Trust"),
            Self::Scram { .. } => f.write_str("Scram { password: *** }"),
        }
    }
}

/// One cluster as wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spec {
    /// The cluster's own folder: data, log, lock and port are kept there.
    pub home: PathBuf,
    /// Durable, or fast for tests.
    pub durability: Durability,
    /// How clients log in.
    pub auth: Auth,
    /// A database to have besides `postgres`.
    pub database: Option<String>,
    /// The port to listen on; otherwise the one used last time if it is free, else any free one.
    pub port: Option<u16>,
    /// Settings beyond ours, such as `("shared_buffers", "64MB")`.
    pub settings: Vec<(String, String)>,
    /// Makes this cluster by copying the data folder of a cluster that was never started, which
    /// is made there first when it is missing. Copies share a system identifier, so this is for
    /// tests; a cluster with passwords is always made by itself.
    pub template: Option<PathBuf>,
}

impl Spec {
    /// A durable cluster at `home`, with everything else as usual.
    pub fn new(home: impl Into<PathBuf>) -> Self {
        Self {
            home: home.into(),
            durability: Durability::Durable,
            auth: Auth::Trust,
            database: None,
            port: None,
            settings: Vec::new(),
            template: None,
        }
    }

    /// A cluster for tests at `home`: fast, and in UTC.
    pub fn fast(home: impl Into<PathBuf>) -> Self {
        Self {
            durability: Durability::Fast,
            settings: vec![("timezone".into(), "UTC".into())],
            ..Self::new(home)
        }
    }

    /// The text of the settings file that PostgreSQL reads last.
    pub(crate) fn conf(&self, port: u16, socket_folder: Option<&str>) -> String {
        let mut lines = vec![
            "# Written at each start; changes here are lost.".to_owned(),
            "listen_addresses = '127.0.0.1'".to_owned(),
            format!("port = {port}"),
            format!(
                "unix_socket_directories = {}",
                quoted(socket_folder.unwrap_or(""))
            ),
            "wal_level = logical".to_owned(),
            "max_prepared_transactions = 100".to_owned(),
            "logging_collector = off".to_owned(),
            "log_destination = stderr".to_owned(),
        ];
        if self.durability == Durability::Fast {
            for line in [
                "fsync = off",
                "full_page_writes = off",
                "autovacuum_naptime = 1h",
            ] {
                lines.push(line.to_owned());
            }
        }
        lines.extend(
            self.settings
                .iter()
                .map(|(name, value)| format!("{name} = {}", quoted(value))),
        );
        lines.push(String::new());
        lines.join("\n")
    }
}

fn quoted(value: &str) -> String {
    format!("'{}'", value.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fast_keeps_commits_synchronous() {
        let conf = Spec::fast("/tmp/x").conf(5433, None);
        assert!(conf.contains("fsync = off"), "{conf}");
        assert!(!conf.contains("synchronous_commit"), "{conf}");
    }

    #[test]
    fn values_are_quoted() {
        let mut spec = Spec::new("/tmp/x");
        spec.settings
            .push(("application_name".into(), "it's".into()));
        assert!(spec.conf(1, None).contains("application_name = 'it''s'"));
    }

    #[test]
    fn a_password_is_not_printed() {
        let auth = Auth::Scram {
            password: "hunter2".into(),
        };
        assert!(!format!("{auth:?}").contains("hunter2"));
    }
}
