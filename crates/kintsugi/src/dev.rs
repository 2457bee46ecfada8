//! `kintsugi dev`: shards of this machine's own and a router, in one process.

mod document;
mod exec;
mod folder;
mod shard;

use std::io::Write as _;
use std::path::PathBuf;

use cluster::{Binaries, Durability, LocalCluster};
use indexmap::IndexMap;
use store::Store;

use crate::Failure;
use crate::router::{Own, Router, RouterConfig, router_name};
use crate::stop::Stop;
use document::Beginning;
use folder::Folder;

/// The port where nothing else is asked for.
const PORT: u16 = 6432;

/// The user of all local clusters.
const USER: &str = "postgres";

/// What `kintsugi dev` is asked for.
#[derive(Debug)]
pub struct Options {
    /// How many shards; none: as many as the folder has, else 2.
    pub shards: Option<u16>,
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
    let served = Box::pin(serve(&clusters, beginning, &options, (listener, &stop))).await;
    for cluster in &mut clusters {
        cluster.stop().await.map_err(Failure::ClusterStop)?;
    }
    served
}

/// From running clusters to the end of the router.
async fn serve(
    clusters: &[LocalCluster],
    beginning: Beginning,
    options: &Options,
    (listener, stop): (net::Listener, &Stop),
) -> Result<u8, Failure> {
    let shards: IndexMap<String, topology::ShardEntry> = (1..)
        .zip(clusters)
        .map(|(number, cluster)| (folder::uid(number), entry(cluster.address())))
        .collect();
    let database = beginning.database.clone();
    shard::make_databases(&shards, &beginning.databases).await?;
    let store = beginning.store().await?;
    let router = open(listener, store, shards).await?;
    let address = router.address()?;
    let serving = stop.gently.child_token();
    let done = serving.clone();
    let work = async {
        let worked = ready(&address, &database, options, stop).await;
        done.cancel();
        worked
    };
    let (served, worked) = tokio::join!(router.serve(serving), work);
    served.and(worked)
}

/// Says that clients may come, and waits for the end of what is to be done.
async fn ready(
    address: &net::Address,
    database: &str,
    options: &Options,
    stop: &Stop,
) -> Result<u8, Failure> {
    let url = format!("postgres://{USER}@{address}/{database}");
    let trust = "no passwords: for local development only";
    if let Some(command) = &options.exec {
        let _ = writeln!(std::io::stderr(), "ready: {url} ({trust})");
        let place = exec::Place {
            address,
            user: USER,
            database,
        };
        return exec::run(command, &place, stop).await;
    }
    let mut out = std::io::stdout();
    // A reader that went away has no need of it.
    let _ = writeln!(out, "{trust}\nready: {url}");
    let _ = out.flush();
    stop.gently.cancelled().await;
    Ok(0)
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
