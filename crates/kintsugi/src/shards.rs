//! The shards as commands use them, apart from a router: asked what there is, fenced, given tables.

mod table;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use pool::{CatalogLoader, Identity, Lease, PoolConfig, Pools, ShardAddress};
use topology::{NewHome, ShardId, Topology};

use crate::Failure;
use crate::config::Config;
use crate::router::Own;
use crate::topology_command::{Cluster, ClusterError, ClusterFacts, Fence};

/// How long a command waits for a shard.
const WAIT: Duration = Duration::from_secs(10);

/// How many tables are looked at in one request.
const CHUNK: usize = 100;

/// Databases that clients may use.
const DATABASES: &str = "SELECT datname FROM pg_catalog.pg_database \
                         WHERE datallowconn AND NOT datistemplate ORDER BY 1";

/// Tables outside PostgreSQL's and the router's own schemas.
const TABLES: &str = "SELECT n.nspname, c.relname FROM pg_catalog.pg_class c \
     JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     WHERE c.relkind IN ('r', 'p') AND c.relpersistence <> 't' AND n.nspname NOT LIKE 'pg\\_%' \
     AND n.nspname NOT IN ('information_schema', 'kintsugi') ORDER BY 1, 2";

/// The shards of a cluster.
#[derive(Debug)]
pub struct Shards {
    pools: Pools,
    own: Own,
    authority: ShardId,
    /// For programs that log in by themselves.
    config: Config,
    topology: Topology,
}

// === impl Shards ===

impl Shards {
    /// The shards of a topology; nothing is connected yet. Called within a runtime.
    #[must_use]
    pub fn new(config: Config, topology: Topology) -> Self {
        let address = |primary: &str| {
            // Compiling the document has read the address.
            let parsed = primary.parse();
            parsed.unwrap_or_else(|_| net::Address::tcp("invalid", 0))
        };
        let shards = topology.shards().iter().map(|shard| ShardAddress {
            uid: shard.uid.as_str().into(),
            address: address(&shard.primary),
        });
        let pools = Pools::new(PoolConfig {
            shards: shards.collect(),
            credentials: config.credentials(),
            limits: pool::Limits {
                backends_max: 2,
                ..config.pool.limits()
            },
        });
        Self {
            pools,
            own: Own {
                user: config.router.user.as_str().into(),
                database: config.router.database.as_str().into(),
            },
            authority: topology.authoritative_shard(),
            config,
            topology,
        }
    }

    /// All shards, in their order.
    pub fn all(&self) -> impl Iterator<Item = (ShardId, Arc<str>)> + '_ {
        self.pools.shards().map(|shard| (shard, self.uid(shard)))
    }

    /// A connection of the router's own user to the database that every shard has.
    ///
    /// # Errors
    /// The shard can't be reached, or lets nobody in.
    ///
    /// # Cancel safety
    /// Cancel safe.
    pub async fn lease(&self, shard: ShardId) -> Result<Lease, Failure> {
        self.lease_in(shard, &self.own.database).await
    }

    async fn lease_in(&self, shard: ShardId, database: &str) -> Result<Lease, Failure> {
        let identity = Identity::new(database, Arc::clone(&self.own.user));
        let leased = self.pools.lease(shard, &identity, WAIT).await;
        leased.map_err(|source| Failure::Lease {
            shard: self.uid(shard),
            source,
        })
    }

    async fn ask(
        &self,
        lease: &mut Lease,
        shard: ShardId,
        sql: &str,
    ) -> Result<Vec<Vec<Option<String>>>, Failure> {
        let results = lease.simple(sql).await;
        let results = results.map_err(|source| Failure::Backend {
            shard: self.uid(shard),
            source,
        })?;
        Ok(results.into_iter().flat_map(|result| result.rows).collect())
    }

    fn uid(&self, shard: ShardId) -> Arc<str> {
        let uid = self.pools.uid(shard).cloned();
        uid.unwrap_or_else(|| shard.to_string().into())
    }

    fn find(&self, uid: &str) -> Result<ShardId, Failure> {
        let found = self.topology.shard_named(uid).map(|shard| shard.id);
        found.ok_or_else(|| Failure::Refused {
            what: format!("shard \"{uid}\" is new to the cluster"),
            hint: "name it in the configuration of every router and start them again first"
                .to_owned(),
        })
    }

    async fn catalogs(&self) -> Result<BTreeMap<String, Arc<catalog::Catalog>>, Failure> {
        let mut lease = self.lease(self.authority).await?;
        let databases = self.ask(&mut lease, self.authority, DATABASES).await?;
        let loader = CatalogLoader::new();
        let mut catalogs = BTreeMap::new();
        for database in databases.into_iter().filter_map(first) {
            let mut lease = self.lease_in(self.authority, &database).await?;
            let (catalog, _) = loader.load(&mut lease).await.map_err(Failure::Catalog)?;
            catalogs.insert(database, Arc::new(catalog));
        }
        Ok(catalogs)
    }

    /// Tables of one database that have a row on one shard.
    async fn populated(
        &self,
        shard: ShardId,
        database: &str,
    ) -> Result<Vec<(String, String)>, Failure> {
        let mut lease = match self.lease_in(shard, database).await {
            Ok(lease) => lease,
            Err(failure) if failure.is_missing_database() => return Ok(Vec::new()),
            Err(failure) => return Err(failure),
        };
        let rows = self.ask(&mut lease, shard, TABLES).await?;
        let tables: Vec<(String, String)> = rows.into_iter().filter_map(pair).collect();
        let mut populated = Vec::new();
        for some in tables.chunks(CHUNK) {
            let asks: String = some.iter().map(is_populated).collect();
            let rows = self.ask(&mut lease, shard, &asks).await?;
            populated.extend(rows.into_iter().filter_map(pair));
        }
        Ok(populated)
    }

    /// Makes sure that tables are on a shard as they are on the authoritative one, and empty. Definitions run everywhere, so
    /// that they mostly are.
    async fn give_home(
        &self,
        shard: ShardId,
        database: &str,
        homes: &[&NewHome],
    ) -> Result<(), Failure> {
        let mut lease = self.lease_in(shard, database).await?;
        let (mut there, mut missing) = (Vec::new(), Vec::new());
        for home in homes {
            let (is_there, has_rows) = table::look(home);
            if self.ask(&mut lease, shard, &is_there).await?.is_empty() {
                missing.push(*home);
            } else if self.ask(&mut lease, shard, &has_rows).await?.is_empty() {
                there.push(*home);
            } else {
                return Err(self.left_behind(shard, home));
            }
        }
        let authority = &self.topology.shard(self.authority).primary;
        if !there.is_empty() {
            let own = &self.topology.shard(shard).primary;
            let own = table::dump(&self.config, (own, database), &there).await?;
            if own != table::dump(&self.config, (authority, database), &there).await? {
                return Err(self.differs(shard, &there));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let definitions = table::dump(&self.config, (authority, database), &missing).await?;
        let sql = table::create(&missing, &definitions);
        if let Err(failure) = self.ask(&mut lease, shard, &sql).await {
            // A transaction that failed stays open until it is ended.
            let _ = lease.simple("ROLLBACK").await;
            return Err(failure);
        }
        // The definitions came with settings of their own.
        lease.poison();
        Ok(())
    }

    fn left_behind(&self, shard: ShardId, home: &NewHome) -> Failure {
        let uid = self.uid(shard);
        let name = format!("{}.{}", home.schema, home.table);
        Failure::Refused {
            what: format!(
                "table {name} is new to shard {uid}, and holds rows there that nobody sees"
            ),
            hint: format!("look at them with psql on {uid}, and empty the table there"),
        }
    }

    fn differs(&self, shard: ShardId, homes: &[&NewHome]) -> Failure {
        let uid = self.uid(shard);
        let names: Vec<String> = homes
            .iter()
            .map(|home| format!("{}.{}", home.schema, home.table))
            .collect();
        Failure::Refused {
            what: format!(
                "shard {uid} defines one of these tables otherwise than the authoritative shard: {}",
                names.join(", ")
            ),
            hint: format!(
                "compare `pg_dump --schema-only` of both; drop the tables on {uid}, and they are made there anew"
            ),
        }
    }

    async fn run_fences(
        &self,
        fences: &[Fence],
        sql: impl Fn(&Fence) -> String,
    ) -> Result<(), Failure> {
        for fence in fences {
            let shard = self.find(&fence.shard)?;
            let mut lease = self.lease_in(shard, &fence.database).await?;
            if let Err(failure) = self.ask(&mut lease, shard, &sql(fence)).await {
                // As above.
                let _ = lease.simple("ROLLBACK").await;
                return Err(failure);
            }
        }
        Ok(())
    }
}

impl Cluster for Shards {
    async fn facts(&self) -> Result<ClusterFacts, ClusterError> {
        let catalogs = self.catalogs().await?;
        let mut populated = BTreeSet::new();
        for shard in self.pools.shards() {
            for database in catalogs.keys() {
                let tables = self.populated(shard, database).await?;
                let full = tables
                    .into_iter()
                    .map(|(schema, table)| (database.clone(), schema, table));
                populated.extend(full);
            }
        }
        Ok(ClusterFacts {
            catalogs,
            populated,
        })
    }

    async fn fence(&self, fences: &[Fence]) -> Result<(), ClusterError> {
        for (place, fence) in fences.iter().enumerate() {
            let put = self.run_fences(std::slice::from_ref(fence), Fence::put_sql);
            if let Err(failure) = put.await {
                self.run_fences(&fences[..place], Fence::take_sql).await?;
                return Err(failure.into());
            }
        }
        Ok(())
    }

    async fn unfence(&self, fences: &[Fence]) -> Result<(), ClusterError> {
        Ok(self.run_fences(fences, Fence::take_sql).await?)
    }

    async fn create(&self, homes: &[NewHome]) -> Result<(), ClusterError> {
        let mut by_place: BTreeMap<(&str, &str), Vec<&NewHome>> = BTreeMap::new();
        for home in homes {
            let place = (home.shard.as_str(), home.database.as_str());
            by_place.entry(place).or_default().push(home);
        }
        for ((uid, database), homes) in by_place {
            let shard = self.find(uid)?;
            self.give_home(shard, database, &homes).await?;
        }
        Ok(())
    }
}

/// Who is at work, for the history.
#[must_use]
pub fn author() -> String {
    let user = nix::unistd::User::from_uid(nix::unistd::Uid::effective());
    let name = user.ok().flatten().map(|user| user.name);
    name.unwrap_or_else(|| "unknown".to_owned())
}

fn is_populated((schema, table): &(String, String)) -> String {
    format!(
        "SELECT {}, {} WHERE EXISTS (SELECT FROM {}.{});\n",
        sql::quote_literal(schema),
        sql::quote_literal(table),
        sql::quote_ident(schema),
        sql::quote_ident(table)
    )
}

fn first(row: Vec<Option<String>>) -> Option<String> {
    row.into_iter().next().flatten()
}

fn pair(row: Vec<Option<String>>) -> Option<(String, String)> {
    let mut values = row.into_iter();
    Some((values.next()??, values.next()??))
}
