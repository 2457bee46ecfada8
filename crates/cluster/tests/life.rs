//! Clusters against real PostgreSQL: made, stopped, killed, left behind and found again.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use cluster::{Auth, Binaries, LocalCluster, Spec, StartError};

fn folder() -> tempfile::TempDir {
    let folder = tempfile::Builder::new()
        .prefix("kc-")
        .tempdir()
        .expect("a folder");
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755))
        .expect("a folder of our own");
    folder
}

fn spec(folder: &Path, name: &str) -> Spec {
    Spec {
        template: Some(folder.join("template")),
        ..Spec::fast(folder.join(name))
    }
}

/// Runs SQL with psql and returns its output without decoration.
async fn psql(port: u16, database: &str, password: &str, sql: &str) -> String {
    let binaries = Binaries::find().expect("PostgreSQL");
    let output = tokio::process::Command::new(binaries.program("psql"))
        .args([
            "-X",
            "-q",
            "-A",
            "-t",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-w",
        ])
        .args(["-p", &port.to_string(), "-d", database, "-c", sql])
        .env("PGPASSWORD", password)
        .stdin(Stdio::null())
        .output()
        .await
        .expect("psql");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).expect("UTF-8").trim().to_owned()
}

#[tokio::test]
async fn several_start_side_by_side_and_keep_their_data() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let specs = || {
        (1..=3)
            .map(|n| spec(folder.path(), &format!("s{n}")))
            .collect()
    };
    let mut clusters = LocalCluster::start_all(&binaries, specs()).await.unwrap();
    let ports: Vec<u16> = clusters.iter().map(LocalCluster::port).collect();
    for (n, cluster) in clusters.iter().enumerate() {
        psql(
            cluster.port(),
            "postgres",
            "",
            &format!("create table t as select {n} as n"),
        )
        .await;
    }
    for cluster in &mut clusters {
        cluster.stop().await.unwrap();
        assert!(!cluster.is_running());
    }
    drop(clusters);
    let mut clusters = LocalCluster::start_all(&binaries, specs()).await.unwrap();
    for (n, cluster) in clusters.iter_mut().enumerate() {
        assert_eq!(
            psql(cluster.port(), "postgres", "", "table t").await,
            n.to_string()
        );
        assert_eq!(cluster.port(), ports[n]);
        cluster.stop().await.unwrap();
    }
}

#[tokio::test]
async fn settings_that_shards_need_are_there() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let wanted = Spec {
        database: Some("shop \"x\"".into()),
        ..spec(folder.path(), "s")
    };
    let mut cluster = LocalCluster::start(&binaries, wanted).await.unwrap();
    let sql = "select string_agg(setting, ' ' order by name) from pg_settings where name in \
               ('wal_level', 'max_prepared_transactions', 'listen_addresses', 'server_encoding')";
    let shown = psql(cluster.port(), "shop \"x\"", "", sql).await;
    assert_eq!(shown, "127.0.0.1 100 UTF8 logical");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_killed_server_keeps_what_was_committed() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let mut cluster = LocalCluster::start(&binaries, spec(folder.path(), "s"))
        .await
        .unwrap();
    let port = cluster.port();
    psql(port, "postgres", "", "create table t as select 7 as n").await;
    cluster.kill().await.unwrap();
    assert!(!cluster.is_running());
    cluster.restart().await.unwrap();
    assert_eq!(cluster.port(), port);
    assert_eq!(psql(port, "postgres", "", "table t").await, "7");
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_left_behind_is_ended_at_the_next_start() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let mut first = LocalCluster::start(&binaries, spec(folder.path(), "s"))
        .await
        .unwrap();
    psql(
        first.port(),
        "postgres",
        "",
        "create table t as select 8 as n",
    )
    .await;
    let home = first.folder().to_owned();
    first.stop().await.unwrap();
    drop(first);
    // Started by nobody that we know of, as if its parent had been killed.
    let mut command = tokio::process::Command::new(binaries.program("postgres"));
    command.arg("-D").arg(home.join("data")).current_dir(&home);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    if nix::unistd::Uid::effective().is_root() {
        let user = nix::unistd::User::from_name("postgres").unwrap().unwrap();
        command.uid(user.uid.as_raw()).gid(user.gid.as_raw());
    }
    let mut orphan = command.spawn().unwrap();
    for _ in 0..500 {
        let text = std::fs::read_to_string(home.join("data/postmaster.pid")).unwrap_or_default();
        if text.contains("ready") {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    let reaper = tokio::time::timeout(std::time::Duration::from_secs(30), orphan.wait());
    let (ended, second) = tokio::join!(
        reaper,
        LocalCluster::start(&binaries, spec(folder.path(), "s"))
    );
    assert!(ended.is_ok(), "the orphan was not ended");
    let mut second = second.unwrap();
    assert_eq!(psql(second.port(), "postgres", "", "table t").await, "8");
    second.stop().await.unwrap();
}

#[tokio::test]
async fn a_stale_pid_file_of_a_living_process_is_no_obstacle() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let mut cluster = LocalCluster::start(&binaries, spec(folder.path(), "s"))
        .await
        .unwrap();
    cluster.kill().await.unwrap();
    let file = cluster.folder().join("data/postmaster.pid");
    let text = std::fs::read_to_string(&file).unwrap();
    let rest = text.split_once('\n').unwrap().1;
    std::fs::write(&file, format!("{}\n{rest}", std::process::id())).unwrap();
    cluster.restart().await.unwrap();
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn passwords_are_asked_for() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let auth = Auth::Scram {
        password: "se'cret,=!ä".into(),
    };
    let wanted = Spec {
        auth,
        ..Spec::fast(folder.path().join("s"))
    };
    let mut cluster = LocalCluster::start(&binaries, wanted).await.unwrap();
    assert_eq!(
        psql(cluster.port(), "postgres", "se'cret,=!ä", "select 1").await,
        "1"
    );
    let refused = psql(cluster.port(), "postgres", "wrong", "select 1").await;
    assert!(
        refused.contains("password authentication failed"),
        "{refused}"
    );
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_server_that_cannot_start_shows_its_log() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let mut wanted = spec(folder.path(), "s");
    wanted
        .settings
        .push(("shared_buffers".into(), "nonsense".into()));
    let error = LocalCluster::start(&binaries, wanted).await.unwrap_err();
    assert!(matches!(error, StartError::Ended { .. }), "{error}");
    let tail = error.log_tail().unwrap();
    assert!(
        tail.contains("invalid value for parameter \"shared_buffers\""),
        "{tail}"
    );
    assert!(!error.hint().is_empty());
}

#[tokio::test]
async fn two_holders_exclude_each_other() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let mut cluster = LocalCluster::start(&binaries, spec(folder.path(), "s"))
        .await
        .unwrap();
    let second = LocalCluster::start(&binaries, spec(folder.path(), "s")).await;
    assert!(matches!(second, Err(StartError::InUse { .. })));
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn a_dropped_cluster_does_not_stay() {
    let folder = folder();
    let binaries = Binaries::find().unwrap();
    let cluster = LocalCluster::start(&binaries, spec(folder.path(), "s"))
        .await
        .unwrap();
    let pid = cluster.pid().unwrap();
    drop(cluster);
    for _ in 0..1000 {
        if std::fs::read_link(format!("/proc/{pid}/cwd")).is_err() {
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    panic!("process {pid} stayed");
}
