//! Where `kintsugi dev` keeps its data: a folder for each shard, and the store beside them.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use cluster::{Durability, Spec};
use indexmap::IndexMap;

use super::{Options, USER};
use crate::Failure;
use crate::place::{CONFIG, DATA_DIR};

/// The name of the store's file.
const STORE: &str = "store.db";

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
        let wanted = options.data_dir.as_deref().unwrap_or(Path::new(DATA_DIR));
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

    /// Itself.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Writes down where everything is, for the commands that work on a running cluster.
    pub(super) fn write_config(
        &self,
        listen: &net::Address,
        shards: &IndexMap<String, topology::ShardEntry>,
    ) -> Result<(), Failure> {
        let mut text = format!(
            "# Written at each start of `kintsugi dev`; changes here are lost.\n\
             listen = \"{listen}\"\nstore = \"{STORE}\"\nauth = \"trust\"\n\n\
             [router]\nuser = \"{USER}\"\n"
        );
        for (uid, shard) in shards {
            let primary = shard.primary.as_deref().unwrap_or_default();
            let _ = write!(text, "\n[shards.{uid}]\nprimary = \"{primary}\"\n");
        }
        let path = self.path.join(CONFIG);
        let mut file =
            tempfile::NamedTempFile::new_in(&self.path).map_err(Failure::file("written", &path))?;
        let written = file.write_all(text.as_bytes());
        written.map_err(Failure::file("written", &path))?;
        // Whole or not at all, since others may read it right now.
        let kept = file.persist(&path).map_err(|error| error.error);
        kept.map_err(Failure::file("written", &path)).map(drop)
    }

    /// The store's file.
    pub(super) fn store(&self) -> PathBuf {
        self.path.join(STORE)
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
