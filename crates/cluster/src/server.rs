//! A running cluster, from start to stop.
//!
//! ```text
//!            start                stop
//! (home) ------------> running ------------> stopped
//!                        |  ^                   |
//!                   kill |  |     restart       |
//!                        v  +-------------------+
//!                      stopped
//! ```
//! A parent that dies without stopping its clusters closes a pipe; a watcher at its other end
//! then asks the server to stop. What even that misses is found at the next start.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use tokio::process::{Child, Command};

use crate::account::Account;
use crate::binaries::Binaries;
use crate::error::{StartError, StopError};
use crate::home::{Home, file};
use crate::leftover;
use crate::make::{CONF, Maker};
use crate::spec::{Durability, Spec};

/// Long enough for a server that has to replay its log first.
const READY_WITHIN: Duration = Duration::from_mins(2);
/// Long enough for the last checkpoint of a fast shutdown.
const STOP_WITHIN: Duration = Duration::from_mins(1);
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Another program may take a free port between our look and the server's bind.
const PORT_TRIES: usize = 5;
/// What the watcher runs: wait for the end of its input, then ask for a fast shutdown.
const WATCH: &str = "cat >/dev/null; kill -INT \"$0\" 2>/dev/null";

/// A cluster of this process's own.
#[derive(Debug)]
pub struct LocalCluster {
    binaries: Binaries,
    account: Account,
    spec: Spec,
    home: Home,
    port: u16,
    running: Option<Running>,
}

#[derive(Debug)]
struct Running {
    server: Child,
    pid: i32,
    /// Its input is the pipe whose end tells of our own end.
    watcher: Child,
}

impl LocalCluster {
    /// Starts the cluster of `spec`, making it first if its folder is empty. A server that an
    /// earlier run left behind in this folder is stopped first.
    ///
    /// # Errors
    /// Whatever keeps PostgreSQL from running there; each error has a hint and the log's end.
    ///
    /// # Cancel safety
    /// A dropped future leaves a cluster that the next start completes.
    pub async fn start(binaries: &Binaries, spec: Spec) -> Result<Self, StartError> {
        let account = Account::current()?;
        let home = Home::take(&spec.home, &account)?;
        let mut cluster = Self {
            binaries: binaries.clone(),
            account,
            spec,
            home,
            port: 0,
            running: None,
        };
        cluster.end_leftovers().await?;
        let maker = cluster.maker();
        maker.data(&cluster.home, &cluster.spec).await?;
        maker.database(&cluster.home, &cluster.spec).await?;
        cluster.launch().await?;
        Ok(cluster)
    }

    /// Starts several clusters side by side.
    ///
    /// # Errors
    /// The first error; the clusters that did start are stopped then.
    pub async fn start_all(binaries: &Binaries, specs: Vec<Spec>) -> Result<Vec<Self>, StartError> {
        let mut tasks = tokio::task::JoinSet::new();
        for (index, spec) in specs.into_iter().enumerate() {
            let binaries = binaries.clone();
            tasks.spawn(async move { (index, Self::start(&binaries, spec).await) });
        }
        let mut started = Vec::new();
        let mut first_error = None;
        while let Some(joined) = tasks.join_next().await {
            match joined {
                Ok((index, Ok(cluster))) => started.push((index, cluster)),
                Ok((_, Err(error))) => first_error = first_error.or(Some(error)),
                Err(panic) => std::panic::resume_unwind(panic.into_panic()),
            }
        }
        if let Some(error) = first_error {
            for (_, mut cluster) in started {
                if let Err(stop) = cluster.stop().await {
                    tracing::warn!(error = %stop, "cluster not stopped");
                }
            }
            return Err(error);
        }
        started.sort_by_key(|(index, _)| *index);
        Ok(started.into_iter().map(|(_, cluster)| cluster).collect())
    }

    /// Stops the server with a fast shutdown: open transactions are rolled back, what was
    /// committed is on disk. A second call does nothing.
    ///
    /// # Errors
    /// When the server had to be killed, or can't be.
    ///
    /// # Cancel safety
    /// A dropped future leaves the server stopping; call again.
    pub async fn stop(&mut self) -> Result<(), StopError> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        leftover::send(&[running.pid], Signal::SIGINT);
        let ended = tokio::time::timeout(STOP_WITHIN, running.server.wait())
            .await
            .is_ok();
        if ended {
            self.forget_running();
            return Ok(());
        }
        self.kill().await?;
        Err(StopError::Killed {
            folder: self.home.folder().to_owned(),
        })
    }

    /// Kills every process of the server with SIGKILL, as a crash would.
    ///
    /// # Errors
    /// When a process does not end.
    pub async fn kill(&mut self) -> Result<(), StopError> {
        let Some(running) = &mut self.running else {
            return Ok(());
        };
        leftover::send(&[running.pid], Signal::SIGKILL);
        let ended = leftover::kill_all(&self.home.data()).await;
        if let Err(error) = running.server.wait().await {
            tracing::debug!(%error, "server not waited for");
        }
        self.forget_running();
        let folder = self.home.folder().to_owned();
        ended.map_err(|pid| StopError::Lingers { folder, pid })
    }

    /// Starts the server again, on the same port, after [`Self::stop`], [`Self::kill`] or a crash.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub async fn restart(&mut self) -> Result<(), StartError> {
        if let Err(error) = self.stop().await {
            tracing::warn!(%error, "server not stopped cleanly before its restart");
        }
        self.end_leftovers().await?;
        self.spec.port = Some(self.port);
        self.launch().await
    }

    /// Whether the server's first process is alive.
    pub fn is_running(&mut self) -> bool {
        match &mut self.running {
            Some(running) => matches!(running.server.try_wait(), Ok(None)),
            None => false,
        }
    }

    /// The port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// `127.0.0.1:PORT`.
    #[must_use]
    pub fn address(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The URL of one database, as psql takes it.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@127.0.0.1:{}/{database}", self.port)
    }

    /// The cluster's folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.home.folder()
    }

    /// The folder of the Unix socket, if there is one.
    #[must_use]
    pub fn socket_folder(&self) -> Option<PathBuf> {
        self.home.socket_folder().map(PathBuf::from)
    }

    /// The process id of the server's first process while it runs.
    #[must_use]
    pub fn pid(&self) -> Option<i32> {
        self.running.as_ref().map(|running| running.pid)
    }

    /// The end of the server's log.
    #[must_use]
    pub fn log_tail(&self) -> String {
        self.home.log_tail()
    }

    /// The server's log file.
    #[must_use]
    pub fn log(&self) -> PathBuf {
        self.home.log()
    }

    // === start, step by step ===

    fn maker(&self) -> Maker<'_> {
        Maker {
            binaries: &self.binaries,
            account: &self.account,
        }
    }

    async fn end_leftovers(&self) -> Result<(), StartError> {
        let data = self.home.data();
        let folder = self.home.folder().to_owned();
        leftover::end(&data)
            .await
            .map_err(|pid| StartError::Leftover { folder, pid })?;
        leftover::forget(&data).map_err(|e| file("remove the pid file in", &data)(e))
    }

    /// Starts the server, on another port if the chosen one was taken meanwhile.
    async fn launch(&mut self) -> Result<(), StartError> {
        let mut tries_left = PORT_TRIES;
        loop {
            self.port = self.home.choose_port(self.spec.port)?;
            match self.launch_once().await {
                Err(StartError::Ended { log_tail, .. })
                    if self.spec.port.is_none()
                        && tries_left > 0
                        && log_tail.contains("Address already in use") =>
                {
                    tries_left -= 1;
                    self.home.forget_port();
                }
                done => return done,
            }
        }
    }

    async fn launch_once(&mut self) -> Result<(), StartError> {
        let data = self.home.data();
        let conf = data.join(CONF);
        let text = self
            .spec
            .conf(self.port, self.home.socket_folder().as_deref());
        fs::write(&conf, text).map_err(|e| file("write", &conf)(e))?;
        self.account.own(&conf)?;
        let log = self.home.open_log(&self.account)?;
        let log_too = log
            .try_clone()
            .map_err(|e| file("open", &self.home.log())(e))?;

        let mut command = self.maker().command("postgres", &data);
        command
            .arg("-D")
            .arg(&data)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(log_too);
        let program = self.binaries.program("postgres");
        let mut server = command
            .spawn()
            .map_err(|source| StartError::Run { program, source })?;
        let pid = server
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .unwrap_or_default();
        let watcher = self.watch(pid, &data)?;
        let ready = self.await_ready(&mut server).await;
        self.running = Some(Running {
            server,
            pid,
            watcher,
        });
        if ready.is_err()
            && let Err(error) = self.kill().await
        {
            tracing::warn!(%error, "a server that did not start does not end");
        }
        ready
    }

    /// Starts the process that outlives us just long enough to stop the server.
    fn watch(&self, pid: i32, data: &Path) -> Result<Child, StartError> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", WATCH, &pid.to_string()]);
        command
            .current_dir(data.parent().unwrap_or(data))
            .process_group(0)
            .kill_on_drop(false);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.account.apply(&mut command);
        command.spawn().map_err(|source| StartError::Run {
            program: PathBuf::from("/bin/sh"),
            source,
        })
    }

    /// The server says `ready` on the eighth line of its pid file once it takes connections.
    async fn await_ready(&self, server: &mut Child) -> Result<(), StartError> {
        let pid_file = self.home.data().join("postmaster.pid");
        let began = Instant::now();
        loop {
            if let Ok(Some(_)) = server.try_wait() {
                let folder = self.home.folder().to_owned();
                return Err(StartError::Ended {
                    folder,
                    log_tail: self.home.log_tail(),
                });
            }
            let text = fs::read_to_string(&pid_file).unwrap_or_default();
            if text
                .lines()
                .nth(7)
                .is_some_and(|status| status.trim() == "ready")
            {
                return Ok(());
            }
            if began.elapsed() > READY_WITHIN {
                let folder = self.home.folder().to_owned();
                let waited_s = READY_WITHIN.as_secs();
                let log_tail = self.home.log_tail();
                return Err(StartError::NotReady {
                    folder,
                    waited_s,
                    log_tail,
                });
            }
            tokio::time::sleep(LOOK_EVERY).await;
        }
    }

    /// The server is gone: its watcher has nothing to watch any more.
    fn forget_running(&mut self) {
        if let Some(mut running) = self.running.take()
            && let Err(error) = running.watcher.start_kill()
        {
            tracing::debug!(%error, "watcher not ended");
        }
    }
}

impl Drop for LocalCluster {
    /// The last resort, when nobody called [`LocalCluster::stop`]: asks and does not wait.
    fn drop(&mut self) {
        let Some(running) = &self.running else { return };
        let signal = match self.spec.durability {
            Durability::Durable => Signal::SIGINT,
            Durability::Fast => Signal::SIGQUIT,
        };
        leftover::send(&[running.pid], signal);
    }
}
