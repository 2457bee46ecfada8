use std::ops::Bound::{Excluded, Included, Unbounded};

use proptest::prelude::*;

use super::*;

fn number(value: i64) -> RoutingValue {
    RoutingValue::Number(value)
}

/// `..10 10..20 30..` on shards 0, 1, 2: with a gap from 20 to 30.
fn ranges() -> KeyRanges {
    let range = |start: Option<i64>, end: Option<i64>, shard| Range {
        start: start.map(number),
        end: end.map(number),
        shard: ShardId(shard),
    };
    KeyRanges::numbers(vec![
        range(None, Some(10), 0),
        range(Some(10), Some(20), 1),
        range(Some(30), None, 2),
    ])
}

#[test]
fn a_start_is_inside_and_an_end_is_outside() {
    let shard = |value| ranges().shard_for(&number(value)).map(ShardId::index);
    assert_eq!(shard(i64::MIN), Some(0));
    assert_eq!(shard(9), Some(0));
    assert_eq!(shard(10), Some(1));
    assert_eq!(shard(19), Some(1));
    assert_eq!(shard(20), None);
    assert_eq!(shard(29), None);
    assert_eq!(shard(30), Some(2));
    assert_eq!(shard(i64::MAX), Some(2));
}

#[test]
fn an_interval_touches_the_ranges_that_share_a_value_with_it() {
    let shards = |low: Bound<i64>, high: Bound<i64>| -> Vec<usize> {
        let (low, high) = (low.map(number), high.map(number));
        let shards = ranges().shards_between(low.as_ref(), high.as_ref());
        shards.into_iter().map(ShardId::index).collect()
    };
    assert_eq!(shards(Unbounded, Unbounded), [0, 1, 2]);
    assert_eq!(shards(Included(10), Included(10)), [1]);
    assert_eq!(shards(Included(5), Included(10)), [0, 1]);
    assert_eq!(shards(Included(5), Excluded(10)), [0]);
    assert_eq!(shards(Included(20), Excluded(30)), [0; 0]);
    assert_eq!(shards(Included(20), Included(30)), [2]);
    assert_eq!(shards(Excluded(25), Unbounded), [2]);
    assert_eq!(shards(Unbounded, Included(0)), [0]);
}

proptest! {
    /// The shard of every value inside an interval is among the shards of the interval.
    #[test]
    fn pruning_never_loses_a_value(low in -5_i64..40, width in 0_i64..40, inside in 0_i64..40) {
        let value = low + inside % (width + 1);
        let (first, last) = (number(low), number(low + width));
        let shards = ranges().shards_between(Included(&first), Included(&last));
        if let Some(shard) = ranges().shard_for(&number(value)) {
            prop_assert!(shards.contains(&shard));
        }
    }
}
