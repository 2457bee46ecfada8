//! The router's own death, between any two steps that the shards can see.

use std::time::{Duration, Instant};

use testkit::client::Client;
use testkit::proxy::{Direction, Matcher, Proxy};

use crate::bed::{Bed, ask};
use crate::shards::settled;

/// Accounts, each with a hundred.
const ACCOUNTS: i64 = 20;

async fn make(client: &mut Client) {
    ask(
        client,
        "create table account (id bigint primary key, balance bigint not null)",
    )
    .await;
    ask(client, "create table t (id bigint primary key, v text)").await;
    let rows: Vec<String> = (0..ACCOUNTS).map(|id| format!("({id}, 100)")).collect();
    let sql = format!("insert into account values {}", rows.join(", "));
    ask(client, &sql).await;
    ask(client, "insert into t values (3203, 'old'), (32, 'old')").await;
}

/// What the router is killed at: a message on its way to the shard, or the shard's answer to one.
#[tokio::test]
async fn a_router_killed_amid_the_commit_leaves_all_or_nothing() {
    let mut bed = Bed::new().await;
    let mut router = bed.router("").await;
    make(&mut router.client().await).await;
    router.kill().await;
    let moments: [(Direction, fn() -> Matcher, Option<bool>); 7] = [
        (
            Direction::ToServer,
            || Matcher::sql("PREPARE TRANSACTION"),
            Some(false),
        ),
        (
            Direction::ToClient,
            || Matcher::complete("PREPARE TRANSACTION"),
            Some(false),
        ),
        (
            Direction::ToServer,
            || Matcher::sql("kintsugi.decide"),
            Some(false),
        ),
        (Direction::ToServer, || Matcher::sql("COMMIT"), None),
        (
            Direction::ToClient,
            || Matcher::complete("COMMIT"),
            Some(true),
        ),
        (
            Direction::ToServer,
            || Matcher::sql("COMMIT PREPARED"),
            Some(true),
        ),
        (
            Direction::ToClient,
            || Matcher::complete("COMMIT PREPARED"),
            Some(true),
        ),
    ];
    for (number, (direction, matcher, expected)) in (0..).zip(moments) {
        let proxies = [
            Proxy::start(bed.servers[0].address()).await.unwrap(),
            Proxy::start(bed.servers[1].address()).await.unwrap(),
        ];
        let places: Vec<String> = proxies.iter().map(|it| it.address().to_string()).collect();
        router = bed.router_before(&places, "").await;
        let mut client = router.client().await;
        ask(&mut client, "begin").await;
        ask(&mut client, &format!("update t set v = 'new {number}'")).await;
        let mut one = proxies[0].hold(direction, matcher());
        let mut two = proxies[1].hold(direction, matcher());
        let told = tokio::select! {
            told = client.simple("commit") => Some(told),
            true = one.tripped(Duration::from_secs(10)) => None,
            true = two.tripped(Duration::from_secs(10)) => None,
        };
        assert!(told.is_none(), "moment {number} did not come: {told:?}");
        router.kill().await;
        drop((one, two, proxies));
        router = bed.router("").await;
        settled(&bed).await;
        let mut seen = Vec::new();
        for shard in 0..2 {
            seen.push(bed.direct(shard, "select v from t").await);
        }
        assert_eq!(seen[0], seen[1], "moment {number}");
        let is_new = seen[0] == [format!("new {number}")];
        assert!(
            expected.is_none_or(|expected| expected == is_new),
            "moment {number}: {seen:?}"
        );
        ask(&mut router.client().await, "update t set v = 'next'").await;
        router.kill().await;
    }
    bed.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn money_stays_while_routers_die() {
    let mut bed = Bed::new().await;
    let mut router = bed.router("").await;
    make(&mut router.client().await).await;
    let began = Instant::now();
    let mut acknowledged = 0_i64;
    let mut seed = 7_u64;
    while began.elapsed() < Duration::from_secs(15) {
        let clients: Vec<_> = (0..4)
            .map(|number| {
                let address = router.address.clone();
                tokio::spawn(transfer(address, seed + number))
            })
            .collect();
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        tokio::time::sleep(Duration::from_millis(300 + (seed >> 33) % 700)).await;
        router.kill().await;
        for client in clients {
            acknowledged += client.await.unwrap();
        }
        router = bed.router("").await;
    }
    settled(&bed).await;
    assert_eq!(
        bed.sum("select coalesce(sum(balance), 0)::bigint from account")
            .await,
        ACCOUNTS * 100
    );
    assert_eq!(bed.sum("select count(*) from account").await, ACCOUNTS);
    let written = bed.sum("select count(*) from t where v <> 'old'").await;
    assert!(
        written >= 2 * acknowledged,
        "{acknowledged} acknowledged, {written} rows"
    );
    let halves = halves(&bed).await;
    assert!(halves.is_empty(), "halves of transfers: {halves:?}");
    assert!(acknowledged > 20, "only {acknowledged} transfers");
    let mut client = router.client().await;
    for id in 0..ACCOUNTS {
        ask(
            &mut client,
            &format!("update account set balance = balance where id = {id}"),
        )
        .await;
    }
    router.kill().await;
    bed.stop().await;
}

/// Rows whose other half is on neither shard.
async fn halves(bed: &Bed) -> Vec<i64> {
    let sql = "select id || ' ' || v from t where v <> 'old'";
    let mut rows = std::collections::BTreeMap::new();
    for shard in 0..2 {
        for row in bed.direct(shard, sql).await {
            let (id, other) = row.split_once(' ').unwrap();
            rows.insert(id.parse::<i64>().unwrap(), other.parse::<i64>().unwrap());
        }
    }
    let lonely = rows
        .iter()
        .filter(|(id, other)| rows.get(other) != Some(id));
    lonely.map(|(id, _)| *id).collect()
}

/// Moves money until the router dies: how often it was told that it had.
async fn transfer(address: testkit::client::Address, mut seed: u64) -> i64 {
    let mut acknowledged = 0;
    let Ok(mut client) = Client::connect(&address).await else {
        return 0;
    };
    let mut next = || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        i64::try_from(seed >> 33).unwrap()
    };
    loop {
        // In one order, so that transfers do not wait for each other in a ring.
        let (one, two) = (next() % ACCOUNTS, next() % ACCOUNTS);
        let (low, high) = (one.min(two), one.max(two));
        let (left, right) = (10_000 + next(), 10_000 + next());
        if low == high || left == right {
            continue;
        }
        let sql = format!(
            "begin; update account set balance = balance - 1 where id = {low}; \
             update account set balance = balance + 1 where id = {high}; \
             insert into t values ({left}, '{right}'), ({right}, '{left}'); commit"
        );
        match client.simple(&sql).await {
            Ok(reply) if reply.error().is_none() => acknowledged += 1,
            Ok(_) if client.simple("rollback").await.is_ok() => {}
            _ => return acknowledged,
        }
    }
}
