//! All shards' pools of a router.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::shard::Shard;
use crate::{Identity, Lease, LeaseError, PoolConfig, Settings};

/// The pools of all shards. Cheap to clone; clones share the backends.
#[derive(Clone)]
pub struct Pools {
    shards: Arc<[Arc<Shard>]>,
}

/// A shard's pool in numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShardStatus {
    /// The shard's uid.
    pub uid: Arc<str>,
    /// Backends that nobody uses.
    pub idle: usize,
    /// Backends that are being opened.
    pub connecting: usize,
    /// Backends in use or being cleaned.
    pub leased: usize,
    /// Requests that wait for one.
    pub waiting: usize,
    /// Most backends.
    pub limit: usize,
    /// Why the shard can't be reached now.
    pub outage: Option<String>,
}

impl Pools {
    /// Pools for these shards; nothing is opened yet. Called within a runtime.
    #[must_use]
    pub fn new(config: PoolConfig) -> Self {
        let PoolConfig {
            shards,
            credentials,
            limits,
        } = config;
        let shards = shards
            .into_iter()
            .map(|address| Shard::new(address, credentials.clone(), limits.clone()))
            .collect();
        Self { shards }
    }

    /// The same pools under the numbers of another revision: `uids` are its shards in order. `None` when one of them is
    /// not in the pools.
    #[must_use]
    pub fn arranged<'a>(&self, uids: impl IntoIterator<Item = &'a str>) -> Option<Self> {
        let find = |uid: &str| {
            self.shards
                .iter()
                .find(|shard| &*shard.address.uid == uid)
                .cloned()
        };
        let shards = uids.into_iter().map(find).collect::<Option<_>>()?;
        Some(Self { shards })
    }

    /// A backend of `shard`, logged in as `identity`, for exclusive use. Directly an idle one if there is any; otherwise
    /// whichever comes first, a returned or a new one, in the order of asking.
    ///
    /// # Errors
    /// When none can be opened, or all are in use for longer than `wait`. A shard that is down fails at once.
    ///
    /// # Cancel safety
    /// Cancel safe: whoever stops waiting leaves the queue.
    pub async fn lease(
        &self,
        shard: topology::ShardId,
        identity: &Identity,
        wait: Duration,
    ) -> Result<Lease, LeaseError> {
        self.shard(shard)?.lease(identity, None, wait).await
    }

    /// As [`Pools::lease`], for a session with these settings: a backend on which no custom setting was ever set that the
    /// session doesn't have. The settings are not applied yet.
    ///
    /// # Errors
    /// As [`Pools::lease`].
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn lease_for(
        &self,
        shard: topology::ShardId,
        identity: &Identity,
        settings: &Settings,
        wait: Duration,
    ) -> Result<Lease, LeaseError> {
        self.shard(shard)?
            .lease(identity, Some(settings), wait)
            .await
    }

    /// Refuses leases of a shard until it is released: nobody has looked yet whether it can be served.
    pub fn hold(&self, shard: topology::ShardId) {
        if let Ok(shard) = self.shard(shard) {
            shard.set_held(true);
        }
    }

    /// Leases of a shard are given again.
    pub fn release(&self, shard: topology::ShardId) {
        if let Ok(shard) = self.shard(shard) {
            shard.set_held(false);
        }
    }

    /// The shards in order.
    pub fn shards(&self) -> impl ExactSizeIterator<Item = topology::ShardId> + use<> {
        let count = u16::try_from(self.shards.len()).unwrap_or(u16::MAX);
        (0..count).map(topology::ShardId::from_index)
    }

    /// A shard's uid.
    #[must_use]
    pub fn uid(&self, shard: topology::ShardId) -> Option<&Arc<str>> {
        self.shards.get(shard.index()).map(|pool| &pool.address.uid)
    }

    /// Every shard's pool in numbers.
    #[must_use]
    pub fn status(&self) -> Vec<ShardStatus> {
        self.shards.iter().map(|shard| shard.status()).collect()
    }

    /// Refuses new leases and closes the idle backends; leased ones are closed when they come back.
    pub fn shut_down(&self) {
        for shard in self.shards.iter() {
            shard.shut_down();
        }
    }
}

impl Pools {
    fn shard(&self, shard: topology::ShardId) -> Result<&Arc<Shard>, LeaseError> {
        self.shards
            .get(shard.index())
            .ok_or(LeaseError::UnknownShard { shard })
    }
}

impl fmt::Debug for Pools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.status()).finish()
    }
}
