//! Commits that succeed, and that fail while the router lives.

use std::sync::Arc;

use execute::commit::{CommitError, Enlisted, Step, StepHook};
use pg::Diagnose as _;

use crate::bed::{Bed, Shards, enlisted};

#[tokio::test]
async fn commits_and_failures_over_three_shards() {
    let bed = Bed::start().await;
    let shards = &bed.shards;
    success(shards).await;
    weak_durability_is_raised_and_put_back(shards).await;
    readers_and_one_writer(shards).await;
    a_constraint_fails(shards).await;
    what_a_trigger_hides(shards).await;
    notices_of_deferred_triggers(shards).await;
    two_that_cannot_be_prepared(shards).await;
    a_failed_transaction(shards).await;
    the_second_phase_is_finished_elsewhere(shards).await;
    a_lost_participant(shards).await;
    a_lost_decider(shards).await;
    a_decision_that_comes_too_late(shards).await;
    shards.recover().await;
}

async fn success(shards: &Shards) {
    let committer = shards.committer("r11", None);
    let mut leases = shards.begin_writes(1).await;
    let done = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap();
    assert_eq!(done.notices, []);
    assert_eq!(shards.holders(1).await, 3);
    assert_eq!(committer.registry.in_flight_count(), 0);
    // The decision row goes in the background, without a look at the participants.
    assert_eq!(
        shards
            .value(2, "SELECT outcome FROM kintsugi.decision")
            .await,
        "commit"
    );
    let report = shards.recovery(&committer.registry, execute::recovery::Timing::default());
    let report = report.round().await;
    assert!(report.is_clean() && report.forgotten == 1, "{report:?}");
    assert!(shards.is_tidy().await);
}

async fn weak_durability_is_raised_and_put_back(shards: &Shards) {
    let committer = shards.committer("r12", None);
    let mut leases = shards.begin_writes(2).await;
    for lease in &mut leases {
        lease
            .simple("ROLLBACK; SET synchronous_commit = off; BEGIN")
            .await
            .unwrap();
        lease.simple("INSERT INTO t VALUES (2, 1)").await.unwrap();
    }
    committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap();
    assert_eq!(shards.holders(2).await, 3);
    for lease in &mut leases {
        let level = lease.simple("SHOW synchronous_commit").await.unwrap();
        assert_eq!(level[0].value(), Some("off"));
        lease.poison();
    }
}

async fn readers_and_one_writer(shards: &Shards) {
    let committer = shards.committer("r13", None);
    let mut leases = shards.begin().await;
    leases[0]
        .simple("INSERT INTO t VALUES (3, 1)")
        .await
        .unwrap();
    leases[1].simple("SELECT * FROM t").await.unwrap();
    committer
        .commit(&mut enlisted(&mut leases, 1))
        .await
        .unwrap();
    assert_eq!(shards.holders(3).await, 1);
    let mut leases = shards.begin().await;
    committer
        .commit(&mut enlisted(&mut leases, 0))
        .await
        .unwrap();
    for lease in &leases {
        assert_eq!(
            lease.transaction_status(),
            wire::backend::TransactionStatus::Idle
        );
    }
}

async fn a_constraint_fails(shards: &Shards) {
    let committer = shards.committer("r14", None);
    for at in 0..3 {
        let mut leases = shards.begin_writes(10).await;
        leases[at]
            .simple("INSERT INTO t VALUES (1, 2)")
            .await
            .unwrap();
        let error = committer
            .commit(&mut enlisted(&mut leases, 3))
            .await
            .unwrap_err();
        let shown = error.to_diagnostic();
        assert_eq!(shown.code.as_str(), "23505");
        assert_eq!(shown.extra.unwrap().constraint.as_deref(), Some("t_pkey"));
        let shard = leases[at].shard().to_string();
        let CommitError::Failed { shard: named, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(named, shard);
        for lease in &leases {
            assert_eq!(
                lease.transaction_status(),
                wire::backend::TransactionStatus::Idle
            );
        }
        assert_eq!(shards.holders(10).await, 0);
    }
    assert!(prepared(shards).await.is_empty());
}

/// A trigger that uses a temporary table is only found out by PREPARE.
async fn what_a_trigger_hides(shards: &Shards) {
    let committer = shards.committer("r15", None);
    let mut leases = shards.begin_writes(11).await;
    leases[1]
        .simple("CREATE TEMP TABLE hidden (i int)")
        .await
        .unwrap();
    let error = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "0A000");
    assert!(error.to_string().contains("store-2"), "{error}");
    assert_eq!(shards.holders(11).await, 0);
    // Where the caller knows it, that shard decides.
    let mut leases = shards.begin_writes(12).await;
    leases[1]
        .simple("CREATE TEMP TABLE known (i int)")
        .await
        .unwrap();
    leases[1].require_discard();
    let mut participants = enlisted(&mut leases, 3);
    participants[1].can_prepare = false;
    committer.commit(&mut participants).await.unwrap();
    assert_eq!(shards.holders(12).await, 3);
}

async fn notices_of_deferred_triggers(shards: &Shards) {
    for number in 0..3 {
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS n (id int); GRANT ALL ON n TO app; \
             CREATE FUNCTION say() RETURNS trigger LANGUAGE plpgsql AS \
             'BEGIN RAISE NOTICE ''from {number}''; RETURN NULL; END'; \
             CREATE CONSTRAINT TRIGGER say AFTER INSERT ON n DEFERRABLE INITIALLY DEFERRED \
             FOR EACH ROW EXECUTE FUNCTION say()"
        );
        shards.value(number, &sql).await;
    }
    let committer = shards.committer("r16", None);
    let mut leases = shards.begin().await;
    for lease in &mut leases {
        lease.simple("INSERT INTO n VALUES (1)").await.unwrap();
    }
    let done = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap();
    let mut said: Vec<&str> = done
        .notices
        .iter()
        .map(|notice| notice.message.as_str())
        .collect();
    said.sort_unstable();
    assert_eq!(said, ["from 0", "from 1", "from 2"]);
}

async fn two_that_cannot_be_prepared(shards: &Shards) {
    let committer = shards.committer("r17", None);
    let mut leases = shards.begin_writes(13).await;
    let mut participants: Vec<Enlisted<'_>> = enlisted(&mut leases, 3);
    participants[0].can_prepare = false;
    participants[2].can_prepare = false;
    let error = committer.commit(&mut participants).await.unwrap_err();
    assert_eq!(error.sqlstate().as_str(), "0A000");
    assert!(
        error
            .detail()
            .unwrap()
            .contains("kintsugi/two-unpreparable")
    );
    assert_eq!(shards.holders(13).await, 0);
}

/// COMMIT and PREPARE of a failed transaction answer ROLLBACK, which is no success.
async fn a_failed_transaction(shards: &Shards) {
    let committer = shards.committer("r18", None);
    for writers in [1, 3] {
        let mut leases = shards.begin_writes(14).await;
        leases[0].simple("SELECT 1/0").await.unwrap_err();
        let error = committer
            .commit(&mut enlisted(&mut leases, writers))
            .await
            .unwrap_err();
        assert!(matches!(error, CommitError::Failed { .. }), "{error:?}");
        for lease in &mut leases {
            assert_eq!(
                lease.transaction_status(),
                wire::backend::TransactionStatus::Idle
            );
        }
    }
    assert_eq!(
        shards
            .value(0, "SELECT count(*) FROM t WHERE id = 14")
            .await,
        "0"
    );
}

/// The role that prepared is gone with the transaction, so that its own session may not finish it.
async fn the_second_phase_is_finished_elsewhere(shards: &Shards) {
    let committer = shards.committer("r19", None);
    let mut leases = shards.begin().await;
    for lease in &mut leases {
        lease
            .simple("SET LOCAL ROLE other; INSERT INTO t VALUES (15, 1)")
            .await
            .unwrap();
    }
    let done = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap();
    assert_eq!(done.notices, []);
    assert_eq!(shards.holders(15).await, 3);
    // Where the router's own user may not either, the client hears of the commit with a warning.
    let mut weak = shards.committer("r2", None);
    weak.access.user = "app".into();
    weak.patience.finish = std::time::Duration::from_millis(300);
    let mut leases = shards.begin().await;
    for lease in &mut leases {
        lease
            .simple("SET LOCAL ROLE other; INSERT INTO t VALUES (16, 1)")
            .await
            .unwrap();
    }
    let done = weak.commit(&mut enlisted(&mut leases, 3)).await.unwrap();
    assert_eq!(done.notices.len(), 2, "{done:?}");
    assert!(
        done.notices[0].message.contains("kintsugi_r2_1_"),
        "{done:?}"
    );
    assert_eq!(shards.holders(16).await, 1);
    shards.recover().await;
    assert_eq!(shards.holders(16).await, 3);
}

async fn a_lost_participant(shards: &Shards) {
    let committer = shards.committer("r20", None);
    let mut leases = shards.begin_writes(17).await;
    end(shards, 0, leases[0].process_id()).await;
    let error = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap_err();
    assert!(error.to_string().contains("store-1"), "{error}");
    assert_eq!(error.sqlstate().as_str(), "57P01");
    assert_eq!(shards.holders(17).await, 0);
    assert!(prepared(shards).await.is_empty());
}

async fn a_lost_decider(shards: &Shards) {
    let mut leases = shards.begin_writes(18).await;
    let (port, pid) = (shards.ports[2], leases[2].process_id());
    let hook: StepHook = Arc::new(move |step: Step| {
        if step.to_string() == "before-first-decide" {
            let psql = cluster::Binaries::find().unwrap().program("psql");
            let sql = format!("SELECT pg_terminate_backend({pid}, 5000)");
            let port = port.to_string();
            let args = [
                "-X",
                "-q",
                "-h",
                "127.0.0.1",
                "-U",
                "postgres",
                "-p",
                &port,
                "-c",
                &sql,
            ];
            let ended = std::process::Command::new(psql)
                .args(args)
                .output()
                .unwrap();
            assert!(ended.status.success());
        }
    });
    let committer = shards.committer("r21", Some(hook));
    let error = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap_err();
    assert!(matches!(error, CommitError::Failed { .. }), "{error:?}");
    assert_eq!(shards.holders(18).await, 0);
    assert!(prepared(shards).await.is_empty());
    assert_eq!(
        shards
            .value(2, "SELECT outcome FROM kintsugi.decision")
            .await,
        "abort"
    );
}

/// A resolver was first: the client is told to try again, not of a key that it doesn't know.
async fn a_decision_that_comes_too_late(shards: &Shards) {
    let mut leases = shards.begin_writes(19).await;
    let known = leases[2]
        .simple("SELECT pid, start_us FROM kintsugi.whoami()")
        .await
        .unwrap();
    let [pid, start] = [0, 1].map(|at| known[0].rows[0][at].clone().unwrap());
    let uid = execute::commit::write_uid(leases[2].shard());
    let gid = format!("kintsugi_late_1_1_{pid}_{start}_{uid}");
    let sql = format!("INSERT INTO kintsugi.decision VALUES ('{gid}', 'abort', '{{}}', '{{}}')");
    shards.value(2, &sql).await;
    let committer = shards.committer("late", None);
    let error = committer
        .commit(&mut enlisted(&mut leases, 3))
        .await
        .unwrap_err();
    assert_eq!(error.to_diagnostic().code.as_str(), "40001", "{error:?}");
    assert_eq!(shards.holders(19).await, 0);
    // The abort row stays as long as that backend.
    let pid = leases[2].process_id();
    drop(leases);
    end(shards, 2, pid).await;
}

async fn end(shards: &Shards, shard: u16, pid: i32) {
    shards
        .value(shard, &format!("SELECT pg_terminate_backend({pid}, 5000)"))
        .await;
}

async fn prepared(shards: &Shards) -> String {
    shards
        .each("SELECT string_agg(gid, ',') FROM pg_prepared_xacts")
        .await
        .concat()
}
