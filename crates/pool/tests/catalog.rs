//! Snapshots, their freshness, facts and numbers, against a real PostgreSQL.

use std::sync::Arc;
use std::time::{Duration, Instant};

use catalog::Volatility::{Immutable, Stable, Volatile};
use catalog::{Catalog, ConstraintKind, FunctionKind, RelationKind, TypeKind};
use pool::{CatalogLoader, CatalogWatch, Limits, Pools, TypeMap, WatchConfig, compare, inspect};

use crate::common::{Server, first, lease, me, until};

const SCHEMA: &str = r#"
CREATE SCHEMA shop;
CREATE TYPE shop.state AS ENUM ('new', 'paid', 'it''s "gone"');
CREATE DOMAIN shop.email AS text COLLATE "C" CHECK (VALUE ~ '@');
CREATE DOMAIN shop.stamp AS timestamptz DEFAULT clock_timestamp();
CREATE TYPE shop.pair AS (a int, b text);
CREATE SEQUENCE shop.numbers;
CREATE FUNCTION shop.roll() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 4';
CREATE FUNCTION shop.twice(n int DEFAULT 1) RETURNS int IMMUTABLE BEGIN ATOMIC SELECT n * 2; END;
CREATE TABLE shop.customers (
  id bigserial PRIMARY KEY,
  gone int,
  mail shop.email UNIQUE,
  state shop.state DEFAULT 'new',
  number bigint GENERATED ALWAYS AS IDENTITY,
  name varchar(40) NOT NULL COLLATE "C",
  doubled bigint GENERATED ALWAYS AS (id * 2) STORED,
  made timestamptz DEFAULT now(),
  day date DEFAULT CURRENT_DATE,
  token uuid DEFAULT gen_random_uuid(),
  luck int DEFAULT shop.roll(),
  fixed int DEFAULT shop.twice(3) + 1,
  other bigint DEFAULT nextval('shop.numbers') + 1,
  seen shop.stamp,
  small int4 DEFAULT nextval('shop.numbers'),
  texts text[] DEFAULT '{a,"nextval(''x'')"}',
  CHECK (luck > 0)
);
ALTER TABLE shop.customers DROP COLUMN gone;
CREATE TABLE shop.orders (customer bigint, n int, at date, PRIMARY KEY (customer, n, at),
  FOREIGN KEY (customer) REFERENCES shop.customers (id)
    ON UPDATE CASCADE ON DELETE SET NULL (customer)) PARTITION BY RANGE (at);
CREATE TABLE shop.orders_2026 PARTITION OF shop.orders FOR VALUES FROM ('2026-01-01') TO ('2027-01-01');
CREATE INDEX by_name ON shop.customers (lower(name), (id + 1), mail) INCLUDE (state) WHERE luck > 1;
CREATE VIEW shop.named AS SELECT c.id, o.n FROM shop.customers c JOIN shop.orders o ON o.customer = c.id;
CREATE MATERIALIZED VIEW shop.counted AS SELECT count(*) AS n FROM shop.named;
CREATE FUNCTION shop.counts() RETURNS bigint BEGIN ATOMIC SELECT count(*) FROM shop.customers; END;
CREATE FUNCTION shop.touch() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE TRIGGER touched BEFORE UPDATE ON shop.customers FOR EACH ROW EXECUTE FUNCTION shop.touch();
CREATE RULE nothing AS ON DELETE TO shop.orders_2026 DO INSTEAD NOTHING;
ALTER TABLE shop.customers ENABLE ROW LEVEL SECURITY;
CREATE FUNCTION shop.plus(int, shop.pair) RETURNS int LANGUAGE sql AS 'SELECT $1';
CREATE OPERATOR shop.<+> (LEFTARG = int, RIGHTARG = shop.pair, FUNCTION = shop.plus);
CREATE TEMP TABLE unseen (n int);
"#;

async fn load(pools: &Pools, loader: &CatalogLoader) -> Catalog {
    let mut backend = lease(pools).await.unwrap();
    loader.load(&mut backend).await.unwrap().0
}

fn relation<'a>(catalog: &'a Catalog, name: &str) -> &'a catalog::Relation {
    catalog
        .relation(&["shop".to_owned(), name.to_owned()], &[])
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_is_complete() {
    let server = Server::start().await;
    let pools = server.pools(Limits::default());
    lease(&pools).await.unwrap().simple(SCHEMA).await.unwrap();
    let loader = CatalogLoader::new();
    let catalog = load(&pools, &loader).await;
    let begin = Instant::now();
    let again = load(&pools, &loader).await;
    println!("loaded again in {:?}", begin.elapsed());
    assert!(again.version > catalog.version);
    assert_eq!(catalog.database, "postgres");
    assert!(catalog.server_version >= 150_000 && catalog.ascii_case_is_plain);
    assert!(catalog.schemas.contains(&"shop".to_owned()));
    assert_eq!(catalog.user_operators, ["<+>"]);
    relations(&catalog);
    columns_and_indexes(&catalog);
    hierarchy(&catalog);
    views(&catalog);
    types(&catalog);
    functions(&catalog);
}

fn relations(catalog: &Catalog) {
    let customers = relation(catalog, "customers");
    assert_eq!(customers.kind, RelationKind::Table);
    assert!(customers.has_row_security && !customers.has_rules);
    assert_eq!(customers.triggers[0].name, "touched");
    assert_eq!(customers.triggers.len(), 1);
    let volatility = |name: &str| {
        let column = customers.column(name).unwrap();
        column
            .default
            .as_ref()
            .map(|default| (default.volatility, default.sequence.is_some()))
    };
    assert_eq!(volatility("id"), Some((Volatile, true)));
    assert_eq!(volatility("small"), Some((Volatile, true)));
    assert_eq!(volatility("other"), Some((Volatile, false)));
    assert_eq!(volatility("state"), Some((Immutable, false)));
    assert_eq!(volatility("made"), Some((Stable, false)));
    assert_eq!(volatility("day"), Some((Stable, false)));
    assert_eq!(volatility("token"), Some((Volatile, false)));
    assert_eq!(volatility("luck"), Some((Volatile, false)));
    assert_eq!(volatility("fixed"), Some((Immutable, false)));
    assert_eq!(volatility("seen"), Some((Volatile, false)));
    assert_eq!(volatility("texts"), Some((Immutable, false)));
    assert_eq!(volatility("doubled"), None);
    assert_eq!(volatility("mail"), None);
    let id = customers.column("id").unwrap();
    assert_eq!(
        id.default.as_ref().unwrap().expression,
        "nextval('shop.customers_id_seq'::regclass)"
    );
}

fn columns_and_indexes(catalog: &Catalog) {
    let customers = relation(catalog, "customers");
    let number = customers.column("number").unwrap();
    let sequence = &catalog.relations[&number.identity.unwrap().sequence];
    assert_eq!(
        (sequence.name.as_str(), sequence.kind),
        ("customers_number_seq", RelationKind::Sequence)
    );
    assert!(number.identity.unwrap().always && number.not_null);
    assert!(customers.column("doubled").unwrap().generated && customers.column("gone").is_none());
    let name = customers.column("name").unwrap();
    assert_eq!((name.number, name.type_modifier), (6, 44));
    let collation = name.collation.as_ref().unwrap();
    assert_eq!(
        (collation.name.as_str(), collation.is_bytes),
        ("pg_catalog.\"C\"", true)
    );
    let index = customers
        .indexes
        .iter()
        .find(|index| index.name == "by_name")
        .unwrap();
    assert_eq!(index.columns, [0, 0, 3]);
    assert_eq!(index.expressions, ["lower((name)::text)", "((id + 1))"]);
    assert!(index.is_partial && index.is_valid && !index.unique);
}

fn hierarchy(catalog: &Catalog) {
    let customers = relation(catalog, "customers");
    let orders = relation(catalog, "orders");
    let foreign = orders
        .constraints
        .iter()
        .find(|one| one.name == "orders_customer_fkey")
        .unwrap();
    assert_eq!(
        foreign.kind,
        ConstraintKind::Foreign {
            table: customers.oid,
            columns: vec![1],
            on_update: pg::ForeignAction::Cascade,
            on_delete: pg::ForeignAction::SetNull,
            reset: vec![1],
        }
    );
    let partition = relation(catalog, "orders_2026");
    assert_eq!(
        (orders.kind, partition.kind),
        (RelationKind::Partitioned, RelationKind::Table)
    );
    assert_eq!(
        (&orders.children, &partition.parents),
        (&vec![partition.oid], &vec![orders.oid])
    );
    assert!(partition.is_partition && partition.has_rules);
    assert!(
        !catalog
            .relations
            .values()
            .any(|relation| relation.name == "unseen")
    );
    let builtin = catalog
        .relation(&["pg_class".into()], &["pg_catalog".into()])
        .unwrap();
    assert!(builtin.column("relname").is_some());
}

fn views(catalog: &Catalog) {
    let (customers, orders) = (
        relation(catalog, "customers").oid,
        relation(catalog, "orders").oid,
    );
    let named = relation(catalog, "named");
    assert_eq!(named.reads, [customers, orders]);
    let definition = named.definition.as_ref().unwrap();
    assert!(
        definition.starts_with("SELECT c.id,") && definition.contains("shop.customers c"),
        "{definition}"
    );
    assert!(!definition.ends_with(';') && !named.has_rules);
    assert_eq!(relation(catalog, "counted").reads, [named.oid]);
}

fn types(catalog: &Catalog) {
    let named = |name: &str| {
        catalog
            .type_named(&["shop".into(), name.into()], &[])
            .unwrap()
    };
    assert_eq!(
        named("state").kind,
        TypeKind::Enum(vec!["new".into(), "paid".into(), "it's \"gone\"".into()])
    );
    assert_eq!(named("email").kind, TypeKind::Domain(pg::oid::TEXT));
    assert!(named("email").collation.as_ref().unwrap().is_bytes);
    assert_eq!(catalog.base_type(named("email").oid), pg::oid::TEXT);
    assert_eq!(named("pair").kind, TypeKind::Composite);
    assert_eq!(
        catalog.types[&named("state").array].kind,
        TypeKind::Array(named("state").oid)
    );
    assert_eq!(catalog.types[&pg::oid::INT4].array, pg::oid::INT4_ARRAY);
    assert_eq!(
        catalog.types[&pg::oid::INT4_ARRAY].kind,
        TypeKind::Array(pg::oid::INT4)
    );
    assert_eq!(catalog.types[&pg::oid::NAME].kind, TypeKind::Base);
    assert_eq!(
        catalog.types[&pg::oid::OIDVECTOR].kind,
        TypeKind::Array(pg::oid::OID)
    );
}

fn functions(catalog: &Catalog) {
    let named = |name: &[&str]| {
        let name: Vec<String> = name.iter().map(|part| (*part).to_owned()).collect();
        let found = catalog.functions_named(&name, &["pg_catalog".into()]);
        found.into_iter().cloned().collect::<Vec<_>>()
    };
    let twice = &named(&["shop", "twice"])[0];
    assert_eq!(
        (twice.volatility, twice.defaults, twice.is_builtin),
        (Immutable, 1, false)
    );
    assert_eq!(
        (twice.arguments.as_slice(), twice.result),
        (&[pg::oid::INT4][..], pg::oid::INT4)
    );
    assert!(twice.source.contains("n * 2"));
    assert_eq!(
        named(&["shop", "counts"])[0].reads,
        [relation(catalog, "customers").oid]
    );
    assert!(
        named(&["count"])
            .iter()
            .all(|function| function.kind == FunctionKind::Aggregate)
    );
    assert_eq!(named(&["now"])[0].volatility, Stable);
    assert!(named(&["concat"])[0].is_variadic && named(&["generate_series"])[0].returns_set);
}

async fn watch(pools: &Pools) -> CatalogWatch {
    let config = WatchConfig {
        pools: pools.clone(),
        shard: first(),
        identity: me(),
        interval: Duration::from_millis(200),
        lease_wait: Duration::from_secs(1),
    };
    CatalogWatch::start(config, Arc::new(CatalogLoader::new()))
        .await
        .unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_change_of_a_definition_is_seen_and_nothing_else() {
    let server = Server::start().await;
    let pools = server.pools(Limits::default());
    let mut backend = lease(&pools).await.unwrap();
    backend.simple(SCHEMA).await.unwrap();
    let watch = watch(&pools).await;
    let changes = [
        "ALTER TABLE shop.customers ADD COLUMN extra int",
        "ALTER TABLE shop.customers ALTER COLUMN extra SET DEFAULT 3",
        "ALTER TABLE shop.customers ALTER COLUMN extra SET NOT NULL",
        "ALTER TABLE shop.customers ADD CONSTRAINT c CHECK (extra > 0)",
        "ALTER TYPE shop.state ADD VALUE 'late'",
        "ALTER TABLE shop.customers RENAME COLUMN extra TO more",
        "CREATE OR REPLACE FUNCTION shop.roll() RETURNS int LANGUAGE sql VOLATILE AS 'SELECT 5'",
        "ALTER FUNCTION shop.roll() STABLE",
        "DROP TRIGGER touched ON shop.customers",
        "CREATE OR REPLACE VIEW shop.named AS SELECT c.id, o.n FROM shop.customers c CROSS JOIN shop.orders o",
        "DROP INDEX shop.by_name",
        "ALTER TABLE shop.orders DETACH PARTITION shop.orders_2026",
        "CREATE SCHEMA elsewhere",
        "ALTER TABLE shop.orders_2026 SET SCHEMA elsewhere",
        "DROP OPERATOR shop.<+> (int, shop.pair)",
        "ALTER TABLE shop.customers DISABLE ROW LEVEL SECURITY",
    ];
    let mut version = watch.current().version;
    for change in changes {
        backend.simple(change).await.unwrap();
        let seen = watch.refresh_now().await.unwrap().version;
        assert!(seen > version, "{change}");
        version = seen;
    }
    // The first ANALYZE may note that a table has no children any more.
    backend.simple("ANALYZE").await.unwrap();
    let version = watch.refresh_now().await.unwrap().version;
    let not_definitions = "CREATE TEMP TABLE passing (n serial PRIMARY KEY, t text);
        SELECT nextval('shop.numbers'); ANALYZE";
    backend.simple(not_definitions).await.unwrap();
    backend.simple("VACUUM").await.unwrap();
    assert_eq!(watch.refresh_now().await.unwrap().version, version);
}

#[tokio::test(flavor = "multi_thread")]
async fn ddl_behind_the_routers_back_is_seen_by_itself_and_an_outage_is_survived() {
    let mut server = Server::start().await;
    let pools = server.pools(Limits::default());
    let watch = watch(&pools).await;
    let has = |name: &'static str| {
        let watch = &watch;
        move || {
            watch
                .current()
                .relation(&["public".into(), name.into()], &[])
                .is_some()
        }
    };
    let mut versions = watch.subscribe();
    lease(&pools)
        .await
        .unwrap()
        .simple("CREATE TABLE one (n int)")
        .await
        .unwrap();
    let begin = Instant::now();
    until(has("one")).await;
    assert!(begin.elapsed() < Duration::from_secs(1));
    assert!(versions.has_changed().unwrap());
    versions.mark_unchanged();
    server.cluster.kill().await.unwrap();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert!(watch.refresh_now().await.is_err());
    assert!(has("one")());
    server.cluster.restart().await.unwrap();
    let mut made = false;
    for _ in 0..100 {
        if let Ok(mut backend) = lease(&pools).await {
            made = backend.simple("CREATE TABLE two (n int)").await.is_ok();
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(made);
    until(has("two")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn shards_are_compared() {
    let one = Server::start().await;
    let two = Server::with(|spec| {
        spec.settings = vec![
            ("timezone".into(), "Europe/Paris".into()),
            ("max_prepared_transactions".into(), "0".into()),
        ];
    })
    .await;
    let mut facts = Vec::new();
    for server in [&one, &two] {
        let pools = server.pools(Limits::default());
        facts.push(inspect(&mut lease(&pools).await.unwrap()).await.unwrap());
    }
    assert!(
        facts[0].collation.starts_with("libc "),
        "{}",
        facts[0].collation
    );
    assert_eq!(facts[0].max_prepared_transactions, 100);
    assert_eq!(facts[0].defaults.len(), 18, "{:?}", facts[0].defaults);
    let problems: Vec<String> = compare(&facts).iter().map(ToString::to_string).collect();
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("the default of TimeZone is \"Europe/Paris\", but \"UTC\""));
    assert!(problems[1].contains("max_prepared_transactions is 0"));
}

#[tokio::test(flavor = "multi_thread")]
async fn numbers_are_mapped_where_they_differ() {
    let (one, two) = (Server::start().await, Server::start().await);
    let (home, away) = (one.pools(Limits::default()), two.pools(Limits::default()));
    let both =
        "CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE t (m mood); ALTER TABLE t ADD COLUMN n int";
    let mut at_home = lease(&home).await.unwrap();
    at_home.simple(both).await.unwrap();
    let catalog = load(&home, &CatalogLoader::new()).await;
    assert!(
        TypeMap::load(&mut at_home, &catalog)
            .await
            .unwrap()
            .is_identity()
    );
    let mut backend = lease(&away).await.unwrap();
    backend
        .simple("CREATE TABLE earlier (n int)")
        .await
        .unwrap();
    let differently = "CREATE TYPE mood AS ENUM ('ok'); CREATE TABLE t (gone int, n int, m mood);
        ALTER TABLE t DROP COLUMN gone";
    backend.simple(differently).await.unwrap();
    let map = TypeMap::load(&mut backend, &catalog).await.unwrap();
    assert!(!map.is_identity());
    let numbers = backend
        .simple("SELECT 'mood'::regtype::oid, 't'::regclass::oid")
        .await
        .unwrap();
    let number = |at: usize| pg::Oid(numbers[0].rows[0][at].as_ref().unwrap().parse().unwrap());
    let mood = catalog
        .type_named(&["mood".into()], &["public".into()])
        .unwrap()
        .oid;
    let table = catalog
        .relation(&["t".into()], &["public".into()])
        .unwrap()
        .oid;
    assert_eq!(map.type_to_authoritative(number(0)), mood);
    assert_eq!(map.type_to_shard(mood), number(0));
    assert_eq!(map.relation_to_authoritative(number(1)), table);
    assert_eq!(map.column_to_authoritative(number(1), 3), 1);
    assert_eq!(map.column_to_authoritative(number(1), 2), 2);
    assert_eq!(map.type_to_authoritative(pg::oid::INT4), pg::oid::INT4);
}
