//! Key ranges from text: bounds are read as the index type says, sorted, and searched for overlaps and
//! gaps.

use crate::document::{KeyRange, ShardGroup};
use crate::id::ShardId;
use crate::index::{IndexFunction, LITERAL_CLASSES, REDIS_SLOTS, ShardIndex};
use crate::json::{item_path, member_path};
use crate::mistake::{GapWeight, MistakeKind};
use crate::range::{KeyRanges, Range};
use crate::routing::RoutingValue;

/// What messages call the missing start of a first range.
const BEGINNING: &str = "the beginning";
/// What messages call the missing end of a last range.
const END: &str = "the end";

/// What was read, and what is wrong with it.
pub(super) struct Layout {
    pub(super) ranges: Option<KeyRanges>,
    pub(super) found: Vec<(String, MistakeKind)>,
}

/// A range with its place in the document.
#[derive(Clone)]
struct Entry {
    path: String,
    start: Option<RoutingValue>,
    end: Option<RoutingValue>,
    /// The bounds as written, for messages.
    start_text: String,
    end_text: String,
    shard: ShardId,
}

type Found = Vec<(String, MistakeKind)>;

/// Reads the ranges of a group for an index. `shards` are those of the ranges, in their order; none
/// where one is unknown: then mistakes are still looked for.
pub(super) fn read(
    path: &str,
    group: &ShardGroup,
    index: &ShardIndex,
    shards: Option<&[ShardId]>,
) -> Layout {
    let known = shards.is_some();
    let unknown = vec![ShardId(0); group.key_ranges.len()];
    let shards = shards.unwrap_or(&unknown);
    let layout = match (group.key_ranges.as_slice(), shards) {
        (
            [
                KeyRange {
                    start: None,
                    end: None,
                    ..
                },
            ],
            [shard],
        ) => Layout {
            ranges: Some(KeyRanges::whole(*shard)),
            found: Vec::new(),
        },
        _ if index.function == IndexFunction::RangeLiteral => literals(path, group, shards),
        _ => numbers(path, group, index, shards),
    };
    Layout {
        ranges: layout.ranges.filter(|_| known),
        ..layout
    }
}

fn numbers(path: &str, group: &ShardGroup, index: &ShardIndex, shards: &[ShardId]) -> Layout {
    let read = |text: &str| number(&index.function, text);
    let mut found = Vec::new();
    let entries = entries(path, group, shards, &read).unwrap_or_else(|mistakes| {
        found.extend(mistakes);
        Vec::new()
    });
    if found.is_empty() {
        found.extend(overlaps(&entries));
    }
    if !found.is_empty() || entries.is_empty() {
        return Layout {
            ranges: None,
            found,
        };
    }
    found.extend(gaps(path, group, index, &entries));
    let refused = found.iter().any(|(_, kind)| {
        matches!(
            kind,
            MistakeKind::Gap {
                weight: GapWeight::Refused,
                ..
            }
        )
    });
    let ranges = (!refused).then(|| KeyRanges::numbers(ranges(entries)));
    Layout { ranges, found }
}

/// Tries the bounds as each class of key; the mistakes told are those of the narrowest class that all
/// bounds can be read as.
fn literals(path: &str, group: &ShardGroup, shards: &[ShardId]) -> Layout {
    let mut classes = Vec::new();
    let mut found: Option<Found> = None;
    for class in LITERAL_CLASSES {
        let read = |text: &str| literal(class, text).ok_or("a literal of the key's type");
        let Ok(entries) = entries(path, group, shards, &read) else {
            continue;
        };
        let overlaps = overlaps(&entries);
        if overlaps.is_empty() {
            if classes.is_empty() {
                found = Some(literal_gaps(path, group, &entries));
            }
            classes.push((class, ranges(entries)));
        } else if found.is_none() {
            found = Some(overlaps);
        }
    }
    let ranges = (!classes.is_empty()).then(|| KeyRanges::literals(classes));
    Layout {
        ranges,
        found: found.unwrap_or_default(),
    }
}

fn entries(
    path: &str,
    group: &ShardGroup,
    shards: &[ShardId],
    read: &dyn Fn(&str) -> Result<RoutingValue, &'static str>,
) -> Result<Vec<Entry>, Found> {
    let mut found = Vec::new();
    let mut bound = |path: &str, key: &str, text: &Option<String>| {
        let text = text.as_ref()?;
        let kind = |expected| MistakeKind::BadBound {
            bound: text.clone(),
            expected,
        };
        let value =
            read(text).map_err(|expected| found.push((member_path(path, key), kind(expected))));
        value.ok()
    };
    let mut entries = Vec::with_capacity(group.key_ranges.len());
    for (at, (range, shard)) in group.key_ranges.iter().zip(shards).enumerate() {
        let path = item_path(path, at);
        let start = bound(&path, "start", &range.start);
        let end = bound(&path, "end", &range.end);
        entries.push(Entry {
            path,
            start,
            end,
            start_text: range.start.clone().unwrap_or_else(|| BEGINNING.to_owned()),
            end_text: range.end.clone().unwrap_or_else(|| END.to_owned()),
            shard: *shard,
        });
    }
    if !found.is_empty() {
        return Err(found);
    }
    entries.sort_by(|a, b| a.start.cmp(&b.start));
    Ok(entries)
}

fn ranges(entries: Vec<Entry>) -> Vec<Range> {
    let range = |entry: Entry| Range {
        start: entry.start,
        end: entry.end,
        shard: entry.shard,
    };
    entries.into_iter().map(range).collect()
}

/// Ranges without values and ranges that share values. `entries` are sorted by start.
fn overlaps(entries: &[Entry]) -> Found {
    let mut found = Vec::new();
    for entry in entries {
        if let (Some(start), Some(end)) = (&entry.start, &entry.end)
            && start >= end
        {
            let (start, end) = (entry.start_text.clone(), entry.end_text.clone());
            found.push((entry.path.clone(), MistakeKind::EmptyRange { start, end }));
        }
    }
    if !found.is_empty() {
        return found;
    }
    for pair in entries.windows(2) {
        let [before, after] = pair else { continue };
        let apart = match (&before.end, &after.start) {
            (Some(end), Some(start)) => end <= start,
            _ => false,
        };
        if !apart {
            let start = after.start_text.clone();
            let other = before.path.clone();
            found.push((after.path.clone(), MistakeKind::Overlap { other, start }));
        }
    }
    found
}

/// The values that the index can compute, as the first and the first after the last.
fn domain(function: &IndexFunction) -> (i128, i128) {
    match function {
        IndexFunction::Xxhash | IndexFunction::Hierarchy { .. } => (0, 1 << 64),
        IndexFunction::Modulo { modulus } => (0, i128::from(*modulus)),
        IndexFunction::Slots { slots } => (0, i128::from(*slots)),
        IndexFunction::RedisSlot => (0, i128::from(REDIS_SLOTS)),
        IndexFunction::List { places, rest } => {
            let last = places.values().chain(rest).max().copied().unwrap_or(0);
            (0, i128::from(last) + 1)
        }
        IndexFunction::Range | IndexFunction::RangeLiteral => {
            (i128::from(i64::MIN), i128::from(i64::MAX) + 1)
        }
    }
}

fn gaps(path: &str, group: &ShardGroup, index: &ShardIndex, entries: &[Entry]) -> Found {
    let (first, after_last) = domain(&index.function);
    let at = |value: &Option<RoutingValue>, unbounded: i128| match value {
        Some(RoutingValue::Hash(hash)) => i128::from(*hash),
        Some(RoutingValue::Number(number)) => i128::from(*number),
        Some(RoutingValue::Key(_)) | None => unbounded,
    };
    let mut holes = Vec::new();
    let mut found = Vec::new();
    let mut covered = first;
    for entry in entries {
        let start = at(&entry.start, first).max(first);
        let end = at(&entry.end, after_last).min(after_last);
        if start >= end {
            let domain = format!("{first:x} to {:x}", after_last - 1);
            let kind = MistakeKind::RangeWithoutValues {
                index: index.name.clone(),
                domain,
            };
            found.push((entry.path.clone(), kind));
            continue;
        }
        if start > covered {
            holes.push((covered, start));
        }
        covered = end;
    }
    if covered < after_last {
        holes.push((covered, after_last));
    }
    if let IndexFunction::List { places, rest } = &index.function {
        holes.retain(|(start, end)| {
            let inside = |place: &i64| (*start..*end).contains(&i128::from(*place));
            places.values().chain(rest).any(inside)
        });
    }
    let hex = |value: i128| {
        let sign = if value < 0 { "-" } else { "" };
        format!("{sign}{:x}", value.unsigned_abs())
    };
    let weight = match index.function {
        IndexFunction::Range => GapWeight::Allowed,
        _ => GapWeight::Refused,
    };
    for (start, end) in holes {
        let start = if start == first {
            BEGINNING.to_owned()
        } else {
            hex(start)
        };
        let end = if end == after_last {
            END.to_owned()
        } else {
            hex(end)
        };
        let kind = MistakeKind::Gap {
            group: group.uid.clone(),
            start,
            end,
            weight,
        };
        found.push((path.to_owned(), kind));
    }
    found
}

fn literal_gaps(path: &str, group: &ShardGroup, entries: &[Entry]) -> Found {
    let mut holes = Vec::new();
    if let Some(first) = entries.first().filter(|entry| entry.start.is_some()) {
        holes.push((BEGINNING.to_owned(), first.start_text.clone()));
    }
    for pair in entries.windows(2) {
        if let [before, after] = pair
            && before.end < after.start
        {
            holes.push((before.end_text.clone(), after.start_text.clone()));
        }
    }
    if let Some(last) = entries.last().filter(|entry| entry.end.is_some()) {
        holes.push((last.end_text.clone(), END.to_owned()));
    }
    let gap = |(start, end)| {
        let group = group.uid.clone();
        let kind = MistakeKind::Gap {
            group,
            start,
            end,
            weight: GapWeight::Allowed,
        };
        (path.to_owned(), kind)
    };
    holes.into_iter().map(gap).collect()
}

/// Reads a bound in hexadecimal: aligned left in the hash space, aligned right among numbers.
fn number(function: &IndexFunction, text: &str) -> Result<RoutingValue, &'static str> {
    let digits = |text: &str| {
        let hex = (1..=16).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
        hex.then(|| u64::from_str_radix(text, 16).ok()).flatten()
    };
    match function {
        IndexFunction::Xxhash | IndexFunction::Hierarchy { .. } => {
            let expected = "a prefix of up to 16 hexadecimal digits";
            let value = digits(text).ok_or(expected)?;
            let shift = 4 * (16 - u32::try_from(text.len()).unwrap_or(16));
            Ok(RoutingValue::Hash(value << shift))
        }
        IndexFunction::Range => {
            let expected = "a hexadecimal integer of 64 bits";
            let (negative, unsigned) = match text.strip_prefix('-') {
                Some(rest) => (true, rest),
                None => (false, text.strip_prefix('+').unwrap_or(text)),
            };
            let magnitude = i128::from(digits(unsigned).ok_or(expected)?);
            let value = if negative { -magnitude } else { magnitude };
            let value = i64::try_from(value).ok();
            value.map(RoutingValue::Number).ok_or(expected)
        }
        _ => {
            let expected = "a hexadecimal number";
            let value = digits(text).and_then(|value| i64::try_from(value).ok());
            value.map(RoutingValue::Number).ok_or(expected)
        }
    }
}

fn literal(class: pg::KeyClass, text: &str) -> Option<RoutingValue> {
    let width = if class == pg::KeyClass::Integer { 8 } else { 0 };
    let key_type = pg::KeyType {
        class,
        width,
        typmod: -1,
    };
    match pg::KeyValue::from_text(key_type, pg::oid::UNKNOWN, text) {
        pg::Parsed::Value(value) => Some(RoutingValue::Key(value)),
        pg::Parsed::NoMatch | pg::Parsed::Invalid | pg::Parsed::Unknown => None,
    }
}
