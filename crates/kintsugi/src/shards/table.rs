//! A table made on another shard as the authoritative one defines it. PostgreSQL's own `pg_dump` writes the definition, because
//! nothing else knows all of it.

use std::fmt::Write as _;
use std::process::Stdio;

use tokio::process::Command;
use topology::NewHome;

use crate::Failure;
use crate::config::Config;

/// The definitions of these tables on the authoritative shard, as SQL.
pub(super) async fn dump(
    config: &Config,
    (primary, database): (&str, &str),
    homes: &[&NewHome],
) -> Result<String, Failure> {
    let binaries = cluster::Binaries::find().map_err(Failure::Binaries)?;
    let program = binaries.program("pg_dump");
    let mut command = Command::new(&program);
    command.args(["--schema-only", "--dbname", database]);
    command.args(["--username", &config.router.user]);
    match primary.parse() {
        Ok(net::Address::Tcp { host, port }) => {
            command.args(["--host", &host, "--port", &port.to_string()]);
        }
        _ => {
            command.args(["--host", primary]);
        }
    }
    if let Some(password) = &config.router.password {
        command.env("PGPASSWORD", password.expose());
    }
    // In quotes nothing is a wildcard.
    for home in homes {
        let name = format!(
            "{}.{}",
            sql::quote_ident(&home.schema),
            sql::quote_ident(&home.table)
        );
        command.args(["--table", &name]);
    }
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = output.await.map_err(Failure::file("run", program))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::Dump {
            said: said.trim().to_owned(),
        });
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let plain = text.lines().filter(|line| !is_foreign(line));
    Ok(plain.fold(String::new(), |all, line| all + line + "\n"))
}

/// Lines that only psql understands, and the fence under which the definitions are read.
fn is_foreign(line: &str) -> bool {
    line.starts_with('\\') || line.starts_with("CREATE TRIGGER kintsugi_fence ")
}

/// The transaction that makes them; a table that is there already and empty was left behind, and goes.
pub(super) fn create(homes: &[&NewHome], definitions: &str) -> String {
    let mut sql = "BEGIN;\nSET LOCAL lock_timeout = '5s';\n".to_owned();
    for home in homes {
        let schema = sql::quote_ident(&home.schema);
        let table = format!("{schema}.{}", sql::quote_ident(&home.table));
        let literal = sql::quote_literal(&table);
        let _ = writeln!(sql, "CREATE SCHEMA IF NOT EXISTS {schema};");
        let _ = writeln!(
            sql,
            "DO $kintsugi$BEGIN IF pg_catalog.to_regclass({literal}) IS NOT NULL THEN \
             LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; \
             IF EXISTS (SELECT FROM {table}) THEN \
             RAISE EXCEPTION 'table % holds rows on a shard that it is new to', {literal}; END IF; \
             DROP TABLE {table}; END IF; END$kintsugi$;"
        );
    }
    sql + definitions + "COMMIT;\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn left_behind_tables_go_first() {
        let home = NewHome {
            database: "shop".to_owned(),
            schema: "public".to_owned(),
            table: "it's".to_owned(),
            shard: "store-2".to_owned(),
        };
        let sql = create(&[&home], "CREATE TABLE x ();\n");
        assert!(sql.contains("DROP TABLE \"public\".\"it's\";"), "{sql}");
        assert!(sql.contains("to_regclass('\"public\".\"it''s\"')"), "{sql}");
        assert!(sql.ends_with("CREATE TABLE x ();\nCOMMIT;\n"), "{sql}");
    }
}
