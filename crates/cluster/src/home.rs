//! A cluster's folder: who holds it, and what lies where. `data` is PostgreSQL's own; `log`,
//! `port` and `lock` are ours.

use std::collections::hash_map::DefaultHasher;
use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::hash::{Hash, Hasher};
use std::io::{self, Read, Seek, SeekFrom};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::error::StartError;

/// The longest path that a Unix socket may have, with the name that PostgreSQL gives it.
const SOCKET_PATH_MAX: usize = 107;
/// Where clusters of root go when the server's user can't reach the folder wanted.
const ROOT_HOME: &str = "/var/lib/kintsugi";
/// How much of a log is shown to a person.
const LOG_TAIL_BYTES: u64 = 4096;
/// A log longer than this is begun anew at start.
const LOG_BYTES_MAX: u64 = 16 << 20;

/// A cluster's folder, held by this process alone while the value lives.
#[derive(Debug)]
pub(crate) struct Home {
    folder: PathBuf,
    /// Locked; the lock goes with the process, however it ends.
    _lock: File,
}

/// Where a data folder was put.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// The folder to use.
    pub folder: PathBuf,
    /// Why it isn't the one wanted, in a sentence for people.
    pub moved: Option<String>,
}

/// The folder for data wanted at `wanted`: that one, unless we are root and the account that
/// PostgreSQL runs as can't reach it (below `/root`, say); then one below `/var/lib/kintsugi`,
/// the same each time.
///
/// # Errors
/// When there is no account to run PostgreSQL as, or the current folder is gone.
pub fn place(wanted: &Path) -> Result<Placement, StartError> {
    let account = Account::current()?;
    let absolute = std::path::absolute(wanted).map_err(|source| file("find", wanted)(source))?;
    let Some(blocked_at) = account.blocked_at(&absolute.join("x")) else {
        return Ok(Placement {
            folder: absolute,
            moved: None,
        });
    };
    let mut hasher = DefaultHasher::new();
    absolute.hash(&mut hasher);
    let folder = Path::new(ROOT_HOME).join(format!("{:016x}", hasher.finish()));
    let moved = format!(
        "PostgreSQL refuses to run as root, and user {} can't enter {}: data are kept in {}",
        account.name(),
        blocked_at.display(),
        folder.display()
    );
    Ok(Placement {
        folder,
        moved: Some(moved),
    })
}

impl Home {
    /// Makes the folder if it is missing and takes it for this process.
    pub(crate) fn take(folder: &Path, account: &Account) -> Result<Self, StartError> {
        let folder = std::path::absolute(folder).map_err(|e| file("find", folder)(e))?;
        DirBuilder::new()
            .recursive(true)
            .mode(0o755)
            .create(&folder)
            .map_err(|e| file("create", &folder)(e))?;
        let folder = folder
            .canonicalize()
            .map_err(|e| file("find", &folder)(e))?;
        if let Some(blocked_at) = account.blocked_at(&folder) {
            let user = account.name().to_owned();
            return Err(StartError::Unreachable {
                folder,
                blocked_at,
                user,
            });
        }
        account.own(&folder)?;
        let path = folder.join("lock");
        let lock = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(|e| file("open", &path)(e))?;
        match lock.try_lock() {
            Ok(()) => Ok(Self {
                folder,
                _lock: lock,
            }),
            Err(TryLockError::WouldBlock) => Err(StartError::InUse { folder }),
            Err(TryLockError::Error(source)) => Err(file("lock", &path)(source)),
        }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// The folder of the Unix socket, unless its path would be too long for one.
    pub(crate) fn socket_folder(&self) -> Option<String> {
        let name = "/.s.PGSQL.65535.lock";
        let folder = self.folder.to_str()?;
        (folder.len() + name.len() <= SOCKET_PATH_MAX).then(|| folder.to_owned())
    }

    /// Opens the log for the server to write to.
    pub(crate) fn open_log(&self, account: &Account) -> Result<File, StartError> {
        let path = self.log();
        if path.metadata().is_ok_and(|m| m.len() > LOG_BYTES_MAX) {
            fs::remove_file(&path).map_err(|e| file("remove", &path)(e))?;
        }
        let log = OpenOptions::new()
            .create(true)
            .append(true)
            .open(&path)
            .map_err(|e| file("open", &path)(e))?;
        account.own(&path)?;
        Ok(log)
    }

    /// The end of the server's log, whole lines.
    pub(crate) fn log_tail(&self) -> String {
        tail(&self.log()).unwrap_or_else(|error| format!("(no log: {error})"))
    }

    /// The port to listen on: the wanted one, the last one if it is free, else any free one.
    pub(crate) fn choose_port(&self, wanted: Option<u16>) -> Result<u16, StartError> {
        if let Some(port) = wanted {
            return Ok(port);
        }
        let path = self.folder.join("port");
        let last = fs::read_to_string(&path)
            .ok()
            .and_then(|t| t.trim().parse().ok());
        if let Some(port) = last.filter(|port| is_free(*port)) {
            return Ok(port);
        }
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
            .and_then(|listener| listener.local_addr())
            .map_err(|e| file("find a free port for", &self.folder)(e))?
            .port();
        fs::write(&path, format!("{port}\n")).map_err(|e| file("write", &path)(e))?;
        Ok(port)
    }

    /// Forgets the port, so that the next choice is another.
    pub(crate) fn forget_port(&self) {
        let path = self.folder.join("port");
        if let Err(error) = fs::remove_file(&path) {
            tracing::debug!(path = %path.display(), %error, "port file not removed");
        }
    }
}

/// Turns an I/O error into ours.
pub(crate) fn file(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StartError {
    let path = path.to_owned();
    move |source| StartError::File {
        action,
        path,
        source,
    }
}

fn is_free(port: u16) -> bool {
    port != 0 && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
}

fn tail(path: &Path) -> io::Result<String> {
    let mut log = File::open(path)?;
    let length = log.metadata()?.len();
    log.seek(SeekFrom::Start(length.saturating_sub(LOG_TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    log.take(LOG_TAIL_BYTES).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let cut = if length > LOG_TAIL_BYTES {
        text.find('\n').map_or(0, |at| at + 1)
    } else {
        0
    };
    Ok(text[cut..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(folder: &Path) -> Result<Home, StartError> {
        Home::take(folder, &Account::current().unwrap())
    }

    fn open_folder() -> tempfile::TempDir {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        folder
    }

    #[test]
    fn a_folder_has_one_holder() {
        let folder = open_folder();
        let home = take(folder.path()).unwrap();
        assert!(matches!(take(folder.path()), Err(StartError::InUse { .. })));
        drop(home);
        take(folder.path()).unwrap();
    }

    #[test]
    fn the_port_is_kept_and_given_up_when_taken() {
        let folder = open_folder();
        let home = take(folder.path()).unwrap();
        let port = home.choose_port(None).unwrap();
        assert_eq!(home.choose_port(None).unwrap(), port);
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
        assert_ne!(home.choose_port(None).unwrap(), port);
        assert_eq!(home.choose_port(Some(7)).unwrap(), 7);
    }

    #[test]
    fn a_long_path_goes_without_a_socket() {
        let folder = open_folder();
        let home = take(&folder.path().join("x".repeat(90))).unwrap();
        assert_eq!(home.socket_folder(), None);
    }

    #[test]
    fn a_folder_closed_to_the_server_is_named_and_placed_elsewhere() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o700)).unwrap();
        let wanted = folder.path().join("data");
        if nix::unistd::Uid::effective().is_root() {
            let error = take(&wanted).unwrap_err();
            assert!(matches!(error, StartError::Unreachable { .. }), "{error}");
            let placement = place(&wanted).unwrap();
            assert!(placement.folder.starts_with(ROOT_HOME));
            assert!(placement.moved.unwrap().contains("refuses to run as root"));
        } else {
            assert_eq!(place(&wanted).unwrap().moved, None);
        }
    }
}
