//! What every local shard needs before the router looks at it: the databases.

use indexmap::IndexMap;
use pool::{Identity, PoolConfig, Pools, ShardAddress};

use super::USER;
use crate::Failure;

/// How long a shard that has just started may take to answer.
const WAIT: std::time::Duration = std::time::Duration::from_secs(30);

/// Makes databases where they are missing.
pub(super) async fn make_databases(
    shards: &IndexMap<String, topology::ShardEntry>,
    databases: &[String],
) -> Result<(), Failure> {
    let addresses = shards.iter().map(|(uid, shard)| {
        let parsed = shard.primary.as_deref().unwrap_or_default().parse();
        ShardAddress {
            uid: uid.as_str().into(),
            address: parsed.unwrap_or_else(|_| net::Address::tcp("invalid", 0)),
        }
    });
    let pools = Pools::new(PoolConfig {
        shards: addresses.collect(),
        credentials: pool::Credentials::trust(),
        limits: pool::Limits::default(),
    });
    for shard in pools.shards() {
        let uid = pools.uid(shard).cloned().unwrap_or_else(|| "?".into());
        let identity = Identity::new("postgres", USER);
        let leased = pools.lease(shard, &identity, WAIT).await;
        let mut lease = leased.map_err(|source| Failure::Lease {
            shard: uid.clone(),
            source,
        })?;
        for database in databases {
            make(&mut lease, database)
                .await
                .map_err(|source| Failure::Backend {
                    shard: uid.clone(),
                    source,
                })?;
        }
    }
    pools.shut_down();
    Ok(())
}

async fn make(backend: &mut pool::Backend, database: &str) -> Result<(), pool::BackendError> {
    let name = sql::quote_literal(database);
    let ask = format!("SELECT 1 FROM pg_catalog.pg_database WHERE datname = {name}");
    let found = backend.simple(&ask).await?;
    if found.first().and_then(pool::ResultSet::value).is_none() {
        let make = format!("CREATE DATABASE {}", sql::quote_ident(database));
        backend.simple(&make).await?;
    }
    Ok(())
}
