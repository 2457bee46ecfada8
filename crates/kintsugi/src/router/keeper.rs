//! A router's standing with the store: its lease, and the revisions that it takes over.

use std::sync::Arc;
use std::time::Duration;

use indexmap::IndexMap;
use session::House;
use store::{Store, StoreError};
use topology::Topology;

use crate::Failure;

/// How long a router counts as alive after its last sign of life.
pub(super) const LEASE: Duration = Duration::from_secs(10);

/// How long after a failure of the store it is asked again.
const PAUSE: Duration = Duration::from_secs(1);

/// What keeps the router's standing.
#[derive(Clone)]
pub(super) struct Keeper {
    /// Whose topology is replaced.
    pub house: Arc<House>,
    /// The store.
    pub store: Store,
    /// The shards that the configuration names.
    pub shards: IndexMap<String, topology::ShardEntry>,
    /// The router's epoch.
    pub epoch: u64,
}

// === impl Keeper ===

impl Keeper {
    /// Renews the lease for ever. Returns why the router must end.
    pub(super) async fn keep_lease(self) -> Failure {
        loop {
            tokio::time::sleep(LEASE / 4).await;
            match self.store.renew(self.epoch, LEASE).await {
                Ok(()) => {}
                Err(StoreError::UnknownRouter { .. }) => return removed(),
                Err(error) => {
                    tracing::warn!(error = %stdx::Chain(&error), "the router's lease is not renewed");
                }
            }
        }
    }

    /// Takes over every new revision. Returns why the router must end.
    pub(super) async fn follow_topology(self) -> Failure {
        let mut watch = self.store.watch(self.house.topology.load().revision());
        loop {
            let revision = match watch.next().await {
                Ok(revision) => revision,
                Err(error) => {
                    tracing::warn!(error = %stdx::Chain(&error), "the topology can't be watched");
                    tokio::time::sleep(PAUSE).await;
                    continue;
                }
            };
            if let Err(reason) = self.take(&revision) {
                return Failure::Ended { reason };
            }
            match self.store.acknowledge(self.epoch, revision.number).await {
                Ok(()) => tracing::info!(revision = revision.number, "topology taken over"),
                Err(StoreError::UnknownRouter { .. }) => return removed(),
                Err(error) => {
                    // The next start acknowledges it; until then whoever applied it is told.
                    tracing::warn!(error = %stdx::Chain(&error), "a revision is not acknowledged");
                }
            }
        }
    }

    /// Makes a revision the one that requests begin with. A router that can't must end: it would serve under an old map.
    fn take(&self, revision: &store::Revision) -> Result<(), String> {
        let number = revision.number;
        let compiled = Topology::parse(&revision.document, number, &self.shards);
        let topology = compiled.map_err(|mistakes| {
            let list: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
            format!(
                "revision {number} of the topology can't be served: {}",
                list.join("; ")
            )
        })?;
        let current = self.house.topology.load();
        let same_shards = topology.shards() == current.shards();
        if !same_shards || topology.authoritative_shard() != current.authoritative_shard() {
            return Err(format!(
                "revision {number} of the topology names other shards than the router is connected to; \
                 start it again"
            ));
        }
        self.house.topology.store(Arc::new(topology));
        Ok(())
    }
}

fn removed() -> Failure {
    let reason = "it was removed from the store, so that others may change what it serves";
    Failure::Ended {
        reason: reason.to_owned(),
    }
}
