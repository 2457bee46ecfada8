//! Writes over several shards that fail on one of them, or are cancelled, by many sessions at once:
//! nothing of them is kept anywhere.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use testkit::client::{self, Address, Client, Extended, Reply};
use testkit::router::Router;

/// Four shards, and table `t` spread over them by `id`.
const TOPOLOGY: &str = r#"{
  "shard_indexes": {"by_id": {"type": "xxhash", "columns": ["id"]}},
  "shard_groups": [
    {"uid": "main", "key_ranges": [{"shard_uid": "store-1"}]},
    {"uid": "spread", "default_shard_index": "by_id", "key_ranges": [
      {"shard_uid": "store-1", "end": "40"}, {"shard_uid": "store-2", "start": "40", "end": "80"},
      {"shard_uid": "store-3", "start": "80", "end": "c0"}, {"shard_uid": "store-4", "start": "c0"}]}
  ],
  "databases": {"shop": {"schemas": {"public": {"tables": {"t": {"shard_group": "spread"}}}}}}
}"#;
const SHARDS: usize = 4;
const SESSIONS: i64 = 4;
const ROUNDS: i64 = 40;
/// Each session has this many rows of its own.
const ROWS: i64 = 24;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_kept_of_a_write_that_fails() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("a folder of our own");
    let router = start(folder.path()).await;
    let mut client = Client::connect(&router.address).await.expect("a session");
    let make = "CREATE TABLE t (id bigint PRIMARY KEY, n bigint NOT NULL)";
    assert_eq!(code(&client.simple(make).await.expect("an answer")), None);
    let values: Vec<String> = (0..SESSIONS * ROWS)
        .map(|id| format!("({id}, 0)"))
        .collect();
    let fill = format!("INSERT INTO t VALUES {}", values.join(", "));
    assert_eq!(code(&client.simple(&fill).await.expect("an answer")), None);

    let address = &router.address;
    let folder = folder.path();
    tokio::join!(
        play(folder, address, 0),
        play(folder, address, 1),
        play(folder, address, 2),
        play(folder, address, 3)
    );
    router.stop().await.expect("it stops");
}

async fn start(folder: &Path) -> Router {
    let topology = folder.join("topology.json");
    std::fs::write(&topology, TOPOLOGY).expect("a file");
    let text = |path: &Path| path.to_str().expect("a plain path").to_owned();
    let (topology, data) = (text(&topology), text(&folder.join("data")));
    let arguments = [
        "dev",
        "--fast",
        "--port",
        "0",
        "--shards",
        "4",
        "--topology",
        &topology,
        "--data-dir",
        &data,
    ];
    let program = Path::new(env!("CARGO_BIN_EXE_kintsugi"));
    Router::start(program, &arguments, &folder.join("output"))
        .await
        .expect("it starts")
}

/// One session: its writes fail in turn by each of the ways, and after each the shards are looked at.
async fn play(folder: &Path, address: &Address, session: i64) {
    let client = Client::connect(address).await.expect("a session");
    let mut client = client.with_patience(Duration::from_secs(15));
    let mut shards = Vec::new();
    for nr in 1..=SHARDS {
        shards.push(shard(folder, address, nr).await);
    }
    let (low, high) = (session * ROWS, (session + 1) * ROWS);
    let mine = format!("id >= {low} AND id < {high}");
    for round in 0..ROUNDS {
        // The row that fails lies on another shard each time.
        let bad = low + (round * 7 + session) % ROWS;
        let n = round + 1;
        let update = format!("UPDATE t SET n = {n} / (id - {bad}) + {n} WHERE {mine}");
        let done = match round % 5 {
            0 => simple(&mut client, &update).await,
            1 => extended(&mut client, &update).await,
            2 => {
                let before = format!("UPDATE t SET n = {n} WHERE {mine}");
                let failed = simple(&mut client, &format!("BEGIN; {before}; {update}")).await;
                assert_eq!(simple(&mut client, "COMMIT").await, None, "a rollback");
                failed
            }
            3 => duplicate(&mut client, low, bad).await,
            _ => cancelled(&mut client, address, &mine, n).await,
        };
        let expected = ["22012", "22012", "22012", "23505", "57014"];
        let way = usize::try_from(round % 5).expect("it is small");
        assert_eq!(
            done.as_deref(),
            Some(expected[way]),
            "round {round} of session {session}"
        );
        look(
            &mut shards,
            &mine,
            &format!("round {round} of session {session}"),
        )
        .await;
    }
    client.close().await;
}

async fn simple(client: &mut Client, sql: &str) -> Option<String> {
    code(&client.simple(sql).await.expect(sql))
}

async fn extended(client: &mut Client, sql: &str) -> Option<String> {
    let statement = Extended {
        sql: sql.to_owned(),
        ..Extended::default()
    };
    code(&client.extended(&statement).await.expect("an answer"))
}

/// Inserts new rows, of which the last is there already.
async fn duplicate(client: &mut Client, low: i64, bad: i64) -> Option<String> {
    let fresh: Vec<String> = (0..ROWS)
        .map(|at| format!("({}, 1)", 10_000 + low + at))
        .collect();
    let sql = format!("INSERT INTO t VALUES {}, ({bad}, 1)", fresh.join(", "));
    simple(client, &sql).await
}

/// Writes slowly until it is cancelled.
async fn cancelled(client: &mut Client, address: &Address, mine: &str, n: i64) -> Option<String> {
    let key = client.cancel_key();
    let sql = format!("UPDATE t SET n = {n} WHERE {mine} AND pg_sleep(0.5) IS NOT NULL");
    let cancel = async {
        // At another moment of the statement each time.
        tokio::time::sleep(Duration::from_millis(n.unsigned_abs() * 13 % 200 + 5)).await;
        client::cancel(address, key).await.expect("it is asked");
    };
    let (reply, ()) = tokio::join!(client.simple(&sql), cancel);
    code(&reply.expect("an answer"))
}

/// A session with a shard, past the router.
async fn shard(folder: &Path, address: &Address, nr: usize) -> Client {
    let path = find(folder, &format!("store-{nr}")).expect("a port file");
    let port = std::fs::read_to_string(path).expect("a port");
    let address = Address::local(port.trim().parse().expect("a port"), &address.database);
    Client::connect(&address)
        .await
        .expect("a session with a shard")
}

fn find(folder: &Path, uid: &str) -> Option<std::path::PathBuf> {
    let own = folder.join(uid).join("port");
    if own.is_file() {
        return Some(own);
    }
    let mut children = folder.read_dir().ok()?.flatten().map(|entry| entry.path());
    children.find_map(|path| path.is_dir().then(|| find(&path, uid)).flatten())
}

/// Every row is as it was, none is new, nothing is prepared.
async fn look(shards: &mut [Client], mine: &str, when: &str) {
    let changed = format!(
        "SELECT id, n FROM t WHERE n <> 0 AND {mine} OR id >= 10000 \
                           UNION ALL SELECT 0, count(*) FROM pg_prepared_xacts HAVING count(*) > 0"
    );
    let mut rows = 0;
    for (at, shard) in shards.iter_mut().enumerate() {
        let reply = shard.simple(&changed).await.expect("an answer");
        assert_eq!(
            reply.texts(),
            Vec::<Vec<_>>::new(),
            "kept on store-{} after {when}",
            at + 1
        );
        let count = format!("SELECT count(*) FROM t WHERE {mine}");
        let reply = shard.simple(&count).await.expect("an answer");
        let count: i64 = reply.texts()[0][0]
            .as_ref()
            .expect("a count")
            .parse()
            .expect("a number");
        assert!(count > 0, "each shard has rows to write");
        rows += count;
    }
    assert_eq!(rows, ROWS, "after {when}");
}

fn code(reply: &Reply) -> Option<String> {
    reply.error().map(|error| error.code.to_string())
}
