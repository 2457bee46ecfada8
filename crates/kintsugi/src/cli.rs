//! The command line.

use std::path::PathBuf;

use crate::stop::Stop;
use crate::{Failure, dev};

pub use crate::failure::{FAILED, REFUSED};

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
    #[command(after_help = "Example: kintsugi dev --shards 2 --fast --exec 'psql -c \"select 1\"'")]
    Dev(DevArguments),
}

/// Arguments of `kintsugi dev`.
#[derive(Debug, clap::Args)]
struct DevArguments {
    /// How many shards; those that the data folder has, else 2
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    shards: Option<u16>,
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
    }
}

async fn run_dev(arguments: DevArguments) -> Result<u8, Failure> {
    telemetry::init(telemetry::LogFormat::Text, &arguments.log).map_err(Failure::Log)?;
    let options = dev::Options {
        shards: arguments.shards,
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
    until_stopped(|stop| dev::run(options, stop)).await
}

/// Runs something that ends by itself, or soon after a signal; a second signal ends it at once.
async fn until_stopped<F>(work: impl FnOnce(Stop) -> F) -> Result<u8, Failure>
where
    F: Future<Output = Result<u8, Failure>>,
{
    let stop = Stop::default();
    let working = Box::pin(work(stop.clone()));
    tokio::pin!(working);
    tokio::select! {
        ended = &mut working => ended,
        caught = stop.on_signals() => match caught {
            // Servers of ours see our end by themselves.
            Ok(()) => Ok(130),
            Err(source) => Err(Failure::Signals(source)),
        },
    }
}
