//! What a person can do about a mistake. Kept apart from the messages because hints are prose that
//! changes more often than they do.

use super::{MistakeKind, Unsupported};

/// The index types that can be used, as hints list them.
const INDEX_TYPES: &[&str] = &[
    "xxhash",
    "range",
    "modulo",
    "slots",
    "redis_slot",
    "list",
    "hierarchy",
];

/// The hint for one kind of mistake.
pub(super) fn hint(kind: &MistakeKind) -> Option<String> {
    form(kind)
        .or_else(|| names(kind))
        .or_else(|| ranges(kind))
        .or_else(|| placement(kind))
}

fn form(kind: &MistakeKind) -> Option<String> {
    Some(match kind {
        MistakeKind::UnknownKey { key, known } => choose(key, known),
        MistakeKind::UnknownValue { value, known } => choose(value, known),
        MistakeKind::UnknownParameter {
            name, known: [], ..
        } => {
            format!("remove {name:?}: this type has no parameters")
        }
        MistakeKind::UnknownParameter { name, known, .. } => choose(name, known),
        MistakeKind::UnknownIndexType { index_type } => choose(index_type, INDEX_TYPES),
        MistakeKind::DuplicateKey { .. } => "keep one of the two".to_owned(),
        _ => return None,
    })
}

fn names(kind: &MistakeKind) -> Option<String> {
    Some(match kind {
        MistakeKind::NoShards => {
            "add `shards` to the document, or name them in the router's configuration".to_owned()
        }
        MistakeKind::NoPrimary { shard } => {
            format!("add \"primary\": \"host:port\", or configure {shard:?} in the router")
        }
        MistakeKind::BadAddress { .. } => "write it as \"db1.internal:5432\"".to_owned(),
        MistakeKind::CredentialsInAddress => {
            "credentials belong into the router's configuration".to_owned()
        }
        MistakeKind::UnknownShard { uid, known }
        | MistakeKind::UnknownGroup { uid, known }
        | MistakeKind::UnknownIndex { name: uid, known } => choose(uid, known),
        MistakeKind::NoGroups => "add one group with one range, for example {\"uid\": \"main\", \
             \"key_ranges\": [{\"shard_uid\": \"store-1\"}]}"
            .to_owned(),
        MistakeKind::Unsupported { what } => unsupported(*what),
        _ => return None,
    })
}

fn unsupported(what: Unsupported) -> String {
    let way_out = match what {
        Unsupported::Lookup => "list or range can place keys one by one",
        Unsupported::PostgresHash => "xxhash spreads keys as evenly",
        Unsupported::Spread => "a shard of its own for the hot key can be had with a range index",
        Unsupported::GlobalSecondaryIndex => "set \"enabled\": false to keep the declaration",
        Unsupported::SecondaryIndexes => "remove the list; queries by these columns ask all shards",
        Unsupported::UniqueOffKeyIndex => "choose \"local\" or \"refuse\"",
    };
    format!("{}: {way_out}", what.id())
}

fn ranges(kind: &MistakeKind) -> Option<String> {
    Some(match kind {
        MistakeKind::NoRanges { .. } => {
            "give each shard a range; one range without start and end holds everything".to_owned()
        }
        MistakeKind::DividedWithoutIndex { .. } => {
            "name a default_shard_index, or keep exactly one range without start and end".to_owned()
        }
        MistakeKind::EmptyRange { .. } => "start is inclusive, end is exclusive".to_owned(),
        MistakeKind::Overlap { .. } => {
            "end is exclusive: let one range end where the next starts".to_owned()
        }
        MistakeKind::Gap { .. } => {
            "let one range end where the next starts; leave out start of the first and end of the \
             last"
                .to_owned()
        }
        MistakeKind::RangeWithoutValues { .. } => {
            "bounds of numbers are hexadecimal: 240 means 576, and 240 is written f0".to_owned()
        }
        MistakeKind::ExpressionAmongColumns { .. } => {
            "a key is either column names or one expression".to_owned()
        }
        _ => return None,
    })
}

fn placement(kind: &MistakeKind) -> Option<String> {
    Some(match kind {
        MistakeKind::AmbiguousAuthority { .. } => {
            "set \"authoritative_shard_group\" to one of them".to_owned()
        }
        MistakeKind::AuthoritySharded { .. } => {
            "it holds schema truth and sequences: declare a group with one range for it".to_owned()
        }
        MistakeKind::ImplicitGroupTaken => {
            "declare an unsharded group and name it in \"authoritative_shard_group\"".to_owned()
        }
        MistakeKind::IndexInUnshardedGroup { .. } => {
            "remove primary_indexes, or put the table into a sharded group".to_owned()
        }
        MistakeKind::NoColumns { .. } => {
            "add \"columns\" to the index or to the table's primary_indexes".to_owned()
        }
        MistakeKind::TableTwice { .. } => "keep one of the two".to_owned(),
        MistakeKind::NeedsOneShard { .. } => {
            "leave shard_group out: the authoritative group is the default".to_owned()
        }
        MistakeKind::NoKeyColumn { .. } => {
            "declare another group for the table, make it a reference table, or give it \
             primary_indexes on a column that it has"
                .to_owned()
        }
        MistakeKind::UniqueOffKey { .. } => {
            "add the key to its columns, or set \"unique_off_key\": \"local\" to have it kept within \
             each shard only"
                .to_owned()
        }
        MistakeKind::KeyType { reason, .. } if reason.contains("lower()") => {
            "use the expression lower(column) as the key".to_owned()
        }
        _ => return None,
    })
}

/// `did you mean "schemas"?`, or the whole list where nothing is near.
fn choose<S: AsRef<str>>(word: &str, known: &[S]) -> String {
    let near = known
        .iter()
        .map(|candidate| (distance(word, candidate.as_ref()), candidate.as_ref()))
        .filter(|(distance, _)| *distance <= 2 && *distance < word.chars().count())
        .min();
    if let Some((_, candidate)) = near {
        return format!("did you mean {candidate:?}?");
    }
    let known: Vec<&str> = known.iter().map(AsRef::as_ref).collect();
    match known.as_slice() {
        [] => "none is declared".to_owned(),
        known => format!("one of: {}", known.join(", ")),
    }
}

/// Whether a name is likely a misspelling of another.
#[must_use]
pub fn is_near(word: &str, candidate: &str) -> bool {
    let distance = distance(word, candidate);
    distance <= 2 && distance < word.chars().count()
}

/// How many characters must change, swap, come or go to make `a` from `b`.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().collect();
    let b: Vec<char> = b.chars().collect();
    let mut before_last = vec![0; b.len() + 1];
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            row[j] = (last[j] + 1).min(row[j - 1] + 1).min(last[j - 1] + changed);
            let swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            if swapped {
                row[j] = row[j].min(before_last[j - 2] + 1);
            }
        }
        before_last = last;
        last = row;
    }
    last[b.len()]
}
