//! What can go wrong, said so that a person knows what to do. `Display` is what and where;
//! `hint` is the way out; `log_tail` is the server's own word.

use std::io;
use std::path::PathBuf;

use thiserror::Error;

/// No usable PostgreSQL was found.
#[derive(Debug, Error)]
pub enum FindError {
    /// `KINTSUGI_PG_BIN` names a folder without PostgreSQL's programs.
    #[error("KINTSUGI_PG_BIN={} holds no postgres and initdb", folder.display())]
    Named {
        /// The folder named.
        folder: PathBuf,
    },
    /// Nothing in any of the usual places.
    #[error("no PostgreSQL server programs found (looked in {})", looked_in.join(", "))]
    Nowhere {
        /// Where was looked.
        looked_in: Vec<String>,
    },
    /// A PostgreSQL too old.
    #[error("PostgreSQL {major} in {} is too old, 15 is the oldest that works", folder.display())]
    TooOld {
        /// The programs' folder.
        folder: PathBuf,
        /// Its major version.
        major: u32,
    },
    /// `postgres --version` failed or said something unknown.
    #[error("can't ask {} for its version", program.display())]
    Version {
        /// The program asked.
        program: PathBuf,
        /// Why not, when it could not even run.
        #[source]
        source: Option<io::Error>,
    },
}

impl FindError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Named { .. } => {
                "set KINTSUGI_PG_BIN to the folder that holds `postgres` and `initdb`, \
                 or unset it to use the installed PostgreSQL"
            }
            Self::Nowhere { .. } | Self::TooOld { .. } => {
                "install PostgreSQL 15 to 18 (Debian: `apt-get install postgresql-15`), \
                 or set KINTSUGI_PG_BIN to the folder of its programs"
            }
            Self::Version { .. } => {
                "run the program with --version by hand to see what is wrong with it"
            }
        }
    }
}

/// A cluster could not be made or started.
#[derive(Debug, Error)]
pub enum StartError {
    /// Running as root, and no account to run the server as.
    #[error("PostgreSQL refuses to run as root and there is no user `postgres` or `nobody`")]
    Account,
    /// The server's account can't reach the folder.
    #[error("user `{user}` can't enter {}, which {} lies below", blocked_at.display(),
        folder.display())]
    Unreachable {
        /// The folder wanted.
        folder: PathBuf,
        /// The first parent that may not be entered.
        blocked_at: PathBuf,
        /// The server's account.
        user: String,
    },
    /// Another live process holds the folder.
    #[error("{} is in use by another process", folder.display())]
    InUse {
        /// The cluster's folder.
        folder: PathBuf,
    },
    /// The data were made by another major version.
    #[error("the data in {} are of PostgreSQL {found}, the programs are of {wanted}",
        folder.display())]
    OtherMajor {
        /// The cluster's folder.
        folder: PathBuf,
        /// The version that made the data.
        found: String,
        /// The version of the programs.
        wanted: u32,
    },
    /// Reading or writing the cluster's folder.
    #[error("can't {action} {}", path.display())]
    File {
        /// What was attempted.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// A program could not be run at all.
    #[error("can't run {}", program.display())]
    Run {
        /// The program.
        program: PathBuf,
        /// Why not.
        #[source]
        source: io::Error,
    },
    /// `initdb` or single-user mode failed.
    #[error("{program} failed for {}", folder.display())]
    Make {
        /// Which program.
        program: &'static str,
        /// For which cluster.
        folder: PathBuf,
        /// What it printed.
        output: String,
    },
    /// A server left from an earlier run would not end.
    #[error("a server of an earlier run still uses {} (process {pid})", folder.display())]
    Leftover {
        /// The cluster's folder.
        folder: PathBuf,
        /// The process.
        pid: i32,
    },
    /// The server ended instead of getting ready.
    #[error("the server of {} ended at start", folder.display())]
    Ended {
        /// The cluster's folder.
        folder: PathBuf,
        /// The end of its log.
        log_tail: String,
    },
    /// The server did not get ready in time.
    #[error("the server of {} was not ready after {waited_s} s", folder.display())]
    NotReady {
        /// The cluster's folder.
        folder: PathBuf,
        /// Seconds waited.
        waited_s: u64,
        /// The end of its log.
        log_tail: String,
    },
}

impl StartError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Account => "create a user for PostgreSQL, or run as an ordinary user",
            Self::Unreachable { .. } => {
                "choose a data folder that this user can reach (--data-dir), or run as an \
                 ordinary user"
            }
            Self::InUse { .. } => "stop the other process, or choose another data folder",
            Self::OtherMajor { .. } => {
                "point KINTSUGI_PG_BIN at programs of the older version, or choose another data \
                 folder"
            }
            Self::File { .. } => "check the rights and the free space of the folder",
            Self::Run { .. } => "check that the program is there and executable",
            Self::Make { .. } => "the program's own words say what is wrong",
            Self::Leftover { .. } => "end that process, then start again",
            Self::Ended { .. } | Self::NotReady { .. } => {
                "the end of the server's log says what is wrong"
            }
        }
    }

    /// The last words of the server or program, if it was one that failed.
    #[must_use]
    pub fn log_tail(&self) -> Option<&str> {
        match self {
            Self::Make { output, .. } => Some(output),
            Self::Ended { log_tail, .. } | Self::NotReady { log_tail, .. } => Some(log_tail),
            Self::Account
            | Self::Unreachable { .. }
            | Self::InUse { .. }
            | Self::OtherMajor { .. }
            | Self::File { .. }
            | Self::Run { .. }
            | Self::Leftover { .. } => None,
        }
    }
}

/// A cluster could not be stopped.
#[derive(Debug, Error)]
pub enum StopError {
    /// The process did not end, even when killed.
    #[error("the server of {} (process {pid}) does not end", folder.display())]
    Lingers {
        /// The cluster's folder.
        folder: PathBuf,
        /// The process.
        pid: i32,
    },
    /// The server had to be killed; its next start repairs itself from its log.
    #[error("the server of {} did not stop in time and was killed", folder.display())]
    Killed {
        /// The cluster's folder.
        folder: PathBuf,
    },
}
