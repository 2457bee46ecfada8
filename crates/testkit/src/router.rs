//! The router's binary as a process: started, found by its ready line, stopped or killed.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use thiserror::Error;
use tokio::process::{Child, Command};

use crate::client::Address;

const READY_WITHIN: Duration = Duration::from_mins(2);
const STOP_WITHIN: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How much of the output is shown when it fails.
const TAIL_BYTES: usize = 4000;

/// A running router.
#[derive(Debug)]
pub struct Router {
    child: Child,
    output: PathBuf,
    /// Where it listens.
    pub address: Address,
}

/// The router did not start or did not stop.
#[derive(Debug, Error)]
pub enum RouterError {
    /// The program can't be run.
    #[error("can't run {}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// It ended, or said nothing of being ready.
    #[error("the router is not ready; it printed: {output}")]
    NotReady {
        /// The end of what it printed.
        output: String,
    },
    /// It did not end.
    #[error("the router did not end within {STOP_WITHIN:?}")]
    Lingers,
}

impl Router {
    /// Starts `program` with these arguments and waits for its ready line. What it prints goes to
    /// the file `output`.
    ///
    /// # Errors
    /// It can't be run, ends, or isn't ready in time.
    pub async fn start(
        program: &Path,
        arguments: &[&str],
        output: &Path,
    ) -> Result<Self, RouterError> {
        let failed = |source| RouterError::Run {
            program: program.to_owned(),
            source,
        };
        let file = std::fs::File::create(output).map_err(failed)?;
        let file_too = file.try_clone().map_err(failed)?;
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(file)
            .stderr(file_too)
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(failed)?;
        let began = Instant::now();
        loop {
            let text = std::fs::read_to_string(output).unwrap_or_default();
            if let Some(address) = text.lines().find_map(address_in) {
                return Ok(Self {
                    child,
                    output: output.to_owned(),
                    address,
                });
            }
            let ended = matches!(child.try_wait(), Ok(Some(_)));
            if ended || began.elapsed() > READY_WITHIN {
                return Err(RouterError::NotReady {
                    output: tail(output),
                });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// Asks it to stop and waits until it has.
    ///
    /// # Errors
    /// It doesn't end.
    pub async fn stop(mut self) -> Result<(), RouterError> {
        self.signal(Signal::SIGTERM);
        let ended = tokio::time::timeout(STOP_WITHIN, self.child.wait()).await;
        ended.map(drop).map_err(|_elapsed| RouterError::Lingers)
    }

    /// Kills it at once, as a crash would.
    ///
    /// # Errors
    /// It doesn't end.
    pub async fn kill(mut self) -> Result<(), RouterError> {
        self.signal(Signal::SIGKILL);
        let ended = tokio::time::timeout(STOP_WITHIN, self.child.wait()).await;
        ended.map(drop).map_err(|_elapsed| RouterError::Lingers)
    }

    /// Its process.
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.child.id()
    }

    /// Whether it still runs.
    pub fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// The end of what it printed.
    #[must_use]
    pub fn output_tail(&self) -> String {
        tail(&self.output)
    }

    fn signal(&self, signal: Signal) {
        if let Some(pid) = self.child.id().and_then(|pid| i32::try_from(pid).ok()) {
            // It may have ended by itself just now.
            let _ = kill(Pid::from_raw(pid), signal);
        }
    }
}

/// The address in a line that holds a URL such as `postgres://postgres@127.0.0.1:6432/shop`.
#[must_use]
pub fn address_in(line: &str) -> Option<Address> {
    let at = line
        .find("postgres://")
        .or_else(|| line.find("postgresql://"))?;
    let url = line[at..].split_once("://")?.1;
    let url = url
        .split(|c: char| c.is_whitespace() || matches!(c, '"' | '\''))
        .next()?;
    let (user, rest) = url.split_once('@')?;
    let (place, database) = rest.split_once('/')?;
    let (host, port) = place.rsplit_once(':')?;
    let mut address = Address::local(port.parse().ok()?, database.split('?').next()?);
    user.clone_into(&mut address.user);
    host.clone_into(&mut address.host);
    Some(address)
}

/// The end of a text file.
pub(crate) fn tail(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let mut from = text.len().saturating_sub(TAIL_BYTES);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    text[from..].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ready_line_holds_the_address() {
        let line = "Ready: psql 'postgres://postgres@127.0.0.1:6432/shop?x=1'";
        let address = address_in(line).unwrap();
        assert_eq!(address.port, 6432);
        assert_eq!(address.database, "shop");
        assert_eq!(address_in("nothing here"), None);
    }
}
