use std::time::Duration;

use cluster::{Binaries, LocalCluster, Spec};

use super::{Direction, Matcher, Proxy, Verdict};
use crate::client::{Address, Client, ClientError};

const WITHIN: Duration = Duration::from_secs(10);

async fn stage() -> (tempfile::TempDir, LocalCluster, Proxy) {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let binaries = Binaries::find().unwrap();
    let cluster = LocalCluster::start(&binaries, Spec::fast(folder.path().join("s")))
        .await
        .unwrap();
    let proxy = Proxy::start(cluster.address()).await.unwrap();
    (folder, cluster, proxy)
}

async fn client(proxy: &Proxy) -> Result<Client, ClientError> {
    Client::connect(&Address::local(proxy.address().port(), "postgres")).await
}

#[tokio::test]
async fn messages_are_carried_held_lost_and_cut() {
    let (_folder, mut cluster, proxy) = stage().await;
    let direct = Address::local(cluster.port(), "postgres");
    let mut direct = Client::connect(&direct).await.unwrap();
    direct.simple("CREATE TABLE t (n int)").await.unwrap();

    // Carried.
    let mut through = client(&proxy).await.unwrap();
    assert_eq!(
        through.simple("SELECT 1").await.unwrap().texts()[0][0].as_deref(),
        Some("1")
    );

    // Held before the server sees it, then cut: nothing happened.
    let mut trip = proxy.hold(
        Direction::ToServer,
        Matcher::sql("INSERT INTO t VALUES (1)"),
    );
    let insert = tokio::join!(through.simple("INSERT INTO t VALUES (1)"), async {
        assert!(trip.tripped(WITHIN).await);
        trip.release(Verdict::Cut);
    });
    assert!(insert.0.is_err());
    assert_eq!(count(&mut direct).await, "0");

    // Held after the server has acted, then reset: it happened, and the client can't know.
    let mut through = client(&proxy).await.unwrap();
    let mut trip = proxy.hold(Direction::ToClient, Matcher::complete("INSERT"));
    let insert = tokio::join!(through.simple("INSERT INTO t VALUES (2)"), async {
        assert!(trip.tripped(WITHIN).await);
        trip.release(Verdict::Reset);
    });
    assert!(insert.0.is_err());
    assert_eq!(count(&mut direct).await, "1");

    // Held and let go.
    let mut through = client(&proxy).await.unwrap();
    let mut trip = proxy.hold(Direction::ToServer, Matcher::sql("SELECT 7"));
    let (reply, ()) = tokio::join!(through.simple("SELECT 7"), async {
        assert!(trip.tripped(WITHIN).await);
        assert!(trip.frame().is_some());
        trip.release(Verdict::Forward);
    });
    assert_eq!(reply.unwrap().texts()[0][0].as_deref(), Some("7"));

    // Half closed: the client sees the end.
    let mut trip = proxy.hold(Direction::ToClient, Matcher::tag(b'Z'));
    let (reply, ()) = tokio::join!(through.simple("SELECT 8"), async {
        assert!(trip.tripped(WITHIN).await);
        trip.release(Verdict::HalfClose);
    });
    assert!(matches!(reply, Err(ClientError::Closed)));
    cluster.stop().await.unwrap();
}

#[tokio::test]
async fn everything_can_be_cut_refused_and_delayed() {
    let (_folder, mut cluster, proxy) = stage().await;
    let mut through = client(&proxy).await.unwrap();
    proxy.cut_all();
    let reply = through.simple("SELECT pg_sleep(5)").await;
    assert!(reply.is_err());

    proxy.refuse(true);
    assert!(client(&proxy).await.is_err());
    proxy.refuse(false);
    let mut through = client(&proxy).await.unwrap();

    proxy.delay(Duration::from_millis(50));
    let began = std::time::Instant::now();
    through.simple("SELECT 1").await.unwrap();
    assert!(began.elapsed() >= Duration::from_millis(100));
    cluster.stop().await.unwrap();
}

async fn count(client: &mut Client) -> String {
    let reply = client.simple("SELECT count(*) FROM t").await.unwrap();
    reply.texts()[0][0].clone().unwrap()
}
