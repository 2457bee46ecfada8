//! A shard that dies at every step that there is, and comes back.

use std::process::Command;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use cluster::LocalCluster;
use execute::commit::{CommitError, Step, StepHook};

use crate::bed::{Bed, enlisted};

#[tokio::test]
async fn a_shard_that_dies_at_any_step_leaves_all_or_nothing() {
    let mut bed = Bed::start().await;
    let steps = Step::of_success();
    let mut row = 0;
    let mut outcomes = [0; 3];
    for step in steps {
        // A participant, and the decider.
        for victim in [0, 2] {
            row += 1;
            outcomes[dies_at(&mut bed, step, (victim, row)).await] += 1;
        }
    }
    let [committed, failed, _] = outcomes;
    assert!(committed > 3 && failed > 3, "{outcomes:?}");
}

/// What the client was told: committed, failed, unknown.
async fn dies_at(bed: &mut Bed, step: Step, (victim, row): (usize, i32)) -> usize {
    let mut leases = bed.shards.begin_writes(row).await;
    let (pid, port) = (
        bed.clusters[victim].pid().unwrap(),
        bed.shards.ports[victim],
    );
    let died = Arc::new(OnceLock::new());
    let hook: StepHook = {
        let died = Arc::clone(&died);
        Arc::new(move |at: Step| {
            if at == step && died.set(()).is_ok() {
                crash(pid, port);
            }
        })
    };
    let mut committer = bed.shards.committer(&format!("r{row}"), Some(hook));
    committer.patience.settle = Duration::from_secs(20);
    committer.patience.finish = Duration::from_secs(20);
    let mut participants = enlisted(&mut leases, 3);
    let (outcome, ()) = tokio::join!(
        committer.commit(&mut participants),
        revive(&mut bed.clusters[victim], &died)
    );
    for lease in &mut leases {
        lease.poison();
    }
    drop(leases);
    if died.get().is_some() && !bed.clusters[victim].is_running() {
        bed.clusters[victim].restart().await.unwrap();
    }
    settle_down(bed).await;
    let holders = bed.shards.holders(row).await;
    match outcome {
        Ok(_) => assert_eq!(holders, 3, "{step}, {victim}: lost"),
        Err(CommitError::Unknown { .. }) => assert!(holders == 0 || holders == 3, "{step}"),
        Err(_) => assert_eq!(holders, 0, "{step}, {victim}: undead"),
    }
    match outcome {
        Ok(_) => 0,
        Err(CommitError::Unknown { .. }) => 2,
        Err(_) => 1,
    }
}

/// Ends a server without a shutdown of any kind, and waits until it is gone.
fn crash(pid: i32, port: u16) {
    let sent = Command::new("kill")
        .args(["-QUIT", &pid.to_string()])
        .status()
        .unwrap();
    assert!(sent.success());
    for _ in 0..500 {
        if std::net::TcpStream::connect(("127.0.0.1", port)).is_err() {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    panic!("the server lives on");
}

/// Starts the server again while the commit is under way.
async fn revive(cluster: &mut LocalCluster, died: &OnceLock<()>) {
    for _ in 0..20 {
        if died.get().is_some() {
            cluster.restart().await.unwrap();
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// Until the pools know of the server again, and recovery has come by.
async fn settle_down(bed: &Bed) {
    for shard in bed.shards.pools.shards() {
        let identity = pool::Identity::new("postgres", "postgres");
        let mut is_up = false;
        for _ in 0..200 {
            let wait = Duration::from_secs(1);
            is_up = match bed.shards.pools.lease(shard, &identity, wait).await {
                Ok(mut lease) => lease.simple("SELECT 1").await.is_ok(),
                Err(_) => false,
            };
            if is_up {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        assert!(is_up, "{shard} stays down");
    }
    bed.shards.recover().await;
}
