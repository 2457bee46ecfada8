use super::*;
use crate::document;

fn key(text: &str) -> pg::KeyValue {
    match text.parse() {
        Ok(integer) => pg::KeyValue::Integer(integer),
        Err(_) => pg::KeyValue::Text(text.into()),
    }
}

/// Reads an index of this type and gives the routing value of a key, as text.
fn check(index_type: &str, parameters: &[(&str, &str)], keys: &[&str], expected: &str) {
    let entry = document::ShardIndex {
        index_type: index_type.to_owned(),
        columns: Vec::new(),
        index_params: parameters
            .iter()
            .map(|(k, v)| ((*k).into(), (*v).into()))
            .collect(),
    };
    let index = read("i", "i", &entry, KeyColumns::new(Vec::new())).unwrap();
    let keys: Vec<pg::KeyValue> = keys.iter().map(|text| key(text)).collect();
    let value = index.routing_value(&keys);
    let text = value.map_or_else(|error| error.to_string(), |value| value.to_string());
    assert_eq!(text, expected, "{index_type} {parameters:?} {keys:?}");
}

#[test]
fn a_range_is_the_integer_itself() {
    check("range", &[], &["10000"], "2710");
    check("range", &[], &["-10000"], "-2710");
    check("range", &[], &["9223372036854775807"], "7fffffffffffffff");
    check("range", &[], &["-9223372036854775808"], "-8000000000000000");
    check(
        "range",
        &[],
        &["m"],
        "an index of type range can't take a key of class text",
    );
}

#[test]
fn a_literal_range_is_the_key_itself() {
    check("range", &[("bounds", "literal")], &["m"], "m");
    check("range", &[("bounds", "literal")], &["16"], "16");
}

#[test]
fn a_modulo_is_never_negative() {
    check("modulo", &[("modulus", "4")], &["7"], "3");
    check("modulo", &[("modulus", "4")], &["-7"], "1");
    check("modulo", &[("modulus", "4")], &["-8"], "0");
    check(
        "modulo",
        &[("modulus", "1")],
        &["-9223372036854775808"],
        "0",
    );
}

#[test]
fn slots_are_the_hash_modulo_their_count() {
    // 0x8d5d6e55752a60ea = 10186419245498917098, and that mod 480 is 138.
    check("slots", &[("slots", "480")], &["32"], "8a");
}

#[test]
fn a_redis_slot_of_an_integer_is_that_of_its_text() {
    // CRC16/XMODEM of "123456789" is 0x31c3 = 12739 by definition of the algorithm.
    check("redis_slot", &[], &["123456789"], "31c3");
}

#[test]
fn a_list_gives_places_by_text_with_one_for_the_rest() {
    let places = [("de", "0"), ("us", "1"), ("7", "2")];
    check("list", &places, &["de"], "0");
    check("list", &places, &["7"], "2");
    check(
        "list",
        &places,
        &["jp"],
        "shard index \"i\" does not list the key",
    );
    check("list", &[("de", "0"), ("*", "9")], &["jp"], "9");
}

#[test]
fn a_hierarchy_takes_leading_bits_of_each_hash() {
    // int8 32 hashes to 8d5d6e55752a60ea, 42 to 2e4fe982b68910ac, 5 to c28f1f5e73700506.
    check(
        "hierarchy",
        &[("bits", "16,48")],
        &["32", "42"],
        "8d5d2e4fe982b689",
    );
    check(
        "hierarchy",
        &[("bits", "16, 24, 24")],
        &["32", "42", "5"],
        "8d5d2e4fe9c28f1f",
    );
    check(
        "hierarchy",
        &[("bits", "8,8")],
        &["32", "42"],
        "8d2e000000000000",
    );
    check(
        "hierarchy",
        &[("bits", "8,8")],
        &["32"],
        "the key has 2 columns, but 1 values are given",
    );
}

#[test]
fn a_prefix_of_a_hierarchy_spans_what_is_under_it() {
    let bits = Box::new([16, 24, 24]);
    let function = IndexFunction::Hierarchy { bits };
    let columns = KeyColumns::new(Vec::new());
    let index = ShardIndex {
        name: "i".to_owned(),
        function,
        columns,
    };
    let span = |keys: &[&str]| {
        let keys: Vec<pg::KeyValue> = keys.iter().map(|text| key(text)).collect();
        index
            .prefix_span(&keys)
            .map(|(first, last)| format!("{first}..={last}"))
    };
    assert_eq!(
        span(&["32"]).unwrap(),
        "8d5d000000000000..=8d5dffffffffffff"
    );
    assert_eq!(
        span(&["32", "42"]).unwrap(),
        "8d5d2e4fe9000000..=8d5d2e4fe9ffffff"
    );
    assert_eq!(
        span(&["32", "42", "5"]).unwrap(),
        "8d5d2e4fe9c28f1f..=8d5d2e4fe9c28f1f"
    );
    assert_eq!(span(&[]), None);
    assert_eq!(span(&["1", "2", "3", "4"]), None);
}

#[test]
fn several_columns_are_told_apart_by_their_lengths() {
    let function = IndexFunction::Xxhash;
    let columns = KeyColumns::new(Vec::new());
    let index = ShardIndex {
        name: "i".to_owned(),
        function,
        columns,
    };
    let value = |keys: &[&str]| {
        let keys: Vec<pg::KeyValue> = keys.iter().map(|text| key(text)).collect();
        index.routing_value(&keys).unwrap()
    };
    assert_ne!(value(&["ab", "c"]), value(&["a", "bc"]));
    let by_hand = XxHash3_64::oneshot(b"\0\0\0\x02ab\0\0\0\x01c");
    assert_eq!(value(&["ab", "c"]), RoutingValue::Hash(by_hand));
}
