//! Key ranges: which shard owns which routing values. Invariant: ranges are sorted and disjoint, so a
//! value is found by one binary search without an allocation.

use std::ops::Bound;

use crate::id::ShardId;
use crate::routing::RoutingValue;

/// The ranges of one group as one index function reads their bounds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyRanges {
    layout: Layout,
    shards: Box<[ShardId]>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Layout {
    /// One shard owns everything, whatever the kind of value.
    Whole(ShardId),
    /// Bounds of numbers and hashes.
    Numbers(Box<[Range]>),
    /// Literal bounds, read once for each class of keys in which they make sense.
    Literals(Box<[(pg::KeyClass, Box<[Range]>)]>),
}

/// An interval of routing values and its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// First value inside; none: from the beginning.
    pub start: Option<RoutingValue>,
    /// First value outside; none: to the end.
    pub end: Option<RoutingValue>,
    /// The owner.
    pub shard: ShardId,
}

// === impl KeyRanges ===

impl KeyRanges {
    /// One shard that owns every value.
    #[must_use]
    pub fn whole(shard: ShardId) -> Self {
        Self {
            layout: Layout::Whole(shard),
            shards: Box::new([shard]),
        }
    }

    /// Sorted, disjoint ranges of numbers or hashes.
    pub(crate) fn numbers(ranges: Vec<Range>) -> Self {
        let shards = distinct(ranges.iter().map(|range| range.shard));
        Self {
            layout: Layout::Numbers(ranges.into()),
            shards,
        }
    }

    /// Sorted, disjoint ranges for each class of keys that the bounds make sense in.
    pub(crate) fn literals(classes: Vec<(pg::KeyClass, Vec<Range>)>) -> Self {
        let shards = classes
            .iter()
            .flat_map(|(_, ranges)| ranges)
            .map(|range| range.shard);
        let shards = distinct(shards);
        let classes = classes
            .into_iter()
            .map(|(class, ranges)| (class, ranges.into()));
        Self {
            layout: Layout::Literals(classes.collect()),
            shards,
        }
    }

    /// The shard that owns `value`; none where no range holds it.
    #[must_use]
    pub fn shard_for(&self, value: &RoutingValue) -> Option<ShardId> {
        if let Layout::Whole(shard) = self.layout {
            return Some(shard);
        }
        let ranges = self.ranges_for(value);
        let after = ranges.partition_point(|range| match &range.start {
            None => true,
            Some(start) => start <= value,
        });
        let range = ranges.get(after.checked_sub(1)?)?;
        let inside = range.end.as_ref().is_none_or(|end| value < end);
        inside.then_some(range.shard)
    }

    /// The shards that may own a value between the bounds, each once, in ascending order. Bounds of a
    /// class that the ranges do not have give every shard.
    #[must_use]
    pub fn shards_between(
        &self,
        low: Bound<&RoutingValue>,
        high: Bound<&RoutingValue>,
    ) -> Vec<ShardId> {
        let sample = match (low, high) {
            (Bound::Included(value) | Bound::Excluded(value), _)
            | (_, Bound::Included(value) | Bound::Excluded(value)) => value,
            (Bound::Unbounded, Bound::Unbounded) => return self.shards.to_vec(),
        };
        if matches!(self.layout, Layout::Whole(_)) {
            return self.shards.to_vec();
        }
        let ranges = self.ranges_for(sample);
        if ranges.is_empty() {
            return self.shards.to_vec();
        }
        let touched = ranges.iter().filter(|range| range.touches(low, high));
        distinct(touched.map(|range| range.shard)).into_vec()
    }

    /// The shard that owns every value, where there is one without any bound.
    #[must_use]
    pub fn owner_of_all(&self) -> Option<ShardId> {
        match self.layout {
            Layout::Whole(shard) => Some(shard),
            Layout::Numbers(_) | Layout::Literals(_) => None,
        }
    }

    /// All shards that own a range, each once, in ascending order.
    #[must_use]
    pub fn shards(&self) -> &[ShardId] {
        &self.shards
    }

    /// Whether the bounds make sense for keys of this class.
    #[must_use]
    pub fn takes(&self, class: pg::KeyClass) -> bool {
        match &self.layout {
            Layout::Whole(_) | Layout::Numbers(_) => true,
            Layout::Literals(classes) => classes.iter().any(|(known, _)| *known == class),
        }
    }

    /// The ranges in order; `class` is that of the keys and matters with literal bounds only. Empty
    /// where one shard owns everything.
    #[must_use]
    pub fn ranges(&self, class: pg::KeyClass) -> &[Range] {
        match &self.layout {
            Layout::Whole(_) => &[],
            Layout::Numbers(ranges) => ranges,
            Layout::Literals(classes) => {
                let found = classes.iter().find(|(known, _)| *known == class);
                found.map_or(&[], |(_, ranges)| ranges)
            }
        }
    }

    fn ranges_for(&self, value: &RoutingValue) -> &[Range] {
        match (&self.layout, value) {
            (Layout::Numbers(ranges), _) => ranges,
            (Layout::Literals(_), RoutingValue::Key(key)) => self.ranges(key.class()),
            _ => &[],
        }
    }
}

// === impl Range ===

impl Range {
    fn touches(&self, low: Bound<&RoutingValue>, high: Bound<&RoutingValue>) -> bool {
        let ends_before = match (&self.end, low) {
            (None, _) | (_, Bound::Unbounded) => false,
            (Some(end), Bound::Included(low) | Bound::Excluded(low)) => end <= low,
        };
        let starts_after = match (&self.start, high) {
            (None, _) | (_, Bound::Unbounded) => false,
            (Some(start), Bound::Included(high)) => start > high,
            (Some(start), Bound::Excluded(high)) => start >= high,
        };
        !ends_before && !starts_after
    }
}

fn distinct(shards: impl Iterator<Item = ShardId>) -> Box<[ShardId]> {
    let mut shards: Vec<ShardId> = shards.collect();
    shards.sort_unstable();
    shards.dedup();
    shards.into()
}

#[cfg(test)]
mod tests;
