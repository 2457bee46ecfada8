//! The command line.

use std::io::Write as _;
use std::path::PathBuf;

use crate::config::Config;
use crate::place::Which;
use crate::shards::{Shards, author};
use crate::stop::Stop;
use crate::topology_command::{self, Outcome, Setting, TopologyCommand};
use crate::{Failure, dev, router, serve, status};

pub use crate::failure::{FAILED, REFUSED};

const DEV_HELP: &str = "Examples:
  kintsugi dev --shards 2 --example storefront
  kintsugi dev --shards 4 --fast --exec 'psql -c \"select 1\"'";
const SERVE_HELP: &str = "Example:
  kintsugi serve --config kintsugi.toml

Every key of the file is in docs/reference/config.md.";
const TOPOLOGY_HELP: &str = "Examples:
  kintsugi topology validate topology.json
  kintsugi topology apply topology.json --dry-run
  kintsugi topology shard-of orders 42 --data-dir .kintsugi";
const STATUS_HELP: &str = "Example:
  kintsugi status --json";

/// Many PostgreSQL servers as one database.
#[derive(Debug, clap::Parser)]
#[command(name = "kintsugi", version, max_term_width = 100)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, clap::Subcommand)]
enum Command {
    /// Run shards of this machine's own and a router, for local development
    #[command(after_help = DEV_HELP)]
    Dev(DevArguments),
    /// Run a router in front of shards that others run
    #[command(after_help = SERVE_HELP)]
    Serve {
        /// The configuration
        #[arg(long, value_name = "FILE")]
        config: PathBuf,
    },
    /// Look at the topology, or replace it
    #[command(after_help = TOPOLOGY_HELP)]
    Topology {
        /// What to do with it.
        #[command(subcommand)]
        command: TopologyCommand,
        #[command(flatten)]
        common: Common,
    },
    /// Show the routers, the shards, and what is under way
    #[command(after_help = STATUS_HELP)]
    Status {
        #[command(flatten)]
        common: Common,
    },
}

/// What every command on a cluster takes.
#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    which: Which,
    /// For programs
    #[arg(long, global = true)]
    json: bool,
    /// What is logged
    #[arg(
        long,
        env = "KINTSUGI_LOG",
        default_value = "error",
        value_name = "FILTER",
        global = true
    )]
    log: String,
}

/// Arguments of `kintsugi dev`.
#[derive(Debug, clap::Args)]
struct DevArguments {
    /// How many shards; those that the data folder has, else 2
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    shards: Option<u16>,
    /// Begin with an example: its topology, its schema, and rows made on the spot
    #[arg(long, conflicts_with = "topology")]
    example: Option<dev::Example>,
    /// How many orders the example has
    #[arg(long, default_value_t = dev::ORDERS, value_parser = clap::value_parser!(u64).range(example::ORDERS_MIN..=example::ORDERS_MAX))]
    orders: u64,
    /// The topology document to begin with
    #[arg(long, value_name = "FILE")]
    topology: Option<PathBuf>,
    /// Where the router listens on 127.0.0.1; 0: any free port [default: 6432, with --exec 0]
    #[arg(long)]
    port: Option<u16>,
    /// Where data are kept [default: .kintsugi, with --exec a fresh temporary folder]
    #[arg(long, value_name = "DIR")]
    data_dir: Option<PathBuf>,
    /// Trade the safety of data on power loss for speed
    #[arg(long)]
    fast: bool,
    /// Run this with `sh -c`, PGHOST, PGPORT, PGUSER and PGDATABASE set, then stop and end with its status
    #[arg(long, value_name = "CMD")]
    exec: Option<String>,
    /// What is logged
    #[arg(
        long,
        env = "KINTSUGI_LOG",
        default_value = "warn",
        value_name = "FILTER"
    )]
    log: String,
}

/// Runs what the command line says; the value is the status of the process.
///
/// # Errors
/// It could not be carried out.
pub async fn run(arguments: Arguments) -> Result<u8, Failure> {
    match arguments.command {
        Command::Dev(dev) => run_dev(dev).await,
        Command::Serve { config } => {
            until_stopped(async |stop: Stop| serve::run(&config, stop.gently).await).await
        }
        Command::Topology { command, common } => {
            set_up_log(&common.log)?;
            let outcome = Box::pin(run_topology(command, &common.which)).await?;
            Ok(print(&outcome, common.json))
        }
        Command::Status { common } => {
            set_up_log(&common.log)?;
            let (setting, revision) = setting(common.which.config()?).await?;
            let looked = status::run(&setting.store, &setting.cluster, revision).await;
            Ok(print(&looked?, common.json))
        }
    }
}

async fn run_dev(arguments: DevArguments) -> Result<u8, Failure> {
    set_up_log(&arguments.log)?;
    let options = dev::Options {
        shards: arguments.shards,
        example: arguments.example,
        orders: arguments.orders,
        topology: arguments.topology,
        port: arguments.port,
        data_dir: arguments.data_dir,
        durability: if arguments.fast {
            cluster::Durability::Fast
        } else {
            cluster::Durability::Durable
        },
        exec: arguments.exec,
    };
    until_stopped(async |stop| Box::pin(dev::run(options, stop)).await).await
}

async fn run_topology(command: TopologyCommand, which: &Which) -> Result<Outcome, Failure> {
    if let TopologyCommand::Validate { file } = &command
        && !which.exists()
    {
        let checked = topology_command::validate(file, &indexmap::IndexMap::new());
        return checked.map_err(Failure::Topology);
    }
    let (setting, _) = setting(which.config()?).await?;
    let done = Box::pin(topology_command::run(command, &setting)).await;
    done.map_err(Failure::Topology)
}

/// The store and the shards of a cluster, and the revision that is served.
async fn setting(config: Config) -> Result<(Setting<Shards>, u64), Failure> {
    if !config.store.exists() {
        return Err(Failure::Refused {
            what: format!("the store {} is not there yet", config.store.display()),
            hint: "start a router with this configuration first".to_owned(),
        });
    }
    let opened = store::Store::open(&config.store).await;
    let store = opened.map_err(Failure::Store)?;
    let shards = config.shards();
    let topology = router::current_topology(&store, &shards).await?;
    let revision = topology.revision();
    let setting = Setting {
        store,
        shards,
        cluster: Shards::new(config, topology),
        author: author(),
    };
    Ok((setting, revision))
}

fn set_up_log(filter: &str) -> Result<(), Failure> {
    telemetry::init(telemetry::LogFormat::Text, filter).map_err(Failure::Log)
}

/// Prints an outcome: what was done to standard output, a refusal to people to standard error.
fn print(outcome: &Outcome, as_json: bool) -> u8 {
    // A reader that went away has no need of it.
    let _ = if as_json {
        writeln!(std::io::stdout(), "{:#}", outcome.json)
    } else if outcome.status == topology_command::Status::Refused {
        write!(std::io::stderr(), "{}", outcome.text)
    } else {
        write!(std::io::stdout(), "{}", outcome.text)
    };
    outcome.status as u8
}

/// Runs something that ends by itself, or soon after a signal; a second signal ends it at once.
async fn until_stopped(work: impl AsyncFnOnce(Stop) -> Result<u8, Failure>) -> Result<u8, Failure> {
    let stop = Stop::default();
    let mut working = Box::pin(work(stop.clone()));
    tokio::select! {
        ended = &mut working => ended,
        caught = stop.on_signals() => match caught {
            // Servers of ours see our end by themselves.
            Ok(()) => Ok(130),
            Err(source) => Err(Failure::Signals(source)),
        },
    }
}
