//! `kintsugi dev`: shards of this machine's own and a router, in one process.

mod document;
mod example;
mod exec;
mod folder;
mod shard;

use std::io::Write as _;
use std::path::PathBuf;

use cluster::{Binaries, Durability, LocalCluster};
use indexmap::IndexMap;
use store::Store;
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::router::{Own, Router, RouterConfig, router_name};
use crate::stop::Stop;
use document::Beginning;
use folder::Folder;

pub use example::{Example, ORDERS};

/// The port where nothing else is asked for.
const PORT: u16 = 6432;

/// The user of all local clusters.
const USER: &str = "postgres";

/// What `kintsugi dev` is asked for.
#[derive(Debug)]
pub struct Options {
    /// How many shards; none: as many as the folder has, else 2.
    pub shards: Option<u16>,
    /// What to load at the first start.
    pub example: Option<Example>,
    /// How many orders it has.
    pub orders: u64,
    /// The document to begin with.
    pub topology: Option<PathBuf>,
    /// Where to listen; 0: any free port.
    pub port: Option<u16>,
    /// Where data are kept.
    pub data_dir: Option<PathBuf>,
    /// How hard the shards hold on to their data.
    pub durability: Durability,
    /// A command to run instead of waiting.
    pub exec: Option<String>,
}

/// Runs shards and a router until they are stopped, or the command has ended; gives the status of the process.
///
/// # Errors
/// Whatever keeps them from running.
///
/// # Cancel safety
/// Dropped, servers of ours stop by themselves when the process has ended.
pub async fn run(options: Options, stop: Stop) -> Result<u8, Failure> {
    let folder = Folder::take(&options)?;
    let beginning = Beginning::read(&options, &folder).await?;
    let port = match (options.port, &options.exec) {
        (Some(port), _) => port,
        (None, None) => PORT,
        (None, Some(_)) => 0,
    };
    let address = net::Address::tcp("127.0.0.1", port);
    let listener = net::Listener::bind(&address)
        .await
        .map_err(Failure::Listen)?;
    let binaries = Binaries::find().map_err(Failure::Binaries)?;
    let specs = folder.specs(beginning.shards, options.durability);
    let started = tokio::select! {
        started = LocalCluster::start_all(&binaries, specs) => started,
        () = stop.gently.cancelled() => return Ok(130),
    };
    let mut clusters = started.map_err(Failure::Cluster)?;
    let local = Local {
        folder: &folder,
        options: &options,
        stop: &stop,
    };
    let served = Box::pin(local.serve(&clusters, beginning, listener)).await;
    for cluster in &mut clusters {
        cluster.stop().await.map_err(Failure::ClusterStop)?;
    }
    served
}

/// Running clusters, and what is to be done with them.
struct Local<'a> {
    folder: &'a Folder,
    options: &'a Options,
    stop: &'a Stop,
}

// === impl Local ===

impl Local<'_> {
    /// From running clusters to the end of the router.
    async fn serve(
        &self,
        clusters: &[LocalCluster],
        beginning: Beginning,
        listener: net::Listener,
    ) -> Result<u8, Failure> {
        let shards: IndexMap<String, topology::ShardEntry> = (1..)
            .zip(clusters)
            .map(|(number, cluster)| (folder::uid(number), entry(cluster.address())))
            .collect();
        let database = beginning.database.clone();
        shard::make_databases(&shards, &beginning.databases).await?;
        let store = beginning.store().await?;
        let opening = Box::pin(open(listener, store, shards.clone()));
        let router = tokio::select! {
            opened = opening => opened?,
            () = self.stop.gently.cancelled() => return Ok(130),
        };
        let address = router.address()?;
        self.folder.write_config(&address, &shards)?;
        let serving = self.stop.gently.child_token();
        let done = serving.clone();
        let work = async {
            let worked = tokio::select! {
                loaded = self.load(&address, &database) => loaded,
                () = serving.cancelled() => return Ok(130),
            };
            let worked = match worked {
                Ok(()) => self.ready(&address, &database, &serving).await,
                Err(failure) => Err(failure),
            };
            done.cancel();
            worked
        };
        let served = async {
            let served = router.serve(serving.clone()).await;
            // A router that ends by itself ends the work too.
            serving.cancel();
            served
        };
        let (served, worked) = tokio::join!(served, work);
        served.and(worked)
    }

    async fn load(&self, address: &net::Address, database: &str) -> Result<(), Failure> {
        match self.options.example {
            None => Ok(()),
            Some(Example::Storefront) => {
                let load = example::Load {
                    address,
                    database,
                    orders: self.options.orders,
                    folder: self.folder.path(),
                };
                Box::pin(load.run()).await
            }
        }
    }

    /// Says that clients may come, and waits for the end of what is to be done.
    async fn ready(
        &self,
        address: &net::Address,
        database: &str,
        serving: &CancellationToken,
    ) -> Result<u8, Failure> {
        let url = format!("postgres://{USER}@{address}/{database}");
        let trust = "no passwords: for local development only";
        if let Some(command) = &self.options.exec {
            let _ = writeln!(std::io::stderr(), "ready: {url} ({trust})");
            let place = exec::Place {
                address,
                user: USER,
                database,
            };
            return exec::run(command, &place, serving).await;
        }
        let mut out = std::io::stdout();
        // A reader that went away has no need of it.
        let _ = writeln!(out, "{trust}\nready: {url}");
        let _ = out.flush();
        serving.cancelled().await;
        Ok(0)
    }
}

async fn open(
    listener: net::Listener,
    store: Store,
    shards: IndexMap<String, topology::ShardEntry>,
) -> Result<Router, Failure> {
    let config = RouterConfig {
        name: router_name(),
        listener,
        store,
        shards,
        own: Own {
            user: USER.into(),
            database: "postgres".into(),
        },
        credentials: pool::Credentials::trust(),
        access: session::Access::Trust,
        pool: pool::Limits::default(),
        limits: session::Limits::default(),
    };
    Box::pin(Router::open(config)).await
}

fn entry(address: String) -> topology::ShardEntry {
    topology::ShardEntry {
        primary: Some(address),
        ..topology::ShardEntry::default()
    }
}
