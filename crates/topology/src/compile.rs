//! From a [`Document`] to a [`Topology`]: every name is resolved, every bound read, and every mistake on
//! the way is kept with its place. Invariant: no mistake of weight error, no lost part.

mod bounds;
mod group;
mod names;
mod table;

use std::collections::HashMap;
use std::sync::Arc;

use indexmap::IndexMap;

use crate::document::{self, Document, Source};
use crate::expression::{KeyColumns, KeyExpression};
use crate::id::{GroupId, ShardId};
use crate::index::{self, ShardIndex};
use crate::json::{item_path, member_path};
use crate::mistake::{Mistake, MistakeKind, Weight};
use crate::range::KeyRanges;
use crate::topology::{Group, Shard, Topology};

/// What compiling gathers. Groups and indexes that could not be read are absent from the maps, so that
/// one mistake is not told twice.
struct Compiler<'d> {
    document: &'d Document,
    source: &'d Source,
    mistakes: Vec<Mistake>,
    shards: Vec<Shard>,
    indexes: HashMap<&'d str, Option<Arc<ShardIndex>>>,
    groups: Vec<Group>,
    /// Ranges as read for an index, by group and name of the index; none where they have mistakes.
    layouts: HashMap<(GroupId, String), Option<Arc<KeyRanges>>>,
}

/// Compiles a document.
///
/// # Errors
///
/// Every mistake, in the order of the text; warnings are among them.
pub(crate) fn compile(
    document: Document,
    source: &Source,
    revision: u64,
    configured: &IndexMap<String, document::Shard>,
) -> Result<Topology, Vec<Mistake>> {
    let mut compiler = Compiler {
        document: &document,
        source,
        mistakes: Vec::new(),
        shards: Vec::new(),
        indexes: HashMap::new(),
        groups: Vec::new(),
        layouts: HashMap::new(),
    };
    compiler.shards(configured);
    compiler.indexes();
    compiler.groups();
    let authoritative = compiler.authoritative();
    let default_group = compiler.default_group("", document.default_shard_group.as_ref());
    let databases = compiler.databases(authoritative);
    let Compiler {
        mut mistakes,
        shards,
        groups,
        ..
    } = compiler;
    mistakes.sort_by_key(|mistake| mistake.place.position);
    let sound = mistakes
        .iter()
        .all(|mistake| mistake.weight() == Weight::Warning);
    match authoritative {
        Some(authoritative) if sound => Ok(Topology {
            revision,
            shards,
            groups,
            authoritative,
            default_group: default_group.unwrap_or(authoritative),
            databases,
            warnings: mistakes,
            source: source.clone(),
            document,
        }),
        _ => Err(mistakes),
    }
}

// === impl Compiler ===

impl Compiler<'_> {
    fn mistake(&mut self, path: String, kind: MistakeKind) {
        let mistake = Mistake {
            place: self.source.place(path),
            kind,
        };
        if !self.mistakes.contains(&mistake) {
            self.mistakes.push(mistake);
        }
    }

    fn shards(&mut self, configured: &IndexMap<String, document::Shard>) {
        let mut entries: IndexMap<&str, &document::Shard> = IndexMap::new();
        for (uid, shard) in self.document.shards.iter().chain(configured) {
            entries.insert(uid, shard);
        }
        if entries.is_empty() {
            return self.mistake(String::new(), MistakeKind::NoShards);
        }
        if entries.len() > crate::SHARDS_MAX {
            let kind = MistakeKind::TooManyShards {
                found: entries.len(),
                max: crate::SHARDS_MAX,
            };
            return self.mistake("shards".to_owned(), kind);
        }
        for (position, (uid, shard)) in (0_u16..).zip(entries) {
            let path = member_path("shards", uid);
            let addresses = shard
                .primary
                .iter()
                .map(|address| (member_path(&path, "primary"), address));
            let replicas_path = member_path(&path, "replicas");
            let replicas = shard.replicas.iter().enumerate();
            let replicas = replicas.map(|(at, address)| (item_path(&replicas_path, at), address));
            for (path, address) in addresses.chain(replicas) {
                if address.contains('@') {
                    self.mistake(path, MistakeKind::CredentialsInAddress);
                } else if !is_address(address) {
                    let address = address.clone();
                    self.mistake(path, MistakeKind::BadAddress { address });
                }
            }
            if shard.primary.is_none() {
                self.mistake(
                    path,
                    MistakeKind::NoPrimary {
                        shard: uid.to_owned(),
                    },
                );
            }
            self.shards.push(Shard {
                id: ShardId(position),
                uid: uid.to_owned(),
                primary: shard.primary.clone().unwrap_or_default(),
                replicas: shard.replicas.clone(),
                region: shard.region.clone(),
                labels: shard.labels.clone(),
            });
        }
    }

    fn indexes(&mut self) {
        let document = self.document;
        for (name, entry) in &document.shard_indexes {
            let index = self.read_index(name, entry);
            self.indexes.insert(name, index.map(Arc::new));
        }
    }

    fn read_index(&mut self, name: &str, entry: &document::ShardIndex) -> Option<ShardIndex> {
        let path = member_path("shard_indexes", name);
        let columns = self.key_columns(&member_path(&path, "columns"), &entry.columns)?;
        match index::read(&path, name, entry, columns) {
            Ok(index) => {
                let fits =
                    index.columns.is_empty() || self.count_columns(&path, &index, &index.columns);
                fits.then_some(index)
            }
            Err(found) => {
                for (path, kind) in found {
                    self.mistake(path, kind);
                }
                None
            }
        }
    }

    /// Reads a list of columns: names, or one expression.
    fn key_columns(&mut self, path: &str, columns: &[String]) -> Option<KeyColumns> {
        let mut parts: Vec<KeyExpression> = Vec::with_capacity(columns.len());
        let mut sound = true;
        for (at, text) in columns.iter().enumerate() {
            let kind = match KeyExpression::parse(text) {
                Err(error) => MistakeKind::BadExpression {
                    text: text.clone(),
                    reason: error.reason,
                },
                Ok(part) if part.as_column().is_none() && columns.len() > 1 => {
                    MistakeKind::ExpressionAmongColumns {
                        expression: part.to_string(),
                    }
                }
                Ok(part) if parts.contains(&part) => MistakeKind::DuplicateColumn {
                    column: part.to_string(),
                },
                Ok(part) => {
                    parts.push(part);
                    continue;
                }
            };
            sound = false;
            self.mistake(item_path(path, at), kind);
        }
        sound.then(|| KeyColumns::new(parts))
    }

    fn count_columns(&mut self, path: &str, index: &ShardIndex, columns: &KeyColumns) -> bool {
        let count = index.function.column_count();
        let found = columns.parts().len();
        if count.allows(found) {
            return true;
        }
        let index_type = index.function.type_name();
        let kind = MistakeKind::ColumnCount {
            index_type,
            expected: count.describe(),
            found,
        };
        self.mistake(member_path(path, "columns"), kind);
        false
    }
}

/// Whether a text is `host:port`, with a host that holds neither credentials nor a path.
fn is_address(address: &str) -> bool {
    let Some((host, port)) = address.rsplit_once(':') else {
        return false;
    };
    let bracketed = host
        .strip_prefix('[')
        .and_then(|host| host.strip_suffix(']'));
    let host_fits = if let Some(host) = bracketed {
        !host.is_empty() && host.chars().all(|c| c.is_ascii_hexdigit() || c == ':')
    } else {
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_');
        !host.is_empty() && host.chars().all(fits)
    };
    host_fits
        && port.bytes().all(|b| b.is_ascii_digit())
        && port.parse::<u16>().is_ok_and(|p| p > 0)
}
