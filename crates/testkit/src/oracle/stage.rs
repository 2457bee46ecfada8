//! Setting the stage: one plain PostgreSQL, routers with one and four shards, the same rows in all.

use std::fs;
use std::path::{Path, PathBuf};

use cluster::{Binaries, LocalCluster, Spec};
use indexmap::IndexMap;
use topology::{Document, Topology};

use super::corpus::problem;
use super::error::OracleError;
use super::fixture::Fixture;
use super::target::Target;
use crate::client::Address;
use crate::router::{Router, tail};

/// How far below a data folder a cluster's folder may lie.
const DEPTH_MAX: usize = 3;

/// What is wanted on the stage.
#[derive(Debug, Clone)]
pub struct Options {
    /// The project's folder.
    pub project: PathBuf,
    /// The router's binary; without one there is only plain PostgreSQL.
    pub router: Option<PathBuf>,
    /// For how many shards a router is started, each.
    pub shards: Vec<usize>,
    /// How rows get onto the shards.
    pub load: Load,
    /// What is loaded.
    pub fixture: Fixture,
}

/// How rows get onto the shards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Load {
    /// Through the router, as anybody would.
    Router,
    /// Straight to each shard, by the topology; for a router that can't do it yet.
    Direct,
}

/// Everything that runs.
#[derive(Debug)]
pub struct Stage {
    /// Plain PostgreSQL first.
    pub targets: Vec<Target>,
    /// The topology of each router, in the order of the targets behind the first.
    pub topologies: Vec<Topology>,
    /// The major version of PostgreSQL.
    pub major: u32,
    /// What was loaded.
    pub fixture: Fixture,
    plain: LocalCluster,
    routers: Vec<Router>,
    folder: tempfile::TempDir,
}

impl Stage {
    /// Starts everything and loads the fixture.
    ///
    /// # Errors
    /// Something does not start, or the fixture can't be loaded.
    pub async fn set(options: &Options) -> Result<Self, OracleError> {
        let binaries = Binaries::find()?;
        let folder = open_folder()?;
        let document = read_document(&options.project.join(options.fixture.topology()))?;
        let database = document.first_database().unwrap_or("postgres").to_owned();
        let spec = Spec {
            database: Some(database.clone()),
            ..Spec::fast(folder.path().join("plain"))
        };
        let plain = LocalCluster::start(&binaries, spec).await?;
        let address = Address::local(plain.port(), &database);
        let servers = vec![("postgres".to_owned(), address.clone())];
        let mut stage = Self {
            targets: vec![Target::connect("postgres", address, servers).await?],
            topologies: Vec::new(),
            major: binaries.major(),
            fixture: options.fixture.clone(),
            plain,
            routers: Vec::new(),
            folder,
        };
        let psql = psql(&binaries);
        let fixture = &options.fixture;
        fixture
            .load(&stage.targets[0], &options.project, &psql)
            .await?;
        if let Some(program) = &options.router {
            for count in &options.shards {
                let mut added = stage.add_router(program, *count, &document).await?;
                match options.load {
                    Load::Router => fixture.load(&added, &options.project, &psql).await?,
                    Load::Direct => {
                        let topology = &stage.topologies[stage.topologies.len() - 1];
                        super::direct::load(&mut added, topology, &options.project).await?;
                    }
                }
                stage.targets.push(added);
            }
        }
        Ok(stage)
    }

    /// Stops everything.
    pub async fn strike(mut self) {
        for router in self.routers {
            if router.stop().await.is_err() {
                // Dropping the stage kills it.
            }
        }
        if self.plain.stop().await.is_err() {
            // Its folder is removed with the stage.
        }
    }

    async fn add_router(
        &mut self,
        program: &Path,
        count: usize,
        document: &Document,
    ) -> Result<Target, OracleError> {
        let name = format!("router-{count}");
        let root = self.folder.path().to_owned();
        let document = for_shards(document, count);
        let file = root.join(format!("{name}.json"));
        fs::write(&file, document.to_json()).map_err(|e| problem(&file, e))?;
        let data = root.join(&name);
        let count_text = count.to_string();
        let (file_text, data_text) = (file.to_string_lossy(), data.to_string_lossy());
        let arguments = [
            "dev",
            "--shards",
            &count_text,
            "--topology",
            &file_text,
            "--data-dir",
            &data_text,
            "--port",
            "0",
            "--fast",
        ];
        let output = root.join(format!("{name}.log"));
        let router = Router::start(program, &arguments, &output)
            .await
            .map_err(|error| OracleError::Router {
                output: error.to_string(),
            })?;

        let mut servers = Vec::new();
        let mut shards = IndexMap::new();
        for nr in 1..=count {
            let uid = format!("store-{nr}");
            let port = port_of(&data, &uid, DEPTH_MAX).ok_or_else(|| OracleError::Router {
                output: format!("no port file of {uid} below {}", data.display()),
            })?;
            let address = Address::local(port, &router.address.database);
            let primary = Some(format!("127.0.0.1:{port}"));
            shards.insert(
                uid.clone(),
                topology::ShardEntry {
                    primary,
                    ..Default::default()
                },
            );
            servers.push((uid, address));
        }
        let compiled = Topology::compile(document, 1, &shards).map_err(|found| mistakes(&found))?;
        let address = router.address.clone();
        self.routers.push(router);
        self.topologies.push(compiled);
        Target::connect(&name, address, servers).await
    }

    /// The end of what each router and each of its servers printed.
    #[must_use]
    pub fn router_output(&self) -> String {
        let mut output: Vec<String> = self.routers.iter().map(Router::output_tail).collect();
        let mut logs = Vec::new();
        find_logs(self.folder.path(), DEPTH_MAX, &mut logs);
        logs.sort();
        for log in logs {
            output.push(format!("{}:\n{}", log.display(), tail(&log)));
        }
        output.join("\n")
    }
}

/// A folder that the server's user can reach, too.
fn open_folder() -> Result<tempfile::TempDir, OracleError> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |source| problem(Path::new("a temporary folder"), source);
    let folder = tempfile::Builder::new()
        .prefix("oracle-")
        .tempdir()
        .map_err(failed)?;
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).map_err(failed)?;
    Ok(folder)
}

/// The psql of this installation, else the one on the PATH.
fn psql(binaries: &Binaries) -> PathBuf {
    let own = binaries.program("psql");
    if own.is_file() {
        own
    } else {
        PathBuf::from("psql")
    }
}

fn read_document(path: &Path) -> Result<Document, OracleError> {
    let text = fs::read_to_string(path).map_err(|e| problem(path, e))?;
    Ok(Document::read(&text)
        .map_err(|found| mistakes(&found))?
        .document)
}

fn mistakes(found: &[topology::Mistake]) -> OracleError {
    let lines: Vec<String> = found.iter().map(ToString::to_string).collect();
    OracleError::Topology {
        mistakes: lines.join("; "),
    }
}

/// The document for another number of shards: with one, it owns every range whole.
fn for_shards(document: &Document, count: usize) -> Document {
    let mut document = document.clone();
    if count == 1 {
        for group in &mut document.shard_groups {
            group.key_ranges.truncate(1);
            for range in &mut group.key_ranges {
                (range.start, range.end) = (None, None);
            }
        }
    }
    document
}

fn port_of(folder: &Path, uid: &str, depth: usize) -> Option<u16> {
    let own = folder.join(uid).join("port");
    if let Ok(text) = fs::read_to_string(own) {
        return text.trim().parse().ok();
    }
    if depth == 0 {
        return None;
    }
    let children = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    children
        .filter(|path| path.is_dir())
        .find_map(|path| port_of(&path, uid, depth - 1))
}

/// The log files of the servers below a folder.
fn find_logs(folder: &Path, depth: usize, logs: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_file() && path.ends_with("log") {
            logs.push(path);
        } else if path.is_dir() && depth > 0 && !path.ends_with("data") {
            find_logs(&path, depth - 1, logs);
        }
    }
}
