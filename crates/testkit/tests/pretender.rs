//! The oracle against a router that is plain PostgreSQL in disguise: everything is answered. And what
//! becomes of a server whose parent is killed.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

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

#[test]
fn a_server_ends_when_its_parent_is_killed() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("a folder of our own");
    let topology =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/pagila/topology.json");
    let mut parent = Command::new(env!("CARGO_BIN_EXE_pretender"))
        .args(["dev", "--shards", "1", "--port", "0", "--topology"])
        .arg(topology)
        .arg("--data-dir")
        .arg(folder.path())
        .stdout(Stdio::null())
        .spawn()
        .expect("the parent runs");
    let pid_file = folder.path().join("store-1/data/postmaster.pid");
    let is_ready = || std::fs::read_to_string(&pid_file).is_ok_and(|text| text.contains("ready"));
    assert!(comes_true(is_ready), "the server did not start");
    parent.kill().expect("the parent is killed");
    parent.wait().expect("the parent ends");
    assert!(
        comes_true(|| !pid_file.exists()),
        "the server outlived its parent"
    );
}

fn comes_true(mut is_so: impl FnMut() -> bool) -> bool {
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(30) {
        if is_so() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}
