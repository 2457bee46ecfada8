//! Tables on a shard that is new to them: as the authoritative shard defines them. PostgreSQL's own `pg_dump` writes the definition, because
//! nothing else knows all of it.

use std::fmt::Write as _;
use std::process::Stdio;

use tokio::process::Command;
use topology::NewHome;

use crate::Failure;
use crate::config::Config;

/// The definitions of these tables on one server, as SQL.
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

/// Empty lines, lines that only psql understands, comments, and the fence under which the definitions are read.
fn is_foreign(line: &str) -> bool {
    line.is_empty()
        || line.starts_with('\\')
        || line.starts_with("--")
        || line.starts_with("CREATE TRIGGER kintsugi_fence ")
}

/// The transaction that makes tables which are not there yet.
pub(super) fn create(homes: &[&NewHome], definitions: &str) -> String {
    let mut sql = "BEGIN;\n".to_owned();
    for home in homes {
        let schema = sql::quote_ident(&home.schema);
        let _ = writeln!(sql, "CREATE SCHEMA IF NOT EXISTS {schema};");
    }
    sql + definitions + "COMMIT;\n"
}

/// What tells whether a table is on a shard, and whether it has rows there: no row, `f` or `t`.
pub(super) fn look(home: &NewHome) -> (String, String) {
    let schema = sql::quote_ident(&home.schema);
    let table = format!("{schema}.{}", sql::quote_ident(&home.table));
    let literal = sql::quote_literal(&table);
    (
        format!("SELECT 1 WHERE pg_catalog.to_regclass({literal}) IS NOT NULL"),
        format!("SELECT 1 FROM {table} LIMIT 1"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let home = NewHome {
            database: "shop".to_owned(),
            schema: "public".to_owned(),
            table: "it's".to_owned(),
            shard: "store-2".to_owned(),
        };
        let (is_there, has_rows) = look(&home);
        assert!(is_there.contains("('\"public\".\"it''s\"')"), "{is_there}");
        assert_eq!(has_rows, "SELECT 1 FROM \"public\".\"it's\" LIMIT 1");
        let sql = create(&[&home], "CREATE TABLE x ();\n");
        assert!(sql.ends_with("CREATE TABLE x ();\nCOMMIT;\n"), "{sql}");
    }

    #[test]
    fn what_only_one_server_says_of_a_definition_is_left_out() {
        for line in [
            "",
            "\\restrict abc",
            "-- Dumped by pg_dump version 15.18",
            "CREATE TRIGGER kintsugi_fence BEFORE INSERT ON public.t",
        ] {
            assert!(is_foreign(line), "{line}");
        }
        assert!(!is_foreign("CREATE TABLE public.t ("));
    }
}
