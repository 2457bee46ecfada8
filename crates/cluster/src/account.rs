//! Whom the server runs as. PostgreSQL refuses root, so as root it runs as `postgres`, else as
//! `nobody`; otherwise as whoever we are.

use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};

use nix::unistd::{Uid, User};

use crate::error::StartError;

/// The account that a server runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    name: String,
    /// Set when we are root and have to change to it.
    ids: Option<(u32, u32)>,
}

impl Account {
    /// The account for servers started by this process.
    ///
    /// # Errors
    /// When we are root and there is neither `postgres` nor `nobody`.
    pub fn current() -> Result<Self, StartError> {
        let me = Uid::effective();
        if !me.is_root() {
            let name = User::from_uid(me)
                .ok()
                .flatten()
                .map_or(me.to_string(), |u| u.name);
            return Ok(Self { name, ids: None });
        }
        ["postgres", "nobody"]
            .iter()
            .find_map(|name| User::from_name(name).ok().flatten())
            .map(|user| Self {
                name: user.name,
                ids: Some((user.uid.as_raw(), user.gid.as_raw())),
            })
            .ok_or(StartError::Account)
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Makes `command` run as this account. The standard library drops root's other groups too.
    pub(crate) fn apply(&self, command: &mut tokio::process::Command) {
        if let Some((uid, gid)) = self.ids {
            command.uid(uid).gid(gid);
        }
    }

    /// Gives `path` to this account.
    pub(crate) fn own(&self, path: &Path) -> Result<(), StartError> {
        let Some((uid, gid)) = self.ids else {
            return Ok(());
        };
        chown(path, Some(uid), Some(gid)).map_err(|source| StartError::File {
            action: "hand over to the server's user",
            path: path.to_owned(),
            source,
        })
    }

    /// The topmost existing parent of `path` that this account may not enter.
    pub(crate) fn blocked_at(&self, path: &Path) -> Option<PathBuf> {
        let (uid, gid) = self.ids?;
        let mut parents: Vec<&Path> = path.ancestors().skip(1).collect();
        parents.reverse();
        parents
            .into_iter()
            .filter(|parent| !parent.as_os_str().is_empty())
            .find(|parent| parent.metadata().is_ok_and(|m| !may_enter(&m, uid, gid)))
            .map(Path::to_owned)
    }
}

/// The permission bits decide as in the kernel: owner first, then group, then others.
fn may_enter(metadata: &Metadata, uid: u32, gid: u32) -> bool {
    let bit = if metadata.uid() == uid {
        0o100
    } else if metadata.gid() == gid {
        0o010
    } else {
        0o001
    };
    metadata.mode() & bit != 0
}
