//! What really lies on each server, looked at past the router: every row of a sharded table at home
//! and exactly once, copies of reference tables equal byte for byte, nothing left half done.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use pg::{KeyClass, KeyType, KeyValue, Oid, Parsed};
use topology::{Placement, TableName, Topology};

use super::compare::sides;
use super::error::OracleError;
use super::target::{Server, Target};

/// The tables of one server: for each the rows, sorted.
pub type Tables = BTreeMap<String, Vec<Row>>;

/// A row as it lies on a server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// Every column but the masked ones.
    pub masked: String,
    /// Every column.
    pub whole: String,
    /// The shard that it belongs to, where that can be computed.
    pub home: Option<String>,
}

/// What every server held before the cases, and how to put it back.
#[derive(Debug, Default)]
pub struct Baseline {
    tables: Vec<Tables>,
    objects: Vec<BTreeSet<String>>,
}

/// Tables of a schema, each with its columns and the columns that aren't masked.
const LIST: &str = "\
SELECT c.relname,
       string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum),
       string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)
           FILTER (WHERE a.attname <> ALL (MASKS))
FROM pg_class c
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p')
  AND NOT c.relispartition
GROUP BY c.relname ORDER BY c.relname";

/// Everything in the database that a case may have made, as the statement that drops it.
const OBJECTS: &str = "\
SELECT format('DROP %s IF EXISTS %s CASCADE',
              CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW'
                             WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass)
FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm', 'S')
  AND NOT EXISTS (SELECT 1 FROM pg_depend d WHERE d.objid = c.oid AND d.deptype IN ('a', 'i')
                  AND d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass)
UNION ALL
SELECT format('DROP TYPE IF EXISTS %s CASCADE', t.oid::regtype)
FROM pg_type t LEFT JOIN pg_class c ON c.oid = t.typrelid
WHERE t.typnamespace = 'public'::regnamespace
  AND (t.typtype IN ('e', 'd', 'r') OR t.typtype = 'c' AND c.relkind = 'c')
UNION ALL
SELECT format('DROP ROUTINE IF EXISTS %s CASCADE', p.oid::regprocedure)
FROM pg_proc p WHERE p.pronamespace = 'public'::regnamespace
UNION ALL
SELECT format('DROP SCHEMA IF EXISTS %I CASCADE', nspname)
FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema|kintsugi|public)'";

/// Transactions that were prepared and neither committed nor rolled back.
const PREPARED: &str = "SELECT string_agg(gid, ', ') FROM pg_prepared_xacts";

/// A home that was computed once.
type Homes = HashMap<(String, String), Option<String>>;

/// Looks at servers; remembers homes of keys.
#[derive(Debug, Default)]
pub struct Looker {
    homes: Homes,
}

impl Looker {
    /// Reads every table of every server of a target.
    ///
    /// # Errors
    /// A server can't be asked.
    pub async fn look(
        &mut self,
        target: &mut Target,
        topology: Option<&Topology>,
        masks: &[String],
    ) -> Result<Vec<Tables>, OracleError> {
        let database = target.address.database.clone();
        let mut all = Vec::new();
        for server in &mut target.servers {
            all.push(self.tables(server, topology, &database, masks).await?);
        }
        Ok(all)
    }

    async fn tables(
        &mut self,
        server: &mut Server,
        topology: Option<&Topology>,
        database: &str,
        masks: &[String],
    ) -> Result<Tables, OracleError> {
        let quoted: Vec<String> = masks.iter().map(|mask| format!("'{mask}'")).collect();
        let array = format!("ARRAY[{}]::name[]", quoted.join(", "));
        let listed = server
            .run_again(&LIST.replace("MASKS", &array))
            .await?
            .texts();
        let mut tables = Tables::new();
        let mut parts = Vec::new();
        let mut sharded = HashMap::new();
        for row in listed {
            let [Some(table), Some(columns), unmasked] = row.as_slice() else {
                continue;
            };
            let unmasked = unmasked.as_deref().unwrap_or("NULL");
            let name = TableName {
                database,
                schema: "public",
                table,
            };
            let mut keys = [
                ("NULL".to_owned(), "0".to_owned()),
                ("NULL".into(), "0".into()),
            ];
            if let Some(Placement::Sharded(place)) = topology.and_then(|t| t.declared(name)) {
                for (slot, part) in keys.iter_mut().zip(place.key.parts()) {
                    *slot = (format!("({part})::text"), format!("pg_typeof({part})::oid"));
                }
                sharded.insert(table.clone(), place.clone());
            }
            let [(k1, t1), (k2, t2)] = keys;
            tables.insert(table.clone(), Vec::new());
            parts.push(format!(
                "SELECT '{table}', ROW({unmasked})::text, ROW({columns})::text, \
                 {k1}, {t1}::text, {k2}, {t2}::text FROM public.{table}"
            ));
        }
        if parts.is_empty() {
            return Ok(tables);
        }
        let rows = server.run_again(&parts.join(" UNION ALL ")).await?.texts();
        for row in rows {
            let [Some(table), Some(masked), Some(whole), keys @ ..] = row.as_slice() else {
                continue;
            };
            let home = match (sharded.get(table), topology) {
                (Some(place), Some(topology)) => self.home(table, place, topology, keys),
                _ => None,
            };
            let row = Row {
                masked: masked.clone(),
                whole: whole.clone(),
                home,
            };
            tables.entry(table.clone()).or_default().push(row);
        }
        for rows in tables.values_mut() {
            rows.sort_unstable();
        }
        Ok(tables)
    }

    fn home(
        &mut self,
        table: &str,
        place: &topology::Sharded,
        topology: &Topology,
        keys: &[Option<String>],
    ) -> Option<String> {
        let index = (table.to_owned(), format!("{keys:?}"));
        if let Some(known) = self.homes.get(&index) {
            return known.clone();
        }
        let parts = place.key.parts().len();
        let values: Option<Vec<KeyValue>> = keys
            .chunks(2)
            .take(parts)
            .map(|pair| key_value(pair.first()?.as_deref()?, pair.get(1)?.as_deref()?))
            .collect();
        let home = values
            .and_then(|values| place.shard_for(&values).ok().flatten())
            .map(|shard| topology.shard(shard).uid.clone());
        self.homes.insert(index, home.clone());
        home
    }
}

fn key_value(text: &str, type_oid: &str) -> Option<KeyValue> {
    let oid = Oid(type_oid.parse().ok()?);
    let key = KeyType::of_builtin(oid).unwrap_or(KeyType {
        class: KeyClass::Enum,
        width: 0,
        typmod: -1,
    });
    match KeyValue::from_text(key, pg::oid::UNKNOWN, text) {
        Parsed::Value(value) => Some(value),
        Parsed::NoMatch | Parsed::Invalid | Parsed::Unknown => None,
    }
}

/// What is wrong with a target's contents, given those of plain PostgreSQL; nothing if all is well.
#[must_use]
pub fn problems(
    target: &Target,
    topology: &Topology,
    plain: &Tables,
    seen: &[Tables],
) -> Vec<String> {
    let mut problems = Vec::new();
    let names: BTreeSet<&String> = plain
        .keys()
        .chain(seen.iter().flat_map(Tables::keys))
        .collect();
    for name in names {
        let table = TableName {
            database: &target.address.database,
            schema: "public",
            table: name,
        };
        let rows_of = |tables: &Tables| tables.get(name).cloned().unwrap_or_default();
        let union: Vec<Row> = match topology.declared(table) {
            Some(Placement::Reference(_)) => {
                problems.extend(copies_differ(target, name, seen));
                seen.first().map(rows_of).unwrap_or_default()
            }
            Some(Placement::Sharded(_)) => {
                problems.extend(not_at_home(target, name, seen));
                seen.iter().flat_map(rows_of).collect()
            }
            Some(Placement::Unsharded { .. }) | None => seen.iter().flat_map(rows_of).collect(),
        };
        let lines = |rows: &[Row]| {
            let mut lines: Vec<&str> = rows.iter().map(|row| row.masked.as_str()).collect();
            lines.sort_unstable();
            lines.join("\n")
        };
        let right = lines(&rows_of(plain));
        let seen = lines(&union);
        if right != seen {
            problems.push(sides(
                &format!("rows of {name} over all shards"),
                &right,
                &seen,
            ));
        }
    }
    problems
}

fn copies_differ(target: &Target, table: &str, seen: &[Tables]) -> Vec<String> {
    let copy = |tables: &Tables| {
        let rows = tables.get(table).map(Vec::as_slice).unwrap_or_default();
        rows.iter()
            .map(|row| row.whole.as_str())
            .collect::<Vec<_>>()
            .join("\n")
    };
    let first = seen.first().map(copy).unwrap_or_default();
    let others = target.servers.iter().zip(seen).skip(1);
    others
        .map(|(server, tables)| (server, copy(tables)))
        .filter(|(_, other)| *other != first)
        .map(|(server, other)| {
            sides(
                &format!("copies of {table} ({})", server.uid),
                &first,
                &other,
            )
        })
        .collect()
}

fn not_at_home(target: &Target, table: &str, seen: &[Tables]) -> Vec<String> {
    let mut problems = Vec::new();
    for (server, tables) in target.servers.iter().zip(seen) {
        for row in tables.get(table).into_iter().flatten() {
            if let Some(home) = row.home.as_ref().filter(|home| **home != server.uid) {
                problems.push(format!(
                    "  a row of {table} lies on {} and belongs on {home}: {}",
                    server.uid, row.whole
                ));
            }
        }
    }
    problems
}

/// Transactions left prepared on any server.
///
/// # Errors
/// A server can't be asked.
pub async fn left_prepared(target: &mut Target) -> Result<Vec<String>, OracleError> {
    let mut left = Vec::new();
    for server in &mut target.servers {
        let gids = server.run_again(PREPARED).await?.texts();
        if let Some(Some(gids)) = gids.first().and_then(|row| row.first()) {
            left.push(format!(
                "  {} has prepared transactions left: {gids}",
                server.uid
            ));
        }
    }
    Ok(left)
}

// === putting things back ===

impl Baseline {
    /// Notes what every server holds now and keeps a copy of it there, out of others' sight.
    ///
    /// # Errors
    /// A server can't be asked.
    pub async fn take(target: &mut Target, tables: Vec<Tables>) -> Result<Self, OracleError> {
        let mut objects = Vec::new();
        for (server, tables) in target.servers.iter_mut().zip(&tables) {
            server.run("SET lock_timeout = '2s'").await?;
            for table in tables.keys() {
                let sql = format!("CREATE TEMP TABLE saved_{table} AS TABLE public.{table}");
                server.run(&sql).await?;
            }
            objects.push(existing(server).await?);
        }
        Ok(Self { tables, objects })
    }

    /// Puts every server back to what it held, given what it holds now.
    ///
    /// # Errors
    /// A server can't be asked, or something holds locks.
    pub async fn restore(&self, target: &mut Target, now: &[Tables]) -> Result<(), OracleError> {
        for (at, server) in target.servers.iter_mut().enumerate() {
            let (then, now) = (&self.tables[at], &now[at]);
            let changed = then
                .iter()
                .filter(|(table, rows)| now.get(*table) != Some(*rows));
            let mut sql = String::new();
            for (table, _) in changed {
                sql.extend([
                    format!("DELETE FROM public.{table};"),
                    format!("INSERT INTO public.{table} TABLE saved_{table};"),
                ]);
            }
            if !sql.is_empty() {
                let sql = format!("SET LOCAL session_replication_role = replica; {sql}");
                server.run(&format!("BEGIN; {sql} COMMIT")).await?;
            }
            for drop in existing(server).await?.difference(&self.objects[at]) {
                server.run(drop).await?;
            }
        }
        Ok(())
    }
}

async fn existing(server: &mut Server) -> Result<BTreeSet<String>, OracleError> {
    let rows = server.run_again(OBJECTS).await?.texts();
    Ok(rows.into_iter().flatten().flatten().collect())
}

impl Baseline {
    /// Tables that are not as they were.
    #[must_use]
    pub fn effects(&self, now: &[Tables]) -> Vec<String> {
        let mut effects = Vec::new();
        for (then, now) in self.tables.iter().zip(now) {
            let count = |tables: &Tables, table: &String| tables.get(table).map_or(0, Vec::len);
            for table in then
                .keys()
                .filter(|table| count(then, table) != count(now, table))
            {
                effects.push(format!("  a refused statement changed {table}"));
            }
        }
        effects
    }
}
