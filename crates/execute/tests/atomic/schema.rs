//! The private schema.

use execute::commit::{PrepareShardError, prepare_shard};

use crate::bed::Bed;

#[tokio::test]
async fn the_schema_is_made_once_and_gives_clients_nothing() {
    let bed = Bed::bare().await;
    let shards = &bed.shards;
    // Three routers start at once.
    let mut first = shards.lease(0, "postgres").await;
    let mut second = shards.lease(0, "postgres").await;
    let mut third = shards.lease(0, "postgres").await;
    let (first, second, third) = tokio::join!(
        prepare_shard(&mut first),
        prepare_shard(&mut second),
        prepare_shard(&mut third)
    );
    for result in [first, second, third] {
        result.unwrap();
    }
    let mut admin = shards.lease(0, "postgres").await;
    prepare_shard(&mut admin).await.unwrap();
    admin.simple("CREATE ROLE app LOGIN").await.unwrap();
    let mut app = shards.lease(0, "app").await;
    for sql in [
        "SELECT * FROM kintsugi.decision",
        "INSERT INTO kintsugi.decision VALUES ('kintsugi_a', 'commit', '{}', '{}')",
        "DELETE FROM kintsugi.decision",
        "CREATE TABLE kintsugi.t ()",
        "SELECT kintsugi.decide('kintsugi_r_1_1_1_1_store-1', '{}', '{}')",
        "SELECT kintsugi.decide('other', '{}', '{}')",
    ] {
        let refused = app.simple(sql).await.unwrap_err();
        assert!(
            pg::Diagnose::sqlstate(&refused).as_str() == "42501",
            "{sql}: {refused}"
        );
    }
    foreign_schema(&mut shards.lease(1, "postgres").await).await;
}

async fn foreign_schema(lease: &mut pool::Lease) {
    lease.simple("CREATE SCHEMA kintsugi").await.unwrap();
    let refused = prepare_shard(lease).await.unwrap_err();
    assert!(
        matches!(refused, PrepareShardError::Foreign { .. }),
        "{refused}"
    );
    assert_eq!(
        lease.transaction_status(),
        wire::backend::TransactionStatus::Idle
    );
}
