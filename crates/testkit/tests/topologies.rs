//! The topologies in the project are right, and every row of the oracle's fixture has a home.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use indexmap::IndexMap;
use testkit::oracle::contents::Looker;
use testkit::oracle::fixture::Fixture;
use testkit::oracle::stage::{Load, Options, Stage};
use topology::{ShardEntry, Topology};

fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn compile(file: &str, shards_count: usize) -> Topology {
    let text = std::fs::read_to_string(project().join(file)).expect("the document");
    let shards: IndexMap<String, ShardEntry> = (1..=shards_count)
        .map(|nr| {
            let primary = Some(format!("127.0.0.1:{}", 5000 + nr));
            (
                format!("store-{nr}"),
                ShardEntry {
                    primary,
                    ..ShardEntry::default()
                },
            )
        })
        .collect();
    let compiled = Topology::parse(&text, 1, &shards).map_err(|mistakes| {
        let lines: Vec<String> = mistakes.iter().map(ToString::to_string).collect();
        format!("{file}: {}", lines.join("; "))
    });
    compiled.expect("a topology without mistakes")
}

#[test]
fn the_examples_compile() {
    for (file, shards_count) in [
        ("examples/storefront/topology.json", 2),
        ("examples/pagila/topology.json", 2),
        ("tests/oracle/topology.json", 4),
    ] {
        let topology = compile(file, shards_count);
        assert!(
            topology
                .warnings()
                .iter()
                .all(|w| w.to_string().contains("gap")),
            "{file}"
        );
    }
}

#[tokio::test]
async fn every_row_of_the_fixture_has_a_home_and_every_shard_has_rows() {
    let topology = compile("tests/oracle/topology.json", 4);
    let options = Options {
        project: project(),
        router: None,
        shards: Vec::new(),
        load: Load::Router,
        fixture: Fixture::Own,
    };
    let mut stage = Stage::set(&options).await.expect("a stage");
    let target = &mut stage.targets[0];
    let seen = Looker::default()
        .look(target, Some(&topology), &[])
        .await
        .expect("rows");
    let mut uncomputed = Vec::new();
    for (table, rows) in &seen[0] {
        let name = topology::TableName {
            database: "storefront",
            schema: "public",
            table,
        };
        let Some(topology::Placement::Sharded(_)) = topology.declared(name) else {
            continue;
        };
        let homeless = rows.iter().filter(|row| row.home.is_none());
        uncomputed.extend(homeless.map(|row| format!("{table}: {}", row.whole)));
        let homes: BTreeSet<&String> = rows.iter().filter_map(|row| row.home.as_ref()).collect();
        assert!(
            rows.len() < 20 || homes.len() == 4,
            "{table} lies on {homes:?}"
        );
    }
    assert_eq!(uncomputed, Vec::<String>::new());
    stage.strike().await;
}
