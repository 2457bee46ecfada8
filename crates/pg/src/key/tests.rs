use proptest::prelude::*;

use super::*;

fn compared(type_oid: Oid, source: Oid, text: &str) -> Parsed {
    KeyValue::from_text(KeyType::of_builtin(type_oid).unwrap(), source, text)
}

fn quoted(type_oid: Oid, text: &str) -> Parsed {
    compared(type_oid, oid::UNKNOWN, text)
}

fn is_value(parsed: &Parsed, value: KeyValue) -> bool {
    *parsed == Parsed::Value(value)
}

#[test]
fn integers_are_read_as_int4in_reads_them() {
    for text in ["42", " 42\t", "+42", "0042"] {
        assert!(
            is_value(&quoted(oid::INT4, text), KeyValue::Integer(42)),
            "{text}"
        );
    }
    for text in ["", "4 2", "1.5", "abc", "99999999999", "--1"] {
        assert_eq!(quoted(oid::INT4, text), Parsed::Invalid, "{text}");
    }
    for text in ["0x1F", "1_000", "-0b1"] {
        assert_eq!(quoted(oid::INT4, text), Parsed::Unknown, "{text}");
    }
}

#[test]
fn a_typed_number_that_no_integer_equals_matches_nothing() {
    assert_eq!(compared(oid::INT4, oid::NUMERIC, "1.5"), Parsed::NoMatch);
    assert_eq!(
        compared(oid::INT4, oid::INT8, "99999999999"),
        Parsed::NoMatch
    );
    assert_eq!(compared(oid::INT4, oid::NUMERIC, "NaN"), Parsed::NoMatch);
    assert!(is_value(
        &compared(oid::INT4, oid::NUMERIC, "1e3"),
        KeyValue::Integer(1000)
    ));
    assert!(is_value(
        &compared(oid::INT8, oid::FLOAT8, "3"),
        KeyValue::Integer(3)
    ));
    assert_eq!(
        compared(oid::INT8, oid::FLOAT8, "9007199254740992"),
        Parsed::Unknown
    );
    assert_eq!(
        compared(oid::INT4, oid::FLOAT8, "9007199254740992"),
        Parsed::NoMatch
    );
    assert_eq!(compared(oid::INT4, oid::TEXT, "1"), Parsed::Unknown);
}

#[test]
fn uuids_have_many_spellings() {
    let uuid = 0x123e_4567_e89b_12d3_a456_4266_1417_4000_u128.to_be_bytes();
    for text in [
        "123e4567-e89b-12d3-a456-426614174000",
        "{123E4567-E89B-12D3-A456-426614174000}",
        "123e4567e89b12d3a456426614174000",
        "123e-4567-e89b-12d3-a456-4266-1417-4000",
    ] {
        assert!(
            is_value(&quoted(oid::UUID, text), KeyValue::Uuid(uuid)),
            "{text}"
        );
    }
    for text in [
        "",
        "{123e4567e89b12d3a456426614174000",
        "123e4567e89b12d3a45642661417400",
        " x",
    ] {
        assert_eq!(quoted(oid::UUID, text), Parsed::Invalid, "{text}");
    }
}

#[test]
fn bytea_is_hexadecimal_or_escaped() {
    for (text, bytes) in [
        ("\\x00ff", &b"\x00\xff"[..]),
        ("\\x 0 0", b""),
        ("a\\\\b", b"a\\b"),
    ] {
        let parsed = quoted(oid::BYTEA, text);
        if bytes.is_empty() {
            assert_eq!(parsed, Parsed::Invalid);
        } else {
            assert!(is_value(&parsed, KeyValue::Bytea(bytes.into())), "{text}");
        }
    }
    assert!(is_value(
        &quoted(oid::BYTEA, "\\377\\000"),
        KeyValue::Bytea([255, 0].into())
    ));
    for text in ["\\x0", "\\8", "\\400", "\\"] {
        assert_eq!(quoted(oid::BYTEA, text), Parsed::Invalid, "{text}");
    }
}

#[test]
fn booleans_are_prefixes_of_their_words() {
    for text in ["t", "TRUE", " yes ", "on", "1", "tru"] {
        assert!(
            is_value(&quoted(oid::BOOL, text), KeyValue::Bool(true)),
            "{text}"
        );
    }
    for text in ["f", "of", "OFF", "n", "0"] {
        assert!(
            is_value(&quoted(oid::BOOL, text), KeyValue::Bool(false)),
            "{text}"
        );
    }
    for text in ["", "o", "2", "truee", "10"] {
        assert_eq!(quoted(oid::BOOL, text), Parsed::Invalid, "{text}");
    }
}

#[test]
fn a_float4_key_is_widened() {
    let tenth = f64::from(0.1f32);
    assert!(is_value(
        &quoted(oid::FLOAT4, "0.1"),
        KeyValue::Float(tenth)
    ));
    assert_eq!(compared(oid::FLOAT4, oid::NUMERIC, "0.1"), Parsed::NoMatch);
    assert!(is_value(
        &compared(oid::FLOAT4, oid::NUMERIC, "0.5"),
        KeyValue::Float(0.5)
    ));
    assert!(is_value(&quoted(oid::FLOAT8, "-0"), KeyValue::Float(0.0)));
    assert_eq!(compared(oid::FLOAT8, oid::INT2, "32768"), Parsed::Invalid);
    for text in ["1e999", "1e-999", "", "1.2.3", "e5"] {
        assert_eq!(quoted(oid::FLOAT8, text), Parsed::Invalid, "{text}");
    }
    assert_eq!(quoted(oid::FLOAT8, "0x10"), Parsed::Unknown);
}

#[test]
fn blanks_at_the_end_count_only_in_text() {
    assert!(is_value(
        &quoted(oid::BPCHAR, "ab  "),
        KeyValue::Bpchar("ab".into())
    ));
    assert!(is_value(
        &quoted(oid::TEXT, "ab  "),
        KeyValue::Text("ab  ".into())
    ));
    assert_eq!(compared(oid::BPCHAR, oid::TEXT, "ab  "), Parsed::Unknown);
    assert_eq!(compared(oid::TEXT, oid::BPCHAR, "ab"), Parsed::Unknown);
}

#[test]
fn dates_and_timestamps_meet_at_midnight() {
    let midnight = compared(oid::DATE, oid::TIMESTAMP, "2000-01-02 00:00:00");
    assert!(is_value(&midnight, KeyValue::Date(1)));
    assert_eq!(
        compared(oid::DATE, oid::TIMESTAMP, "2000-01-02 00:00:01"),
        Parsed::NoMatch
    );
    let day = compared(oid::TIMESTAMP, oid::DATE, "2000-01-02");
    assert!(is_value(&day, KeyValue::Timestamp(86_400_000_000)));
    assert_eq!(
        compared(oid::TIMESTAMPTZ, oid::TIMESTAMP, "2000-01-02"),
        Parsed::Unknown
    );
    assert_eq!(quoted(oid::DATE, "today"), Parsed::Unknown);
}

#[test]
fn binary_and_text_are_the_same_value() {
    let key = KeyType::of_builtin(oid::INT8).unwrap();
    let binary = KeyValue::from_binary(key, oid::INT4, &7i32.to_be_bytes());
    assert!(is_value(&binary, KeyValue::Integer(7)));
    assert_eq!(
        KeyValue::from_binary(key, oid::INT4, &[0; 8]),
        Parsed::Invalid
    );
    let numeric = [0, 1, 0, 0, 0, 0, 0, 0, 0, 7];
    assert!(is_value(
        &KeyValue::from_binary(key, oid::NUMERIC, &numeric),
        KeyValue::Integer(7)
    ));
}

proptest! {
    #[test]
    fn no_input_panics(
        bytes in proptest::collection::vec(any::<u8>(), 0..40),
        text in ".{0,40}",
        key in 0u32..3000,
        source in 0u32..3000,
    ) {
        let key = KeyType::of_builtin(Oid(key)).unwrap_or(KeyType::ENUM);
        let _ = KeyValue::from_binary(key, Oid(source), &bytes);
        let _ = KeyValue::assign_binary(key, Oid(source), &bytes);
        let _ = KeyValue::from_text(key, Oid(source), &text);
        let _ = KeyValue::assign_text(key, Oid(source), &text);
    }

    #[test]
    fn every_type_reads_digits_without_panic(text in "[-+0-9.eE:TZ BC]{0,30}") {
        for row in [oid::INT2, oid::INT8, oid::NUMERIC, oid::FLOAT4, oid::FLOAT8, oid::DATE,
            oid::TIMESTAMP, oid::TIMESTAMPTZ, oid::BYTEA, oid::UUID, oid::BOOL] {
            let _ = quoted(row, &text);
        }
    }
}
