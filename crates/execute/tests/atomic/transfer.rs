//! Two routers move money between shards while connections are broken and both recover at once,
//! with no courtesy between them.

use std::sync::Arc;
use std::time::Duration;

use execute::commit::{CommitError, Committer};
use execute::recovery::{Recovery, Timing};

use crate::bed::{AT_ONCE, Bed, Shards, enlisted};

const CLIENTS: i32 = 6;
const TRANSFERS: i32 = 60;
const ACCOUNTS: i32 = 20;

/// What the client was told of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Told {
    Committed,
    Failed,
    Unknown,
}

#[tokio::test]
async fn money_is_neither_lost_nor_made() {
    let bed = Bed::start().await;
    let shards = Arc::new(Shards::new(bed.shards.ports.clone()));
    for number in 0..3 {
        let sql = format!(
            "CREATE TABLE account (id int PRIMARY KEY, sum int); GRANT ALL ON account TO app; \
             INSERT INTO account SELECT n, 100 FROM generate_series(1, {ACCOUNTS}) n"
        );
        shards.value(number, &sql).await;
    }
    let routers = ["one", "two"].map(|router| shards.committer(router, None));
    let mut clients = tokio::task::JoinSet::new();
    for client in 0..CLIENTS {
        let router = routers[usize::try_from(client % 2).unwrap()].clone();
        let shards = Arc::clone(&shards);
        clients.spawn(async move { transfers(&shards, &router, client).await });
    }
    let reckless = Timing {
        linger_after: Duration::ZERO,
        // A router that lost its decider must find the row.
        retention: Duration::from_mins(1),
        ..AT_ONCE
    };
    let recoveries = routers
        .each_ref()
        .map(|r| shards.recovery(&r.registry, reckless));
    let working = async {
        let mut told = vec![];
        while let Some(done) = clients.join_next().await {
            told.extend(done.unwrap());
        }
        told
    };
    let told = tokio::select! {
        told = working => told,
        () = break_connections(&shards) => vec![],
        () = recover_always(&recoveries) => vec![],
    };
    // An abort row stays as long as its decider's backend does, and a router keeps its idle ones.
    shards.pools.shut_down();
    bed.shards.recover().await;
    check(&bed.shards, &told).await;
}

/// Whoever is busy somewhere loses his connection now and then.
async fn break_connections(shards: &Shards) {
    for shard in (0..3).cycle() {
        let sql = "SELECT count(pg_terminate_backend(pid)) FROM (SELECT pid FROM pg_stat_activity \
                   WHERE usename = 'app' AND backend_xid IS NOT NULL ORDER BY random() LIMIT 1) b";
        shards.value(shard, sql).await;
        tokio::time::sleep(Duration::from_millis(7)).await;
    }
}

async fn recover_always(recoveries: &[Recovery; 2]) {
    let [one, two] = recoveries;
    loop {
        tokio::join!(one.round(), two.round());
    }
}

async fn transfers(shards: &Shards, router: &Committer, client: i32) -> Vec<(i32, Told)> {
    let mut told = vec![];
    for number in 0..TRANSFERS {
        let id = client * 1000 + number;
        told.push((id, transfer(shards, router, id).await));
    }
    told
}

/// Moves 1 from the first shard to the second and 1 to the third, and leaves a mark on each.
async fn transfer(shards: &Shards, router: &Committer, id: i32) -> Told {
    let mut leases = shards.begin().await;
    for (lease, sum) in leases.iter_mut().zip([-2, 1, 1]) {
        let account = 1 + id % ACCOUNTS;
        let sql = format!(
            "SET LOCAL lock_timeout = '2s'; INSERT INTO t VALUES ({id}, 1); \
             UPDATE account SET sum = sum + {sum} WHERE id = {account}"
        );
        if lease.simple(&sql).await.is_err() {
            return Told::Failed;
        }
    }
    match router.commit(&mut enlisted(&mut leases, 3)).await {
        Ok(_) => Told::Committed,
        Err(CommitError::Unknown { .. }) => Told::Unknown,
        Err(_) => Told::Failed,
    }
}

async fn check(shards: &Shards, told: &[(i32, Told)]) {
    assert_eq!(told.len(), usize::try_from(CLIENTS * TRANSFERS).unwrap());
    let mut counts = [0; 3];
    for (id, told) in told {
        let holders = shards.holders(*id).await;
        match told {
            Told::Committed => assert_eq!(holders, 3, "{id}: lost"),
            Told::Failed => assert_eq!(holders, 0, "{id}: undead"),
            Told::Unknown => assert!(holders == 0 || holders == 3, "{id}: half"),
        }
        counts[*told as usize] += 1;
    }
    let sums = shards.each("SELECT sum(sum) FROM account").await;
    let total: i32 = sums.iter().map(|sum| sum.parse::<i32>().unwrap()).sum();
    assert_eq!(total, 3 * 100 * ACCOUNTS);
    assert!(counts[0] > 10, "{counts:?}");
    println!("committed, failed, unknown: {counts:?}");
}
