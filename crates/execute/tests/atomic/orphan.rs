//! What others left behind, of each kind.

use std::sync::Arc;
use std::time::Duration;

use execute::commit::{DeciderBackend, Gid, Registry};
use execute::recovery::{Timing, Trouble};
use pool::Lease;

use crate::bed::{AT_ONCE, Bed, SHARDS, Shards};

/// A transaction that died between its steps.
struct Orphan {
    gid: Gid,
    decider: Lease,
    xids: Vec<String>,
}

impl Orphan {
    /// Prepares a row on the first two shards; the third one's transaction is open, with the row.
    async fn make(shards: &Shards, router: &str, id: i32) -> Self {
        let mut leases = shards.begin_writes(id).await;
        let mut decider = leases.pop().unwrap();
        let known = decider
            .simple("SELECT pid, start_us FROM kintsugi.whoami()")
            .await
            .unwrap();
        let number = |at: usize| {
            known[0].rows[0][at]
                .clone()
                .unwrap()
                .parse::<i64>()
                .unwrap()
        };
        let backend = DeciderBackend {
            pid: i32::try_from(number(0)).unwrap(),
            start_us: number(1),
        };
        let count = u64::try_from(id).unwrap();
        let gid = Gid::new((router, 1), count, SHARDS[2], backend).unwrap();
        let mut xids = vec![];
        for (at, lease) in (0..).zip(&mut leases) {
            let name = gid.participant(at);
            let sql = format!("SELECT pg_current_xact_id(); PREPARE TRANSACTION '{name}'");
            let answered = lease.simple(&sql).await.unwrap();
            xids.push(answered[0].value().unwrap().to_owned());
        }
        Self { gid, decider, xids }
    }

    fn decide(&self) -> String {
        format!(
            "SELECT kintsugi.decide('{}', ARRAY['store-1', 'store-2'], ARRAY[{}]::int8[])",
            self.gid,
            self.xids.join(", ")
        )
    }

    /// The router dies, and its connections with it.
    async fn abandon(mut self, shards: &Shards) -> Gid {
        self.decider.poison();
        let pid = self.decider.process_id();
        drop(self.decider);
        shards
            .value(2, &format!("SELECT pg_terminate_backend({pid}, 5000)"))
            .await;
        self.gid
    }
}

#[tokio::test]
async fn orphans_of_each_kind_are_settled() {
    let bed = Bed::start().await;
    let shards = &bed.shards;
    not_decided(shards).await;
    decided(shards).await;
    the_decider_lingers(shards).await;
    the_commit_comes_too_late(shards).await;
    the_living_are_left_alone(shards).await;
    foreign_ones_are_not_touched(shards).await;
    what_a_shard_lost_is_reported(shards).await;
    what_a_shard_refuses_is_reported_and_tried_again(shards).await;
    a_shard_that_is_down(shards).await;
    two_resolvers_at_once(shards).await;
}

async fn not_decided(shards: &Shards) {
    let gid = Orphan::make(shards, "dead", 1).await.abandon(shards).await;
    let reports = shards.recover().await;
    assert!(
        reports
            .iter()
            .any(|report| report.rolled_back == [gid.clone()]),
        "{reports:?}"
    );
    assert_eq!(shards.holders(1).await, 0);
}

async fn decided(shards: &Shards) {
    let mut orphan = Orphan::make(shards, "dead", 2).await;
    let sql = orphan.decide() + "; COMMIT";
    orphan.decider.simple(&sql).await.unwrap();
    // One participant was finished already.
    let name = orphan.gid.participant(0);
    shards.value(0, &format!("COMMIT PREPARED '{name}'")).await;
    let gid = orphan.abandon(shards).await;
    let reports = shards.recover().await;
    assert!(
        reports
            .iter()
            .any(|report| report.committed == [gid.clone()]),
        "{reports:?}"
    );
    assert_eq!(shards.holders(2).await, 3);
}

/// The decision row is inserted and the COMMIT doesn't come: the resolver ends that backend.
async fn the_decider_lingers(shards: &Shards) {
    let mut orphan = Orphan::make(shards, "dead", 3).await;
    let sql = orphan.decide();
    orphan.decider.simple(&sql).await.unwrap();
    let registry = Registry::new("rescuer", 9).unwrap();
    let patient = shards.recovery(&registry, AT_ONCE).round().await;
    assert_eq!(
        (patient.waiting, patient.rolled_back.len()),
        (1, 0),
        "{patient:?}"
    );
    let timing = Timing {
        linger_after: Duration::ZERO,
        ..AT_ONCE
    };
    let report = shards.recovery(&registry, timing).round().await;
    assert_eq!(report.rolled_back, [orphan.gid.clone()], "{report:?}");
    orphan.decider.simple("COMMIT").await.unwrap_err();
    orphan.abandon(shards).await;
    shards.recover().await;
    assert_eq!(shards.holders(3).await, 0);
}

/// The abort row is there first: the decider fails.
async fn the_commit_comes_too_late(shards: &Shards) {
    let mut orphan = Orphan::make(shards, "dead", 4).await;
    let registry = Registry::new("rescuer", 9).unwrap();
    let timing = Timing {
        linger_after: Duration::ZERO,
        ..AT_ONCE
    };
    let report = shards.recovery(&registry, timing).round().await;
    assert_eq!(report.rolled_back, [orphan.gid.clone()], "{report:?}");
    // The abort row stays while the backend does that could still decide.
    let rows = "SELECT outcome FROM kintsugi.decision";
    assert_eq!(shards.value(2, rows).await, "abort");
    let sql = orphan.decide();
    let late = orphan.decider.simple(&sql).await.unwrap_err();
    assert!(late.to_string().contains("duplicate key"), "{late}");
    orphan.abandon(shards).await;
    shards.recover().await;
    assert_eq!(shards.value(2, rows).await, "");
    assert_eq!(shards.holders(4).await, 0);
}

async fn the_living_are_left_alone(shards: &Shards) {
    let registry = Registry::new("living", 1).unwrap();
    let backend = DeciderBackend {
        pid: 1,
        start_us: 1,
    };
    let held = registry.begin(SHARDS[2], backend).unwrap();
    let mut lease = shards.begin_writes(5).await.remove(0);
    let name = held.gid().participant(0);
    lease
        .simple(&format!("PREPARE TRANSACTION '{name}'"))
        .await
        .unwrap();
    let report = shards.recovery(&registry, AT_ONCE).round().await;
    assert_eq!((report.waiting, report.is_clean()), (1, true), "{report:?}");
    // Another router leaves it alone while it is young.
    let other = Registry::new("other", 1).unwrap();
    let report = shards.recovery(&other, Timing::default()).round().await;
    assert_eq!((report.waiting, report.is_clean()), (1, true), "{report:?}");
    let gid = held.gid().clone();
    drop(held);
    let report = shards.recovery(&registry, Timing::default()).round().await;
    assert_eq!(report.rolled_back, [gid]);
}

async fn foreign_ones_are_not_touched(shards: &Shards) {
    let names = ["someone's", "kintsugi_not_ours", "citus_0_1_2"];
    for (id, name) in (60..).zip(names) {
        let mut lease = shards.begin_writes(id).await.remove(0);
        let name = name.replace('\'', "''");
        lease
            .simple(&format!("PREPARE TRANSACTION '{name}'"))
            .await
            .unwrap();
    }
    let registry = Registry::new("rescuer", 9).unwrap();
    let report = shards.recovery(&registry, AT_ONCE).round().await;
    let [problem] = report.problems.as_slice() else {
        panic!("{report:?}");
    };
    assert!(matches!(problem.trouble, Trouble::Name(_)), "{problem}");
    assert_eq!(
        shards
            .value(0, "SELECT count(*) FROM pg_prepared_xacts")
            .await,
        "3"
    );
    for name in names {
        let name = name.replace('\'', "''");
        shards
            .value(0, &format!("ROLLBACK PREPARED '{name}'"))
            .await;
    }
}

/// The decision is commit, and the participant's prepared transaction is gone: no success.
async fn what_a_shard_lost_is_reported(shards: &Shards) {
    let mut orphan = Orphan::make(shards, "dead", 7).await;
    let sql = orphan.decide() + "; COMMIT";
    orphan.decider.simple(&sql).await.unwrap();
    let name = orphan.gid.participant(1);
    shards
        .value(1, &format!("ROLLBACK PREPARED '{name}'"))
        .await;
    let gid = orphan.abandon(shards).await;
    let registry = Registry::new("rescuer", 9).unwrap();
    for _ in 0..2 {
        let report = shards.recovery(&registry, AT_ONCE).round().await;
        let vanished = |trouble: &Trouble| matches!(trouble, Trouble::Vanished);
        let problem = report
            .problems
            .iter()
            .find(|problem| vanished(&problem.trouble));
        assert_eq!(problem.unwrap().gid.as_ref(), Some(&gid), "{report:?}");
        assert_eq!(
            shards
                .value(2, "SELECT outcome FROM kintsugi.decision")
                .await,
            "commit"
        );
    }
    shards.value(2, "DELETE FROM kintsugi.decision").await;
}

async fn what_a_shard_refuses_is_reported_and_tried_again(shards: &Shards) {
    let gid = Orphan::make(shards, "dead", 8).await.abandon(shards).await;
    for number in 0..3 {
        let sql = "CREATE ROLE weak LOGIN; GRANT pg_read_all_stats TO weak; \
                   GRANT ALL ON kintsugi.decision TO weak";
        shards.value(number, sql).await;
    }
    let registry = Registry::new("rescuer", 9).unwrap();
    let mut weak = shards.recovery(&registry, AT_ONCE);
    weak.access.user = "weak".into();
    for _ in 0..2 {
        let report = weak.round().await;
        assert_eq!(report.problems.len(), 2, "{report:?}");
        assert!(report.rolled_back.is_empty(), "{report:?}");
        assert!(
            report.problems[0].to_string().contains("permission denied"),
            "{report:?}"
        );
        assert_eq!(report.problems[0].gid.as_ref(), Some(&gid));
    }
    shards.recover().await;
    assert_eq!(shards.holders(8).await, 0);
}

async fn a_shard_that_is_down(shards: &Shards) {
    let gid = Orphan::make(shards, "dead", 9).await.abandon(shards).await;
    let mut ports = shards.ports.clone();
    ports[1] = 1;
    let registry = Registry::new("rescuer", 9).unwrap();
    let report = Shards::new(ports)
        .recovery(&registry, AT_ONCE)
        .round()
        .await;
    assert_eq!(
        report.rolled_back,
        [gid],
        "the others are settled: {report:?}"
    );
    assert!(
        report
            .problems
            .iter()
            .all(|problem| problem.shard == "store-2"),
        "{report:?}"
    );
    assert!(!report.is_clean());
    shards.recover().await;
    assert_eq!(shards.holders(9).await, 0);
}

async fn two_resolvers_at_once(shards: &Shards) {
    let mut made = vec![];
    for id in 100..112 {
        let mut orphan = Orphan::make(shards, "dead", id).await;
        if id % 2 == 0 {
            let sql = orphan.decide() + "; COMMIT";
            orphan.decider.simple(&sql).await.unwrap();
        }
        orphan.abandon(shards).await;
        made.push(id);
    }
    let recoveries = ["one", "two", "three"].map(|router| {
        let registry = Registry::new(router, 1).unwrap();
        shards.recovery(&Arc::clone(&registry), AT_ONCE)
    });
    let [one, two, three] = &recoveries;
    for _ in 0..2 {
        let (one, two, three) = tokio::join!(one.round(), two.round(), three.round());
        for report in [one, two, three] {
            // A row may go, settled, while another looks: that is tried again.
            let only_changed = report
                .problems
                .iter()
                .all(|problem| matches!(problem.trouble, Trouble::Changed));
            assert!(only_changed, "{report:?}");
        }
    }
    shards.recover().await;
    for id in made {
        let wanted = if id % 2 == 0 { 3 } else { 0 };
        assert_eq!(shards.holders(id).await, wanted, "{id}");
    }
}
