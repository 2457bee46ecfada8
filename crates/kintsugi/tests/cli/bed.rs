//! What the tests share: folders, the binary, clients.

use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::{Duration, Instant};

use testkit::client::{Address, Client};
use testkit::router::Router;

/// Two shards, and table `t` of any database spread over them by `id`.
pub(crate) const TWO: &str = r#"{
  "shard_indexes": {"by_id": {"type": "xxhash", "columns": ["id"]}},
  "shard_groups": [
    {"uid": "main", "key_ranges": [{"shard_uid": "store-1"}]},
    {"uid": "spread", "default_shard_index": "by_id", "key_ranges": [
      {"shard_uid": "store-1", "end": "80"}, {"shard_uid": "store-2", "start": "80"}]}
  ],
  "databases": {"shop": {"schemas": {"public": {"tables": {"t": {"shard_group": "spread"}}}}}}
}"#;

/// A folder that PostgreSQL's user can reach.
pub(crate) fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new()
        .prefix("kb-")
        .tempdir()
        .expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("a folder of our own");
    folder
}

/// A file in a folder.
pub(crate) fn write(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    text_of(&path)
}

/// A path as an argument.
pub(crate) fn text_of(path: &Path) -> String {
    path.to_str().expect("a plain path").to_owned()
}

/// The binary.
pub(crate) fn program() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_kintsugi"))
}

/// Runs the binary to its end.
pub(crate) async fn run(arguments: &[&str]) -> Output {
    let running = tokio::process::Command::new(program())
        .args(arguments)
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output();
    let ended = tokio::time::timeout(Duration::from_mins(1), running).await;
    ended.expect("it ends").expect("it runs")
}

/// What it printed for people and programs.
pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// What it printed about mistakes.
pub(crate) fn err(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Starts `kintsugi dev --fast` in a folder.
pub(crate) async fn dev(folder: &Path, more: &[&str]) -> Router {
    let data = text_of(&folder.join("data"));
    let mut arguments = vec!["dev", "--fast", "--port", "0", "--data-dir", &data];
    arguments.extend(more);
    Router::start(&program(), &arguments, &folder.join("output"))
        .await
        .expect("it starts")
}

/// A session.
pub(crate) async fn connect(address: &Address) -> Client {
    Client::connect(address).await.expect("a session")
}

/// Runs SQL that must succeed and gives the first column of its last answer.
pub(crate) async fn ask(client: &mut Client, sql: &str) -> Vec<String> {
    let reply = client.simple(sql).await.expect("an answer");
    let error = reply.error().map(|error| error.message.clone());
    assert_eq!(error, None, "{sql}");
    let first = |row: Vec<Option<String>>| row.into_iter().next().flatten().unwrap_or_default();
    reply.texts().into_iter().map(first).collect()
}

/// The SQLSTATE with which SQL fails.
pub(crate) async fn fails(client: &mut Client, sql: &str) -> String {
    let reply = client.simple(sql).await.expect("an answer");
    reply.error().expect("it fails").code.to_string()
}

/// Waits, within bounds, until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
