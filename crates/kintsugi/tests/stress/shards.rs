//! Shards that die under the router.

use std::time::Duration;

use testkit::client::{Client, Reply};
use tokio_util::bytes::Bytes;
use wire::frontend::Message;

use crate::bed::{Bed, HOMES, Running, ask, eventually};

async fn make(router: &Running) -> Client {
    let mut client = router.client().await;
    ask(
        &mut client,
        "create table t (id bigint primary key, v text)",
    )
    .await;
    ask(&mut client, "insert into t values (3203, 'a'), (32, 'b')").await;
    client
}

/// The error is PostgreSQL's, says what happened, and names the shard.
fn names_the_shard(reply: &Reply) {
    let error = reply.error().expect("an error");
    let code = error.code.to_string();
    assert!(
        code.starts_with("08") || code.starts_with("57"),
        "{error:?}"
    );
    assert!(format!("{error:?}").contains("store-2"), "{error:?}");
}

#[tokio::test]
async fn a_shard_that_dies_fails_what_needs_it_and_nothing_else() {
    let mut bed = Bed::new().await;
    let mut router = bed.router("").await;
    let mut other = make(&router).await;
    let [mut reading, mut open, mut copying] = [
        router.client().await,
        router.client().await,
        router.client().await,
    ];

    reading.send(&Message::Query {
        text: "select pg_sleep(60), id from t where id = 32",
    });
    reading.flush().await.unwrap();
    ask(&mut open, "begin").await;
    ask(&mut open, "update t set v = 'c' where id = 3203").await;
    ask(&mut open, "update t set v = 'c' where id = 32").await;
    copying.send(&Message::Query {
        text: "copy t from stdin",
    });
    assert_eq!(copying.receive().await.unwrap().tag, b'G');
    copying.send(&Message::CopyData(b"2\tx\n3\tx\n4\tx\n5\tx\n33\tx\n"));
    copying.flush().await.unwrap();
    tokio::time::sleep(Duration::from_millis(300)).await;
    bed.servers[1].kill().await.unwrap();

    names_the_shard(&reading.collect(None, false).await.unwrap());
    assert_eq!(
        ask(&mut other, "select v from t where id = 3203").await,
        ["a"]
    );
    names_the_shard(
        &open
            .simple("update t set v = 'd' where id = 32")
            .await
            .unwrap(),
    );
    let reply = open.simple("commit").await.unwrap();
    assert_eq!(reply.answers[0].tag.as_deref(), Some("ROLLBACK"));
    copying.send(&Message::CopyData(b"6\tx\n"));
    copying.send(&Message::CopyDone);
    names_the_shard(&copying.collect(None, false).await.unwrap());
    names_the_shard(&other.simple("select v from t where id = 32").await.unwrap());
    names_the_shard(&other.simple("select count(*) from t").await.unwrap());
    names_the_shard(&other.simple("update t set v = 'e'").await.unwrap());
    assert_eq!(
        ask(&mut other, "select v from t where id = 3203").await,
        ["a"]
    );

    bed.servers[1].restart().await.unwrap();
    for client in [&mut other, &mut reading, &mut open, &mut copying] {
        eventually("the shard is back", async || {
            let reply = client
                .simple("select v from t where id = 32")
                .await
                .unwrap();
            reply.error().is_none() && reply.texts()[0][0].as_deref() == Some("b")
        })
        .await;
    }
    assert_eq!(ask(&mut other, "select count(*) from t").await, ["2"]);
    ask(&mut other, "update t set v = 'f'").await;
    assert!(router.is_running());
    router.kill().await;
    bed.stop().await;
}

#[tokio::test]
async fn a_shard_that_dies_amid_the_commit_has_all_or_nothing() {
    let mut bed = Bed::new().await;
    let proxies = [
        testkit::proxy::Proxy::start(bed.servers[0].address())
            .await
            .unwrap(),
        testkit::proxy::Proxy::start(bed.servers[1].address())
            .await
            .unwrap(),
    ];
    let places: Vec<String> = proxies.iter().map(|it| it.address().to_string()).collect();
    let router = bed.router_before(&places, "").await;
    let mut client = make(&router).await;
    ask(&mut client, "update t set v = 'old'").await;
    let steps = ["PREPARE TRANSACTION", "kintsugi.decide", "COMMIT PREPARED"];
    for (number, step) in (0..).zip(steps) {
        let id = HOMES.map(|home| home.to_string()).join(", ");
        ask(&mut client, "begin").await;
        let sql = format!("update t set v = 'new {number}' where id in ({id})");
        ask(&mut client, &sql).await;
        let matcher = || testkit::proxy::Matcher::sql(step);
        let direction = testkit::proxy::Direction::ToServer;
        let (mut one, mut two) = (
            proxies[0].hold(direction, matcher()),
            proxies[1].hold(direction, matcher()),
        );
        let committing = client.simple("commit");
        let killing = async {
            let dying = tokio::select! {
                true = one.tripped(Duration::from_secs(10)) => 0,
                true = two.tripped(Duration::from_secs(10)) => 1,
                else => panic!("the commit never came to {step}"),
            };
            bed.servers[dying].kill().await.unwrap();
            one.release(testkit::proxy::Verdict::Forward);
            two.release(testkit::proxy::Verdict::Forward);
            bed.servers[dying].restart().await.unwrap();
        };
        let (reply, ()) = tokio::join!(committing, killing);
        let told = reply.unwrap();
        settled(&bed).await;
        let mut seen = Vec::new();
        for shard in 0..2 {
            seen.push(bed.direct(shard, "select v from t order by id").await);
        }
        assert_eq!(seen[0], seen[1], "{step}");
        let is_new = seen[0] == [format!("new {number}")];
        match told.error() {
            None => assert!(is_new, "{step}: told committed, but {seen:?}"),
            Some(error) if error.code.to_string() == "08007" => {}
            Some(error) => assert!(!is_new, "{step}: told {error:?}, but {seen:?}"),
        }
        client = router.client().await;
        eventually("the shard is back", async || {
            client
                .simple("select count(*) from t")
                .await
                .unwrap()
                .error()
                .is_none()
        })
        .await;
        ask(&mut client, "update t set v = 'old'").await;
    }
    router.kill().await;
    bed.stop().await;
}

/// Waits until nothing of ours is prepared anywhere.
pub(crate) async fn settled(bed: &Bed) {
    eventually("what was left behind is settled", async || {
        bed.sum("select count(*) from pg_prepared_xacts").await == 0
    })
    .await;
}

#[tokio::test]
async fn a_copy_that_fails_leaves_nothing() {
    let mut bed = Bed::new().await;
    let router = bed.router("").await;
    let mut client = make(&router).await;
    let data = Bytes::from_static(b"2\tx\n3\tx\n4\tx\n33\tx\n3203\tdup\n34\tx\n");
    let reply = client.simple_copy("copy t from stdin", Some(&data)).await;
    let code = reply.unwrap().error().unwrap().code.to_string();
    assert_eq!(code, "23505");
    assert_eq!(bed.sum("select count(*) from t").await, 2);
    router.kill().await;
    bed.stop().await;
}
