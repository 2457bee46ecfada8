//! What holds for any input.

use indexmap::IndexMap;
use proptest::prelude::*;
use topology::{Document, Evaluated, KeyExpression, ShardEntry, Topology, even_hash_ranges};

/// Text with what documents and expressions are made of, and now and then anything.
fn texts() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("{".to_owned()),
        Just("}".to_owned()),
        Just("[".to_owned()),
        Just("]".to_owned()),
        Just(":".to_owned()),
        Just("::".to_owned()),
        Just(",".to_owned()),
        Just("(".to_owned()),
        Just(")".to_owned()),
        Just("%".to_owned()),
        Just("\"".to_owned()),
        Just("'".to_owned()),
        Just("\\".to_owned()),
        Just("\n".to_owned()),
        Just("\"shard_groups\"".to_owned()),
        Just("\"uid\"".to_owned()),
        Just("lower".to_owned()),
        Just("substr".to_owned()),
        Just("text".to_owned()),
        Just("鍵".to_owned()),
        Just("-1".to_owned()),
        any::<char>().prop_map(String::from),
        any::<i64>().prop_map(|number| number.to_string()),
    ];
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_text_is_too_odd_to_be_read(text in texts()) {
        let read = Document::read(&text);
        let is_json = serde_json::from_str::<serde_json::Value>(&text).is_ok();
        prop_assert!(is_json || read.is_err(), "read what is not JSON");
    }

    #[test]
    fn an_expression_reads_back_as_it_prints(text in texts()) {
        if let Ok(expression) = KeyExpression::parse_sql(&text) {
            let printed = expression.to_string();
            let again = KeyExpression::parse_sql(&printed);
            prop_assert_eq!(again.map(|again| again.to_string()), Ok(printed));
        }
    }

    #[test]
    fn left_and_right_of_any_text_meet(text in any::<String>(), count in any::<i32>()) {
        let value = || Some(pg::KeyValue::Text(text.as_str().into()));
        let part = |sql: String| {
            let expression = KeyExpression::parse_sql(&sql).expect("it is an expression");
            match expression.evaluate(&|_| value()) {
                Evaluated::Value(pg::KeyValue::Text(text)) => text.into_string(),
                other => format!("{other:?}"),
            }
        };
        // The rest of left(c, n) is right(c, -n), for n other than 0 and the least integer.
        if count > 0 {
            let both = part(format!("left(c, {count})")) + &part(format!("right(c, -{count})"));
            prop_assert_eq!(both, text.as_str());
        }
    }

    #[test]
    fn every_key_has_a_shard_under_even_ranges(shards in 1_usize..40, key in any::<i64>()) {
        let uids: Vec<String> = (1..=shards).map(|number| format!("s{number}")).collect();
        let entry = || ShardEntry { primary: Some("a:1".to_owned()), ..ShardEntry::default() };
        let entries: IndexMap<String, ShardEntry> =
            uids.iter().map(|uid| (uid.clone(), entry())).collect();
        let mut document = Document::single(&entries);
        let index = topology::ShardIndexEntry {
            index_type: "xxhash".to_owned(),
            columns: vec!["id".to_owned()],
            index_params: IndexMap::new(),
        };
        document.shard_indexes.insert("by_id".to_owned(), index);
        document.shard_groups.push(topology::ShardGroup {
            uid: "spread".to_owned(),
            name: None,
            default_shard_index: Some("by_id".to_owned()),
            key_ranges: even_hash_ranges(&uids),
        });
        let topology = Topology::compile(document, 1, &entries).expect("it is sound");
        let group = topology.group_named("spread").expect("it is declared");
        prop_assert_eq!(group.shards.len(), shards);
        let (index, ranges) = group.index.as_ref().expect("it is sharded");
        let value = index.routing_value(&[pg::KeyValue::Integer(key)]).expect("integers fit");
        prop_assert!(ranges.shard_for(&value).is_some());
    }
}
