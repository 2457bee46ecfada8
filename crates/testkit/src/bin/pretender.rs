//! `pretender`: a router that is none. One plain PostgreSQL behind the command line of the router, so
//! that the oracle can be tested itself: every answer is right by definition.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;
use cluster::{Binaries, LocalCluster, Spec};
use tokio::signal::unix::{SignalKind, signal};

/// Looks like `kintsugi`.
#[derive(Debug, Parser)]
enum Arguments {
    /// Starts one PostgreSQL, whatever was asked for.
    Dev {
        /// Has to be 1.
        #[arg(long)]
        shards: usize,
        /// Names the database.
        #[arg(long)]
        topology: PathBuf,
        /// Where the data go.
        #[arg(long)]
        data_dir: PathBuf,
        /// Ignored.
        #[arg(long)]
        port: u16,
        /// Ignored.
        #[arg(long)]
        fast: bool,
    },
}

#[tokio::main]
async fn main() -> ExitCode {
    let Arguments::Dev {
        topology, data_dir, ..
    } = Arguments::parse();
    match serve(&topology, &data_dir).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(&format!("pretender: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn serve(
    topology: &std::path::Path,
    data_dir: &std::path::Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string(topology)?;
    let read = topology::Document::read(&text).map_err(|mistakes| format!("{mistakes:?}"))?;
    let database = read
        .document
        .first_database()
        .unwrap_or("postgres")
        .to_owned();
    let binaries = Binaries::find()?;
    let spec = Spec {
        database: Some(database.clone()),
        ..Spec::fast(data_dir.join("store-1"))
    };
    let mut terminate = signal(SignalKind::terminate())?;
    let mut server = LocalCluster::start(&binaries, spec).await?;
    say(&format!("ready: {}", server.url(&database)));
    terminate.recv().await;
    server.stop().await?;
    Ok(())
}

#[expect(clippy::print_stdout, reason = "a program for people prints")]
fn say(text: &str) {
    println!("{text}");
}
