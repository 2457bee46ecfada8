//! The command of `--exec`: it runs beside the router, and its end is the end of everything.

use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;

use crate::Failure;

/// How long a command is given to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(5);

/// Where the command finds the router.
#[derive(Debug)]
pub(super) struct Place<'a> {
    /// Where it listens.
    pub address: &'a net::Address,
    /// The user.
    pub user: &'a str,
    /// The database.
    pub database: &'a str,
}

/// Runs the command and gives its status, as a shell would.
pub(super) async fn run(
    command: &str,
    place: &Place<'_>,
    stop: &CancellationToken,
) -> Result<u8, Failure> {
    let (host, port) = match place.address {
        net::Address::Tcp { host, port } => (host.clone(), port.to_string()),
        net::Address::Unix(path) => (path.display().to_string(), String::new()),
    };
    let spawned = Command::new("sh")
        .args(["-c", command])
        .env("PGHOST", host)
        .env("PGPORT", port)
        .env("PGUSER", place.user)
        .env("PGDATABASE", place.database)
        .kill_on_drop(true)
        .spawn();
    let mut child = spawned.map_err(Failure::Exec)?;
    tokio::select! {
        status = child.wait() => status.map(code).map_err(Failure::Exec),
        () = stop.cancelled() => end(&mut child).await,
    }
}

async fn end(child: &mut Child) -> Result<u8, Failure> {
    if let Some(pid) = child.id().and_then(|pid| i32::try_from(pid).ok()) {
        let pid = nix::unistd::Pid::from_raw(pid);
        // It may have ended by itself just now.
        let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
    }
    if let Ok(status) = tokio::time::timeout(PATIENCE, child.wait()).await {
        return status.map(code).map_err(Failure::Exec);
    }
    child.kill().await.map_err(Failure::Exec)?;
    Ok(137)
}

fn code(status: ExitStatus) -> u8 {
    let signal = || status.signal().map_or(1, |signal| 128 + signal);
    u8::try_from(status.code().unwrap_or_else(signal)).unwrap_or(1)
}
