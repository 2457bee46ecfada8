//! `kintsugi serve`: a router in front of shards that others run.

use std::io::Write as _;
use std::path::Path;

use store::Store;
use tokio_util::sync::CancellationToken;

use crate::Failure;
use crate::config::{Auth, Config};
use crate::router::{Own, Router, RouterConfig, router_name};

/// Serves until it is stopped; gives the status of the process.
///
/// # Errors
/// Whatever keeps the router from running.
///
/// # Cancel safety
/// Dropped, the router ends at once.
pub async fn run(path: &Path, stop: CancellationToken) -> Result<u8, Failure> {
    let config = Config::read(path)?;
    telemetry::init(config.log.format.into(), &config.log.filter).map_err(Failure::Log)?;
    let listening = net::Listener::bind(&config.listen).await;
    let listener = listening.map_err(Failure::Listen)?;
    let store = Store::open(&config.store).await.map_err(Failure::Store)?;
    let name = config.router.name.clone().unwrap_or_else(router_name);
    let parts = RouterConfig {
        name,
        listener,
        store,
        shards: config.shards(),
        own: Own {
            user: config.router.user.as_str().into(),
            database: config.router.database.as_str().into(),
        },
        credentials: config.credentials(),
        access: config.access()?,
        pool: config.pool.limits(),
        limits: config.limits.limits(),
    };
    let router = tokio::select! {
        opened = Box::pin(Router::open(parts)) => opened?,
        () = stop.cancelled() => return Ok(0),
    };
    let mut out = std::io::stdout();
    if config.auth == Auth::Trust {
        let _ = writeln!(out, "no passwords: for local development only");
    }
    // A reader that went away has no need of it.
    let _ = writeln!(out, "ready: {}", router.address()?);
    let _ = out.flush();
    router.serve(stop).await?;
    Ok(0)
}
