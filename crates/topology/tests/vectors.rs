//! Routing values against those that independent implementations made.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a helper of tests fails by panicking"
)]

use indexmap::IndexMap;
use serde_json::Value;
use topology::{IndexFunction, KeyColumns, RoutingValue, ShardEntry, ShardIndex, Topology};

fn index(function: IndexFunction) -> ShardIndex {
    ShardIndex {
        name: "test".to_owned(),
        function,
        columns: KeyColumns::new(Vec::new()),
    }
}

fn vectors(text: &str) -> Vec<Value> {
    serde_json::from_str(text).unwrap()
}

fn key(type_name: &str, text: &str) -> pg::KeyValue {
    let key_type = match type_name {
        "enum" => pg::KeyType::ENUM,
        name => pg::KeyType::of_builtin(pg::Oid::from_type_name(name).unwrap()).unwrap(),
    };
    match pg::KeyValue::assign_text(key_type, pg::oid::UNKNOWN, text) {
        pg::Parsed::Value(value) => value,
        other => panic!("{type_name} {text:?} is {other:?}"),
    }
}

#[test]
fn xxhash_of_every_type() {
    let xxhash = index(IndexFunction::Xxhash);
    let vectors = vectors(include_str!("vectors/xxhash.json"));
    assert!(vectors.len() > 50);
    for vector in vectors {
        let texts = |name: &str| -> Vec<String> {
            match &vector[name] {
                Value::Array(items) => items.iter().map(|i| i.as_str().unwrap().into()).collect(),
                one => vec![one.as_str().unwrap().into()],
            }
        };
        let pairs = std::iter::zip(texts("type"), texts("value"));
        let values: Vec<pg::KeyValue> = pairs.map(|(t, v)| key(&t, &v)).collect();
        let routing_value = xxhash.routing_value(&values).unwrap();
        assert_eq!(
            routing_value.to_string(),
            texts("routing_value")[0],
            "{vector}"
        );
    }
}

#[test]
fn slots_of_redis() {
    let redis = index(IndexFunction::RedisSlot);
    for vector in vectors(include_str!("vectors/redis_slot.json")) {
        let value = pg::KeyValue::Text(vector["key"].as_str().unwrap().into());
        let slot = vector["slot"].as_i64().unwrap();
        assert_eq!(
            redis.routing_value(&[value]),
            Ok(RoutingValue::Number(slot)),
            "{vector}"
        );
    }
}

#[test]
fn customer_32_lies_above_80_and_three_others_below() {
    let document = r#"{
        "shards": {"store-1": {"primary": "a:1"}, "store-2": {"primary": "b:1"}},
        "shard_indexes": {"by_id": {"type": "xxhash", "columns": ["id"]}},
        "shard_groups": [{
            "uid": "customers",
            "default_shard_index": "by_id",
            "key_ranges": [
                {"shard_uid": "store-1", "end": "80"},
                {"shard_uid": "store-2", "start": "80"}
            ]
        }]
    }"#;
    let topology = Topology::parse(document, 1, &IndexMap::<String, ShardEntry>::new()).unwrap();
    let group = topology.group_named("customers").unwrap();
    let (index, ranges) = group.index.as_ref().unwrap();
    let shard_of = |customer: i64| {
        let value = index
            .routing_value(&[pg::KeyValue::Integer(customer)])
            .unwrap();
        topology
            .shard(ranges.shard_for(&value).unwrap())
            .uid
            .as_str()
    };
    assert_eq!(shard_of(32), "store-2");
    for customer in [3203, 3207, 3209] {
        assert_eq!(shard_of(customer), "store-1", "customer {customer}");
    }
}
