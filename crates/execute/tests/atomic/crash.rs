//! A router that is killed at every step that there is.

use std::process::{Command, Stdio};
use std::sync::Arc;

use execute::commit::{Request, Step, StepHook};

use crate::bed::{Bed, Shards, enlisted};

const PORTS: &str = "EXECUTE_TEST_PORTS";
const STEP: &str = "EXECUTE_TEST_STEP";
const ROW: &str = "EXECUTE_TEST_ROW";

/// What has to go wrong for a step to come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    Success,
    OneWriter,
    PrepareFails,
    DecisionFails,
    DeciderIsLost,
    SecondPhaseFails,
}

fn scenario(step: Step) -> Scenario {
    match step.request {
        Request::Commit => Scenario::OneWriter,
        Request::Rollback => Scenario::PrepareFails,
        Request::RollbackPrepared => Scenario::DecisionFails,
        Request::Settle => Scenario::DeciderIsLost,
        Request::Finish => Scenario::SecondPhaseFails,
        Request::Identify | Request::Prepare | Request::Decide | Request::CommitPrepared => {
            Scenario::Success
        }
    }
}

#[tokio::test]
async fn a_router_killed_at_any_step_leaves_all_or_nothing() {
    let bed = Bed::start().await;
    let ports: Vec<String> = bed.shards.ports.iter().map(u16::to_string).collect();
    for (row, step) in (1..).zip(Step::all()) {
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "crash::child", "--nocapture"])
            .env(PORTS, ports.join(","))
            .env(STEP, step.to_string())
            .env(ROW, row.to_string())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout).into_owned()
            + &String::from_utf8_lossy(&child.stderr);
        assert!(
            said.contains(&format!("killed at {step}")),
            "{step} was not visited: {said}"
        );
        assert!(!child.status.success(), "{step}: {said}");
        bed.shards.recover().await;
        let holders = bed.shards.holders(row).await;
        let whole = if scenario(step) == Scenario::OneWriter {
            1
        } else {
            3
        };
        assert!(
            holders == 0 || holders == whole,
            "{step}: on {holders} shards"
        );
        if step.request == Request::CommitPrepared || step.request == Request::Finish {
            assert_eq!(holders, 3, "{step}: it had been decided");
        }
        if step.request == Request::Prepare || step.request == Request::Identify {
            assert_eq!(holders, 0, "{step}: it had not been decided");
        }
    }
}

/// The router that is killed; does nothing in an ordinary run.
#[tokio::test]
async fn child() {
    let (Ok(ports), Ok(step), Ok(row)) = (
        std::env::var(PORTS),
        std::env::var(STEP),
        std::env::var(ROW),
    ) else {
        return;
    };
    let ports: Vec<u16> = ports.split(',').map(|port| port.parse().unwrap()).collect();
    let step: Step = step.parse().unwrap();
    let scenario = scenario(step);
    let port = ports[2];
    let hook: StepHook = Arc::new(move |at: Step| {
        if scenario == Scenario::DeciderIsLost && at.to_string() == "before-first-decide" {
            end_backends(port);
        }
        if at == step {
            println!("killed at {step}");
            std::process::abort();
        }
    });
    let shards = Shards::new(ports);
    let row: i32 = row.parse().unwrap();
    let mut leases = shards.begin().await;
    let (role, writers) = match scenario {
        Scenario::OneWriter => ("", 1),
        Scenario::SecondPhaseFails => ("SET LOCAL ROLE other", 3),
        _ => ("", 3),
    };
    for lease in leases.iter_mut().take(writers) {
        lease
            .simple(&format!("{role}; INSERT INTO t VALUES ({row}, 1)"))
            .await
            .unwrap();
    }
    let (at, extra) = match scenario {
        Scenario::PrepareFails => (0, "CREATE TEMP TABLE x (i int)"),
        Scenario::DecisionFails => (2, "SET TRANSACTION READ ONLY"),
        _ => (0, ""),
    };
    leases[at].simple(extra).await.unwrap();
    let committer = shards.committer(&format!("child-{row}"), Some(hook));
    let outcome = committer.commit(&mut enlisted(&mut leases, writers)).await;
    panic!("not killed: {outcome:?}");
}

/// Ends the clients' backends on a server, as an administrator would.
fn end_backends(port: u16) {
    let psql = cluster::Binaries::find().unwrap().program("psql");
    let sql = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = 'app'";
    let status = Command::new(psql)
        .args([
            "-X",
            "-q",
            "-h",
            "127.0.0.1",
            "-U",
            "postgres",
            "-p",
            &port.to_string(),
            "-c",
            sql,
        ])
        .stdout(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
}
