//! Values of sequences.

use std::time::Duration;

use execute::sequence::{SequenceError, SequenceName, Sequences, Source};
use pg::Diagnose as _;
use pool::{Identity, Settings};
use topology::ShardId;

use crate::bed::{Bed, Shards};

struct Client<'a> {
    shards: &'a Shards,
    identity: Identity,
    settings: Settings,
}

impl Client<'_> {
    async fn next(
        &self,
        sequences: &Sequences,
        name: SequenceName<'_>,
        amount: (u32, u32),
    ) -> Result<Vec<i64>, SequenceError> {
        let source = Source::Authority {
            pools: &self.shards.pools,
            shard: ShardId::from_index(0),
            identity: &self.identity,
            settings: &self.settings,
            wait: Duration::from_secs(5),
        };
        sequences.next(source, name, amount).await
    }
}

#[tokio::test]
async fn values_come_from_the_authority_and_never_twice() {
    let bed = Bed::start().await;
    let shards = &bed.shards;
    let sql = "CREATE SEQUENCE \"S q\"; CREATE SEQUENCE small MAXVALUE 5; \
               CREATE SEQUENCE mine; GRANT ALL ON \"S q\", small TO app";
    shards.value(0, sql).await;
    let name = |name| SequenceName {
        schema: "public",
        name,
        oid: pg::Oid::from(1),
    };
    let client = Client {
        shards,
        identity: Identity::new("postgres", "app"),
        settings: Settings::empty(),
    };
    // Two routers, one by one and in blocks.
    let (one, two) = (Sequences::new(), Sequences::new());
    let mut seen = vec![];
    for _ in 0..3 {
        seen.extend(client.next(&one, name("S q"), (2, 10)).await.unwrap());
        seen.extend(client.next(&two, name("S q"), (1, 1)).await.unwrap());
        seen.extend(client.next(&two, name("S q"), (25, 10)).await.unwrap());
    }
    let mut distinct = seen.clone();
    distinct.sort_unstable();
    distinct.dedup();
    assert_eq!(distinct.len(), seen.len(), "{seen:?}");
    assert_eq!(&seen[..3], &[1, 2, 11]);
    // A block is forgotten.
    one.forget(pg::Oid::from(1));
    shards.value(0, "SELECT setval('\"S q\"', 1000)").await;
    assert_eq!(
        client.next(&one, name("S q"), (1, 10)).await.unwrap(),
        [1001]
    );
    // The end of a sequence is PostgreSQL's own error, and not met early because of a block.
    let near = client.next(&one, name("small"), (2, 1)).await.unwrap();
    assert_eq!(near, [1, 2]);
    let three = client
        .next(&two, name("nothing"), (1, 1))
        .await
        .unwrap_err();
    assert_eq!(three.sqlstate().as_str(), "42P01");
    let fresh = Sequences::new();
    let end = client
        .next(&fresh, name("small"), (4, 1))
        .await
        .unwrap_err();
    assert_eq!(end.sqlstate().as_str(), "2200H");
    let denied = client
        .next(&fresh, name("mine"), (1, 10))
        .await
        .unwrap_err();
    assert_eq!(denied.sqlstate().as_str(), "42501");
    assert!(
        client
            .next(&fresh, name("S q"), (0, 10))
            .await
            .unwrap()
            .is_empty()
    );
    let many = client
        .next(&fresh, name("S q"), (u32::MAX, 1))
        .await
        .unwrap_err();
    assert!(matches!(many, SequenceError::TooMany { .. }), "{many}");
    in_a_transaction(shards, &fresh).await;
}

/// A sequence that only the running transaction knows.
async fn in_a_transaction(shards: &Shards, sequences: &Sequences) {
    let mut lease = shards.lease(0, "app").await;
    lease
        .simple("BEGIN; CREATE SEQUENCE fresh START 7")
        .await
        .unwrap();
    let name = SequenceName {
        schema: "public",
        name: "fresh",
        oid: pg::Oid::from(2),
    };
    let source = Source::Transaction(&mut lease);
    assert_eq!(sequences.next(source, name, (2, 10)).await.unwrap(), [7, 8]);
    lease.simple("ROLLBACK").await.unwrap();
}
