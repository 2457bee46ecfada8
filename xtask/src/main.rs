//! Chores of the workspace that are written in Rust: `cargo run -p xtask -- CHORE`.

use std::path::Path;
use std::process::ExitCode;

mod sqlstate;

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let done = match words.next().as_deref() {
        Some("sqlstate") => sqlstate::generate(&root, words.next().as_deref()),
        _ => Err(std::io::Error::other("usage: xtask sqlstate [ERRCODES]")),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            let _ = std::io::Write::write_fmt(&mut std::io::stderr(), format_args!("{err}\n"));
            ExitCode::FAILURE
        }
    }
}
