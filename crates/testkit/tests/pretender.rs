//! The oracle against a router that is plain PostgreSQL in disguise: everything is answered, and a
//! case that says something else is found out.

use std::path::Path;
use std::process::{Command, Output};

fn oracle(words: &[&str]) -> Output {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    Command::new(env!("CARGO_BIN_EXE_oracle"))
        .args([
            "--router",
            env!("CARGO_BIN_EXE_pretender"),
            "--shards",
            "1",
            "--project",
        ])
        .arg(project)
        .args(words)
        .output()
        .expect("the oracle runs")
}

#[test]
fn what_is_plain_postgresql_answers_all() {
    let output = oracle(&[
        "expression key",
        "copy in",
        "savepoint",
        "pipeline",
        "sequence",
    ]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("(100.0 %), 0 refused, 0 wrong"), "{text}");
}
