//! Loading the fixture straight onto the shards: the schema everywhere, each row where the topology
//! says. For a router that can't take definitions yet, so that reading can be compared before.

use std::path::Path;

use topology::{Placement, TableName, Topology};

use super::contents::Looker;
use super::error::OracleError;
use super::fixture;
use super::target::Target;

/// Loads the fixture.
///
/// # Errors
/// A statement fails.
pub(super) async fn load(
    target: &mut Target,
    topology: &Topology,
    project: &Path,
) -> Result<(), OracleError> {
    for server in &mut target.servers {
        for file in fixture::files(project) {
            for statement in fixture::statements(&file)? {
                server.run(&statement).await?;
            }
        }
    }
    // Every server has every row now; what isn't at home goes.
    let database = target.address.database.clone();
    let seen = Looker::default().look(target, Some(topology), &[]).await?;
    for (server, tables) in target.servers.iter_mut().zip(&seen) {
        let mut sql = "BEGIN; SET LOCAL session_replication_role = replica;".to_owned();
        for (table, rows) in tables {
            let name = TableName {
                database: &database,
                schema: "public",
                table,
            };
            match topology.declared(name) {
                Some(Placement::Reference(_)) => {}
                Some(Placement::Sharded(_)) => {
                    let gone = rows
                        .iter()
                        .filter(|row| row.home.as_ref() != Some(&server.uid));
                    for row in gone {
                        let text = row.whole.replace('\'', "''");
                        sql.extend([format!(
                            "DELETE FROM {table} AS x WHERE ROW(x.*)::text = '{text}';"
                        )]);
                    }
                }
                Some(Placement::Unsharded { .. }) | None => {
                    let authority = &topology.shard(topology.authoritative_shard()).uid;
                    if server.uid != *authority {
                        sql.extend([format!("DELETE FROM {table};")]);
                    }
                }
            }
        }
        server.run(&format!("{sql} COMMIT")).await?;
    }
    Ok(())
}
