//! Replacing the document: judge, fence what is empty and moves, create what is missing, write the new
//! revision over the one that was judged, wait for every router, take the fences away.

use std::path::PathBuf;

use serde_json::json;
use topology::{Assessment, Facts, Subject, TableName, Topology};

use super::{
    Cluster, ClusterFacts, CommandError, Fence, Outcome, PATIENCE, Setting, Status, as_json,
    read_file,
};

/// What the caller asks for.
pub(super) struct Wish {
    pub(super) file: PathBuf,
    pub(super) expect: Option<u64>,
    pub(super) message: String,
    pub(super) dry_run: bool,
}

pub(super) async fn apply<C: Cluster>(
    setting: &Setting<C>,
    wish: Wish,
) -> Result<Outcome, CommandError> {
    let text = read_file(&wish.file)?;
    let old = setting.served().await?;
    if let Some(expected) = wish.expect.filter(|expected| *expected != old.revision()) {
        return Ok(conflict(expected, old.revision()));
    }
    let new = match Topology::parse(&text, old.revision() + 1, &setting.shards) {
        Ok(new) => new,
        Err(mistakes) => return Ok(Outcome::mistaken(&mistakes)),
    };
    if let Some(outcome) = other_shards(setting, &old, &new).await? {
        return Ok(outcome);
    }
    let facts = setting.cluster.facts().await;
    let facts = facts.map_err(|source| CommandError::Cluster { source })?;
    let mut outcome = decide(setting, wish, (&old, &new), &facts).await?;
    warn_of_missing(&mut outcome, &new, &facts);
    Ok(outcome)
}

/// Databases that the document names and that nobody has made.
fn warn_of_missing(outcome: &mut Outcome, new: &Topology, facts: &ClusterFacts) {
    let named = new.document().databases.keys();
    let missing: Vec<&str> = named
        .map(String::as_str)
        .filter(|database| !facts.catalogs.contains_key(*database))
        .collect();
    let lines = missing.iter().map(|database| {
        let quoted = sql::quote_ident(database);
        format!(
            "warning: database {database:?} is named in the document, but does not exist on the shards\n    \
             hint: check its spelling, or run CREATE DATABASE {quoted} on every shard\n"
        )
    });
    outcome.text = lines.chain([outcome.text.clone()]).collect();
    if !missing.is_empty() {
        outcome.json["missing_databases"] = json!(missing);
    }
}

async fn decide<C: Cluster>(
    setting: &Setting<C>,
    wish: Wish,
    (old, new): (&Topology, &Topology),
    facts: &ClusterFacts,
) -> Result<Outcome, CommandError> {
    let assessment = assess(old, new, facts);
    if !assessment.is_allowed() {
        return Ok(judged(
            &assessment,
            "nothing was changed\n",
            Status::Refused,
        ));
    }
    if assessment.diff.is_empty() && old.revision() > 0 {
        let text = format!("revision {} already says this\n", old.revision());
        return Ok(Outcome::done(text, json!({ "revision": old.revision() })));
    }
    if wish.dry_run {
        let text = format!("it would become revision {}\n", new.revision());
        return Ok(judged(&assessment, &text, Status::Done));
    }
    let fences = fences(old, &assessment, facts);
    let cluster_failed = |source| CommandError::Cluster { source };
    setting
        .cluster
        .fence(&fences)
        .await
        .map_err(cluster_failed)?;
    let outcome = replace(setting, new, wish.message, &assessment).await;
    // The fences go whatever came of it: what they guarded is decided now.
    setting
        .cluster
        .unfence(&fences)
        .await
        .map_err(cluster_failed)?;
    outcome
}

/// A router is connected to the shards that it started with, in their order; while one runs, others can't be served.
async fn other_shards<C: Cluster>(
    setting: &Setting<C>,
    old: &Topology,
    new: &Topology,
) -> Result<Option<Outcome>, CommandError> {
    let routers = setting.store.routers().await;
    let routers = routers.map_err(|source| CommandError::Store { source })?;
    let what = if old.shards() != new.shards() {
        "other shards, or other addresses, or names them in another order"
    } else if old.authoritative_shard() != new.authoritative_shard() {
        "its authoritative group on another shard"
    } else {
        return Ok(None);
    };
    let names: Vec<&str> = routers.iter().map(|router| router.name.as_str()).collect();
    if names.is_empty() {
        return Ok(None);
    }
    let names = names.join(", ");
    let text = format!(
        "refused: the document has {what} than what is served, and routers are running: {names}\n    \
         hint: name new shards in the configuration of every router and start it again, or stop the routers \
         and apply the document then\nnothing was changed\n"
    );
    let json = json!({ "refused": what, "routers": names });
    Ok(Some(Outcome {
        text,
        json,
        status: Status::Refused,
    }))
}

async fn replace<C: Cluster>(
    setting: &Setting<C>,
    new: &Topology,
    comment: String,
    assessment: &Assessment,
) -> Result<Outcome, CommandError> {
    let created = setting.cluster.create(&assessment.new_homes).await;
    created.map_err(|source| CommandError::Cluster { source })?;
    let expected = new.revision() - 1;
    let document = new.document().clone();
    let author = setting.author.clone();
    let revision = store::NewRevision {
        document,
        author,
        comment,
    };
    match setting.store.put(expected, revision).await {
        Ok(_) => {}
        Err(store::StoreError::Conflict { expected, current }) => {
            return Ok(conflict(expected, current));
        }
        Err(source) => return Err(CommandError::Store { source }),
    }
    let waited = setting
        .store
        .wait_acknowledged(new.revision(), PATIENCE)
        .await;
    let silent = waited.map_err(|source| CommandError::Store { source })?;
    if silent.is_empty() {
        let text = format!("revision {} is served\n", new.revision());
        return Ok(judged(assessment, &text, Status::Done));
    }
    let names: Vec<&str> = silent.iter().map(|router| router.name.as_str()).collect();
    let text = format!(
        "revision {} is written, but not every router has taken it: {}\n    hint: end these routers; \
         until then they refuse nothing that the old document allowed\n",
        new.revision(),
        names.join(", "),
    );
    Ok(judged(assessment, &text, Status::Failed))
}

fn assess(old: &Topology, new: &Topology, facts: &ClusterFacts) -> Assessment {
    let tables = facts.tables();
    let foreign_keys = facts.foreign_keys();
    let is_populated = |subject: &Subject| facts.is_populated(subject);
    let facts = Facts {
        tables: &tables,
        types: facts,
        is_populated: &is_populated,
        foreign_keys: &foreign_keys,
    };
    topology::assess(old, new, &facts)
}

/// A fence for each shard on which a table that moves could still take a row under the old document.
fn fences(old: &Topology, assessment: &Assessment, facts: &ClusterFacts) -> Vec<Fence> {
    let tables = facts.tables();
    let mut fences = Vec::new();
    for one in &assessment.empty {
        let Subject::Table {
            database,
            schema,
            name,
        } = &one.subject
        else {
            continue;
        };
        let full = TableName {
            database,
            schema,
            table: name,
        };
        let Some(known) = tables.iter().find(|known| known.name() == full) else {
            continue;
        };
        let Ok(placement) = old.placement(full, &|column| known.has_column(column)) else {
            continue;
        };
        fences.extend(placement.shards().iter().map(|shard| Fence {
            shard: old.shard(*shard).uid.clone(),
            database: database.clone(),
            schema: schema.clone(),
            table: name.clone(),
        }));
    }
    fences
}

fn judged(assessment: &Assessment, verdict: &str, status: Status) -> Outcome {
    let json = json!({
        "diff": assessment.diff,
        "mistakes": as_json(&assessment.mistakes),
        "broken": assessment.broken,
        "stranded": assessment.stranded,
        "new_homes": assessment.new_homes,
        "verdict": verdict.trim_end(),
    });
    Outcome {
        text: format!("{assessment}{verdict}"),
        json,
        status,
    }
}

fn conflict(expected: u64, current: u64) -> Outcome {
    let text = format!(
        "revision {expected} was to be replaced, but revision {current} is served\n    hint: look at \
         what changed with `kintsugi topology diff --from {expected}`, then apply again\n"
    );
    let json = json!({ "conflict": { "expected": expected, "current": current } });
    Outcome {
        text,
        json,
        status: Status::Refused,
    }
}
