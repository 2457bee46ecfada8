//! Documents made by the router itself: the one of a cluster without a document, and ranges laid evenly
//! over any number of shards.

use indexmap::IndexMap;

use crate::document::{Document, KeyRange, Shard, ShardGroup};

/// The uid of the group of a cluster without a document.
const MAIN: &str = "main";

// === impl Document ===

impl Document {
    /// The document of a cluster that has none: one unsharded group on the first shard.
    #[must_use]
    pub fn single(shards: &IndexMap<String, Shard>) -> Self {
        let first = shards.keys().next().cloned().unwrap_or_default();
        let range = KeyRange {
            shard_uid: first,
            start: None,
            end: None,
        };
        let group = ShardGroup {
            uid: MAIN.to_owned(),
            key_ranges: vec![range],
            ..ShardGroup::default()
        };
        Self {
            shard_groups: vec![group],
            authoritative_shard_group: Some(MAIN.to_owned()),
            ..Self::default()
        }
    }

    /// Lays the groups that have an index which spreads by hash, and no ranges, evenly over these shards; tells whether there were
    /// any.
    pub fn spread_where_missing(&mut self, shards: &[String]) -> bool {
        let indexes = &self.shard_indexes;
        let mut is_spread = false;
        for group in &mut self.shard_groups {
            let index = group
                .default_shard_index
                .as_ref()
                .and_then(|name| indexes.get(name));
            let by_hash = index.is_some_and(|index| spreads_by_hash(&index.index_type));
            if by_hash && group.key_ranges.is_empty() {
                group.key_ranges = even_hash_ranges(shards);
                is_spread = true;
            }
        }
        is_spread
    }

    /// Lays every sharded group whose index spreads by hash evenly over these shards, in their order, and
    /// moves every unsharded group to the first of them. Groups of other index types are left as they
    /// are: where their keys belong can't be guessed.
    pub fn spread_evenly(&mut self, shards: &[String]) {
        let indexes = &self.shard_indexes;
        for group in &mut self.shard_groups {
            let index = group
                .default_shard_index
                .as_ref()
                .and_then(|name| indexes.get(name));
            match (index.map(|index| index.index_type.as_str()), shards.first()) {
                (Some(by_hash), _) if spreads_by_hash(by_hash) => {
                    group.key_ranges = even_hash_ranges(shards);
                }
                (None, Some(first)) if group.default_shard_index.is_none() => {
                    group.key_ranges = vec![KeyRange {
                        shard_uid: first.clone(),
                        start: None,
                        end: None,
                    }];
                }
                _ => {}
            }
        }
    }
}

fn spreads_by_hash(index_type: &str) -> bool {
    matches!(index_type, "xxhash" | "hierarchy")
}

/// Ranges that cut the hash space into as many parts as there are shards, equal up to one value.
#[must_use]
pub fn even_hash_ranges(shards: &[String]) -> Vec<KeyRange> {
    let bound = |position: usize| {
        let inside = position > 0 && position < shards.len();
        let value = (position as u128) << 64;
        let hex = format!("{:016x}", value / shards.len().max(1) as u128);
        // Trailing zeros say nothing in a prefix, but one digit must stay.
        let trimmed = hex.trim_end_matches('0');
        let digits = trimmed.len().next_multiple_of(2).max(2);
        inside.then(|| hex[..digits].to_owned())
    };
    shards
        .iter()
        .enumerate()
        .map(|(position, uid)| KeyRange {
            shard_uid: uid.clone(),
            start: bound(position),
            end: bound(position + 1),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_ranges_meet_and_cover_everything() {
        let check = |count: usize, expected: &str| {
            let uids: Vec<String> = (1..=count).map(|n| format!("store-{n}")).collect();
            let text: Vec<String> = even_hash_ranges(&uids)
                .iter()
                .map(|range| {
                    let bound = |b: &Option<String>| b.clone().unwrap_or_default();
                    format!("{}..{}", bound(&range.start), bound(&range.end))
                })
                .collect();
            assert_eq!(text.join(" "), expected);
        };
        check(0, "");
        check(1, "..");
        check(2, "..80 80..");
        check(
            3,
            "..5555555555555555 5555555555555555..aaaaaaaaaaaaaaaa aaaaaaaaaaaaaaaa..",
        );
        check(4, "..40 40..80 80..c0 c0..");
    }
}
