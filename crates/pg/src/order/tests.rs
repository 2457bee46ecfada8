use proptest::prelude::*;

use super::*;

/// Asserts that `rising` is strictly rising in text format.
fn check(type_oid: Oid, rising: &[&str]) {
    let comparator = Comparator::for_type(type_oid, true, Direction::default()).unwrap();
    for (i, a) in rising.iter().enumerate() {
        for (j, b) in rising.iter().enumerate() {
            let order = comparator
                .compare(Some(a.as_bytes()), Some(b.as_bytes()), Format::Text)
                .unwrap();
            assert_eq!(order, i.cmp(&j), "{a} {b}");
        }
    }
}

#[test]
fn scalars_order_as_the_btree_does() {
    check(oid::INT4, &["-10", "-9", "0", "9", "10"]);
    check(oid::OID, &["1", "4294967295"]);
    check(oid::BOOL, &["f", "t"]);
    check(oid::TEXT, &["", "A", "a", "ab", "b", "ä"]);
    check(oid::BYTEA, &["\\x", "\\x00", "\\x0001", "\\x01", "\\xff"]);
    check(
        oid::UUID,
        &[
            "00000000-0000-0000-0000-000000000000",
            "123e4567-e89b-12d3-a456-426614174000",
            "f23e4567-e89b-12d3-a456-426614174000",
        ],
    );
    check(
        oid::FLOAT8,
        &[
            "-Infinity",
            "-1e+300",
            "-1",
            "0",
            "1e-300",
            "1",
            "Infinity",
            "NaN",
        ],
    );
    check(
        oid::NUMERIC,
        &[
            "-Infinity",
            "-2",
            "1.5",
            "10",
            "100000000000000000000",
            "NaN",
        ],
    );
}

#[test]
fn times_order_as_the_btree_does() {
    check(
        oid::DATE,
        &[
            "-infinity",
            "0044-03-15 BC",
            "0043-01-01 BC",
            "0001-01-01",
            "1999-12-31",
            "2000-01-01",
            "12345-01-01",
            "infinity",
        ],
    );
    check(
        oid::TIME,
        &[
            "00:00:00",
            "10:00:00",
            "10:00:00.05",
            "10:00:00.5",
            "24:00:00",
        ],
    );
    check(
        oid::TIMESTAMP,
        &["-infinity", "2026-01-01 00:00:00", "2026-01-01 00:00:00.5"],
    );
    check(
        oid::TIMESTAMPTZ,
        &[
            "0044-03-15 10:00:00+00 BC",
            "2026-01-01 02:00:00+03",
            "2026-01-01 00:00:00+00",
            "2026-01-01 00:00:00-00:30",
        ],
    );
    check(oid::CHAR, &["", "a", "\\200", "\\377"]);
}

#[test]
fn equal_values_tie() {
    for (type_oid, a, b) in [
        (oid::NUMERIC, "1.0", "1.00"),
        (oid::FLOAT8, "-0", "0"),
        (oid::BPCHAR, "ab", "ab  "),
        (
            oid::TIMESTAMPTZ,
            "2026-01-01 02:00:00+02",
            "2026-01-01 00:00:00+00",
        ),
    ] {
        let comparator = Comparator::for_type(type_oid, true, Direction::default()).unwrap();
        let order = comparator.compare(Some(a.as_bytes()), Some(b.as_bytes()), Format::Text);
        assert_eq!(order, Ok(Ordering::Equal), "{a} {b}");
    }
}

#[test]
fn nulls_keep_their_end_when_values_fall() {
    let falling = Direction {
        descending: true,
        nulls_first: false,
    };
    let comparator = Comparator::for_type(oid::INT4, false, falling).unwrap();
    let compare = |a: Option<&[u8]>, b: Option<&[u8]>| comparator.compare(a, b, Format::Text);
    assert_eq!(compare(Some(b"2"), Some(b"1")), Ok(Ordering::Less));
    assert_eq!(compare(None, Some(b"1")), Ok(Ordering::Greater));
    assert_eq!(compare(None, None), Ok(Ordering::Equal));
}

#[test]
fn what_is_not_known_has_no_comparator() {
    for type_oid in [
        oid::INTERVAL,
        oid::TIMETZ,
        oid::JSONB,
        oid::INET,
        Oid(16_400),
        oid::REGCLASS,
    ] {
        assert_eq!(
            Comparator::for_type(type_oid, true, Direction::default()),
            None
        );
    }
    assert_eq!(
        Comparator::for_type(oid::TEXT, false, Direction::default()),
        None
    );
}

#[test]
fn another_date_style_is_an_error() {
    let comparator = Comparator::for_type(oid::DATE, true, Direction::default()).unwrap();
    assert!(
        comparator
            .compare(Some(b"01/31/2026"), Some(b"2026-01-31"), Format::Text)
            .is_err()
    );
}

proptest! {
    #[test]
    fn no_bytes_panic(
        a in proptest::collection::vec(any::<u8>(), 0..20),
        b in proptest::collection::vec(any::<u8>(), 0..20),
        type_oid in 0u32..3000,
    ) {
        let comparator = Comparator::for_type(Oid(type_oid), true, Direction::default());
        if let Some(comparator) = comparator {
            let _ = comparator.compare(Some(&a), Some(&b), Format::Text);
            let _ = comparator.compare(Some(&a), Some(&b), Format::Binary);
        }
    }
}
