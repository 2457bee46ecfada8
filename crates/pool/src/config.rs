//! What a pool is told at its start.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Everything a router's pools need to know.
#[derive(Clone, Debug)]
pub struct PoolConfig {
    /// The shards; a `topology::ShardId` is a position in this list.
    pub shards: Vec<ShardAddress>,
    /// How users log in at the shards.
    pub credentials: Credentials,
    /// Limits of each shard's pool.
    pub limits: Limits,
}

/// Where a shard is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardAddress {
    /// Its name in the topology; errors name it.
    pub uid: Arc<str>,
    /// Its server.
    pub endpoint: Endpoint,
}

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A host name or IP address and a port.
    Tcp {
        /// Name or address.
        host: String,
        /// Port.
        port: u16,
    },
    /// A Unix socket, the file itself (`/run/postgresql/.s.PGSQL.5432`).
    Unix(PathBuf),
}

/// Passwords by user. A user without one must be let in without.
#[derive(Clone, Default)]
pub struct Credentials {
    passwords: BTreeMap<String, Arc<str>>,
}

/// Who a backend is logged in as, and where. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Identity {
    /// Database.
    pub database: Arc<str>,
    /// User.
    pub user: Arc<str>,
}

/// Limits of one shard's pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most backends at a time, over all identities.
    pub backends_max: usize,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
    /// Backends that were idle for longer are closed.
    pub idle_timeout: Duration,
    /// Backends older than this are closed when they are given back.
    pub lifetime_max: Duration,
    /// How long clearing a backend up (`ROLLBACK`, `DISCARD ALL`, a cancel) may take before it is closed instead.
    pub cleanup_timeout: Duration,
    /// Most prepared statements on one backend.
    pub prepared_max: usize,
}

// === impl ShardAddress ===

impl ShardAddress {
    /// A shard that listens on TCP.
    pub fn tcp(uid: impl Into<Arc<str>>, host: impl Into<String>, port: u16) -> Self {
        Self {
            uid: uid.into(),
            endpoint: Endpoint::Tcp {
                host: host.into(),
                port,
            },
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "{}", path.display()),
        }
    }
}

// === impl Credentials ===

impl Credentials {
    /// No passwords: every shard must trust the router.
    #[must_use]
    pub fn trust() -> Self {
        Self::default()
    }

    /// The same with one more password.
    #[must_use]
    pub fn with_password(mut self, user: impl Into<String>, password: &str) -> Self {
        self.passwords.insert(user.into(), password.into());
        self
    }

    pub(crate) fn password(&self, user: &str) -> Option<&str> {
        self.passwords.get(user).map(|password| &**password)
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.passwords.keys().map(|user| (user, "***")))
            .finish()
    }
}

// === impl Identity ===

impl Identity {
    /// A user in a database.
    pub fn new(database: impl Into<Arc<str>>, user: impl Into<Arc<str>>) -> Self {
        Self {
            database: database.into(),
            user: user.into(),
        }
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self {
            backends_max: 50,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_mins(10),
            lifetime_max: Duration::from_hours(1),
            cleanup_timeout: Duration::from_secs(5),
            prepared_max: 256,
        }
    }
}
