//! From a plan's target to shards, when the values are there. Invariant: a key whose shard can't be told is never
//! guessed; either a shard is asked ([`Ask`]) or the statement is refused.

use std::borrow::Cow;

use pg::{KeyType, KeyValue, Oid, Parsed, oid};
use smallvec::SmallVec;
use topology::{RoutingError, ShardId, Sharded, Topology};

use crate::plan::{ArrayRoute, KeySource, KeyTerm, Route, Row, Target, Values};
use crate::{Unsupported, UnsupportedId};

mod array;
mod error;
mod kind;

pub use error::EvaluateError;
pub(crate) use kind::result_type;
use kind::{number_type, type_name, untyped};

/// Shards, ascending, each once.
pub type ShardList = SmallVec<[ShardId; 4]>;

/// Where a statement goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Evaluated<T> {
    /// There.
    Known(T),
    /// A shard has to compute these first; ask and evaluate again.
    Ask(Vec<Ask>),
}

/// A value that a shard has to compute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ask {
    /// Its number, by which [`Values::asked`] is looked up.
    pub index: u32,
    /// A query with the parameter `$1`, given as text; it returns one row with one text.
    pub sql: String,
    /// The parameter.
    pub value: String,
}

/// The shards of a target.
///
/// # Errors
///
/// The routes disagree or a stored key has no home.
pub fn evaluate(
    target: &Target,
    values: &dyn Values,
    topology: &Topology,
) -> Result<Evaluated<ShardList>, EvaluateError> {
    let mut evaluation = Evaluation::new(values, topology);
    let shards = match target {
        Target::One { routes, split } => evaluation.one(routes, split.as_deref())?,
        Target::Keys { routes, array } => evaluation.keys(routes, array.as_ref())?,
        Target::Group(group) => ShardList::from_slice(&topology.group(*group).shards),
        Target::Shards(shards) => ShardList::from_slice(shards),
        Target::Rows => ShardList::new(),
    };
    Ok(evaluation.finish(shards))
}

/// The shard of each row.
///
/// # Errors
///
/// A row's key has no home.
pub fn evaluate_rows(
    rows: &[Row],
    values: &dyn Values,
    topology: &Topology,
) -> Result<Evaluated<Vec<ShardId>>, EvaluateError> {
    let mut evaluation = Evaluation::new(values, topology);
    let mut homes = Vec::with_capacity(rows.len());
    for row in rows {
        let shards = evaluation.route(&row.route)?;
        homes.push(
            shards
                .first()
                .copied()
                .unwrap_or_else(|| topology.authoritative_shard()),
        );
    }
    Ok(evaluation.finish(homes))
}

/// The shard of a key whose column values are known, as when rows are copied. `column` gives a column's value,
/// `None` inside for NULL.
///
/// # Errors
///
/// The key is NULL or has no home.
pub fn shard_of_row(
    sharded: &Sharded,
    column: &dyn Fn(&str) -> Option<Option<KeyValue>>,
    topology: &Topology,
) -> Result<Option<ShardId>, EvaluateError> {
    let mut key: SmallVec<[KeyValue; 1]> = SmallVec::new();
    for part in sharded.key.parts() {
        if part.columns().iter().any(|name| column(name).is_none()) {
            return Ok(None);
        }
        match part.evaluate(&|name| column(name).flatten()) {
            topology::Evaluated::Value(value) => key.push(value),
            topology::Evaluated::Null => {
                return Err(EvaluateError::NullKey {
                    key: part.to_string(),
                });
            }
            topology::Evaluated::AskShard => return Ok(None),
        }
    }
    home(sharded, &key)?
        .map(Some)
        .ok_or_else(|| no_range(sharded, &key, topology))
}

/// A key's value when it was looked up.
enum Found {
    Value(KeyValue),
    /// No row has it.
    NoMatch,
    /// PostgreSQL raises an error; any shard will do.
    Invalid,
    /// NULL.
    Null,
    /// A shard is being asked.
    Asked,
}

struct Evaluation<'a> {
    values: &'a dyn Values,
    topology: &'a Topology,
    asks: Vec<Ask>,
    next: u32,
}

// === impl Evaluation ===

impl<'a> Evaluation<'a> {
    fn new(values: &'a dyn Values, topology: &'a Topology) -> Self {
        Self {
            values,
            topology,
            asks: Vec::new(),
            next: 0,
        }
    }

    fn finish<T>(self, known: T) -> Evaluated<T> {
        if self.asks.is_empty() {
            Evaluated::Known(known)
        } else {
            Evaluated::Ask(self.asks)
        }
    }

    fn one(
        &mut self,
        routes: &[Route],
        split: Option<&Unsupported>,
    ) -> Result<ShardList, EvaluateError> {
        let [first, others @ ..] = routes else {
            return Ok(ShardList::from_slice(&[self
                .topology
                .authoritative_shard()]));
        };
        let mut common = self.route(first)?;
        for route in others {
            let shards = self.route(route)?;
            common.retain(|shard| shards.contains(shard));
        }
        if common.is_empty() && self.asks.is_empty() {
            let refusal = split
                .cloned()
                .unwrap_or_else(|| Unsupported::new(UnsupportedId::SplitRoutes));
            return Err(EvaluateError::Refused(Box::new(refusal)));
        }
        Ok(common)
    }

    fn keys(
        &mut self,
        routes: &[Route],
        array: Option<&ArrayRoute>,
    ) -> Result<ShardList, EvaluateError> {
        let mut shards = ShardList::new();
        let mut anywhere = ShardList::new();
        for route in routes {
            let found = self.route(route)?;
            if found.len() == 1 {
                shards.extend(found);
            } else {
                anywhere.extend(found);
            }
        }
        if let Some(array) = array {
            self.array(array, &mut shards, &mut anywhere)?;
        }
        if shards.is_empty() {
            // No key matches a row, so any one shard gives the empty answer.
            shards.extend(anywhere.first().copied());
        }
        shards.sort_unstable();
        shards.dedup();
        Ok(shards)
    }

    fn array(
        &mut self,
        array: &ArrayRoute,
        shards: &mut ShardList,
        anywhere: &mut ShardList,
    ) -> Result<(), EvaluateError> {
        anywhere.extend_from_slice(array.sharded.ranges.shards());
        let Some(elements) = array::elements(array, self.values) else {
            // An array that can't be taken apart here goes to all.
            shards.extend_from_slice(array.sharded.ranges.shards());
            return Ok(());
        };
        for element in elements {
            let term = KeyTerm {
                source: KeySource::Null,
                key_type: array.key_type,
                expression: array.expression.clone(),
            };
            let found = self.settle(&term, element);
            let found = self.apply(&term, &array.sharded, 0, found);
            match found {
                Found::Value(value) => shards.extend(home(&array.sharded, &[value])?),
                Found::NoMatch | Found::Invalid | Found::Null | Found::Asked => {}
            }
        }
        Ok(())
    }

    /// The shards of a route, any of which will do; ascending.
    fn route(&mut self, route: &Route) -> Result<ShardList, EvaluateError> {
        match route {
            Route::Any(shards) => Ok(ShardList::from_slice(shards)),
            Route::Shard(shard) => Ok(ShardList::from_slice(&[*shard])),
            Route::Authority => Ok(ShardList::from_slice(&[self
                .topology
                .authoritative_shard()])),
            Route::Key {
                sharded,
                terms,
                is_write,
            } => self.key(sharded, terms, *is_write),
        }
    }

    fn key(
        &mut self,
        sharded: &Sharded,
        terms: &[KeyTerm],
        is_write: bool,
    ) -> Result<ShardList, EvaluateError> {
        let mut key: SmallVec<[KeyValue; 1]> = SmallVec::new();
        let mut is_anywhere = false;
        for (place, term) in terms.iter().enumerate() {
            let found = self.look_up(term, is_write)?;
            match self.apply(term, sharded, place, found) {
                Found::Value(value) => key.push(value),
                Found::Null if is_write => {
                    return Err(EvaluateError::NullKey {
                        key: sharded.key.parts()[place].to_string(),
                    });
                }
                Found::NoMatch | Found::Invalid | Found::Null | Found::Asked => is_anywhere = true,
            }
        }
        if is_anywhere {
            return Ok(ShardList::from_slice(sharded.ranges.shards()));
        }
        match home(sharded, &key)? {
            Some(shard) => Ok(ShardList::from_slice(&[shard])),
            None if is_write => Err(no_range(sharded, &key, self.topology)),
            None => Ok(ShardList::from_slice(sharded.ranges.shards())),
        }
    }

    fn look_up(&mut self, term: &KeyTerm, is_write: bool) -> Result<Found, EvaluateError> {
        let source = match &term.source {
            KeySource::Null => return Ok(Found::Null),
            KeySource::Value(value) => return Ok(Found::Value(value.clone())),
            KeySource::Param(number) => return self.parameter(term, *number, is_write),
            KeySource::Computed(index) => match self.values.computed(*index) {
                Some(Some(text)) => Spelled {
                    text: Cow::Borrowed(text),
                    type_oid: oid::UNKNOWN,
                },
                // Not computed yet can't be: execution computes before it evaluates.
                Some(None) | None => return Ok(Found::Null),
            },
            KeySource::Literal {
                slot,
                negated,
                quoted,
            } => match self.values.literal(*slot) {
                Some(text) => Spelled::literal(text, *negated, *quoted),
                None => return Err(EvaluateError::key_unknown()),
            },
            KeySource::Text { text, quoted } => {
                Spelled::literal(Cow::Borrowed(text), false, *quoted)
            }
        };
        let parsed = if is_write {
            KeyValue::assign_text(term.key_type, source.type_oid, &source.text)
        } else {
            KeyValue::from_text(term.key_type, source.type_oid, &source.text)
        };
        Ok(self.settle(
            term,
            Element {
                parsed,
                text: Some(source.text.into_owned()),
                assigned_from: is_write.then_some(source.type_oid),
            },
        ))
    }

    fn parameter(
        &mut self,
        term: &KeyTerm,
        number: u32,
        is_write: bool,
    ) -> Result<Found, EvaluateError> {
        let Some(param) = self.values.param(number) else {
            return Err(EvaluateError::key_unknown());
        };
        let Some(bytes) = param.bytes else {
            return Ok(Found::Null);
        };
        let is_untyped = param.type_oid == Oid::INVALID;
        if param.is_binary {
            let type_oid = if is_untyped {
                untyped(term.key_type, bytes.len())
            } else {
                param.type_oid
            };
            let parsed = if is_write {
                KeyValue::assign_binary(term.key_type, type_oid, bytes)
            } else {
                KeyValue::from_binary(term.key_type, type_oid, bytes)
            };
            if parsed == Parsed::Unknown {
                return Err(EvaluateError::key_unknown());
            }
            let element = Element {
                parsed,
                text: None,
                assigned_from: None,
            };
            return Ok(self.settle(term, element));
        }
        let type_oid = if is_untyped {
            oid::UNKNOWN
        } else {
            param.type_oid
        };
        let Ok(text) = std::str::from_utf8(bytes) else {
            return Ok(Found::Invalid);
        };
        let parsed = if is_write {
            KeyValue::assign_text(term.key_type, type_oid, text)
        } else {
            KeyValue::from_text(term.key_type, type_oid, text)
        };
        Ok(self.settle(
            term,
            Element {
                parsed,
                text: Some(text.to_owned()),
                assigned_from: is_write.then_some(type_oid),
            },
        ))
    }

    /// What the router can't read, a shard prints in the form that it can.
    fn settle(&mut self, term: &KeyTerm, element: Element) -> Found {
        match element.parsed {
            Parsed::Value(value) => Found::Value(value),
            Parsed::NoMatch => Found::NoMatch,
            Parsed::Invalid => Found::Invalid,
            Parsed::Unknown => {
                let casts = match element.assigned_from {
                    Some(source) => kind::assignment(source, term.key_type),
                    None => type_name(term.key_type.class).to_owned(),
                };
                let sql = format!("SELECT ($1::text::{casts})::text");
                self.ask(term.key_type, sql, element.text.unwrap_or_default())
            }
        }
    }

    /// Applies the key's expression to the column's value.
    fn apply(&mut self, term: &KeyTerm, sharded: &Sharded, place: usize, found: Found) -> Found {
        let (Some(expression), Found::Value(value)) = (&term.expression, &found) else {
            return found;
        };
        match expression.evaluate(&|_column| Some(value.clone())) {
            topology::Evaluated::Value(value) => Found::Value(value),
            topology::Evaluated::Null => Found::Null,
            topology::Evaluated::AskShard => {
                let column = expression.columns().first().map_or("key", |c| c).to_owned();
                let quoted = column.replace('"', "\"\"");
                let type_name = type_name(term.key_type.class);
                let sql = format!(
                    "SELECT ({expression})::text FROM (SELECT $1::text::{type_name} AS \"{quoted}\") AS key"
                );
                let result = result_type(&sharded.key.parts()[place], term.key_type);
                self.ask(result, sql, printed(value))
            }
        }
    }

    fn ask(&mut self, result: KeyType, sql: String, value: String) -> Found {
        let index = self.next;
        self.next += 1;
        match self.values.asked(index) {
            None => {
                self.asks.push(Ask { index, sql, value });
                Found::Asked
            }
            Some(None) => Found::Null,
            Some(Some(text)) => match KeyValue::from_text(result, oid::UNKNOWN, text) {
                Parsed::Value(value) => Found::Value(value),
                Parsed::NoMatch => Found::NoMatch,
                // A shard printed it, so it is valid; in a form that is not pinned it can't be read.
                Parsed::Invalid | Parsed::Unknown => Found::Invalid,
            },
        }
    }
}

/// A value as text with its type.
struct Spelled<'a> {
    text: Cow<'a, str>,
    type_oid: Oid,
}

/// One value that was read, and its text for the case that a shard must read it.
struct Element {
    parsed: Parsed,
    text: Option<String>,
    /// It is stored, and this is the type that it has before.
    assigned_from: Option<Oid>,
}

impl<'a> Spelled<'a> {
    fn literal(text: Cow<'a, str>, negated: bool, quoted: bool) -> Self {
        if quoted {
            return Self {
                text,
                type_oid: oid::UNKNOWN,
            };
        }
        let text = if negated {
            Cow::Owned(format!("-{text}"))
        } else {
            text
        };
        let type_oid = number_type(&text);
        Self { text, type_oid }
    }
}

/// The shard that holds a key; `None` when no range does.
///
/// # Errors
///
/// The index does not take such a key: it is not known where its row is, so it is not looked for.
fn home(sharded: &Sharded, key: &[KeyValue]) -> Result<Option<ShardId>, EvaluateError> {
    match sharded.index.routing_value(key) {
        Ok(value) => Ok(sharded.ranges.shard_for(&value)),
        Err(RoutingError::Unlisted { .. }) => Ok(None),
        Err(error @ (RoutingError::KeyCount { .. } | RoutingError::KeyClass { .. })) => {
            let refusal = Unsupported::about(UnsupportedId::KeyType, error.to_string());
            Err(EvaluateError::Refused(Box::new(refusal)))
        }
    }
}

fn no_range(sharded: &Sharded, key: &[KeyValue], topology: &Topology) -> EvaluateError {
    let shown: Vec<String> = key.iter().map(ToString::to_string).collect();
    EvaluateError::NoRange {
        key: shown.join(", "),
        group: topology.group(sharded.group).uid.clone(),
    }
}

/// A value as PostgreSQL reads it. Expressions are computed over texts, integers and numerics; of other classes the
/// router's own spelling is not PostgreSQL's, and the planner binds no such expression.
fn printed(value: &KeyValue) -> String {
    value.to_string()
}

#[cfg(test)]
mod tests;
