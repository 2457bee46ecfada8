//! The one binary: reads the command line, runs a command, prints what came of it, and ends with an honest status.

use std::io::Write as _;
use std::process::ExitCode;

use clap::Parser as _;
use kintsugi::cli::{self, Arguments};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            let _ = writeln!(
                std::io::stderr(),
                "error: no runtime could be made: {error}"
            );
            return ExitCode::from(cli::FAILED);
        }
    };
    let ended = runtime.block_on(cli::run(arguments));
    // Whatever still reads files or looks up names has nothing to tell anybody any more.
    runtime.shutdown_background();
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(failure) => {
            let _ = write!(std::io::stderr(), "{}", failure.for_people());
            ExitCode::from(failure.status())
        }
    }
}
