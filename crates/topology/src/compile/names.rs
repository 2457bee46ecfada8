//! Resolving the names that one part of a document uses for another.

use std::sync::Arc;

use crate::id::{GroupId, ShardId};
use crate::index::ShardIndex;
use crate::json::member_path;
use crate::mistake::MistakeKind;

use super::Compiler;

impl Compiler<'_> {
    /// The shard with this uid; none, and a mistake, where there is none.
    pub(super) fn shard(&mut self, path: String, uid: &str) -> Option<ShardId> {
        if let Some(shard) = self.shards.iter().find(|shard| shard.uid == uid) {
            return Some(shard.id);
        }
        // Without any shard there is one mistake, not one for every range.
        if !self.shards.is_empty() {
            let known = self.shards.iter().map(|shard| shard.uid.clone()).collect();
            self.mistake(
                path,
                MistakeKind::UnknownShard {
                    uid: uid.to_owned(),
                    known,
                },
            );
        }
        None
    }

    /// The group with this uid; none, and a mistake, where there is none.
    pub(super) fn group(&mut self, path: String, uid: &str) -> Option<GroupId> {
        if let Some(group) = self.groups.iter().find(|group| group.uid == uid) {
            return Some(group.id);
        }
        let known = self.groups.iter().map(|group| group.uid.clone()).collect();
        self.mistake(
            path,
            MistakeKind::UnknownGroup {
                uid: uid.to_owned(),
                known,
            },
        );
        None
    }

    /// The group that `default_shard_group` of the object at `path` names.
    pub(super) fn default_group(&mut self, path: &str, uid: Option<&String>) -> Option<GroupId> {
        self.group(member_path(path, "default_shard_group"), uid?)
    }

    /// The index with this name; none where it does not exist or has mistakes of its own.
    pub(super) fn index(&mut self, path: String, name: &str) -> Option<Arc<ShardIndex>> {
        if let Some(index) = self.indexes.get(name) {
            return index.clone();
        }
        let known = self.document.shard_indexes.keys().cloned().collect();
        self.mistake(
            path,
            MistakeKind::UnknownIndex {
                name: name.to_owned(),
                known,
            },
        );
        None
    }
}
