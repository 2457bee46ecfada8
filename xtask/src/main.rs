//! Chores of the workspace that are written in Rust: `cargo run -p xtask -- CHORE`.
//!
//! It reads the project's sources as text and never links the product, so that a chore takes seconds.
//! Read first: `tidy` (what is checked), `docs` (which pages are generated).

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

mod docs;
mod source;
mod sqlstate;
mod tidy;
mod tree;

const USAGE: &str = "usage: xtask tidy | docs | sqlstate [ERRCODES]";

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let done = match words.next().as_deref() {
        Some("sqlstate") => sqlstate::generate(&root, words.next().as_deref()),
        Some("docs") => docs::write(&root),
        Some("tidy") => tidy::report(&root),
        _ => Err(io::Error::other(USAGE)),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(err) => {
            // Nobody is left to tell when standard error is closed.
            let _ = writeln!(io::stderr(), "{err}");
            ExitCode::FAILURE
        }
    }
}
