use super::*;
use proptest::prelude::*;

fn d(text: &str) -> Decimal {
    Decimal::parse(text).unwrap()
}

#[test]
fn text_is_read_as_numeric_in_reads_it() {
    for (text, shown) in [
        ("1.50", "1.50"),
        (" +01.50\n", "1.50"),
        ("-0.00", "0.00"),
        (".5", "0.5"),
        ("5.", "5"),
        ("1e3", "1000"),
        ("1.25e1", "12.5"),
        ("1.5e-3", "0.0015"),
        ("123e-2", "1.23"),
        ("1e-5", "0.00001"),
        ("nan", "NaN"),
        ("-inf", "-Infinity"),
        ("INFINITY", "Infinity"),
    ] {
        assert_eq!(d(text).to_string(), shown, "{text}");
    }
    for text in [
        "", ".", "1..2", "abc", "1e", "--1", "1 2", "-nan", "+", "e5",
    ] {
        assert_eq!(
            Decimal::parse(text).unwrap_err(),
            DecimalError::Malformed,
            "{text}"
        );
    }
    for text in ["1_000", "0x1F", "1e999999", "1e99999999999", "1e 5"] {
        assert_eq!(
            Decimal::parse(text).unwrap_err(),
            DecimalError::Undecided,
            "{text}"
        );
    }
}

#[test]
fn canonical_has_no_trailing_zeros() {
    for (text, canonical) in [
        ("1.50", "1.5"),
        ("100", "100"),
        ("-0.00", "0"),
        ("1e2", "100"),
        ("-12.3400", "-12.34"),
    ] {
        assert_eq!(d(text).canonical(), canonical);
    }
}

#[test]
fn order_is_postgresql_s() {
    let rising = [
        "-Infinity",
        "-100",
        "-2.5",
        "-2.49",
        "0",
        "0.001",
        "1",
        "9",
        "10",
        "Infinity",
        "NaN",
    ];
    for (i, a) in rising.iter().enumerate() {
        for (j, b) in rising.iter().enumerate() {
            assert_eq!(d(a).cmp(&d(b)), i.cmp(&j), "{a} {b}");
        }
    }
    assert_eq!(d("1.0"), d("1.000"));
}

#[test]
fn sums_keep_the_greater_scale() {
    for (a, b, sum) in [
        ("1.50", "2.5", "4.00"),
        ("-1", "1.0", "0.0"),
        ("99999999999999999999", "1", "100000000000000000000"),
        ("0.1", "-0.25", "-0.15"),
        ("-5", "-7", "-12"),
        ("100", "-0.01", "99.99"),
        ("Infinity", "-Infinity", "NaN"),
        ("Infinity", "-1", "Infinity"),
        ("NaN", "Infinity", "NaN"),
    ] {
        assert_eq!(d(a).add(&d(b)).to_string(), sum, "{a} + {b}");
        assert_eq!(d(b).add(&d(a)).to_string(), sum, "{b} + {a}");
    }
}

#[test]
fn binary_is_numeric_send() {
    // Seen from PostgreSQL 15.
    for (text, hex) in [
        ("0", "0000000000000000"),
        ("0.00", "0000000000000002"),
        ("12345.678", "0003000100000003000109291a7c"),
        ("-0.0001", "0001ffff400000040001"),
        ("10000", "00010001000000000001"),
        ("NaN", "00000000c0000000"),
        ("Infinity", "00000000d0000020"),
        ("-Infinity", "00000000f0000020"),
    ] {
        let mut out = Vec::new();
        d(text).to_binary(&mut out);
        let shown: String = out
            .iter()
            .fold(String::new(), |text, b| format!("{text}{b:02x}"));
        assert_eq!(shown, hex, "{text}");
        assert_eq!(Decimal::from_binary(&out).unwrap().to_string(), text);
    }
}

proptest! {
    #[test]
    fn adds_like_integers(a in -1_000_000_000_000i64.., b in -1_000_000_000_000i64..1_000_000_000) {
        let a = a / 2;
        prop_assert_eq!(Decimal::from(a).add(&Decimal::from(b)).to_i64(), Some(a + b));
        prop_assert_eq!(Decimal::from(a).cmp(&Decimal::from(b)), a.cmp(&b));
    }

    #[test]
    fn binary_round_trips(text in "-?[1-9][0-9]{0,30}(\\.[0-9]{1,30})?") {
        let value = d(&text);
        let mut out = Vec::new();
        value.to_binary(&mut out);
        prop_assert_eq!(Decimal::from_binary(&out).unwrap().to_string(), text);
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..40), text in ".*") {
        let _ = Decimal::from_binary(&bytes);
        let _ = Decimal::parse(&text);
    }
}
