//! Which cluster a command means: the one of `--config`, else the one that `kintsugi dev` keeps in `--data-dir`.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::config::Config;

/// The folder of `kintsugi dev` where nothing else is asked for.
pub const DATA_DIR: &str = ".kintsugi";

/// The name of the configuration that `kintsugi dev` writes into its folder.
pub const CONFIG: &str = "kintsugi.toml";

/// Which cluster.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Which {
    /// The configuration of `kintsugi serve`
    #[arg(long, value_name = "FILE", global = true, conflicts_with = "data_dir")]
    pub config: Option<PathBuf>,
    /// The folder of `kintsugi dev` [default: .kintsugi]
    #[arg(long, value_name = "DIR", global = true)]
    pub data_dir: Option<PathBuf>,
}

// === impl Which ===

impl Which {
    /// Its configuration.
    ///
    /// # Errors
    /// There is none, or it can't be used.
    pub fn config(&self) -> Result<Config, Failure> {
        let path = self.path()?;
        if self.config.is_none() && !path.exists() {
            return Err(Failure::Refused {
                what: format!("there is no cluster in {}", self.folder().display()),
                hint: "start one with `kintsugi dev`, or name its folder with --data-dir, or the configuration \
                       of a router with --config"
                    .to_owned(),
            });
        }
        Config::read(&path)
    }

    /// Whether it is there at all.
    #[must_use]
    pub fn exists(&self) -> bool {
        self.config.is_some() || self.path().is_ok_and(|path| path.exists())
    }

    fn folder(&self) -> &Path {
        self.data_dir.as_deref().unwrap_or(Path::new(DATA_DIR))
    }

    fn path(&self) -> Result<PathBuf, Failure> {
        if let Some(config) = &self.config {
            return Ok(config.clone());
        }
        let placement = cluster::place(self.folder()).map_err(Failure::Cluster)?;
        Ok(placement.folder.join(CONFIG))
    }
}
