//! What the tests share: servers, a router in front of them, and what is asked of either.

use std::fmt::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use cluster::{Binaries, LocalCluster, Spec};
use testkit::client::{Address, Client};
use tokio::process::{Child, Command};

/// Accounts and rows, spread over two shards by `id`.
const TOPOLOGY: &str = r#"{
  "shard_indexes": {"by_id": {"type": "xxhash", "columns": ["id"]}},
  "shard_groups": [
    {"uid": "main", "key_ranges": [{"shard_uid": "store-1"}]},
    {"uid": "spread", "default_shard_index": "by_id", "key_ranges": [
      {"shard_uid": "store-1", "end": "80"}, {"shard_uid": "store-2", "start": "80"}]}
  ],
  "databases": {"postgres": {"schemas": {"public": {"tables": {
    "t": {"shard_group": "spread"}, "account": {"shard_group": "spread"}}}}}}
}"#;

/// Ids that live on the first and on the second shard.
pub(crate) const HOMES: [i64; 2] = [3203, 32];

/// Servers and a folder; the router comes and goes.
pub(crate) struct Bed {
    pub(crate) servers: Vec<LocalCluster>,
    folder: tempfile::TempDir,
    starts: usize,
}

/// A running router.
pub(crate) struct Running {
    child: Child,
    pub(crate) address: Address,
}

// === impl Bed ===

impl Bed {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("kx-").tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let binaries = Binaries::find().unwrap();
        let specs = (1..=2).map(|number| Spec::fast(folder.path().join(format!("s{number}"))));
        let servers = LocalCluster::start_all(&binaries, specs.collect())
            .await
            .unwrap();
        let store = store::Store::open(&folder.path().join("store.db"))
            .await
            .unwrap();
        let revision = store::NewRevision {
            document: topology::Document::read(TOPOLOGY).unwrap().document,
            author: "test".to_owned(),
            comment: String::new(),
        };
        store.put(0, revision).await.unwrap();
        Self {
            servers,
            folder,
            starts: 0,
        }
    }

    /// A router before the servers themselves.
    pub(crate) async fn router(&mut self, more: &str) -> Running {
        let places: Vec<String> = self.servers.iter().map(LocalCluster::address).collect();
        self.router_before(&places, more).await
    }

    /// A router that finds the shards at these places.
    pub(crate) async fn router_before(&mut self, places: &[String], more: &str) -> Running {
        self.starts += 1;
        let mut text = "listen = \"127.0.0.1:0\"\nstore = \"store.db\"\nauth = \"trust\"\n\
                        [router]\nuser = \"postgres\"\n"
            .to_owned();
        for (number, place) in (1..).zip(places) {
            let _ = writeln!(text, "[shards.store-{number}]\nprimary = \"{place}\"");
        }
        text.push_str(more);
        let config = self.folder.path().join("k.toml");
        std::fs::write(&config, text).unwrap();
        let output = self.folder.path().join(format!("output-{}", self.starts));
        let file = std::fs::File::create(&output).unwrap();
        let child = Command::new(env!("CARGO_BIN_EXE_kintsugi"))
            .args(["serve", "--config", config.to_str().unwrap()])
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut port = None;
        eventually("the router is ready", async || {
            port = printed(&output)
                .lines()
                .find_map(|line| line.strip_prefix("ready: 127.0.0.1:")?.parse().ok());
            port.is_some()
        })
        .await;
        let address = Address::local(port.unwrap(), "postgres");
        Running { child, address }
    }

    /// What a shard itself answers.
    pub(crate) async fn direct(&self, shard: usize, sql: &str) -> Vec<String> {
        let address = Address::local(self.servers[shard].port(), "postgres");
        let mut client = Client::connect(&address).await.unwrap();
        let rows = ask(&mut client, sql).await;
        client.close().await;
        rows
    }

    /// A number from both shards, added.
    pub(crate) async fn sum(&self, sql: &str) -> i64 {
        let mut sum = 0;
        for shard in 0..self.servers.len() {
            sum += self.direct(shard, sql).await[0].parse::<i64>().unwrap();
        }
        sum
    }

    /// Waits until no shard has work of clients under way, not even an open transaction.
    pub(crate) async fn quiet(&self, within: Duration) {
        const BUSY: &str = "select count(*) from pg_stat_activity where backend_type = 'client backend' \
                            and state <> 'idle' and pid <> pg_backend_pid()";
        const WHAT: &str = "select concat_ws(' ', state, wait_event, left(query, 60)) from pg_stat_activity \
                            where backend_type = 'client backend' and state <> 'idle' \
                            and pid <> pg_backend_pid()";
        let began = Instant::now();
        while self.sum(BUSY).await > 0 {
            if began.elapsed() > within {
                let mut left = self.direct(0, WHAT).await;
                left.extend(self.direct(1, WHAT).await);
                panic!("shards are still at work: {left:?}");
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn stop(mut self) {
        for server in &mut self.servers {
            server.stop().await.unwrap();
        }
    }
}

// === impl Running ===

impl Running {
    pub(crate) async fn client(&self) -> Client {
        Client::connect(&self.address).await.unwrap()
    }

    pub(crate) fn is_running(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Dies at once.
    pub(crate) async fn kill(mut self) {
        self.child.kill().await.unwrap();
    }

    /// The memory that it holds.
    pub(crate) fn resident_mib(&self) -> u64 {
        let path = format!("/proc/{}/status", self.child.id().unwrap());
        let text = std::fs::read_to_string(path).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kib = line.unwrap().trim().trim_end_matches(" kB");
        kib.parse::<u64>().unwrap() / 1024
    }
}

/// Runs SQL that must succeed and gives the first column of its first answer.
pub(crate) async fn ask(client: &mut Client, sql: &str) -> Vec<String> {
    let reply = client.simple(sql).await.unwrap();
    let error = reply.error().map(|error| error.message.clone());
    assert_eq!(error, None, "{sql}");
    let first = |row: Vec<Option<String>>| row.into_iter().next().flatten().unwrap_or_default();
    reply.texts().into_iter().map(first).collect()
}

/// Waits, within bounds, until something holds.
pub(crate) async fn eventually(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let began = Instant::now();
    while !holds().await {
        assert!(began.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

fn printed(output: &Path) -> String {
    std::fs::read_to_string(output).unwrap_or_default()
}
