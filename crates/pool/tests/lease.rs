//! Leases against a real PostgreSQL: exclusive, clean, bounded, and healed by themselves.

use std::time::{Duration, Instant};

use crate::common::{Server, first, lease, me, until, value};
use pg::Diagnose as _;
use pool::{
    BackendError, Credentials, Identity, LeaseError, Limits, PoolConfig, Pools, ShardAddress,
};
use wire::backend::TransactionStatus;

fn few(backends_max: usize) -> Limits {
    Limits {
        backends_max,
        ..Limits::default()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_is_used_again_and_never_twice_at_once() {
    let server = Server::start().await;
    let pools = server.pools(few(10));
    let mut one = lease(&pools).await.unwrap();
    let mut two = lease(&pools).await.unwrap();
    let (a, b) = (one.process_id(), two.process_id());
    assert_ne!(a, b);
    assert_eq!(
        value(&mut one, "SELECT pg_backend_pid()").await,
        a.to_string()
    );
    assert_eq!(
        value(&mut two, "SELECT pg_backend_pid()").await,
        b.to_string()
    );
    assert_eq!(one.parameters["client_encoding"], "UTF8");
    drop(one);
    assert_eq!(lease(&pools).await.unwrap().process_id(), a);
    drop(two);
    let status = &pools.status()[0];
    assert_eq!((status.idle, status.leased, status.waiting), (2, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_is_bounded_and_first_come_first_served() {
    let server = Server::start().await;
    let pools = server.pools(few(1));
    let busy = lease(&pools).await.unwrap();
    let error = pools
        .lease(first(), &me(), Duration::from_millis(50))
        .await
        .unwrap_err();
    assert_eq!(error.sqlstate(), pg::SqlState::TOO_MANY_CONNECTIONS);
    assert!(
        error
            .to_diagnostic()
            .hint
            .unwrap()
            .contains("limit of backends")
    );
    let mut order = stdx::TaskGroup::new();
    for number in 0..5 {
        let waiting = pools.clone();
        order.spawn("waiter", async move {
            let taken = lease(&waiting).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
            drop(taken);
            number
        });
        until(|| pools.status()[0].waiting == number + 1).await;
    }
    drop(busy);
    let mut finishers = Vec::new();
    while let Some(finished) = order.join_next().await {
        finishers.push(finished.outcome);
    }
    assert_eq!(
        finishers,
        (0..5).map(stdx::Outcome::Returned).collect::<Vec<_>>()
    );
    assert_eq!(pools.status()[0].idle, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn other_identities_get_room() {
    let server = Server::with(|spec| spec.database = Some("app".into())).await;
    let pools = server.pools(few(1));
    drop(lease(&pools).await.unwrap());
    let app = Identity::new("app", "postgres");
    let mut other = pools
        .lease(first(), &app, Duration::from_secs(5))
        .await
        .unwrap();
    assert_eq!(value(&mut other, "SELECT current_database()").await, "app");
    let waiting = pools.clone();
    let mut group = stdx::TaskGroup::new();
    group.spawn("waiter", async move {
        lease(&waiting).await.map(|_| ()).is_ok()
    });
    until(|| pools.status()[0].waiting == 1).await;
    drop(other);
    assert_eq!(
        group.join_next().await.unwrap().outcome,
        stdx::Outcome::Returned(true)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn backends_that_postgres_ended_are_not_handed_out() {
    let server = Server::start().await;
    let pools = server.pools(few(10));
    let leases = [
        lease(&pools).await.unwrap(),
        lease(&pools).await.unwrap(),
        lease(&pools).await.unwrap(),
    ];
    drop(leases);
    let psql = server.pools(few(1));
    let mut killer = lease(&psql).await.unwrap();
    killer
        .simple("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'")
        .await
        .unwrap();
    for _ in 0..3 {
        let mut fresh = lease(&pools).await.unwrap();
        assert_eq!(value(&mut fresh, "SELECT 1").await, "1");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_left_behind_is_cleaned() {
    let server = Server::start().await;
    let pools = server.pools(few(1));
    let mut left = lease(&pools).await.unwrap();
    left.simple("CREATE TABLE kept (n int)").await.unwrap();
    left.simple("BEGIN; INSERT INTO kept VALUES (1)")
        .await
        .unwrap();
    assert_eq!(left.transaction_status(), TransactionStatus::InTransaction);
    let process = left.process_id();
    drop(left);
    let mut next = lease(&pools).await.unwrap();
    assert_eq!(next.process_id(), process);
    assert_eq!(value(&mut next, "SELECT count(*) FROM kept").await, "0");
    next.simple("CREATE TEMP TABLE scratch (n int)")
        .await
        .unwrap();
    next.require_discard();
    drop(next);
    let mut next = lease(&pools).await.unwrap();
    assert_eq!(next.process_id(), process);
    assert_eq!(
        value(&mut next, "SELECT to_regclass('pg_temp.scratch')").await,
        ""
    );
    let error = next.simple("SELECT 1/0").await.unwrap_err();
    assert_eq!(error.to_diagnostic().code, pg::SqlState::DIVISION_BY_ZERO);
    assert!(
        error
            .to_diagnostic()
            .extra
            .unwrap()
            .context
            .unwrap()
            .contains("shard store-1")
    );
    next.poison();
    drop(next);
    assert_ne!(lease(&pools).await.unwrap().process_id(), process);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_dropped_in_the_middle_cancels_what_runs() {
    let server = Server::start().await;
    let pools = server.pools(few(2));
    let mut busy = lease(&pools).await.unwrap();
    let process = busy.process_id();
    let running = busy.simple("SELECT pg_sleep(60)");
    assert!(
        tokio::time::timeout(Duration::from_millis(200), running)
            .await
            .is_err()
    );
    let begin = Instant::now();
    drop(busy);
    let mut other = lease(&pools).await.unwrap();
    assert_ne!(other.process_id(), process);
    let still = format!("SELECT count(*) FROM pg_stat_activity WHERE pid = {process}");
    while value(&mut other, &still).await != "0" {
        assert!(begin.elapsed() < Duration::from_secs(1));
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    until(|| pools.status()[0].leased == 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_ends_the_statement_and_not_the_backend() {
    let server = Server::start().await;
    let pools = server.pools(few(1));
    let mut busy = lease(&pools).await.unwrap();
    let target = busy.cancel_target();
    let (result, ()) = tokio::join!(busy.simple("SELECT pg_sleep(60)"), async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        pool::cancel::cancel(&target).await.unwrap();
    });
    let Err(BackendError::Server { diagnostic, .. }) = result else {
        panic!("it went on")
    };
    assert_eq!(diagnostic.code, pg::SqlState::QUERY_CANCELED);
    for _ in 0..50 {
        assert_eq!(value(&mut busy, "SELECT 1").await, "1");
        pool::cancel::cancel(&target).await.unwrap();
        // The signal was sent before the server closed; a backend that is idle ignores it.
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_down_fails_fast_and_comes_back_by_itself() {
    let mut server = Server::start().await;
    let pools = Pools::new(PoolConfig {
        shards: vec![
            server.address("store-1"),
            ShardAddress::tcp("store-2", "127.0.0.1", 1),
        ],
        credentials: Credentials::trust(),
        limits: few(10),
    });
    let second = topology::ShardId::from_index(1);
    for _ in 0..20 {
        let error = pools
            .lease(second, &me(), Duration::from_secs(5))
            .await
            .unwrap_err();
        assert_eq!(error.sqlstate().as_str(), "08001");
        assert!(error.to_string().contains("store-2"), "{error}");
        assert!(error.to_diagnostic().detail.unwrap().contains("refused"));
    }
    assert!(pools.status()[1].outage.is_some());
    let mut idle = lease(&pools).await.unwrap();
    server.cluster.kill().await.unwrap();
    let lost = idle.simple("SELECT 1").await.unwrap_err();
    assert!(lost.is_fatal());
    drop(idle);
    let begin = Instant::now();
    for _ in 0..20 {
        assert!(lease(&pools).await.is_err());
    }
    assert!(begin.elapsed() < Duration::from_secs(3));
    server.cluster.restart().await.unwrap();
    let mut answer = lease(&pools).await;
    let begin = Instant::now();
    while answer.is_err() {
        assert!(begin.elapsed() < Duration::from_secs(5));
        tokio::time::sleep(Duration::from_millis(50)).await;
        answer = lease(&pools).await;
    }
    assert_eq!(pools.status()[0].outage, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn logins_with_a_password() {
    let server = Server::with(|spec| {
        spec.auth = cluster::Auth::Scram {
            password: "open sesame".into(),
        };
    })
    .await;
    let with = |credentials| {
        Pools::new(PoolConfig {
            shards: vec![server.address("store-1")],
            credentials,
            limits: few(4),
        })
    };
    let right = with(
        Credentials::trust().with_password("postgres", stdx::Secret::new("open sesame".to_owned())),
    );
    assert_eq!(
        value(&mut lease(&right).await.unwrap(), "SELECT 1").await,
        "1"
    );
    let wrong = with(
        Credentials::trust().with_password("postgres", stdx::Secret::new("sesame".to_owned())),
    );
    assert_eq!(
        lease(&wrong).await.unwrap_err().sqlstate().as_str(),
        "08004"
    );
    let none = with(Credentials::trust());
    assert!(matches!(lease(&none).await, Err(LeaseError::Connect(_))));
    let nowhere = Identity::new("nowhere", "postgres");
    let error = right
        .lease(first(), &nowhere, Duration::from_secs(5))
        .await
        .unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "3D000");
    assert_eq!(
        value(&mut lease(&right).await.unwrap(), "SELECT 1").await,
        "1"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cold_pool_opens_in_parallel() {
    let server = Server::start().await;
    let pools = server.pools(few(30));
    let mut group = stdx::TaskGroup::new();
    for _ in 0..200 {
        let pools = pools.clone();
        group.spawn("client", async move {
            let mut lease = lease(&pools).await.unwrap();
            value(&mut lease, "SELECT 1").await
        });
    }
    while let Some(finished) = group.join_next().await {
        assert_eq!(finished.outcome, stdx::Outcome::Returned("1".to_owned()));
    }
    let status = &pools.status()[0];
    assert_eq!((status.leased, status.waiting), (0, 0));
    assert!(status.idle <= 30);
    pools.shut_down();
    assert!(matches!(lease(&pools).await, Err(LeaseError::ShuttingDown)));
    assert_eq!(pools.status()[0].idle, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_with_less_room_than_the_pool_serves_all_the_same() {
    let server =
        Server::with(|spec| spec.settings.push(("max_connections".into(), "8".into()))).await;
    let pools = server.pools(few(30));
    let mut group = stdx::TaskGroup::new();
    for _ in 0..100 {
        let pools = pools.clone();
        group.spawn("client", async move {
            let mut lease = lease(&pools).await.unwrap();
            value(&mut lease, "SELECT pg_sleep(0.01)").await
        });
    }
    while let Some(finished) = group.join_next().await {
        assert_eq!(finished.outcome, stdx::Outcome::Returned(String::new()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_batch_without_sync_is_not_handed_on() {
    use wire::frontend::{BindParts, Message, bind, parse};
    let server = Server::start().await;
    let pools = server.pools(few(1));
    let mut left = lease(&pools).await.unwrap();
    left.simple("CREATE TABLE t (n int)").await.unwrap();
    let process = left.process_id();
    let output = left.connection.output();
    parse(output, "", "INSERT INTO t VALUES (1)", &[]);
    bind(
        output,
        &BindParts {
            portal: "",
            statement: "",
            parameter_formats: &[],
            parameters: &[],
            result_formats: &[],
        },
    );
    Message::Execute {
        portal: "",
        rows_max: 0,
    }
    .encode(output);
    Message::Flush.encode(output);
    left.open_batch();
    assert!(!left.is_quiet());
    left.flush().await.unwrap();
    while left.frame().await.unwrap().tag != b'C' {}
    drop(left);
    let mut next = lease(&pools).await.unwrap();
    assert_ne!(next.process_id(), process);
    assert_eq!(value(&mut next, "SELECT count(*) FROM t").await, "0");
    assert!(next.is_quiet());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backend_given_back_under_a_cancel_is_closed() {
    let server = Server::start().await;
    let pools = server.pools(few(1));
    let backend = lease(&pools).await.unwrap();
    let (process, target) = (backend.process_id(), backend.cancel_target());
    let begun = Box::pin(pool::cancel::cancel(&target));
    assert!(tokio::time::timeout(Duration::ZERO, begun).await.is_err());
    drop(backend);
    assert_ne!(lease(&pools).await.unwrap().process_id(), process);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_that_is_held_gives_no_leases_until_it_is_released() {
    let server = Server::start().await;
    let pools = server.pools(few(1));
    pools.hold(first());
    let error = lease(&pools).await.unwrap_err();
    assert!(matches!(error, LeaseError::Held { .. }), "{error}");
    assert_eq!(error.sqlstate(), pg::SqlState::CONNECTION_FAILURE);
    pools.release(first());
    lease(&pools).await.unwrap();
}
