//! From a `shard_indexes` entry to a [`ShardIndex`]: types and their parameters.

use std::collections::HashMap;

use crate::document;
use crate::expression::KeyColumns;
use crate::json::member_path;
use crate::mistake::{MistakeKind, Unsupported};

use super::{IndexFunction, ShardIndex};

/// Most logical shards or remainders.
const NUMBERS_MAX: i64 = 1 << 48;

/// Mistakes with their paths below the index.
type Found = Vec<(String, MistakeKind)>;

struct Parameters<'a> {
    path: String,
    index_type: &'static str,
    given: &'a indexmap::IndexMap<String, String>,
    found: Found,
}

/// Reads an index; `columns` are its own, already read.
///
/// # Errors
///
/// All mistakes, each with its path.
pub(crate) fn read(
    path: &str,
    name: &str,
    entry: &document::ShardIndex,
    columns: KeyColumns,
) -> Result<ShardIndex, Found> {
    let mut parameters = Parameters {
        path: member_path(path, "index_params"),
        index_type: "",
        given: &entry.index_params,
        found: Vec::new(),
    };
    let Some(function) = function(path, &entry.index_type, &mut parameters) else {
        return Err(parameters.found);
    };
    if !parameters.found.is_empty() {
        return Err(parameters.found);
    }
    Ok(ShardIndex {
        name: name.to_owned(),
        function,
        columns,
    })
}

fn function(
    path: &str,
    index_type: &str,
    parameters: &mut Parameters<'_>,
) -> Option<IndexFunction> {
    let type_path = member_path(path, "type");
    let unsupported = |what| MistakeKind::Unsupported { what };
    match index_type {
        "xxhash" => {
            parameters.expect("xxhash", &[]);
            Some(IndexFunction::Xxhash)
        }
        "range" => range(parameters),
        "modulo" => {
            parameters.expect("modulo", &["modulus"]);
            let modulus = parameters.number("modulus", "a whole number from 1 to 2^48")?;
            Some(IndexFunction::Modulo { modulus })
        }
        "slots" => {
            parameters.expect("slots", &["slots"]);
            let slots = parameters.number("slots", "a whole number from 1 to 2^48")?;
            Some(IndexFunction::Slots { slots })
        }
        "redis_slot" => {
            parameters.expect("redis_slot", &[]);
            Some(IndexFunction::RedisSlot)
        }
        "list" => list(parameters),
        "hierarchy" => hierarchy(parameters),
        "lookup" => parameters.fail(type_path, unsupported(Unsupported::Lookup)),
        "postgres_hash" => parameters.fail(type_path, unsupported(Unsupported::PostgresHash)),
        _ => {
            let index_type = index_type.to_owned();
            parameters.fail(type_path, MistakeKind::UnknownIndexType { index_type })
        }
    }
}

fn range(parameters: &mut Parameters<'_>) -> Option<IndexFunction> {
    parameters.expect("range", &["bounds"]);
    match parameters.given.get("bounds").map(String::as_str) {
        None | Some("hex") => Some(IndexFunction::Range),
        Some("literal") => Some(IndexFunction::RangeLiteral),
        Some(value) => parameters.bad("bounds", value, "hex or literal"),
    }
}

fn list(parameters: &mut Parameters<'_>) -> Option<IndexFunction> {
    parameters.index_type = "list";
    let mut places = HashMap::new();
    let mut rest = None;
    for (key, value) in parameters.given {
        if key == "spread" && value.contains(':') {
            parameters.spread();
            continue;
        }
        let Some(place) = value
            .parse()
            .ok()
            .filter(|place| (0..NUMBERS_MAX).contains(place))
        else {
            parameters.bad::<()>(key, value, "a whole number from 0 to 2^48");
            continue;
        };
        if key == "*" {
            rest = Some(place);
        } else {
            places.insert(key.as_str().into(), place);
        }
    }
    if parameters.given.is_empty() {
        let kind = MistakeKind::MissingParameter {
            index_type: "list",
            name: "*",
        };
        return parameters.fail(parameters.path.clone(), kind);
    }
    Some(IndexFunction::List { places, rest })
}

fn hierarchy(parameters: &mut Parameters<'_>) -> Option<IndexFunction> {
    parameters.expect("hierarchy", &["bits"]);
    let text = parameters.required("bits")?;
    let bits: Option<Vec<u32>> = text
        .split(',')
        .map(|bits| bits.trim().parse().ok())
        .collect();
    let bits = bits.filter(|bits| {
        let total: u64 = bits.iter().map(|bits| u64::from(*bits)).sum();
        (2..=3).contains(&bits.len()) && total <= 64 && !bits.contains(&0)
    });
    match bits {
        Some(bits) => Some(IndexFunction::Hierarchy { bits: bits.into() }),
        None => parameters.bad(
            "bits",
            text,
            "two or three counts of bits, 64 in all at most, such as 16,24,24",
        ),
    }
}

// === impl Parameters ===

impl<'a> Parameters<'a> {
    /// Reports every parameter that is not among `known`.
    fn expect(&mut self, index_type: &'static str, known: &'static [&'static str]) {
        self.index_type = index_type;
        for name in self.given.keys() {
            if name == "spread" {
                self.spread();
            } else if !known.contains(&name.as_str()) {
                let kind = MistakeKind::UnknownParameter {
                    index_type,
                    name: name.clone(),
                    known,
                };
                self.found.push((member_path(&self.path, name), kind));
            }
        }
    }

    fn spread(&mut self) {
        let kind = MistakeKind::Unsupported {
            what: Unsupported::Spread,
        };
        self.found.push((member_path(&self.path, "spread"), kind));
    }

    fn required(&mut self, name: &'static str) -> Option<&'a str> {
        let value = self.given.get(name).map(String::as_str);
        if value.is_none() {
            let kind = MistakeKind::MissingParameter {
                index_type: self.index_type,
                name,
            };
            self.found.push((self.path.clone(), kind));
        }
        value
    }

    fn number(&mut self, name: &'static str, expected: &'static str) -> Option<i64> {
        let value = self.required(name)?;
        match value.parse() {
            Ok(number) if (1..=NUMBERS_MAX).contains(&number) => Some(number),
            _ => self.bad(name, value, expected),
        }
    }

    fn bad<T>(&mut self, name: &str, value: &str, expected: &'static str) -> Option<T> {
        let kind = MistakeKind::BadParameter {
            expected,
            value: value.to_owned(),
        };
        self.fail(member_path(&self.path, name), kind)
    }

    fn fail<T>(&mut self, path: String, kind: MistakeKind) -> Option<T> {
        self.found.push((path, kind));
        None
    }
}
