//! Shard groups: their shards, their index, and the choice of the authoritative one.

use std::sync::Arc;

use crate::document::ShardGroup;
use crate::id::{GroupId, ShardId};
use crate::index::ShardIndex;
use crate::json::{item_path, member_path};
use crate::mistake::MistakeKind;
use crate::range::KeyRanges;
use crate::topology::Group;

use super::{Compiler, bounds};

/// The uid of the authoritative group where no group is unsharded.
pub(crate) const IMPLICIT_GROUP: &str = "main";

impl Compiler<'_> {
    pub(super) fn groups(&mut self) {
        let document = self.document;
        if document.shard_groups.is_empty() {
            self.mistake("shard_groups".to_owned(), MistakeKind::NoGroups);
        }
        for (at, entry) in document.shard_groups.iter().enumerate() {
            let path = item_path("shard_groups", at);
            if self.groups.iter().any(|group| group.uid == entry.uid) {
                let kind = MistakeKind::DuplicateGroup {
                    uid: entry.uid.clone(),
                };
                self.mistake(member_path(&path, "uid"), kind);
                continue;
            }
            self.read_group(&path, entry);
        }
    }

    fn read_group(&mut self, path: &str, entry: &ShardGroup) {
        let id = GroupId(u16::try_from(self.groups.len()).unwrap_or(u16::MAX));
        let shards = self.group_shards(path, entry);
        let index = match &entry.default_shard_index {
            Some(name) => self.index(member_path(path, "default_shard_index"), name),
            None => None,
        };
        let unbounded = matches!(entry.key_ranges.as_slice(),
            [range] if range.start.is_none() && range.end.is_none());
        if entry.key_ranges.is_empty() {
            let kind = MistakeKind::NoRanges {
                group: entry.uid.clone(),
            };
            self.mistake(member_path(path, "key_ranges"), kind);
        } else if entry.default_shard_index.is_none() && !unbounded {
            let kind = MistakeKind::DividedWithoutIndex {
                group: entry.uid.clone(),
            };
            self.mistake(member_path(path, "key_ranges"), kind);
        }
        // The group is known by name even where its ranges are wrong, so that its tables are judged.
        self.groups
            .push(Group::new(id, entry.uid.clone(), None, shards.clone()));
        if let Some(index) = index
            && let Some(ranges) = self.layout(id, &index)
        {
            self.groups[id.index()] =
                Group::new(id, entry.uid.clone(), Some((index, ranges)), shards);
        }
    }

    fn group_shards(&mut self, path: &str, entry: &ShardGroup) -> Vec<ShardId> {
        let mut shards = Vec::new();
        for (at, range) in entry.key_ranges.iter().enumerate() {
            let range_path = item_path(&member_path(path, "key_ranges"), at);
            shards.extend(self.shard(member_path(&range_path, "shard_uid"), &range.shard_uid));
        }
        shards.sort_unstable();
        shards.dedup();
        shards
    }

    /// Whether the document means the group to be sharded, even where its index has mistakes.
    pub(super) fn is_sharded(&self, group: GroupId) -> bool {
        let uid = &self.groups[group.index()].uid;
        let entry = self
            .document
            .shard_groups
            .iter()
            .find(|entry| entry.uid == *uid);
        entry.is_some_and(|entry| entry.default_shard_index.is_some() || entry.key_ranges.len() > 1)
    }

    /// The ranges of a group as an index reads them; read once for each index.
    pub(super) fn layout(&mut self, group: GroupId, index: &ShardIndex) -> Option<Arc<KeyRanges>> {
        let key = (group, index.name.clone());
        if let Some(layout) = self.layouts.get(&key) {
            return layout.clone();
        }
        let uid = self.groups[group.index()].uid.clone();
        let mut entries = self.document.shard_groups.iter().enumerate();
        let (at, entry) = entries.find(|(_, entry)| entry.uid == uid)?;
        let path = member_path(&item_path("shard_groups", at), "key_ranges");
        let shard_of = |uid: &str| self.shards.iter().find(|shard| shard.uid == uid);
        let shards: Option<Vec<ShardId>> = entry
            .key_ranges
            .iter()
            .map(|range| shard_of(&range.shard_uid).map(|s| s.id))
            .collect();
        let layout = bounds::read(&path, entry, index, shards.as_deref());
        for (path, kind) in layout.found {
            self.mistake(path, kind);
        }
        let ranges = layout.ranges.map(Arc::new);
        self.layouts.insert(key, ranges.clone());
        ranges
    }

    /// The authoritative group: named, or the only unsharded one, or an implicit one.
    pub(super) fn authoritative(&mut self) -> Option<GroupId> {
        if let Some(uid) = &self.document.authoritative_shard_group {
            let path = "authoritative_shard_group".to_owned();
            let group = self.group(path.clone(), uid)?;
            if self.is_sharded(group) {
                self.mistake(path, MistakeKind::AuthoritySharded { group: uid.clone() });
                return None;
            }
            return Some(group);
        }
        let ids = self.groups.iter().map(|group| group.id);
        let unsharded: Vec<GroupId> = ids.filter(|id| !self.is_sharded(*id)).collect();
        match unsharded.as_slice() {
            [] => self.implicit_group(),
            [group] => Some(*group),
            several => {
                let uid = |id: &GroupId| self.groups[id.index()].uid.clone();
                let candidates = several.iter().map(uid).collect();
                self.mistake(
                    String::new(),
                    MistakeKind::AmbiguousAuthority { candidates },
                );
                None
            }
        }
    }

    fn implicit_group(&mut self) -> Option<GroupId> {
        let shard = self.first_shard()?;
        if self.groups.iter().any(|group| group.uid == IMPLICIT_GROUP) {
            self.mistake("shard_groups".to_owned(), MistakeKind::ImplicitGroupTaken);
            return None;
        }
        let id = GroupId(u16::try_from(self.groups.len()).unwrap_or(u16::MAX));
        self.groups
            .push(Group::new(id, IMPLICIT_GROUP.to_owned(), None, vec![shard]));
        Some(id)
    }

    /// The first shard that the document names; where it declares none, the first in a range.
    fn first_shard(&self) -> Option<ShardId> {
        let named = self.document.named_shards();
        let first = named.first()?;
        self.shards
            .iter()
            .find(|shard| shard.uid == **first)
            .map(|shard| shard.id)
    }
}
