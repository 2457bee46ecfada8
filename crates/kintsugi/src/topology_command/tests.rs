use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex};

use super::*;

/// A cluster that remembers what was done to it.
#[derive(Default)]
struct Scripted {
    facts: ClusterFacts,
    log: Mutex<String>,
}

impl Scripted {
    fn note(&self, what: &str) {
        let mut log = self.log.lock().unwrap();
        writeln!(log, "{what}").unwrap();
    }

    /// Adds `readings`, whose `id` refers to `id` of the table before.
    fn with_readings(mut self) -> Self {
        let before = self.facts.catalogs.remove("shop").unwrap();
        let parent = before.relations.values().next().unwrap().clone();
        let child = Self::default().with_table("readings", false);
        let child = child.facts.catalogs["shop"]
            .relations
            .values()
            .next()
            .unwrap()
            .clone();
        let mut child = Arc::unwrap_or_clone(child);
        child.constraints.push(catalog::Constraint {
            name: "readings_id_fkey".to_owned(),
            kind: catalog::ConstraintKind::Foreign {
                table: parent.oid,
                columns: vec![1],
                on_update: pg::ForeignAction::Keep,
                on_delete: pg::ForeignAction::Keep,
                reset: Vec::new(),
            },
            columns: vec![1],
        });
        let by_name = HashMap::from([
            (parent.name.clone(), parent.oid),
            (child.name.clone(), child.oid),
        ]);
        let catalog = catalog::Catalog {
            relations: HashMap::from([(parent.oid, parent), (child.oid, Arc::new(child))]),
            relations_by_name: HashMap::from([("public".to_owned(), by_name)]),
            ..catalog::Catalog::default()
        };
        self.facts
            .catalogs
            .insert("shop".to_owned(), Arc::new(catalog));
        self
    }

    /// Adds a table of database `shop` with an `int8` column `id`.
    fn with_table(mut self, name: &str, rows: bool) -> Self {
        let oid = pg::Oid::from(u32::try_from(name.len()).unwrap() + 20_000);
        let column = catalog::Column {
            name: "id".to_owned(),
            number: 1,
            type_oid: pg::oid::INT8,
            type_modifier: -1,
            not_null: true,
            default: None,
            identity: None,
            generated: false,
            collation: None,
        };
        let relation = catalog::Relation {
            oid,
            schema: "public".to_owned(),
            name: name.to_owned(),
            kind: catalog::RelationKind::Table,
            columns: vec![column],
            constraints: Vec::new(),
            indexes: Vec::new(),
            triggers: Vec::new(),
            parents: Vec::new(),
            children: Vec::new(),
            is_partition: false,
            reads: Vec::new(),
            definition: None,
            has_rules: false,
            has_row_security: false,
            persistence: 'p',
        };
        let by_name = HashMap::from([(name.to_owned(), oid)]);
        let catalog = catalog::Catalog {
            relations: HashMap::from([(oid, Arc::new(relation))]),
            relations_by_name: HashMap::from([("public".to_owned(), by_name)]),
            ..catalog::Catalog::default()
        };
        self.facts
            .catalogs
            .insert("shop".to_owned(), Arc::new(catalog));
        if rows {
            let full = ("shop".to_owned(), "public".to_owned(), name.to_owned());
            self.facts.populated.insert(full);
        }
        self
    }
}

impl Cluster for Scripted {
    async fn facts(&self) -> Result<ClusterFacts, ClusterError> {
        Ok(self.facts.clone())
    }

    async fn fence(&self, fences: &[Fence]) -> Result<(), ClusterError> {
        for fence in fences {
            self.note(&format!("fence {} on {}", fence.table, fence.shard));
        }
        Ok(())
    }

    async fn unfence(&self, fences: &[Fence]) -> Result<(), ClusterError> {
        for fence in fences {
            self.note(&format!("unfence {} on {}", fence.table, fence.shard));
        }
        Ok(())
    }

    async fn create(&self, homes: &[topology::NewHome]) -> Result<(), ClusterError> {
        for home in homes {
            self.note(&format!("create {} on {}", home.table, home.shard));
        }
        Ok(())
    }
}

const DOCUMENT: &str = r#"{
    "shard_indexes": {"by_id": {"type": "xxhash", "columns": ["id"]}},
    "shard_groups": [
        {"uid": "main", "key_ranges": [{"shard_uid": "store-1"}]},
        {"uid": "customers", "default_shard_index": "by_id", "key_ranges": [
            {"shard_uid": "store-1", "end": "80"}, {"shard_uid": "store-2", "start": "80"}]}
    ],
    "authoritative_shard_group": "main",
    "databases": {"shop": {"schemas": {"public": {"tables": {
        "orders": {"shard_group": "customers"}}}}}}
}"#;

fn setting(cluster: Scripted) -> Setting<Scripted> {
    let shard = |number: u16| {
        let primary = Some(format!("127.0.0.1:{}", 5000 + number));
        let entry = topology::ShardEntry {
            primary,
            ..topology::ShardEntry::default()
        };
        (format!("store-{number}"), entry)
    };
    Setting {
        store: store::Store::over(store::Memory::default()),
        shards: (1..=2).map(shard).collect(),
        cluster,
        author: "maja".to_owned(),
    }
}

/// Runs a command on a document in a file and shows what it says, its status, and what it did.
async fn say(setting: &Setting<Scripted>, document: &str, command: &[&str]) -> String {
    #[derive(clap::Parser)]
    struct Line {
        #[command(subcommand)]
        command: TopologyCommand,
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("topology.json");
    std::fs::write(&path, document).unwrap();
    let path = path.to_str().unwrap().to_owned();
    let words = command
        .iter()
        .map(|word| if *word == "FILE" { path.as_str() } else { word });
    let line =
        <Line as clap::Parser>::try_parse_from(["topology"].into_iter().chain(words)).unwrap();
    let outcome = run(line.command, setting).await.unwrap();
    let log = std::mem::take(&mut *setting.cluster.log.lock().unwrap());
    format!(
        "{log}{}({:?})",
        outcome.text.replace(&path, "FILE"),
        outcome.status
    )
}

fn block_on(test: impl Future<Output = ()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap();
    runtime.block_on(test);
}

#[test]
fn a_document_is_validated_without_a_cluster() {
    block_on(async {
        let mut setting = setting(Scripted::default());
        setting.shards.clear();
        let shown = say(&setting, DOCUMENT, &["validate", "FILE"]).await;
        let expected = "FILE is sound: 2 groups on 2 shards, 1 table, 0 reference tables\n(Done)";
        assert_eq!(shown, expected);
        let wrong = DOCUMENT.replace("\"shard_group\"", "\"shard_gruop\"");
        let shown = say(&setting, &wrong, &["validate", "FILE"]).await;
        let expected = "10:20 databases.shop.schemas.public.tables.orders.shard_gruop: unknown key \
             \"shard_gruop\"\n    hint: did you mean \"shard_group\"?\n(Refused)";
        assert_eq!(shown, expected);
    });
}

#[test]
fn an_empty_table_is_fenced_created_and_placed_anew() {
    block_on(async {
        let setting = setting(Scripted::default().with_table("orders", false));
        let shown = say(&setting, DOCUMENT, &["apply", "FILE", "--dry-run"]).await;
        assert!(
            shown.ends_with("it would become revision 1\n(Done)"),
            "{shown}"
        );
        assert_eq!(setting.store.current().await.unwrap(), None);
        let shown = say(&setting, DOCUMENT, &["apply", "FILE", "-m", "first"]).await;
        let log = "fence orders on store-1\ncreate orders on store-2\nunfence orders on store-1\n";
        assert!(shown.starts_with(log), "{shown}");
        assert!(shown.ends_with("revision 1 is served\n(Done)"), "{shown}");
        let shown = say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        assert_eq!(shown, "revision 1 already says this\n(Done)");
        let shown = say(&setting, "", &["shard-of", "orders", "32"]).await;
        assert_eq!(shown, "store-2 (routing value 8d5d6e55752a60ea)\n(Done)");
        let history = say(&setting, "", &["history"]).await;
        assert!(history.ends_with("Z  maja  first\n(Done)"), "{history}");
    });
}

#[test]
fn a_table_with_rows_keeps_its_place() {
    block_on(async {
        let setting = setting(Scripted::default().with_table("orders", true));
        let shown = say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        let refusal = "refused: table shop.public.orders: it is placed in another way\n";
        assert!(shown.contains(refusal), "{shown}");
        assert!(shown.ends_with("nothing was changed\n(Refused)"), "{shown}");
        assert_eq!(setting.store.current().await.unwrap(), None);
    });
}

#[test]
fn a_revision_that_was_not_seen_is_not_replaced() {
    block_on(async {
        let setting = setting(Scripted::default());
        say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        let shown = say(&setting, DOCUMENT, &["apply", "FILE", "--expect", "0"]).await;
        let expected = "revision 0 was to be replaced, but revision 1 is served\n    hint: look at what \
             changed with `kintsugi topology diff --from 0`, then apply again\n(Refused)";
        assert_eq!(shown, expected);
    });
}

#[test]
fn documents_and_revisions_are_compared() {
    block_on(async {
        let setting = setting(Scripted::default());
        say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        let renamed = DOCUMENT.replace(
            "\"uid\": \"main\",",
            "\"uid\": \"main\", \"name\": \"Main\",",
        );
        let change = "+ shard_groups.main.name: Main\n(Done)";
        assert_eq!(say(&setting, &renamed, &["diff", "FILE"]).await, change);
        say(&setting, &renamed, &["apply", "FILE"]).await;
        assert_eq!(say(&setting, "", &["diff"]).await, change);
        assert_eq!(
            say(&setting, "", &["diff", "--from", "2", "--to", "2"]).await,
            "no difference\n(Done)"
        );
        let back = say(&setting, "", &["diff", "--from", "2", "--to", "1"]).await;
        assert_eq!(back, "- shard_groups.main.name: Main\n(Done)");
    });
}

#[test]
fn other_shards_wait_for_the_routers() {
    block_on(async {
        let setting = setting(Scripted::default());
        say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        let lease = Duration::from_mins(1);
        let registered = setting.store.register_router("r-1".to_owned(), lease).await;
        let epoch = registered.unwrap();
        let third =
            "\"shards\": {\"store-3\": {\"primary\": \"127.0.0.1:5003\"}}, \"shard_indexes\"";
        let wider = DOCUMENT.replacen("\"shard_indexes\"", third, 1);
        let shown = say(&setting, &wider, &["apply", "FILE"]).await;
        assert!(
            shown.contains("routers are running: r-1") && shown.ends_with("(Refused)"),
            "{shown}"
        );
        setting.store.remove_router(epoch).await.unwrap();
        let shown = say(&setting, &wider, &["apply", "FILE"]).await;
        assert!(shown.ends_with("revision 2 is served\n(Done)"), "{shown}");
    });
}

#[test]
fn a_foreign_key_keeps_its_tables_together() {
    block_on(async {
        let setting = setting(
            Scripted::default()
                .with_table("orders", false)
                .with_readings(),
        );
        let shown = say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        let refusal = "refused: foreign key readings_id_fkey of table shop.public.readings, unsharded on store-1, \
             not declared, to table shop.public.orders, sharded by id in group customers: no shard could check it\n    \
             hint: keep both tables in one shard group";
        assert!(shown.contains(refusal), "{shown}");
        assert!(shown.ends_with("nothing was changed\n(Refused)"), "{shown}");
        assert_eq!(setting.store.current().await.unwrap(), None);
        let both = DOCUMENT.replace(
            "\"orders\": {\"shard_group\": \"customers\"}",
            "\"orders\": {\"shard_group\": \"customers\"}, \"readings\": {\"shard_group\": \"customers\"}",
        );
        let shown = say(&setting, &both, &["apply", "FILE"]).await;
        assert!(shown.ends_with("revision 1 is served\n(Done)"), "{shown}");
        // Left out by mistake.
        let shown = say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        assert!(shown.contains(refusal), "{shown}");
    });
}

#[test]
fn a_table_that_is_not_there_has_no_shard() {
    block_on(async {
        let nothing = setting(Scripted::default());
        let shown = say(&nothing, DOCUMENT, &["apply", "FILE"]).await;
        let warning = "warning: database \"shop\" is named in the document, but does not exist on the shards\n    \
             hint: check its spelling, or run CREATE DATABASE \"shop\" on every shard\n";
        assert!(shown.starts_with(warning), "{shown}");
        assert!(shown.ends_with("revision 1 is served\n(Done)"), "{shown}");
        let shown = say(&nothing, "", &["shard-of", "orders", "1"]).await;
        assert!(
            shown.starts_with("database \"shop\" does not exist on the shards\n"),
            "{shown}"
        );

        let setting = setting(Scripted::default().with_table("customers", false));
        say(&setting, DOCUMENT, &["apply", "FILE"]).await;
        let shown = say(&setting, "", &["shard-of", "orders", "1"]).await;
        let expected = "table shop.public.orders is declared in the topology, but was not created yet\n    \
             hint: create it through the router first\n(Refused)";
        assert_eq!(shown, expected);
        let shown = say(&setting, "", &["shard-of", "custmers", "1"]).await;
        let expected = "no such table: shop.public.custmers\n    hint: did you mean shop.public.customers?\n(Refused)";
        assert_eq!(shown, expected);
        let shown = say(&setting, "", &["shard-of", "customers", "1"]).await;
        let expected = "store-1 (not declared in the topology: unsharded, in group main)\n(Done)";
        assert_eq!(shown, expected);
    });
}
