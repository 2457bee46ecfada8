//! `kintsugi topology ...`: looking at the document and replacing it. Each subcommand makes an
//! [`Outcome`], text and JSON at once, that the caller prints; nothing here prints or ends the process.

mod apply;
mod cluster;
mod fence;
mod foreign;
mod look;

use std::path::PathBuf;
use std::time::Duration;

use indexmap::IndexMap;
use serde_json::{Value, json};

pub use cluster::{Cluster, ClusterError, ClusterFacts};
pub use fence::{FENCED, Fence};
pub use look::validate;

/// How long `apply` waits for every router to take a revision.
const PATIENCE: Duration = Duration::from_secs(30);

/// The subcommands.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum TopologyCommand {
    /// Check a document without a cluster; every mistake is told with its place
    #[command(after_help = "Example:\n  kintsugi topology validate topology.json")]
    Validate {
        /// The document
        file: PathBuf,
    },
    /// Show the topology that is served
    #[command(after_help = "Example:\n  kintsugi topology show --revision 3")]
    Show {
        /// An older revision
        #[arg(long)]
        revision: Option<u64>,
    },
    /// Show what a document would change, or what changed between two revisions
    #[command(after_help = "Example:\n  kintsugi topology diff topology.json")]
    Diff {
        /// The document; without it, revisions are compared
        #[arg(conflicts_with_all = ["from", "to"])]
        file: Option<PathBuf>,
        /// The older revision (default: the one before --to)
        #[arg(long)]
        from: Option<u64>,
        /// The newer revision (default: the one that is served)
        #[arg(long)]
        to: Option<u64>,
    },
    /// Replace the topology; refused if a row would have to move
    #[command(after_help = "Example:\n  kintsugi topology apply topology.json --dry-run")]
    Apply {
        /// The document
        file: PathBuf,
        /// The revision that it replaces (default: the one that is served)
        #[arg(long)]
        expect: Option<u64>,
        /// Why, for the history
        #[arg(long, short, default_value = "")]
        message: String,
        /// Only say what would happen
        #[arg(long)]
        dry_run: bool,
    },
    /// List all revisions, newest first
    #[command(after_help = "Example:\n  kintsugi topology history --json")]
    History,
    /// Say on which shard a key lives
    #[command(after_help = "Example:\n  kintsugi topology shard-of orders 42 --data-dir .kintsugi")]
    ShardOf {
        /// The table: `orders`, `sales.orders`, `shop.sales.orders`
        table: String,
        /// The values of the key's columns, in their order
        key: Vec<String>,
    },
}

/// What a subcommand needs.
pub struct Setting<C> {
    /// Where revisions are kept.
    pub store: store::Store,
    /// The shards that the router's configuration names.
    pub shards: IndexMap<String, topology::ShardEntry>,
    /// The shards and their catalogs.
    pub cluster: C,
    /// Who is at work, for the history.
    pub author: String,
}

/// What came of a subcommand.
#[derive(Debug, PartialEq)]
pub struct Outcome {
    /// For people.
    pub text: String,
    /// For programs.
    pub json: Value,
    /// For the process.
    pub status: Status,
}

/// How a subcommand ended; its number is the process's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// As asked.
    Done = 0,
    /// It was refused, and nothing was changed.
    Refused = 1,
    /// It could not be carried out.
    Failed = 3,
}

/// A subcommand could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// The document could not be read from its file.
    #[error("{} could not be read", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: std::io::Error,
    },
    /// The store failed.
    #[error("the store failed")]
    Store {
        /// Why.
        #[source]
        source: store::StoreError,
    },
    /// A shard failed.
    #[error("a shard could not be asked")]
    Cluster {
        /// Why.
        #[source]
        source: ClusterError,
    },
    /// There is no such revision.
    #[error("there is no revision {number}")]
    NoRevision {
        /// Its number.
        number: u64,
    },
    /// A revision that is served is not sound under this configuration.
    #[error("revision {number} is not sound: {}", list(mistakes))]
    Unsound {
        /// Its number.
        number: u64,
        /// Why.
        mistakes: Vec<topology::Mistake>,
    },
}

/// Carries out a subcommand.
///
/// # Errors
///
/// It could not be carried out. A refusal is not an error but an outcome.
pub async fn run<C: Cluster>(
    command: TopologyCommand,
    setting: &Setting<C>,
) -> Result<Outcome, CommandError> {
    match command {
        TopologyCommand::Validate { file } => validate(&file, &setting.shards),
        TopologyCommand::Show { revision } => look::show(setting, revision).await,
        TopologyCommand::Diff {
            file: Some(file), ..
        } => look::diff_file(setting, &file).await,
        TopologyCommand::Diff {
            file: None,
            from,
            to,
        } => look::diff_revisions(setting, from, to).await,
        TopologyCommand::Apply {
            file,
            expect,
            message,
            dry_run,
        } => {
            let wish = apply::Wish {
                file,
                expect,
                message,
                dry_run,
            };
            apply::apply(setting, wish).await
        }
        TopologyCommand::History => look::history(setting).await,
        TopologyCommand::ShardOf { table, key } => look::shard_of(setting, &table, &key).await,
    }
}

// === impl Setting ===

impl<C> Setting<C> {
    /// The topology that is served: the newest revision, or that of a cluster without a document.
    async fn served(&self) -> Result<topology::Topology, CommandError> {
        match self
            .store
            .current()
            .await
            .map_err(|source| CommandError::Store { source })?
        {
            Some(revision) => self.compile(&revision),
            None => {
                topology::Topology::single(&self.shards).map_err(|mistakes| CommandError::Unsound {
                    number: 0,
                    mistakes,
                })
            }
        }
    }

    async fn revision(&self, number: u64) -> Result<store::Revision, CommandError> {
        let found = self.store.revision(number).await;
        let found = found.map_err(|source| CommandError::Store { source })?;
        found.ok_or(CommandError::NoRevision { number })
    }

    fn compile(&self, revision: &store::Revision) -> Result<topology::Topology, CommandError> {
        let number = revision.number;
        topology::Topology::parse(&revision.document, number, &self.shards)
            .map_err(|mistakes| CommandError::Unsound { number, mistakes })
    }
}

// === impl Outcome ===

impl Outcome {
    fn done(text: String, json: Value) -> Self {
        Self {
            text,
            json,
            status: Status::Done,
        }
    }

    /// A document with mistakes.
    fn mistaken(mistakes: &[topology::Mistake]) -> Self {
        let text = list(mistakes);
        Self {
            text,
            json: json!({ "mistakes": as_json(mistakes) }),
            status: Status::Refused,
        }
    }
}

/// One line a mistake, with its hint below.
fn list(mistakes: &[topology::Mistake]) -> String {
    let mut lines = Vec::new();
    for mistake in mistakes {
        lines.push(format!("{mistake}\n"));
        lines.extend(mistake.hint().map(|hint| format!("    hint: {hint}\n")));
    }
    lines.concat()
}

fn as_json(mistakes: &[topology::Mistake]) -> Vec<Value> {
    let one = |mistake: &topology::Mistake| {
        json!({
            "path": mistake.place.path,
            "line": mistake.place.position.map(|position| position.line),
            "column": mistake.place.position.map(|position| position.column),
            "is_warning": mistake.weight() == topology::Weight::Warning,
            "message": mistake.kind.to_string(),
            "hint": mistake.hint(),
        })
    };
    mistakes.iter().map(one).collect()
}

fn read_file(path: &std::path::Path) -> Result<String, CommandError> {
    let text = std::fs::read_to_string(path);
    text.map_err(|source| CommandError::File {
        path: path.to_owned(),
        source,
    })
}

#[cfg(test)]
mod tests;
