//! Keys of every spelling find their shard. Customer 32 lies on `b`, 3203 on `a`; `ab-1042` on `b`.

use super::*;
use crate::plan::ParamValue;

const DOCUMENT: &str = r#"{
    "shards": {"a": {"primary": "h:1"}, "b": {"primary": "h:2"}},
    "shard_indexes": {
        "by_id": {"type": "xxhash", "columns": ["id"]},
        "by_sku": {"type": "xxhash", "columns": ["lower(sku)"]},
        "by_range": {"type": "range", "columns": ["n"]}
    },
    "shard_groups": [
        {"uid": "main", "key_ranges": [{"shard_uid": "a"}]},
        {"uid": "ids", "default_shard_index": "by_id",
         "key_ranges": [{"shard_uid": "a", "end": "80"}, {"shard_uid": "b", "start": "80"}]},
        {"uid": "skus", "default_shard_index": "by_sku",
         "key_ranges": [{"shard_uid": "a", "end": "80"}, {"shard_uid": "b", "start": "80"}]},
        {"uid": "numbers", "default_shard_index": "by_range",
         "key_ranges": [{"shard_uid": "a", "start": "0", "end": "a"}, {"shard_uid": "b", "start": "a", "end": "14"}]}
    ],
    "authoritative_shard_group": "main",
    "databases": {"d": {"schemas": {"public": {"tables": {
        "customers": {"shard_group": "ids"},
        "products": {"shard_group": "skus"},
        "numbers": {"shard_group": "numbers"}
    }}}}}
}"#;

#[derive(Default)]
struct Given {
    literals: Vec<&'static str>,
    params: Vec<(Oid, bool, Option<Vec<u8>>)>,
    asked: Vec<Option<&'static str>>,
}

impl Values for Given {
    fn literal(&self, slot: u32) -> Option<Cow<'_, str>> {
        self.literals
            .get(slot as usize)
            .map(|text| Cow::Borrowed(*text))
    }

    fn param(&self, n: u32) -> Option<ParamValue<'_>> {
        let (type_oid, is_binary, bytes) = self.params.get(n as usize - 1)?;
        Some(ParamValue {
            type_oid: *type_oid,
            is_binary: *is_binary,
            bytes: bytes.as_deref(),
        })
    }

    fn computed(&self, _index: u32) -> Option<Option<&str>> {
        None
    }

    fn asked(&self, index: u32) -> Option<Option<&str>> {
        self.asked.get(index as usize).copied()
    }
}

fn topology() -> Topology {
    Topology::parse(DOCUMENT, 1, &indexmap::IndexMap::new()).unwrap()
}

fn sharded(topology: &Topology, table: &str) -> std::sync::Arc<Sharded> {
    let name = topology::TableName {
        database: "d",
        schema: "public",
        table,
    };
    match topology.declared(name) {
        Some(topology::Placement::Sharded(sharded)) => std::sync::Arc::clone(sharded),
        other => panic!("{other:?}"),
    }
}

fn route(topology: &Topology, table: &str, source: KeySource, is_write: bool) -> Route {
    let sharded = sharded(topology, table);
    let part = &sharded.key.parts()[0];
    let is_expression = part.as_column().is_none();
    let type_oid = if is_expression { oid::TEXT } else { oid::INT8 };
    Route::Key {
        terms: smallvec::smallvec![KeyTerm {
            source,
            key_type: KeyType::of_builtin(type_oid).unwrap(),
            expression: is_expression.then(|| part.clone()),
        }],
        sharded,
        is_write,
    }
}

fn one(routes: Vec<Route>) -> Target {
    Target::One {
        routes: routes.into(),
        split: None,
    }
}

#[track_caller]
fn check(target: &Target, given: &Given, expected: &str) {
    let topology = topology();
    let shown = match evaluate(target, given, &topology) {
        Ok(Evaluated::Known(shards)) => {
            let names = shards.iter().map(|id| topology.shard(*id).uid.as_str());
            names.collect::<Vec<_>>().join(" ")
        }
        Ok(Evaluated::Ask(asks)) => {
            let asks = asks
                .iter()
                .map(|ask| format!("{} <- {}", ask.sql, ask.value));
            asks.collect::<Vec<_>>().join("; ")
        }
        Err(error) => error.to_string(),
    };
    assert_eq!(shown, expected);
}

fn literal(quoted: bool) -> KeySource {
    KeySource::Literal {
        slot: 0,
        negated: false,
        quoted,
    }
}

#[test]
fn literals_find_their_shard_whatever_their_spelling() {
    let topology = topology();
    for (text, quoted, expected) in [
        ("32", false, "b"),
        ("32", true, "b"),
        (" +32 ", true, "b"),
        ("32.0", false, "b"),
        ("3203", false, "a"),
        // No row has this key, and this is no number: any shard will do.
        ("1.5", false, "a b"),
        ("none", true, "a b"),
    ] {
        let target = one(vec![route(&topology, "customers", literal(quoted), false)]);
        let given = Given {
            literals: vec![text],
            ..Given::default()
        };
        check(&target, &given, expected);
    }
}

#[test]
fn parameters_find_their_shard_in_both_formats() {
    let topology = topology();
    let target = one(vec![route(
        &topology,
        "customers",
        KeySource::Param(1),
        false,
    )]);
    for (type_oid, is_binary, bytes, expected) in [
        (oid::INT8, true, Some(32_i64.to_be_bytes().to_vec()), "b"),
        (oid::INT4, true, Some(32_i32.to_be_bytes().to_vec()), "b"),
        (Oid::INVALID, true, Some(32_i32.to_be_bytes().to_vec()), "b"),
        (Oid::INVALID, false, Some(b"32".to_vec()), "b"),
        (oid::INT8, false, Some(b"3203".to_vec()), "a"),
        (oid::INT8, false, None, "a b"),
    ] {
        let given = Given {
            params: vec![(type_oid, is_binary, bytes)],
            ..Given::default()
        };
        check(&target, &given, expected);
    }
}

#[test]
fn routes_have_to_agree() {
    let topology = topology();
    let customer = |text: &str| {
        let text = text.to_owned();
        route(
            &topology,
            "customers",
            KeySource::Text {
                text,
                quoted: false,
            },
            false,
        )
    };
    let given = Given::default();
    check(&one(vec![customer("32"), customer("32")]), &given, "b");
    check(
        &one(vec![customer("32"), Route::Authority]),
        &given,
        "a statement whose tables lie on different shards is not supported over several shards",
    );
    check(&one(vec![customer("3203"), Route::Authority]), &given, "a");
    // A key that no row has is on no shard in particular.
    check(&one(vec![customer("1.5"), customer("32")]), &given, "b");
}

#[test]
fn what_the_router_cannot_compute_a_shard_is_asked() {
    let topology = topology();
    let target = one(vec![route(&topology, "products", literal(true), false)]);
    let ascii = Given {
        literals: vec!["AB-1042"],
        ..Given::default()
    };
    let shard = evaluate(&target, &ascii, &topology).unwrap();
    let accented = |asked| Given {
        literals: vec!["É-2"],
        asked,
        ..Given::default()
    };
    check(
        &target,
        &accented(vec![]),
        "SELECT (lower(sku))::text FROM (SELECT $1::text::pg_catalog.text AS \"sku\") AS key <- É-2",
    );
    let answered = evaluate(&target, &accented(vec![Some("ab-1042")]), &topology).unwrap();
    assert_eq!(answered, shard);
}

#[test]
fn listed_keys_go_to_each_shard_once() {
    let topology = topology();
    let array = |source| Target::Keys {
        routes: Vec::new(),
        array: Some(ArrayRoute {
            sharded: sharded(&topology, "customers"),
            source,
            key_type: KeyType::of_builtin(oid::INT8).unwrap(),
            expression: None,
        }),
    };
    for (text, expected) in [
        ("{32,32}", "b"),
        ("{32, NULL, \"3203\"}", "a b"),
        ("{}", "a"),
        // Nested: not taken apart, so everywhere.
        ("{{32},{32}}", "a b"),
    ] {
        let given = Given {
            literals: vec![text],
            ..Given::default()
        };
        check(&array(literal(true)), &given, expected);
    }
    let mut binary = Vec::new();
    for word in [1_i32, 0, 20, 2, 1, 8] {
        binary.extend_from_slice(&word.to_be_bytes());
    }
    binary.extend_from_slice(&32_i64.to_be_bytes());
    binary.extend_from_slice(&(-1_i32).to_be_bytes());
    let given = Given {
        params: vec![(oid::INT8_ARRAY, true, Some(binary))],
        ..Given::default()
    };
    check(&array(KeySource::Param(1)), &given, "b");
}

#[test]
fn stored_keys_need_a_home() {
    let topology = topology();
    let number = |text: &str, is_write| {
        let text = text.to_owned();
        one(vec![route(
            &topology,
            "numbers",
            KeySource::Text {
                text,
                quoted: false,
            },
            is_write,
        )])
    };
    let given = Given::default();
    check(&number("5", true), &given, "a");
    check(&number("99", false), &given, "a b");
    check(
        &number("99", true),
        &given,
        "no key range of shard group \"numbers\" holds the key (99)",
    );
    let null = one(vec![route(&topology, "numbers", KeySource::Null, true)]);
    check(
        &null,
        &given,
        "null value in shard key \"n\" violates not-null constraint",
    );
}
