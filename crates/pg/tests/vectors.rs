//! Canonical bytes against values that independent implementations made.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "helpers of tests fail by panicking"
)]

use pg::{KeyType, KeyValue, Oid, Parsed};

fn value(type_name: &str, text: &str) -> KeyValue {
    let key = match type_name {
        "enum" => KeyType::ENUM,
        name => KeyType::of_builtin(Oid::from_type_name(name).unwrap()).unwrap(),
    };
    match KeyValue::from_text(key, pg::oid::UNKNOWN, text) {
        Parsed::Value(value) => value,
        other => panic!("{type_name} {text}: {other:?}"),
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes
        .iter()
        .fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

#[test]
fn every_vector_has_its_canonical_bytes() {
    let vectors: Vec<serde_json::Value> =
        serde_json::from_str(include_str!("vectors/xxhash.json")).unwrap();
    assert!(vectors.len() > 60);
    for vector in vectors {
        let mut out = Vec::new();
        match (&vector["type"], &vector["value"]) {
            (serde_json::Value::Array(types), serde_json::Value::Array(values)) => {
                let values: Vec<KeyValue> = std::iter::zip(types, values)
                    .map(|(t, v)| value(t.as_str().unwrap(), v.as_str().unwrap()))
                    .collect();
                KeyValue::canonical_tuple(&values, &mut out);
            }
            (t, v) => value(t.as_str().unwrap(), v.as_str().unwrap()).canonical(&mut out),
        }
        assert_eq!(hex(&out), vector["bytes"].as_str().unwrap(), "{vector}");
    }
}
