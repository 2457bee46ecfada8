//! A real PostgreSQL and pools on it.

use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use cluster::{Binaries, LocalCluster, Spec};
use pool::{Credentials, Identity, Lease, LeaseError, Limits, PoolConfig, Pools, ShardAddress};

pub(crate) struct Server {
    pub(crate) cluster: LocalCluster,
    _folder: tempfile::TempDir,
}

impl Server {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    pub(crate) async fn with(change: impl FnOnce(&mut Spec)) -> Self {
        let folder = tempfile::Builder::new().prefix("kp-").tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let mut spec = Spec::fast(folder.path().join("s"));
        change(&mut spec);
        let cluster = LocalCluster::start(&Binaries::find().unwrap(), spec)
            .await
            .unwrap();
        Self {
            cluster,
            _folder: folder,
        }
    }

    pub(crate) fn address(&self, uid: &str) -> ShardAddress {
        ShardAddress::tcp(uid, "127.0.0.1", self.cluster.port())
    }

    pub(crate) fn pools(&self, limits: Limits) -> Pools {
        Pools::new(PoolConfig {
            shards: vec![self.address("store-1")],
            credentials: Credentials::trust(),
            limits,
        })
    }
}

pub(crate) fn me() -> Identity {
    Identity::new("postgres", "postgres")
}

pub(crate) fn first() -> topology::ShardId {
    topology::ShardId::from_index(0)
}

pub(crate) async fn lease(pools: &Pools) -> Result<Lease, LeaseError> {
    pools.lease(first(), &me(), Duration::from_secs(5)).await
}

/// The first value of the last statement.
pub(crate) async fn value(lease: &mut Lease, sql: &str) -> String {
    let results = lease.simple(sql).await.unwrap();
    results
        .last()
        .and_then(|result| result.value())
        .unwrap_or("")
        .to_owned()
}

/// Waits until something holds, for at most ten seconds.
pub(crate) async fn until(mut holds: impl FnMut() -> bool) {
    for _ in 0..1000 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it never held");
}
