//! Looking at the shards: whether they agree, whether they are ready, and which databases there are. At start, and then for
//! ever, since a shard may come back and a database may be new.
//!
//! Invariant: clients reach a shard only after every database that it has was looked at; and a database of a shard is in `ready` only after the router's schema is there and what it says of itself was compared.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use execute::commit::PrepareShardError;
use execute::recovery::Recovery;
use pool::{Identity, Lease, LeaseError, Pools, ShardFacts};
use stdx::TaskGroup;
use topology::{ShardId, Topology};

use super::Own;
use crate::Failure;

/// How long the router waits for a connection of its own.
const WAIT: Duration = Duration::from_secs(10);

/// How often it looks for what is new.
const INTERVAL: Duration = Duration::from_secs(1);

/// Databases that clients may use: all but templates.
const DATABASES: &str = "SELECT datname FROM pg_catalog.pg_database \
                         WHERE datallowconn AND NOT datistemplate ORDER BY 1";

/// Looks at the shards.
pub(super) struct Inspector {
    /// The router's own.
    pools: Pools,
    /// The clients'; a shard is held back in them until it was looked at.
    guarded: Pools,
    own: Own,
    authority: ShardId,
    databases: BTreeSet<Arc<str>>,
    /// What each database of each shard says of itself.
    ready: BTreeMap<(Arc<str>, ShardId), ShardFacts>,
    /// What a person was told.
    told: BTreeSet<String>,
}

// === impl Inspector ===

impl Inspector {
    /// Has seen nothing yet, so that every shard is held back in the pools `guarded`.
    pub(super) fn new((pools, guarded): (Pools, Pools), own: Own, topology: &Topology) -> Self {
        for shard in guarded.shards() {
            guarded.hold(shard);
        }
        Self {
            pools,
            guarded,
            own,
            authority: topology.authoritative_shard(),
            databases: BTreeSet::new(),
            ready: BTreeMap::new(),
            told: BTreeSet::new(),
        }
    }

    /// The databases of the cluster, as the authoritative shard has them.
    pub(super) fn databases(&self) -> Vec<Arc<str>> {
        self.databases.iter().cloned().collect()
    }

    /// The look before the first client: waits for the authoritative shard, without which nothing can be answered; any other
    /// shard that is down is named, and looked at when it is back.
    pub(super) async fn first_look(&mut self) -> Result<(), Failure> {
        while let Err(failure) = self.look().await {
            match &failure {
                Failure::Lease { source, .. } if is_outage(source) => {
                    self.tell(&failure);
                    tokio::time::sleep(INTERVAL).await;
                }
                _ => return Err(failure),
            }
        }
        Ok(())
    }

    /// Looks again for ever, and settles transactions in every database there is. Returns why the router must end.
    pub(super) async fn keep_looking(mut self, mut recovery: Recovery) -> Failure {
        let mut settling = TaskGroup::new();
        settling.spawn("recovery", recovery.clone().run());
        loop {
            tokio::time::sleep(INTERVAL).await;
            match self.look().await {
                Ok(()) => {}
                Err(failure @ Failure::Shards(_)) => return failure,
                Err(failure) => self.tell(&failure),
            }
            if recovery.databases != self.databases() {
                recovery.databases = self.databases();
                settling.shutdown().await;
                settling.spawn("recovery", recovery.clone().run());
            }
        }
    }

    async fn look(&mut self) -> Result<(), Failure> {
        self.databases = self.list().await?;
        // The authoritative shard first: the others are compared with it.
        let mut shards: Vec<ShardId> = self.pools.shards().collect();
        shards.sort_by_key(|shard| *shard != self.authority);
        for shard in shards {
            let mut is_seen = true;
            for database in self.databases() {
                is_seen &= self.see(&database, shard).await?;
            }
            if is_seen {
                self.guarded.release(shard);
            }
        }
        Ok(())
    }

    /// Looks at a database of a shard, unless it was seen before; tells whether there is nothing left to look at. Trouble of one
    /// shard other than the authoritative one is its own.
    async fn see(&mut self, database: &Arc<str>, shard: ShardId) -> Result<bool, Failure> {
        if self.ready.contains_key(&(Arc::clone(database), shard)) {
            return Ok(true);
        }
        match self.look_at(database, shard).await {
            Ok(()) => Ok(true),
            Err(failure) if shard == self.authority || !is_of_one_shard(&failure) => Err(failure),
            Err(failure) => {
                self.tell(&failure);
                Ok(failure.is_missing_database())
            }
        }
    }

    async fn list(&self) -> Result<BTreeSet<Arc<str>>, Failure> {
        let mut lease = self.lease(self.authority, &self.own.database).await?;
        let failed = |source| self.backend_failed(self.authority, source);
        let results = lease.simple(DATABASES).await.map_err(failed)?;
        let rows = results.into_iter().flat_map(|result| result.rows);
        Ok(rows
            .filter_map(|row| row.into_iter().next().flatten())
            .map(Arc::from)
            .collect())
    }

    async fn look_at(&mut self, database: &Arc<str>, shard: ShardId) -> Result<(), Failure> {
        let mut lease = self.lease(shard, database).await?;
        let facts = pool::inspect(&mut lease).await;
        let facts = facts.map_err(|source| self.backend_failed(shard, source))?;
        match execute::commit::prepare_shard(&mut lease).await {
            // It is among the problems of the comparison.
            Ok(()) | Err(PrepareShardError::NoPreparedTransactions { .. }) => {}
            Err(error) => return Err(Failure::Schema(error)),
        }
        self.compare(database, shard, facts)
    }

    fn compare(
        &mut self,
        database: &Arc<str>,
        shard: ShardId,
        facts: ShardFacts,
    ) -> Result<(), Failure> {
        let first = self.ready.get(&(Arc::clone(database), self.authority));
        let both: Vec<ShardFacts> = first.cloned().into_iter().chain([facts.clone()]).collect();
        let problems = pool::compare(&both);
        let (fatal, others): (Vec<_>, Vec<_>) =
            problems.into_iter().partition(|problem| problem.is_fatal);
        if !fatal.is_empty() {
            return Err(Failure::Shards(fatal));
        }
        for problem in others {
            if self.told.insert(problem.to_string()) {
                tracing::warn!(%problem, "some statements will be refused");
            }
        }
        self.ready.insert((Arc::clone(database), shard), facts);
        Ok(())
    }

    async fn lease(&self, shard: ShardId, database: &Arc<str>) -> Result<Lease, Failure> {
        let identity = Identity::new(Arc::clone(database), Arc::clone(&self.own.user));
        let leased = self.pools.lease(shard, &identity, WAIT).await;
        leased.map_err(|source| Failure::Lease {
            shard: self.uid(shard),
            source,
        })
    }

    fn backend_failed(&self, shard: ShardId, source: pool::BackendError) -> Failure {
        Failure::Backend {
            shard: self.uid(shard),
            source,
        }
    }

    fn uid(&self, shard: ShardId) -> Arc<str> {
        let uid = self.pools.uid(shard).cloned();
        uid.unwrap_or_else(|| shard.to_string().into())
    }

    /// Once for each trouble.
    fn tell(&mut self, failure: &Failure) {
        let trouble = stdx::Chain(failure).to_string();
        if !self.told.contains(&trouble) {
            tracing::warn!(%trouble, "a shard is not ready; the router goes on without it");
            self.told.insert(trouble);
        }
    }
}

/// Whether a failure says nothing about the cluster as a whole.
fn is_of_one_shard(failure: &Failure) -> bool {
    match failure {
        Failure::Schema(error) => matches!(error, PrepareShardError::Create { .. }),
        Failure::Lease { .. } | Failure::Backend { .. } => true,
        _ => false,
    }
}

/// Whether waiting may help.
fn is_outage(error: &LeaseError) -> bool {
    matches!(
        pg::Diagnose::fault(error),
        pg::Fault::Network | pg::Fault::Overload
    )
}
