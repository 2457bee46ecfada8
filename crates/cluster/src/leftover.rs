//! Servers of an earlier run that still use a data folder. Their parent may have died at any
//! moment, so what is believed is not a file of ours but the processes themselves: PostgreSQL's
//! processes all work in the data folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long each way of asking may take: fast shutdown, immediate shutdown, kill.
const PATIENCE: [(Signal, Duration); 3] = [
    (Signal::SIGINT, Duration::from_secs(20)),
    (Signal::SIGQUIT, Duration::from_secs(10)),
    (Signal::SIGKILL, Duration::from_secs(10)),
];
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// The processes that work in `data`, lowest first.
pub(crate) fn users(data: &Path) -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return from_file(data);
    };
    let mut pids: Vec<i32> = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid| works_in(*pid, data))
        .collect();
    pids.sort_unstable();
    pids
}

/// Ends whatever uses `data`, gently first. Returns a process that would not end.
pub(crate) async fn end(data: &Path) -> Result<(), i32> {
    let Ok(data) = data.canonicalize() else {
        return Ok(());
    };
    for (signal, patience) in PATIENCE {
        let pids = users(&data);
        if pids.is_empty() {
            break;
        }
        tracing::info!(data = %data.display(), %signal, "ending a server of an earlier run");
        // The postmaster ends its children; only a kill has to reach each of them.
        let postmaster = postmaster_of(&data).filter(|pid| pids.contains(pid));
        let targets = match postmaster {
            Some(pid) if signal != Signal::SIGKILL => vec![pid],
            Some(_) | None => pids,
        };
        send(&targets, signal);
        if gone(&data, patience).await {
            break;
        }
    }
    match users(&data).first() {
        Some(pid) => Err(*pid),
        None => Ok(()),
    }
}

/// Kills every process that works in `data`, at once.
pub(crate) async fn kill_all(data: &Path) -> Result<(), i32> {
    let Ok(data) = data.canonicalize() else {
        return Ok(());
    };
    let rounds = 1000;
    for _ in 0..rounds {
        let pids = users(&data);
        if pids.is_empty() {
            return Ok(());
        }
        send(&pids, Signal::SIGKILL);
        tokio::time::sleep(LOOK_EVERY).await;
    }
    users(&data).first().map_or(Ok(()), |pid| Err(*pid))
}

/// Removes the pid file of a server that is gone. PostgreSQL itself refuses to start when the
/// number in it belongs to some other living process by now.
pub(crate) fn forget(data: &Path) -> std::io::Result<()> {
    match fs::remove_file(data.join("postmaster.pid")) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

pub(crate) fn send(pids: &[i32], signal: Signal) {
    for pid in pids {
        if let Err(error) = kill(Pid::from_raw(*pid), signal) {
            tracing::debug!(pid, %signal, %error, "signal not sent");
        }
    }
}

async fn gone(data: &Path, patience: Duration) -> bool {
    let rounds = patience.as_millis() / LOOK_EVERY.as_millis();
    for _ in 0..rounds {
        if users(data).is_empty() {
            return true;
        }
        tokio::time::sleep(LOOK_EVERY).await;
    }
    false
}

fn postmaster_of(data: &Path) -> Option<i32> {
    let text = fs::read_to_string(data.join("postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok()
}

/// A zombie has no working folder any more, so it doesn't count. A process whose data folder was
/// removed doesn't either: its path reads `... (deleted)`.
fn works_in(pid: i32, data: &Path) -> bool {
    let process = PathBuf::from(format!("/proc/{pid}"));
    let inside = fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd == data);
    inside && fs::read_to_string(process.join("comm")).is_ok_and(|c| c.starts_with("postgres"))
}

/// Without /proc there is only the pid file to go by.
fn from_file(data: &Path) -> Vec<i32> {
    postmaster_of(data)
        .filter(|pid| kill(Pid::from_raw(*pid), None).is_ok())
        .into_iter()
        .collect()
}
