//! What a pool is told at its start.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use stdx::Secret;

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
    /// Where its server listens.
    pub address: net::Address,
}

/// Passwords by user. A user without one must be let in without.
#[derive(Clone, Debug, Default)]
pub struct Credentials {
    passwords: BTreeMap<String, Secret<String>>,
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
            address: net::Address::tcp(host, port),
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
    pub fn with_password(mut self, user: impl Into<String>, password: Secret<String>) -> Self {
        self.passwords.insert(user.into(), password);
        self
    }

    pub(crate) fn password(&self, user: &str) -> Option<&Secret<String>> {
        self.passwords.get(user)
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
