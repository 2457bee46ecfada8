//! Three shards, the router's own access to them, and a client's user without privileges.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use cluster::{Binaries, LocalCluster, Spec};
use execute::commit::{Committer, Enlisted, Patience, Registry, StepHook, prepare_shard};
use execute::recovery::{Access, Recovery, Report, Timing};
use pool::{Credentials, Identity, Lease, Limits, PoolConfig, Pools, ShardAddress};
use topology::ShardId;

pub(crate) const SHARDS: [&str; 3] = ["store-1", "store-2", "größe_3"];

/// Recovery that waits for nothing.
pub(crate) const AT_ONCE: Timing = Timing {
    interval: Duration::from_millis(100),
    orphan_after: Duration::ZERO,
    linger_after: Duration::from_hours(1),
    sweep_after: Duration::ZERO,
    retention: Duration::ZERO,
};

/// The servers; stopped when dropped.
pub(crate) struct Bed {
    pub(crate) clusters: Vec<LocalCluster>,
    _folder: tempfile::TempDir,
    pub(crate) shards: Shards,
}

/// Connections to the servers.
pub(crate) struct Shards {
    pub(crate) ports: Vec<u16>,
    pub(crate) pools: Pools,
}

impl Bed {
    /// Starts servers with the private schema, and a table that ordinary users may write to.
    pub(crate) async fn start() -> Self {
        let bed = Self::bare().await;
        for number in 0..3 {
            let mut lease = bed.shards.lease(number, "postgres").await;
            prepare_shard(&mut lease).await.unwrap();
            let sql = "CREATE ROLE app LOGIN; CREATE ROLE other; GRANT other TO app; \
                       CREATE TABLE t (id int, v int, \
                       CONSTRAINT t_pkey PRIMARY KEY (id) DEFERRABLE INITIALLY DEFERRED); \
                       GRANT ALL ON t TO app, other; GRANT CREATE ON SCHEMA public TO app";
            lease.simple(sql).await.unwrap();
        }
        bed
    }

    /// Starts servers.
    pub(crate) async fn bare() -> Self {
        let folder = tempfile::Builder::new().prefix("ke-").tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let template = PathBuf::from(folder.path()).join("template");
        let specs = (0..3).map(|number| Spec {
            template: Some(template.clone()),
            ..Spec::fast(folder.path().join(number.to_string()))
        });
        let binaries = Binaries::find().unwrap();
        let clusters = LocalCluster::start_all(&binaries, specs.collect())
            .await
            .unwrap();
        let ports = clusters.iter().map(LocalCluster::port).collect();
        Self {
            clusters,
            _folder: folder,
            shards: Shards::new(ports),
        }
    }
}

impl Shards {
    pub(crate) fn new(ports: Vec<u16>) -> Self {
        let addresses = SHARDS.iter().zip(&ports);
        let pools = Pools::new(PoolConfig {
            shards: addresses
                .map(|(uid, port)| ShardAddress::tcp(*uid, "127.0.0.1", *port))
                .collect(),
            credentials: Credentials::trust(),
            limits: Limits::default(),
        });
        Self { ports, pools }
    }

    pub(crate) async fn lease(&self, shard: u16, user: &str) -> Lease {
        let identity = Identity::new("postgres", user);
        let shard = ShardId::from_index(shard);
        self.pools
            .lease(shard, &identity, Duration::from_secs(5))
            .await
            .unwrap()
    }

    /// A client's connections, one to each shard, in a transaction.
    pub(crate) async fn begin(&self) -> Vec<Lease> {
        let mut leases = vec![];
        for number in 0..3 {
            let mut lease = self.lease(number, "app").await;
            lease.simple("BEGIN").await.unwrap();
            leases.push(lease);
        }
        leases
    }

    /// As `begin`, with a row written to each shard.
    pub(crate) async fn begin_writes(&self, id: i32) -> Vec<Lease> {
        let mut leases = self.begin().await;
        for lease in &mut leases {
            lease
                .simple(&format!("INSERT INTO t VALUES ({id}, 1)"))
                .await
                .unwrap();
        }
        leases
    }

    pub(crate) fn access(&self) -> Access {
        Access {
            pools: self.pools.clone(),
            user: "postgres".into(),
            wait: Duration::from_secs(5),
            lock_timeout: Duration::from_millis(300),
        }
    }

    pub(crate) fn committer(&self, router: &str, hook: Option<StepHook>) -> Committer {
        Committer {
            registry: Registry::new(router, 1).unwrap(),
            access: self.access(),
            patience: Patience {
                finish: Duration::from_secs(5),
                settle: Duration::from_secs(5),
            },
            hook,
        }
    }

    pub(crate) fn recovery(&self, registry: &Arc<Registry>, timing: Timing) -> Recovery {
        Recovery {
            registry: Arc::clone(registry),
            access: self.access(),
            databases: vec!["postgres".into()],
            timing,
        }
    }

    /// Lets another router recover until nothing is left, for at most ten seconds.
    pub(crate) async fn recover(&self) -> Vec<Report> {
        let registry = Registry::new("rescuer", 9).unwrap();
        let recovery = self.recovery(&registry, AT_ONCE);
        let mut reports = vec![];
        for _ in 0..100 {
            let report = recovery.round().await;
            assert!(report.is_clean(), "{report:?}");
            reports.push(report);
            if self.is_tidy().await {
                return reports;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("something is left: {:?}", reports.last());
    }

    /// Nothing is prepared under a name of ours, and no decision row is left.
    pub(crate) async fn is_tidy(&self) -> bool {
        let left = self
            .each(
                "SELECT (SELECT count(*) FROM pg_prepared_xacts WHERE starts_with(gid, 'kintsugi_')) \
                 + (SELECT count(*) FROM kintsugi.decision)",
            )
            .await;
        left == ["0", "0", "0"]
    }

    /// One value of each shard.
    pub(crate) async fn each(&self, sql: &str) -> Vec<String> {
        let mut values = vec![];
        for number in 0..3 {
            values.push(self.value(number, sql).await);
        }
        values
    }

    pub(crate) async fn value(&self, shard: u16, sql: &str) -> String {
        let results = self
            .lease(shard, "postgres")
            .await
            .simple(sql)
            .await
            .unwrap();
        results
            .last()
            .and_then(|result| result.value())
            .unwrap_or("")
            .to_owned()
    }

    /// How many shards hold a row.
    pub(crate) async fn holders(&self, id: i32) -> usize {
        let counts = self
            .each(&format!("SELECT count(*) FROM t WHERE id = {id}"))
            .await;
        counts.iter().filter(|count| *count == "1").count()
    }
}

/// All of them as participants; `writers` of them wrote.
pub(crate) fn enlisted(leases: &mut [Lease], writers: usize) -> Vec<Enlisted<'_>> {
    let enlisted = leases.iter_mut().enumerate().map(|(at, lease)| Enlisted {
        backend: &mut *lease,
        wrote: at < writers,
        can_prepare: true,
    });
    enlisted.collect()
}
