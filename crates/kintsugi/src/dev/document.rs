//! What a local cluster begins with: the revision that its store has, else the document that was asked for.

use std::path::Path;

use indexmap::IndexMap;
use store::{NewRevision, Store};
use topology::{Document, Topology};

use super::folder::{Folder, uid};
use super::{Example, Options, USER, entry};
use crate::Failure;

/// How many shards there are where nothing says.
const SHARDS: u16 = 2;

/// What a local cluster begins with.
#[derive(Debug)]
pub(super) struct Beginning {
    /// How many shards.
    pub shards: u16,
    /// The database that people are sent to.
    pub database: String,
    /// All databases that the document names.
    pub databases: Vec<String>,
    /// To be written before the router starts.
    first: Option<Document>,
    store: std::path::PathBuf,
}

// === impl Beginning ===

impl Beginning {
    /// Reads and checks everything before a server is started.
    pub(super) async fn read(options: &Options, folder: &Folder) -> Result<Self, Failure> {
        let found = folder.shards();
        let shards = match (options.shards, found) {
            (wanted, 0) => wanted.unwrap_or(SHARDS),
            (None, found) => found,
            (Some(wanted), found) if wanted == found => found,
            (Some(wanted), found) => {
                return Err(Failure::Refused {
                    what: format!("the data folder holds {found} shards, not {wanted}"),
                    hint: "leave out --shards, or choose another --data-dir".to_owned(),
                });
            }
        };
        let path = folder.store();
        let store = Store::open(&path).await.map_err(Failure::Store)?;
        let stored = store.current().await.map_err(Failure::Store)?;
        let asked = match (&options.topology, options.example) {
            (Some(file), _) => Some(read_file(file, shards)?),
            (None, Some(Example::Storefront)) => Some(storefront(shards)?),
            (None, None) => None,
        };
        let (document, first) = match (stored, asked) {
            (None, None) => (Document::single(&local(shards)), None),
            (None, Some(_)) if found > 0 => return Err(taken(folder)),
            (None, Some(asked)) => (asked.clone(), Some(asked)),
            (Some(stored), asked) => {
                let read = stored.read().map_err(Failure::Store)?.document;
                let is_other = asked.is_some_and(|asked| asked != read);
                // A file is meant as it is.
                if is_other && options.topology.is_some() {
                    return Err(differs(stored.number));
                }
                // An example only says what to begin with, but it must have been begun with.
                if is_other && !super::example::was_begun(folder.path()) {
                    return Err(serves_others(folder, &read));
                }
                (read, None)
            }
        };
        let databases: Vec<String> = document.databases.keys().cloned().collect();
        let database = databases.first().cloned();
        Ok(Self {
            shards,
            database: database.unwrap_or_else(|| "postgres".to_owned()),
            databases,
            first,
            store: path,
        })
    }

    /// The store, with its first revision written.
    pub(super) async fn store(self) -> Result<Store, Failure> {
        let store = Store::open(&self.store).await.map_err(Failure::Store)?;
        if let Some(document) = self.first {
            let revision = NewRevision {
                document,
                author: USER.to_owned(),
                comment: "kintsugi dev".to_owned(),
            };
            store.put(0, revision).await.map_err(Failure::Store)?;
        }
        Ok(store)
    }
}

/// The local shards, before their ports are known.
fn local(shards: u16) -> IndexMap<String, topology::ShardEntry> {
    (1..=shards)
        .map(|number| (uid(number), entry("127.0.0.1:1".to_owned())))
        .collect()
}

/// A document from its file: local shards take the place of those that it names, and groups without ranges are spread.
fn read_file(path: &Path, shards: u16) -> Result<Document, Failure> {
    let text = std::fs::read_to_string(path).map_err(Failure::file("read", path))?;
    let mistaken = |mistakes| Failure::Document {
        path: path.to_owned(),
        mistakes,
    };
    let mut document = Document::read(&text).map_err(mistaken)?.document;
    let local = local(shards);
    if let Some(foreign) = foreign_shard(&document, &local) {
        let hint = if shards == 1 {
            "the only shard of `kintsugi dev --shards 1` is store-1".to_owned()
        } else {
            format!("the shards of `kintsugi dev --shards {shards}` are store-1 to store-{shards}")
        };
        return Err(Failure::Refused {
            what: format!(
                "{} names shard \"{foreign}\", which there is not",
                path.display()
            ),
            hint,
        });
    }
    document.shards.clear();
    let uids: Vec<String> = local.keys().cloned().collect();
    let is_spread = document.spread_where_missing(&uids);
    let compiled = if is_spread {
        Topology::compile(document.clone(), 1, &local)
    } else {
        // As it was written, so that mistakes have their lines.
        Topology::parse(&text, 1, &local)
    };
    compiled.map_err(mistaken)?;
    Ok(document)
}

/// The example's document, spread over all shards.
fn storefront(shards: u16) -> Result<Document, Failure> {
    let read = Document::read(example::Storefront::TOPOLOGY);
    let read = read.map_err(|mistakes| Failure::Document {
        path: "examples/storefront/topology.json".into(),
        mistakes,
    })?;
    let mut document = read.document;
    document.shards.clear();
    let uids: Vec<String> = (1..=shards).map(uid).collect();
    document.spread_evenly(&uids);
    Ok(document)
}

/// A shard that the document names and that is none of ours.
fn foreign_shard(
    document: &Document,
    local: &IndexMap<String, topology::ShardEntry>,
) -> Option<String> {
    let in_ranges = document
        .shard_groups
        .iter()
        .flat_map(|group| group.key_ranges.iter().map(|range| &range.shard_uid));
    let mut named = document.shards.keys().chain(in_ranges);
    named.find(|uid| !local.contains_key(*uid)).cloned()
}

fn taken(folder: &Folder) -> Failure {
    let path = folder.path().display();
    Failure::Refused {
        what: format!("{path} holds data already, on one shard and without a topology"),
        hint: format!(
            "start without a topology, then `kintsugi topology apply FILE`; or choose another --data-dir, or remove {path}"
        ),
    }
}

fn serves_others(folder: &Folder, served: &Document) -> Failure {
    let path = folder.path().display();
    let databases: Vec<&str> = served.databases.keys().map(String::as_str).collect();
    let of = match databases.as_slice() {
        [] => String::new(),
        [database] => format!(" of database {database}"),
        several => format!(" of databases {}", several.join(", ")),
    };
    Failure::Refused {
        what: format!("{path} serves another topology already{of}, without the example"),
        hint: format!("start without --example, or choose another --data-dir, or remove {path}"),
    }
}

fn differs(number: u64) -> Failure {
    Failure::Refused {
        what: format!(
            "the data folder is served under revision {number} of its topology, which differs from the file"
        ),
        hint: "start without --topology, then change it with `kintsugi topology apply FILE`"
            .to_owned(),
    }
}
