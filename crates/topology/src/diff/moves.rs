//! Which rows a new topology would look for on another shard than the old one put them on.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;

use crate::index::{IndexFunction, LITERAL_CLASSES};
use crate::placement::{Placement, Sharded, TableName};
use crate::range::{KeyRanges, Range};
use crate::routing::RoutingValue;
use crate::topology::Topology;

/// Rows or values that would have to move.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Move {
    /// Whose.
    pub subject: Subject,
    /// Why.
    pub cause: MoveCause,
    /// Which part; empty: all of it.
    pub moved: Vec<Moved>,
}

/// What has its rows or values on some shard.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// The authoritative group: schema truth and the cluster's records.
    Authority,
    /// A table; it may be applied nevertheless while the table is empty.
    Table {
        /// Its database.
        database: String,
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
    },
    /// A sequence.
    Sequence {
        /// Its database.
        database: String,
        /// Its schema.
        schema: String,
        /// Its name.
        name: String,
    },
}

/// Why rows would have to move.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum MoveCause {
    /// Ranges have other owners.
    Ranges,
    /// The index computes something else.
    Index,
    /// The key comes from other columns.
    Key,
    /// It was sharded, on one shard, or copied, and is something else now.
    Kind,
    /// It is on one shard, and that is another one.
    Shard,
    /// A shard without a copy would have to hold one.
    Copies,
    /// The new topology has no place for it.
    Nowhere,
}

/// A part that has another owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// For example `80..c0` or `key fr`.
    pub part: String,
    /// The shard that has it.
    pub from: String,
    /// The shard that would be asked for it; none: nobody.
    pub to: Option<String>,
}

/// A table of the catalog, with the columns that it has; for the tables that no document declares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownTable {
    /// Its database.
    pub database: String,
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub name: String,
    /// Its columns.
    pub columns: Vec<String>,
}

struct Pair<'t> {
    old: &'t Topology,
    new: &'t Topology,
}

/// What of the rows that exist under `old` would be looked for elsewhere under `new`. `known` are the
/// tables of the catalog: a table that neither document declares is judged only if it is among them,
/// and one that only one of them declares is otherwise judged as if it had every column.
#[must_use]
pub fn moves_rows(old: &Topology, new: &Topology, known: &[KnownTable]) -> Vec<Move> {
    let pair = Pair { old, new };
    let mut moves = Vec::new();
    let authorities = (
        &old.shard(old.authoritative_shard()).uid,
        &new.shard(new.authoritative_shard()).uid,
    );
    if authorities.0 != authorities.1 {
        let (from, to) = (authorities.0.clone(), Some(authorities.1.clone()));
        let everything = vec![Moved {
            part: "everything".to_owned(),
            from,
            to,
        }];
        moves.push(Move {
            subject: Subject::Authority,
            cause: MoveCause::Shard,
            moved: everything,
        });
    }
    for (database, schema, table) in tables(old, new, known) {
        let name = TableName {
            database,
            schema,
            table,
        };
        let columns = known.iter().find(|known| {
            known.database == database && known.schema == schema && known.name == table
        });
        if let Some((cause, moved)) = pair.table(name, columns) {
            let subject = Subject::Table {
                database: database.to_owned(),
                schema: schema.to_owned(),
                name: table.to_owned(),
            };
            moves.push(Move {
                subject,
                cause,
                moved,
            });
        }
    }
    moves.extend(pair.sequences());
    moves
}

/// Every table that is declared in one of the documents or known to the catalog.
fn tables<'t>(
    old: &'t Topology,
    new: &'t Topology,
    known: &'t [KnownTable],
) -> BTreeSet<(&'t str, &'t str, &'t str)> {
    let mut tables = BTreeSet::new();
    for (database, entry) in old.document.databases.iter().chain(&new.document.databases) {
        for (schema, entry) in &entry.schemas {
            for table in entry.tables.keys().chain(entry.reference_tables.keys()) {
                tables.insert((database.as_str(), schema.as_str(), table.as_str()));
            }
        }
    }
    for table in known {
        tables.insert((
            table.database.as_str(),
            table.schema.as_str(),
            table.name.as_str(),
        ));
    }
    tables
}

/// An interval with its two owners.
struct Part<'t> {
    start: Option<&'t RoutingValue>,
    end: Option<&'t RoutingValue>,
    from: &'t str,
    to: Option<&'t str>,
}

type Verdict = Option<(MoveCause, Vec<Moved>)>;

// === impl Pair ===

impl Pair<'_> {
    fn table(&self, name: TableName<'_>, known: Option<&KnownTable>) -> Verdict {
        let has_column = |column: &str| {
            known.is_none_or(|known| known.columns.iter().any(|name| name == column))
        };
        // A table without a place had no rows that the old topology could reach.
        let old = self.old.placement(name, &has_column).ok()?;
        match self.new.placement(name, &has_column) {
            Ok(new) => self.placements(&old, &new),
            Err(_) => Some((MoveCause::Nowhere, Vec::new())),
        }
    }

    fn placements(&self, old: &Placement, new: &Placement) -> Verdict {
        let from = self.old_uids(old);
        let to = self.new_uids(new);
        if let ([from], [to]) = (from.as_slice(), to.as_slice())
            && from == to
            && covers_everything(new)
        {
            return None;
        }
        match (old, new) {
            (Placement::Sharded(old), Placement::Sharded(new)) => self.sharded(old, new),
            (Placement::Reference(_), Placement::Reference(_)) => {
                let holds = |uid: &&String| from.contains(uid);
                let lacking: Vec<&String> = to.iter().filter(|uid| !holds(uid)).copied().collect();
                let source = from.first()?;
                let moved = lacking.into_iter().map(|uid| Moved {
                    part: "a copy".to_owned(),
                    from: (*source).clone(),
                    to: Some(uid.clone()),
                });
                let moved: Vec<Moved> = moved.collect();
                (!moved.is_empty()).then_some((MoveCause::Copies, moved))
            }
            (Placement::Unsharded { .. }, Placement::Unsharded { .. }) => {
                let (from, to) = (from.first()?, to.first()?);
                let (from, to) = ((*from).clone(), Some((*to).clone()));
                let moved = vec![Moved {
                    part: "everything".to_owned(),
                    from,
                    to,
                }];
                Some((MoveCause::Shard, moved))
            }
            _ => Some((MoveCause::Kind, Vec::new())),
        }
    }

    fn sharded(&self, old: &Sharded, new: &Sharded) -> Verdict {
        if old.key != new.key {
            return Some((MoveCause::Key, Vec::new()));
        }
        let moved = match (&old.index.function, &new.index.function) {
            (IndexFunction::List { .. }, IndexFunction::List { .. }) => self.listed(old, new),
            (old_function, new_function) if old_function != new_function => {
                return Some((MoveCause::Index, Vec::new()));
            }
            (IndexFunction::RangeLiteral, _) => {
                let both =
                    |class: &pg::KeyClass| old.ranges.takes(*class) && new.ranges.takes(*class);
                let classes: Vec<pg::KeyClass> = LITERAL_CLASSES.into_iter().filter(both).collect();
                if classes.is_empty() {
                    return Some((MoveCause::Ranges, Vec::new()));
                }
                let moved = |class| self.ranges(&old.ranges, &new.ranges, class);
                classes
                    .into_iter()
                    .map(moved)
                    .find(|moved| !moved.is_empty())
                    .unwrap_or_default()
            }
            _ => self.ranges(&old.ranges, &new.ranges, pg::KeyClass::Integer),
        };
        (!moved.is_empty()).then_some((MoveCause::Ranges, moved))
    }

    /// The intervals whose owner is another one.
    fn ranges(&self, old: &KeyRanges, new: &KeyRanges, class: pg::KeyClass) -> Vec<Moved> {
        let (old_ranges, new_ranges) = (old.ranges(class), new.ranges(class));
        let bounds = old_ranges.iter().chain(new_ranges);
        let mut cuts: Vec<Option<&RoutingValue>> = vec![None];
        cuts.extend(bounds.flat_map(|range| [range.start.as_ref(), range.end.as_ref()]));
        cuts.sort();
        cuts.dedup();
        let mut parts: Vec<Part<'_>> = Vec::new();
        for (at, start) in cuts.iter().copied().enumerate() {
            let end = cuts.get(at + 1).copied().flatten();
            let Some(from) = owner(old, old_ranges, start) else {
                continue;
            };
            let from = self.old.shard(from).uid.as_str();
            let to = owner(new, new_ranges, start);
            let to = to.map(|shard| self.new.shard(shard).uid.as_str());
            if to == Some(from) {
                continue;
            }
            match parts.last_mut() {
                Some(last) if last.end == start && (last.from, last.to) == (from, to) => {
                    last.end = end;
                }
                _ => parts.push(Part {
                    start,
                    end,
                    from,
                    to,
                }),
            }
        }
        parts.iter().map(Part::moved).collect()
    }

    /// The keys of a list whose owner is another one.
    fn listed(&self, old: &Sharded, new: &Sharded) -> Vec<Moved> {
        let (
            IndexFunction::List {
                places: old_places,
                rest: old_rest,
            },
            IndexFunction::List {
                places: new_places,
                rest: new_rest,
            },
        ) = (&old.index.function, &new.index.function)
        else {
            return Vec::new();
        };
        let keys: BTreeSet<&str> = old_places
            .keys()
            .chain(new_places.keys())
            .map(AsRef::as_ref)
            .collect();
        let place = |key: &str| {
            let from = old_places.get(key).or(old_rest.as_ref()).copied();
            (
                format!("key {key}"),
                from,
                new_places.get(key).or(new_rest.as_ref()).copied(),
            )
        };
        let rest = ("all other keys".to_owned(), *old_rest, *new_rest);
        let mut moved = Vec::new();
        for (part, from, to) in keys.into_iter().map(place).chain([rest]) {
            let shard = |ranges: &KeyRanges, place| ranges.shard_for(&RoutingValue::Number(place));
            let Some(from) = from.and_then(|place| shard(&old.ranges, place)) else {
                continue;
            };
            let from = self.old.shard(from).uid.clone();
            let to = to.and_then(|place| shard(&new.ranges, place));
            let to = to.map(|shard| self.new.shard(shard).uid.clone());
            if to.as_ref() != Some(&from) {
                moved.push(Moved { part, from, to });
            }
        }
        moved
    }

    fn sequences(&self) -> Vec<Move> {
        let mut names = BTreeSet::new();
        let documents = [&self.old.document, &self.new.document];
        for (database, entry) in documents.iter().flat_map(|document| &document.databases) {
            for (schema, entry) in &entry.schemas {
                names.extend(entry.sequences.keys().map(|name| (database, schema, name)));
            }
        }
        let mut moves = Vec::new();
        for (database, schema, name) in names {
            let from = self
                .old
                .shard(self.old.sequence(database, schema, name).shard)
                .uid
                .clone();
            let to = self
                .new
                .shard(self.new.sequence(database, schema, name).shard)
                .uid
                .clone();
            if from == to {
                continue;
            }
            let subject = Subject::Sequence {
                database: database.clone(),
                schema: schema.clone(),
                name: name.clone(),
            };
            let everything = vec![Moved {
                part: "everything".to_owned(),
                from,
                to: Some(to),
            }];
            moves.push(Move {
                subject,
                cause: MoveCause::Shard,
                moved: everything,
            });
        }
        moves
    }

    fn old_uids(&self, placement: &Placement) -> Vec<&String> {
        placement
            .shards()
            .iter()
            .map(|shard| &self.old.shard(*shard).uid)
            .collect()
    }

    fn new_uids(&self, placement: &Placement) -> Vec<&String> {
        placement
            .shards()
            .iter()
            .map(|shard| &self.new.shard(*shard).uid)
            .collect()
    }
}

/// Whether every key has a shard, so that nothing is lost where there is only one.
fn covers_everything(placement: &Placement) -> bool {
    match placement {
        Placement::Sharded(sharded) => {
            let leaves_out = matches!(
                sharded.index.function,
                IndexFunction::List { rest: None, .. }
            );
            !leaves_out && sharded.ranges.owner_of_all().is_some()
        }
        Placement::Reference(_) | Placement::Unsharded { .. } => true,
    }
}

fn owner(
    all: &KeyRanges,
    ranges: &[Range],
    value: Option<&RoutingValue>,
) -> Option<crate::ShardId> {
    if let Some(shard) = all.owner_of_all() {
        return Some(shard);
    }
    match value {
        Some(value) => all.shard_for(value),
        None => ranges
            .first()
            .filter(|range| range.start.is_none())
            .map(|range| range.shard),
    }
}

// === impl Part ===

impl Part<'_> {
    fn moved(&self) -> Moved {
        let text =
            |bound: Option<&RoutingValue>| bound.map(ToString::to_string).unwrap_or_default();
        Moved {
            part: format!("{}..{}", text(self.start), text(self.end)),
            from: self.from.to_owned(),
            to: self.to.map(str::to_owned),
        }
    }
}

// === impl Move ===

impl fmt::Display for Move {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.subject, self.cause)?;
        for moved in &self.moved {
            write!(f, "; {} from {} to ", moved.part, moved.from)?;
            write!(f, "{}", moved.to.as_deref().unwrap_or("no shard"))?;
        }
        Ok(())
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Subject::Authority => write!(f, "the authoritative group"),
            Subject::Table {
                database,
                schema,
                name,
            } => {
                write!(f, "table {database}.{schema}.{name}")
            }
            Subject::Sequence {
                database,
                schema,
                name,
            } => {
                write!(f, "sequence {database}.{schema}.{name}")
            }
        }
    }
}

impl fmt::Display for MoveCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            MoveCause::Ranges => "ranges have other owners",
            MoveCause::Index => "its index computes other routing values",
            MoveCause::Key => "its key comes from other columns",
            MoveCause::Kind => "it is placed in another way",
            MoveCause::Shard => "it is on another shard",
            MoveCause::Copies => "a shard lacks its copy",
            MoveCause::Nowhere => "it has no place any more",
        })
    }
}
