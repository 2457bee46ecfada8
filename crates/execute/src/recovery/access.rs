//! How the router reaches the shards on its own behalf.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use pool::{Identity, Lease, Pools, Settings};
use topology::ShardId;

use super::report::Trouble;
use crate::commit::write_uid;

/// Connections of the router's own user. That user may end the prepared transactions of every
/// client (a superuser), see when backends started, and terminate them.
#[derive(Clone)]
pub struct Access {
    /// The shards.
    pub pools: Pools,
    /// The router's own user.
    pub user: Arc<str>,
    /// How long to wait for a free connection.
    pub wait: Duration,
    /// How long an open decider is waited for before its backend is terminated.
    pub lock_timeout: Duration,
}

// === impl Access ===

impl Access {
    /// A connection, on which writes are durable and nothing but locks times out.
    pub(crate) async fn lease(
        &self,
        shard: ShardId,
        database: &Arc<str>,
    ) -> Result<Lease, Trouble> {
        let identity = Identity::new(Arc::clone(database), Arc::clone(&self.user));
        let mut lease = self.pools.lease(shard, &identity, self.wait).await?;
        let lock_timeout = format!("{}ms", self.lock_timeout.as_millis().max(1));
        let settings = Settings::new([
            ("synchronous_commit", "on"),
            ("statement_timeout", "0"),
            ("lock_timeout", &lock_timeout),
            ("default_transaction_isolation", "read committed"),
            ("default_transaction_read_only", "off"),
        ]);
        lease.apply(&settings).await?;
        Ok(lease)
    }

    /// A connection to the shard of this uid, as it is written in names.
    pub(crate) async fn lease_written(
        &self,
        uid: &str,
        database: &Arc<str>,
    ) -> Result<Lease, Trouble> {
        let mut shards = self.pools.shards();
        let is_it = |shard: &ShardId| {
            self.uid(*shard)
                .is_some_and(|found| write_uid(found) == uid)
        };
        let unknown = || Trouble::UnknownShard {
            uid: uid.to_owned(),
        };
        let shard = shards.find(is_it).ok_or_else(unknown)?;
        self.lease(shard, database).await
    }

    pub(crate) fn uid(&self, shard: ShardId) -> Option<&Arc<str>> {
        self.pools.uid(shard)
    }
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Access")
            .field("user", &self.user)
            .finish_non_exhaustive()
    }
}
