//! Where `kintsugi dev` keeps its data: a folder for each shard, and the store beside them.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cluster::{Durability, Spec};

use super::Options;
use crate::Failure;

/// The folder where nothing else is asked for.
pub(super) const DEFAULT: &str = ".kintsugi";

/// A folder with the data of a local cluster; a temporary one goes when this is dropped.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _temporary: Option<tempfile::TempDir>,
}

// === impl Folder ===

impl Folder {
    /// The folder that the options mean; it is made if it is missing.
    pub(super) fn take(options: &Options) -> Result<Self, Failure> {
        if options.exec.is_some() && options.data_dir.is_none() {
            return Self::temporary();
        }
        let wanted = options.data_dir.as_deref().unwrap_or(Path::new(DEFAULT));
        let placement = cluster::place(wanted).map_err(Failure::Cluster)?;
        if let Some(why) = &placement.moved {
            let _ = writeln!(std::io::stderr(), "{why}");
        }
        let path = placement.folder;
        fs::create_dir_all(&path).map_err(Failure::file("made", &path))?;
        Ok(Self {
            path,
            _temporary: None,
        })
    }

    fn temporary() -> Result<Self, Failure> {
        let made = tempfile::Builder::new().prefix("kintsugi-").tempdir();
        let temporary = made.map_err(Failure::file("made", std::env::temp_dir()))?;
        let path = temporary.path().to_owned();
        // PostgreSQL may run as another user than we do.
        let open = fs::set_permissions(&path, fs::Permissions::from_mode(0o755));
        open.map_err(Failure::file("opened to PostgreSQL", &path))?;
        Ok(Self {
            path,
            _temporary: Some(temporary),
        })
    }

    /// The store's file.
    pub(super) fn store(&self) -> PathBuf {
        self.path.join("store.db")
    }

    /// How many shards there are already.
    pub(super) fn shards(&self) -> u16 {
        let missing = |number: &u16| !self.path.join(uid(*number)).join("data").exists();
        (1..=u16::MAX).find(missing).map_or(0, |number| number - 1)
    }

    /// What is wanted of each cluster.
    pub(super) fn specs(&self, shards: u16, durability: Durability) -> Vec<Spec> {
        let spec = |number| {
            let home = self.path.join(uid(number));
            match durability {
                Durability::Durable => Spec::new(home),
                Durability::Fast => Spec {
                    template: (shards > 1).then(|| self.path.join("template")),
                    ..Spec::fast(home)
                },
            }
        };
        (1..=shards).map(spec).collect()
    }
}

/// The uid of a local shard.
pub(super) fn uid(number: u16) -> String {
    format!("store-{number}")
}
