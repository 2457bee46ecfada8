//! `kintsugi serve` in front of shards that others run.

use std::fmt::Write as _;
use std::path::Path;

use cluster::{Auth, Binaries, LocalCluster, Spec};
use testkit::client::{Address, Client, ClientError};

use crate::bed::{ask, connect, eventually, fails, folder, program, write};

const TOPOLOGY: &str = r#"{
  "shard_groups": [
    {"uid": "main", "key_ranges": [{"shard_uid": "store-1"}]},
    {"uid": "other", "key_ranges": [{"shard_uid": "store-2"}]}
  ],
  "authoritative_shard_group": "main",
  "databases": {"postgres": {"schemas": {"public": {"tables": {"far": {"shard_group": "other"}}}}}}
}"#;

/// Servers, not all of which need to run.
async fn clusters(folder: &Path, auth: &Auth, settings: &[(&str, &str)]) -> Vec<LocalCluster> {
    let binaries = Binaries::find().expect("PostgreSQL");
    let spec = |number| {
        let mut spec = Spec::fast(folder.join(format!("s{number}")));
        spec.auth = auth.clone();
        let more = settings
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        spec.settings.extend(more);
        spec
    };
    let specs = (1..=2).map(spec).collect();
    LocalCluster::start_all(&binaries, specs)
        .await
        .expect("servers")
}

fn config(folder: &Path, clusters: &[LocalCluster], head: &str, tail: &str) -> String {
    let mut shards = String::new();
    for (number, cluster) in (1..).zip(clusters) {
        let primary = cluster.address();
        let _ = writeln!(shards, "[shards.store-{number}]\nprimary = \"{primary}\"");
    }
    let text = format!(
        "listen = \"127.0.0.1:0\"\nstore = \"store.db\"\n{head}\n[router]\nuser = \"postgres\"\n{tail}\n{shards}"
    );
    write(folder, "k.toml", &text)
}

/// Starts a router. Its ready line has no user and no database, so it is read here.
async fn serve(folder: &Path, config: &str) -> (tokio::process::Child, u16) {
    let output = folder.join("output");
    let file = std::fs::File::create(&output).expect("a file");
    let child = tokio::process::Command::new(program())
        .args(["serve", "--config", config])
        .stdout(file.try_clone().expect("a file"))
        .stderr(file)
        .kill_on_drop(true)
        .spawn()
        .expect("it runs");
    let mut port = None;
    eventually("the router is ready", async || {
        port = printed(folder)
            .lines()
            .find_map(|line| line.strip_prefix("ready: 127.0.0.1:")?.parse().ok());
        port.is_some()
    })
    .await;
    (child, port.expect("it is ready"))
}

fn printed(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("output")).unwrap_or_default()
}

async fn stop(mut child: tokio::process::Child) {
    let pid = child.id().and_then(|pid| i32::try_from(pid).ok());
    let pid = nix::unistd::Pid::from_raw(pid.expect("it runs"));
    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM).expect("it runs");
    let status = child.wait().await.expect("it ends");
    assert_eq!(status.code(), Some(0));
}

#[tokio::test]
async fn only_the_right_password_opens() {
    let folder = folder();
    let auth = Auth::Scram {
        password: "of the shards".to_owned(),
    };
    let mut servers = clusters(folder.path(), &auth, &[]).await;
    let verifier = net::scram::Verifier::from_password("a pass").expect("a verifier");
    let tail = format!(
        "password_file = \"router.password\"\n\
         [users.postgres]\npassword = \"of the shards\"\n\
         [users.app]\nverifier = \"{}\"\nshard_password = \"at the shards\"\n",
        verifier.to_secret_text()
    );
    write(folder.path(), "router.password", "of the shards\n");
    let config = config(folder.path(), &servers, "", &tail);
    let (router, port) = serve(folder.path(), &config).await;
    let login = async |user: &str, password: &str| {
        let mut address = Address::local(port, "postgres");
        address.user = user.to_owned();
        address.password = Some(password.to_owned());
        match Client::connect(&address).await {
            Ok(mut client) => ask(&mut client, "select current_user").await.concat(),
            Err(ClientError::Refused { diagnostic }) => diagnostic.code.to_string(),
            Err(other) => panic!("{other}"),
        }
    };
    assert_eq!(login("postgres", "of the shards").await, "postgres");
    assert_eq!(login("postgres", "of the shardz").await, "28P01");
    assert_eq!(login("nobody", "x").await, "28P01");
    assert_eq!(login("app", "x").await, "28P01");
    let mut address = Address::local(port, "postgres");
    address.password = Some("of the shards".to_owned());
    let mut owner = connect(&address).await;
    ask(&mut owner, "create role app login password 'at the shards'").await;
    assert_eq!(login("app", "a pass").await, "app");
    owner.close().await;
    stop(router).await;
    let shown = printed(folder.path());
    assert!(
        !shown.contains("of the shards") && !shown.contains("SCRAM-SHA"),
        "{shown}"
    );
    for server in &mut servers {
        server.stop().await.expect("it stops");
    }
}

#[tokio::test]
async fn a_shard_that_is_down_at_start_is_named_and_comes_back() {
    let folder = folder();
    let mut servers = clusters(folder.path(), &Auth::Trust, &[]).await;
    let config = config(folder.path(), &servers, "auth = \"trust\"", "");
    put_topology(folder.path()).await;
    let (router, port) = serve(folder.path(), &config).await;
    let mut client = connect(&Address::local(port, "postgres")).await;
    ask(&mut client, "create table near (id int)").await;
    ask(&mut client, "create table far (id int)").await;
    stop(router).await;

    servers[1].stop().await.expect("it stops");
    let (router, port) = serve(folder.path(), &config).await;
    let shown = printed(folder.path());
    assert!(
        shown.contains("store-2") && shown.contains("goes on without it"),
        "{shown}"
    );
    assert!(!shown.contains('\x1b'), "colours in a file: {shown:?}");
    let mut client = connect(&Address::local(port, "postgres")).await;
    ask(&mut client, "insert into near values (1)").await;
    let code = fails(&mut client, "select * from far").await;
    assert!(code.starts_with("08") || code.starts_with("57"), "{code}");
    servers[1].restart().await.expect("it starts");
    eventually("the shard is back", async || {
        let reply = client.simple("select * from far").await;
        reply.expect("an answer").error().is_none()
    })
    .await;
    eventually("both can be written at once", async || {
        let both = "begin; insert into far values (2); insert into near values (2); commit";
        let reply = client.simple(both).await.expect("an answer");
        let failed = reply.error().is_some();
        if failed {
            client.simple("rollback").await.expect("an answer");
        }
        !failed
    })
    .await;
    assert_eq!(ask(&mut client, "select count(*) from far").await, ["1"]);
    stop(router).await;
    for server in &mut servers {
        server.stop().await.expect("it stops");
    }
}

#[tokio::test]
async fn the_authoritative_shard_is_waited_for() {
    let folder = folder();
    let mut servers = clusters(
        folder.path(),
        &Auth::Trust,
        &[("max_prepared_transactions", "0")],
    )
    .await;
    let config = config(folder.path(), &servers, "auth = \"trust\"", "");
    servers[0].stop().await.expect("it stops");
    let (ready, restarted) = tokio::join!(serve(folder.path(), &config), async {
        eventually("the trouble is told", async || {
            printed(folder.path()).contains("store-1")
        })
        .await;
        assert!(!printed(folder.path()).contains("ready:"));
        servers[0].restart().await
    });
    restarted.expect("it starts");
    let (router, port) = ready;
    let mut client = connect(&Address::local(port, "postgres")).await;
    assert_eq!(ask(&mut client, "select 1").await, ["1"]);
    let shown = printed(folder.path());
    assert!(shown.contains("max_prepared_transactions is 0"), "{shown}");
    stop(router).await;
    for server in &mut servers {
        server.stop().await.expect("it stops");
    }
}

/// Writes the first revision, as a router of an earlier life would have left it.
async fn put_topology(folder: &Path) {
    let store = store::Store::open(&folder.join("store.db"))
        .await
        .expect("a store");
    let revision = store::NewRevision {
        document: topology::Document::read(TOPOLOGY)
            .expect("a document")
            .document,
        author: "test".to_owned(),
        comment: String::new(),
    };
    store.put(0, revision).await.expect("a revision");
}
