//! The house put together: pools, store, recovery, sessions, and the loop that lets clients in.
//!
//! A router is opened (everything is looked at, nobody is let in), then it serves until it is stopped. Its own work on the
//! shards (looking at them, recovery) goes over pools of its own, so that it never waits behind clients.

mod inspect;
mod keeper;
mod listen;
mod own;

use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use execute::commit::{Committer, Patience, Registry};
use execute::recovery::{Access as RecoveryAccess, Recovery, Timing};
use indexmap::IndexMap;
use pool::{PoolConfig, Pools, ShardAddress};
use session::House;
use stdx::TaskGroup;
use store::Store;
use tokio_util::sync::CancellationToken;
use topology::Topology;

pub use own::{Own, router_name};

use crate::Failure;
use inspect::Inspector;
use keeper::{Keeper, LEASE};

/// The most backends of a shard that the router uses for itself.
const OWN_BACKENDS_MAX: usize = 4;

/// What a router is made of.
#[derive(Debug)]
pub struct RouterConfig {
    /// Its name among the routers: 1 to 32 letters, digits, dots and hyphens.
    pub name: String,
    /// Where clients arrive.
    pub listener: net::Listener,
    /// Topology revisions and routers.
    pub store: Store,
    /// The shards that the configuration names.
    pub shards: IndexMap<String, topology::ShardEntry>,
    /// As whom the router itself works.
    pub own: Own,
    /// Passwords at the shards.
    pub credentials: pool::Credentials,
    /// Who may come in.
    pub access: session::Access,
    /// Limits of each shard's pool.
    pub pool: pool::Limits,
    /// Limits of each session.
    pub limits: session::Limits,
}

/// A router that is ready to serve.
pub struct Router {
    house: Arc<House>,
    listener: net::Listener,
    own_pools: Pools,
    store: Store,
    epoch: u64,
    background: TaskGroup<Failure>,
}

// === impl Router ===

impl Router {
    /// Looks at the shards, makes them ready, settles what other routers left behind. Nobody is let in yet.
    ///
    /// # Errors
    /// Whatever keeps it from serving.
    ///
    /// # Cancel safety
    /// What was made on the shards stays; it is what the next start needs.
    pub async fn open(config: RouterConfig) -> Result<Self, Failure> {
        let topology = Arc::new(current_topology(&config.store, &config.shards).await?);
        let epoch = register(&config.store, &config.name).await?;
        let registry = Registry::new(&config.name, epoch).map_err(Failure::Name)?;
        let pools = pools(&topology, &config, config.pool.clone());
        let own_limits = pool::Limits {
            backends_max: OWN_BACKENDS_MAX,
            ..config.pool.clone()
        };
        let own_pools = self::pools(&topology, &config, own_limits);
        let mut inspector = Inspector::new(
            (own_pools.clone(), pools.clone()),
            config.own.clone(),
            &topology,
        );
        inspector.first_look().await?;
        let recovery = recovery(&own_pools, &config.own, &registry, &inspector);
        let report = recovery.round().await;
        for problem in &report.problems {
            tracing::warn!(%problem, "a transaction left behind is not settled yet");
        }
        let house = house(&config, &topology, pools, recovery.clone());
        let keeper = Keeper {
            house: Arc::clone(&house),
            store: config.store.clone(),
            shards: config.shards.clone(),
            epoch,
        };
        let acknowledged = config.store.acknowledge(epoch, topology.revision()).await;
        acknowledged.map_err(Failure::Store)?;
        let mut background = TaskGroup::new();
        background.spawn("lease", keeper.clone().keep_lease());
        background.spawn("topology", keeper.follow_topology());
        background.spawn("shards", inspector.keep_looking(recovery));
        Ok(Self {
            house,
            listener: config.listener,
            own_pools,
            store: config.store,
            epoch,
            background,
        })
    }

    /// Where it listens.
    ///
    /// # Errors
    /// The system doesn't tell.
    pub fn address(&self) -> Result<net::Address, Failure> {
        let failed = Failure::file("asked for its address", "the listener");
        self.listener.address().map_err(failed)
    }

    /// Lets clients in until it is stopped, then tells them so and gives everything back.
    ///
    /// # Errors
    /// It had to end by itself.
    ///
    /// # Cancel safety
    /// Dropped, it ends at once: statements that run are cancelled on their shards.
    pub async fn serve(mut self, stop: CancellationToken) -> Result<(), Failure> {
        let ended = listen::serve(&self.house, self.listener, &mut self.background, stop).await;
        self.background.shutdown().await;
        self.house.pools.shut_down();
        self.own_pools.shut_down();
        if let Err(error) = self.store.remove_router(self.epoch).await {
            tracing::warn!(error = %stdx::Chain(&error), "the router could not sign off");
        }
        ended
    }
}

/// The topology that is served: the newest revision, or that of a cluster without a document.
///
/// # Errors
/// The store fails, or the revision has mistakes under this configuration.
///
/// # Cancel safety
/// It has no effect.
pub async fn current_topology(
    store: &Store,
    shards: &IndexMap<String, topology::ShardEntry>,
) -> Result<Topology, Failure> {
    let revision = store.current().await.map_err(Failure::Store)?;
    let (number, compiled) = match revision {
        Some(revision) => (
            revision.number,
            Topology::parse(&revision.document, revision.number, shards),
        ),
        None => (0, Topology::single(shards)),
    };
    compiled.map_err(|mistakes| Failure::Revision { number, mistakes })
}

/// Signs on, and signs off what died here without doing so.
async fn register(store: &Store, name: &str) -> Result<u64, Failure> {
    for router in store.routers().await.map_err(Failure::Store)? {
        if own::is_dead(&router.name) || router.name == name {
            let removed = store.remove_router(router.epoch).await;
            removed.map_err(Failure::Store)?;
        }
    }
    let registered = store.register_router(name.to_owned(), LEASE).await;
    registered.map_err(Failure::Store)
}

fn pools(topology: &Topology, config: &RouterConfig, limits: pool::Limits) -> Pools {
    let shards = topology.shards().iter().map(|shard| ShardAddress {
        uid: shard.uid.as_str().into(),
        // Compiling the document has read the address.
        address: shard
            .primary
            .parse()
            .unwrap_or_else(|_| net::Address::tcp("invalid", 0)),
    });
    Pools::new(PoolConfig {
        shards: shards.collect(),
        credentials: config.credentials.clone(),
        limits,
    })
}

fn recovery(pools: &Pools, own: &Own, registry: &Arc<Registry>, inspector: &Inspector) -> Recovery {
    Recovery {
        registry: Arc::clone(registry),
        access: RecoveryAccess {
            pools: pools.clone(),
            user: Arc::clone(&own.user),
            wait: Duration::from_secs(5),
            lock_timeout: Duration::from_secs(1),
        },
        databases: inspector.databases(),
        timing: Timing::default(),
    }
}

fn house(
    config: &RouterConfig,
    topology: &Arc<Topology>,
    pools: Pools,
    recovery: Recovery,
) -> Arc<House> {
    let names = topology.shards().iter();
    let names = names.map(|shard| shard.uid.as_str().into()).collect();
    let committer = Committer {
        registry: recovery.registry,
        access: recovery.access,
        patience: Patience::default(),
        hook: None,
    };
    let environment = execute::Environment::new(names, committer);
    Arc::new(House {
        environment: Arc::new(environment),
        catalogs: session::Catalogs::new(pools.clone(), topology.authoritative_shard()),
        pools,
        topology: ArcSwap::new(Arc::clone(topology)),
        plans: session::PlanCache::new(config.limits.shapes_max),
        cancels: Arc::default(),
        access: config.access.clone(),
        closing: CancellationToken::new(),
        seats: Arc::new(tokio::sync::Semaphore::new(config.limits.clients_max)),
        limits: config.limits.clone(),
        statements: std::sync::atomic::AtomicU64::new(0),
    })
}
