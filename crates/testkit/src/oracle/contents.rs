//! What really lies on each server, looked at past the router: every row of a sharded table at home
//! and exactly once, copies of reference tables equal byte for byte, nothing left half done.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use pg::{KeyClass, KeyType, KeyValue, Oid, Parsed};
use topology::{Placement, TableName, Topology};

use super::compare::sides;
use super::error::OracleError;
use super::target::{Server, Target};

/// The tables of one server: for each the rows, sorted. Tables that did not change between two looks
/// share their rows.
pub type Tables = BTreeMap<String, Arc<Vec<Row>>>;

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

/// Looks at servers; remembers homes of keys, and rows of tables as long as they don't change.
#[derive(Debug, Default)]
pub struct Looker {
    homes: Homes,
    /// By server and statement.
    known: HashMap<(String, String), Vec<Known>>,
}

/// The rows of a table, with what tells whether they are still the same.
#[derive(Debug)]
struct Known {
    print: String,
    rows: Arc<Vec<Row>>,
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
        let views = views(&listed, topology, database);
        let mut tables = Tables::new();
        if views.is_empty() {
            return Ok(tables);
        }
        let prints: Vec<&str> = views.iter().map(|view| view.print.as_str()).collect();
        let prints = server.run_again(&prints.join(" UNION ALL ")).await?.texts();
        let print_of: HashMap<String, String> = prints.into_iter().filter_map(pair).collect();
        for view in views {
            let print = print_of.get(&view.table).cloned().unwrap_or_default();
            let index = (server.uid.clone(), view.statement.clone());
            let known = self.known.entry(index.clone()).or_default();
            if let Some(known) = known.iter().find(|known| known.print == print) {
                tables.insert(view.table, Arc::clone(&known.rows));
                continue;
            }
            let texts = server.run_again(&view.statement).await?.texts();
            let rows = Arc::new(self.rows(&view, topology, &texts));
            tables.insert(view.table, Arc::clone(&rows));
            let known = self.known.entry(index).or_default();
            // What was there first will be there again; of the rest the last is worth keeping.
            known.truncate(1);
            known.push(Known { print, rows });
        }
        Ok(tables)
    }

    fn rows(
        &mut self,
        view: &View<'_>,
        topology: Option<&Topology>,
        texts: &[Vec<Option<String>>],
    ) -> Vec<Row> {
        let mut rows = Vec::new();
        for row in texts {
            let [Some(masked), Some(whole), keys @ ..] = row.as_slice() else {
                continue;
            };
            let home = match (view.place, topology) {
                (Some(place), Some(topology)) => self.home(&view.table, place, topology, keys),
                _ => None,
            };
            rows.push(Row {
                masked: masked.clone(),
                whole: whole.clone(),
                home,
            });
        }
        rows.sort_unstable();
        rows
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

/// How a table is looked at.
struct View<'a> {
    table: String,
    place: Option<&'a topology::Sharded>,
    /// Gives its rows.
    statement: String,
    /// Gives its name and a print of its rows: other rows have another one, but for an accident of
    /// one in 2^64.
    print: String,
}

/// How each table of a list is looked at.
fn views<'a>(
    listed: &[Vec<Option<String>>],
    topology: Option<&'a Topology>,
    database: &str,
) -> Vec<View<'a>> {
    let mut views = Vec::new();
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
        let mut keys = String::new();
        let place = match topology.and_then(|t| t.declared(name)) {
            Some(Placement::Sharded(place)) => Some(&**place),
            _ => None,
        };
        for part in place.iter().flat_map(|place| place.key.parts()) {
            keys.extend([format!(", ({part})::text, pg_typeof({part})::oid::text")]);
        }
        views.push(View {
            table: table.clone(),
            place,
            statement: format!(
                "SELECT ROW({unmasked})::text, ROW({columns})::text{keys} FROM public.{table}"
            ),
            print: format!(
                "SELECT '{table}', concat(count(*), ' ', \
                 sum(hashtextextended(ROW({columns})::text, 0))) FROM public.{table}"
            ),
        });
    }
    views
}

fn pair(row: Vec<Option<String>>) -> Option<(String, String)> {
    let [one, other] = <[Option<String>; 2]>::try_from(row).ok()?;
    Some((one?, other?))
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
/// Tables that are `settled` need no look.
#[must_use]
pub fn problems(
    target: &Target,
    topology: &Topology,
    plain: &Tables,
    seen: &[Tables],
    settled: &BTreeSet<String>,
) -> Vec<String> {
    let mut problems = Vec::new();
    let names: BTreeSet<&String> = plain
        .keys()
        .chain(seen.iter().flat_map(Tables::keys))
        .collect();
    for name in names.into_iter().filter(|name| !settled.contains(*name)) {
        let table = TableName {
            database: &target.address.database,
            schema: "public",
            table: name,
        };
        let rows_of = |tables: &'_ Tables| tables.get(name).cloned().unwrap_or_default();
        let all: Vec<Arc<Vec<Row>>> = seen.iter().map(rows_of).collect();
        let union = match topology.declared(table) {
            Some(Placement::Reference(_)) => {
                problems.extend(copies_differ(target, name, seen));
                all.get(..1).unwrap_or_default()
            }
            Some(Placement::Sharded(_)) => {
                problems.extend(not_at_home(target, name, seen));
                &all
            }
            Some(Placement::Unsharded { .. }) | None => &all,
        };
        let right = lines(&[rows_of(plain)]);
        let seen = lines(union);
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

/// Rows of several servers, sorted, as lines.
fn lines(parts: &[Arc<Vec<Row>>]) -> String {
    let rows = parts.iter().flat_map(|rows| rows.iter());
    let mut lines: Vec<&str> = rows.map(|row| row.masked.as_str()).collect();
    lines.sort_unstable();
    lines.join("\n")
}

fn copies_differ(target: &Target, table: &str, seen: &[Tables]) -> Vec<String> {
    let copy = |tables: &Tables| {
        let rows = tables
            .get(table)
            .map(|rows| rows.as_slice())
            .unwrap_or_default();
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
        for row in tables.get(table).into_iter().flat_map(|rows| rows.iter()) {
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
    /// Tables that every server holds just as it did.
    #[must_use]
    pub fn unchanged(&self, now: &[Tables]) -> BTreeSet<String> {
        let mut unchanged: BTreeSet<String> =
            self.tables.iter().flat_map(Tables::keys).cloned().collect();
        for (then, now) in self.tables.iter().zip(now) {
            unchanged.retain(|table| match (then.get(table), now.get(table)) {
                (Some(then), Some(now)) => Arc::ptr_eq(then, now),
                (None, None) => true,
                _ => false,
            });
        }
        unchanged
    }

    /// Tables that are not as they were.
    #[must_use]
    pub fn effects(&self, now: &[Tables]) -> Vec<String> {
        let mut effects = Vec::new();
        for (then, now) in self.tables.iter().zip(now) {
            let count =
                |tables: &Tables, table: &String| tables.get(table).map_or(0, |rows| rows.len());
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
