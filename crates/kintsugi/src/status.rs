//! `kintsugi status`: the routers, the shards, and what is under way, at a glance.

use std::fmt::Write as _;
use std::time::SystemTime;

use serde_json::{Value, json};
use store::Store;

use crate::Failure;
use crate::shards::Shards;
use crate::topology_command::{Outcome, Status};

/// What a shard tells of itself: its version, transactions that are open, and those of ours that are prepared.
const ASK: &str = "SELECT current_setting('server_version'), \
     (SELECT count(*) FROM pg_catalog.pg_stat_activity WHERE xact_start IS NOT NULL \
        AND backend_type = 'client backend' AND pid <> pg_catalog.pg_backend_pid()), \
     (SELECT count(*) FROM pg_catalog.pg_prepared_xacts WHERE starts_with(gid, 'kintsugi_'))";

/// Looks at everything; a shard that can't be reached is part of the answer.
///
/// # Errors
/// The store fails.
///
/// # Cancel safety
/// It has no effect.
pub async fn run(store: &Store, shards: &Shards, revision: u64) -> Result<Outcome, Failure> {
    let now = SystemTime::now();
    let mut text = format!("revision {revision}\n");
    let mut routers = Vec::new();
    for router in store.routers().await.map_err(Failure::Store)? {
        let state = if router.is_silent(now) {
            "silent"
        } else {
            "alive"
        };
        let _ = writeln!(
            text,
            "router {}: {state}, serves revision {}",
            router.name, router.acknowledged
        );
        routers.push(json!({
            "name": router.name,
            "epoch": router.epoch,
            "state": state,
            "revision": router.acknowledged,
        }));
    }
    if routers.is_empty() {
        text.push_str("no router\n");
    }
    let mut status = Status::Done;
    let mut seen = Vec::new();
    for (shard, uid) in shards.all() {
        let told = match shards.lease(shard).await {
            Ok(lease) => tell(lease).await.map_err(|source| Failure::Backend {
                shard: uid.clone(),
                source,
            }),
            Err(failure) => Err(failure),
        };
        let shown = match told {
            Ok((line, mut value)) => {
                let _ = writeln!(text, "shard {uid}: {line}");
                value["uid"] = json!(&*uid);
                value
            }
            Err(failure) => {
                status = Status::Failed;
                let reason = stdx::Chain(&failure).to_string();
                let _ = writeln!(text, "shard {uid}: not reachable: {reason}");
                json!({ "uid": &*uid, "reachable": false, "reason": reason })
            }
        };
        seen.push(shown);
    }
    let json = json!({ "revision": revision, "routers": routers, "shards": seen });
    Ok(Outcome { text, json, status })
}

async fn tell(mut lease: pool::Lease) -> Result<(String, Value), pool::BackendError> {
    let results = lease.simple(ASK).await?;
    let row = results
        .into_iter()
        .next()
        .and_then(|result| result.rows.into_iter().next());
    let mut values = row
        .unwrap_or_default()
        .into_iter()
        .map(Option::unwrap_or_default);
    let mut next = || values.next().unwrap_or_default();
    let (version, open, prepared) = (next(), next(), next());
    let line = format!(
        "reachable, PostgreSQL {version}, {open} open transactions, {prepared} prepared by routers"
    );
    let count = |text: &str| text.parse::<u64>().unwrap_or_default();
    let value = json!({
        "reachable": true,
        "version": version,
        "open_transactions": count(&open),
        "prepared_transactions": count(&prepared),
    });
    Ok((line, value))
}
