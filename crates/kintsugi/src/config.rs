//! The configuration file of `kintsugi serve`, which every command reads that works on a running cluster. Invariant: a key that is
//! not known is refused with its place, and a value that was read can be used.

mod key;

use std::path::{Path, PathBuf};
use std::time::Duration;

use indexmap::IndexMap;
use serde::{Deserialize, Deserializer};
use stdx::Secret;

pub use key::{KEYS, Key, reference};

use crate::Failure;

/// The whole file.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Where clients arrive.
    #[serde(deserialize_with = "address")]
    pub listen: net::Address,
    /// The file with the topology's revisions; relative to this file.
    pub store: PathBuf,
    /// How clients show who they are.
    #[serde(default)]
    pub auth: Auth,
    /// The router itself.
    pub router: Router,
    /// The shards by uid.
    #[serde(default)]
    pub shards: IndexMap<String, Shard>,
    /// Who may come in.
    #[serde(default)]
    pub users: IndexMap<String, User>,
    /// Limits of each shard's pool.
    #[serde(default)]
    pub pool: Pool,
    /// Limits of sessions.
    #[serde(default)]
    pub limits: Limits,
    /// The log.
    #[serde(default)]
    pub log: Log,
}

/// How clients show who they are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Auth {
    /// By password, SCRAM-SHA-256.
    #[default]
    Scram,
    /// Not at all: for local development only.
    Trust,
}

/// The router itself.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Router {
    /// Its name among the routers.
    pub name: Option<String>,
    /// As whom it works on the shards: a superuser.
    pub user: String,
    /// A database that every shard has.
    #[serde(default = "postgres")]
    pub database: String,
    /// That user's password at the shards.
    pub password: Option<Secret<String>>,
    /// A file with that password.
    pub password_file: Option<PathBuf>,
}

/// A shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shard {
    /// `host:port` of the primary.
    pub primary: String,
    /// Where it stands, for people.
    pub region: Option<String>,
}

/// Somebody who may come in.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct User {
    /// The password.
    pub password: Option<Secret<String>>,
    /// A file with the password.
    pub password_file: Option<PathBuf>,
    /// What PostgreSQL keeps of a password: `SCRAM-SHA-256$...`.
    pub verifier: Option<Secret<String>>,
    /// The password at the shards.
    pub shard_password: Option<Secret<String>>,
}

/// Limits of each shard's pool.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Pool {
    /// Most backends of a shard.
    pub backends_max: usize,
    /// How long connecting may take.
    pub connect_timeout_ms: u64,
    /// How long a backend may be idle.
    pub idle_timeout_s: u64,
    /// How old a backend may become.
    pub lifetime_max_s: u64,
    /// How long clearing a backend up may take.
    pub cleanup_timeout_ms: u64,
    /// Most prepared statements on one backend.
    pub prepared_max: usize,
}

/// Limits of sessions.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Most clients at a time.
    pub clients_max: usize,
    /// How long a statement waits for a backend.
    pub lease_wait_ms: u64,
    /// The longest message of a client.
    pub message_bytes_max: usize,
    /// How long a client may take to log in.
    pub login_timeout_s: u64,
    /// Most prepared statements of one session.
    pub prepared_max: usize,
    /// Most shapes in the plan cache.
    pub shapes_max: usize,
}

/// The log, on standard error.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// How a line looks.
    pub format: LogFormat,
    /// What is logged.
    pub filter: String,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    #[default]
    Text,
    /// One JSON object a line.
    Json,
}

// === impl Config ===

impl Config {
    /// Reads the file; paths in it are relative to its folder.
    ///
    /// # Errors
    /// It can't be read, or holds what is not known or makes no sense.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(Failure::file("read", path))?;
        let parsed = Self::parse(&text);
        let mut config = parsed.map_err(|source| Failure::Config {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        let folder = path.parent().unwrap_or(Path::new("."));
        config.store = folder.join(&config.store);
        config.read_passwords(folder)?;
        config.check(path)?;
        Ok(config)
    }

    /// Reads the text of a file.
    ///
    /// # Errors
    /// It holds what is not known.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    fn read_passwords(&mut self, folder: &Path) -> Result<(), Failure> {
        let files = self
            .users
            .values_mut()
            .map(|user| (&mut user.password, &user.password_file));
        let router = (&mut self.router.password, &self.router.password_file);
        for (password, file) in files.chain([router]) {
            let Some(file) = file else { continue };
            let path = folder.join(file);
            let text = std::fs::read_to_string(&path).map_err(Failure::file("read", &path))?;
            let line = text.trim_end_matches(['\n', '\r']);
            *password = Some(Secret::new(line.to_owned()));
        }
        Ok(())
    }

    fn check(&self, path: &Path) -> Result<(), Failure> {
        let refused = |what: String, hint: &str| {
            Err(Failure::Refused {
                what: format!("{}: {what}", path.display()),
                hint: hint.to_owned(),
            })
        };
        if self.auth == Auth::Scram && self.users.is_empty() {
            let hint = "add a table [users.NAME] with a password or a verifier, or for local \
                        development set auth = \"trust\"";
            return refused("nobody could log in: there are no users".to_owned(), hint);
        }
        for (name, user) in &self.users {
            let ways = usize::from(user.password.is_some()) + usize::from(user.verifier.is_some());
            if self.auth == Auth::Scram && ways != 1 {
                let hint = "give a password, a password_file or a verifier";
                return refused(
                    format!("users.{name} needs exactly one way to log in"),
                    hint,
                );
            }
            let shard_password = user.shard_password.as_ref().or(user.password.as_ref());
            let differs = shard_password != self.router.password.as_ref();
            if *name == self.router.user && differs {
                let hint =
                    "the router logs in at the shards as this user too: give the same password";
                return refused(
                    format!("users.{name} and router have different passwords"),
                    hint,
                );
            }
        }
        if self.pool.backends_max == 0 {
            let hint = "a shard without backends answers nothing";
            return refused("pool.backends_max is 0".to_owned(), hint);
        }
        Ok(())
    }

    /// The shards as the topology takes them.
    #[must_use]
    pub fn shards(&self) -> IndexMap<String, topology::ShardEntry> {
        let entry = |(uid, shard): (&String, &Shard)| {
            let entry = topology::ShardEntry {
                primary: Some(shard.primary.clone()),
                region: shard.region.clone(),
                ..topology::ShardEntry::default()
            };
            (uid.clone(), entry)
        };
        self.shards.iter().map(entry).collect()
    }

    /// Passwords at the shards.
    #[must_use]
    pub fn credentials(&self) -> pool::Credentials {
        let users = self.users.iter().filter_map(|(name, user)| {
            let password = user.shard_password.as_ref().or(user.password.as_ref())?;
            Some((name.clone(), password.clone()))
        });
        let own = self.router.password.clone();
        let own = own.map(|password| (self.router.user.clone(), password));
        users
            .chain(own)
            .fold(pool::Credentials::trust(), |all, (name, password)| {
                all.with_password(name, password)
            })
    }

    /// Who may come in.
    ///
    /// # Errors
    /// A verifier can't be read, or there is no randomness.
    pub fn access(&self) -> Result<session::Access, Failure> {
        if self.auth == Auth::Trust {
            return Ok(session::Access::Trust);
        }
        let mut verifiers = std::collections::HashMap::new();
        for (name, user) in &self.users {
            let verifier = match (&user.verifier, &user.password) {
                (Some(text), _) => text.expose().parse::<net::scram::Verifier>(),
                (None, Some(password)) => net::scram::Verifier::from_password(password.expose()),
                (None, None) => continue,
            };
            let verifier = verifier.map_err(|source| Failure::Verifier {
                user: name.clone(),
                source,
            })?;
            verifiers.insert(name.clone(), verifier);
        }
        let mut secret = vec![0; 32];
        let random = ring::rand::SystemRandom::new();
        let filled = ring::rand::SecureRandom::fill(&random, &mut secret);
        filled.map_err(|_unspecified| Failure::Ended {
            reason: "the system gives no randomness".to_owned(),
        })?;
        Ok(session::Access::Scram(session::Users::new(
            verifiers, secret,
        )))
    }
}

// === impl Pool ===

impl Pool {
    /// As the pools take it.
    #[must_use]
    pub fn limits(&self) -> pool::Limits {
        pool::Limits {
            backends_max: self.backends_max,
            connect_timeout: Duration::from_millis(self.connect_timeout_ms),
            idle_timeout: Duration::from_secs(self.idle_timeout_s),
            lifetime_max: Duration::from_secs(self.lifetime_max_s),
            cleanup_timeout: Duration::from_millis(self.cleanup_timeout_ms),
            prepared_max: self.prepared_max,
        }
    }
}

impl Default for Pool {
    fn default() -> Self {
        let limits = pool::Limits::default();
        Self {
            backends_max: limits.backends_max,
            connect_timeout_ms: whole_ms(limits.connect_timeout),
            idle_timeout_s: limits.idle_timeout.as_secs(),
            lifetime_max_s: limits.lifetime_max.as_secs(),
            cleanup_timeout_ms: whole_ms(limits.cleanup_timeout),
            prepared_max: limits.prepared_max,
        }
    }
}

// === impl Limits ===

impl Limits {
    /// As the sessions take them.
    #[must_use]
    pub fn limits(&self) -> session::Limits {
        session::Limits {
            lease_wait: Duration::from_millis(self.lease_wait_ms),
            message_bytes_max: self.message_bytes_max,
            clients_max: self.clients_max,
            login_timeout: Duration::from_secs(self.login_timeout_s),
            prepared_max: self.prepared_max,
            shapes_max: self.shapes_max,
        }
    }
}

impl Default for Limits {
    fn default() -> Self {
        let limits = session::Limits::default();
        Self {
            clients_max: limits.clients_max,
            lease_wait_ms: whole_ms(limits.lease_wait),
            message_bytes_max: limits.message_bytes_max,
            login_timeout_s: limits.login_timeout.as_secs(),
            prepared_max: limits.prepared_max,
            shapes_max: limits.shapes_max,
        }
    }
}

// === impl Log ===

impl Default for Log {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            filter: "info".to_owned(),
        }
    }
}

impl From<LogFormat> for telemetry::LogFormat {
    fn from(format: LogFormat) -> Self {
        match format {
            LogFormat::Text => Self::Text,
            LogFormat::Json => Self::Json,
        }
    }
}

fn whole_ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn postgres() -> String {
    "postgres".to_owned()
}

fn address<'de, D: Deserializer<'de>>(deserializer: D) -> Result<net::Address, D::Error> {
    let text = String::deserialize(deserializer)?;
    text.parse().map_err(serde::de::Error::custom)
}

#[cfg(test)]
mod tests;
