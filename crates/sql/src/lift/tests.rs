use super::*;

fn lifted(text: &str) -> Lifted {
    let mut lifted = Lifted::new();
    lift(text, ParseOptions::default(), &mut lifted);
    lifted
}

fn values(text: &str) -> Vec<String> {
    let lifted = lifted(text);
    (0..lifted.slots().len())
        .map(|index| lifted.literal(text, index).unwrap().value().into_owned())
        .collect()
}

#[test]
fn texts_of_one_shape_share_it() {
    let one = lifted("select a from t where id = 42 and b = 'x''y'");
    let other = lifted("/* hint */ select a  from t\n where id = 7 -- c\n and b = '' ;");
    assert_eq!(one.shape(), other.shape());
    assert_eq!(one.hash(), other.hash());
    assert!(!other.is_multiple() && other.is_valid());
    assert_eq!(
        values(
            "select 42, 'x''y', E'a\\n\\'b', 5000000000, 1.5, 99999999999999999999, b'01', x'1F'"
        ),
        [
            "42",
            "x'y",
            "a\n'b",
            "5000000000",
            "1.5",
            "99999999999999999999",
            "b01",
            "x1F"
        ]
    );
}

#[test]
fn what_differs_in_meaning_differs_in_shape() {
    for (one, other) in [
        ("select 1", "select 5000000000"),
        ("select 1", "select '1'"),
        ("select 1", "select 1.0"),
        ("select 1", "select $1"),
        ("select -2147483648", "select -2147483649"),
        ("select -9223372036854775808", "select -9223372036854775807"),
        ("select 'a'", "select e'a'"),
        ("select 'a'", "select $$a$$"),
        ("select 'a' 'b'", "select 'a'\n'b'"),
        ("select a", "select A"),
        ("select a b", "select ab"),
        ("select a-1", "select a - 1"),
        ("select \"\u{1}\"", "select 1"),
        ("select b'1'", "select x'1'"),
        ("select 0x10", "select 16"),
        ("select E'\\101'", "select E'a'"),
    ] {
        assert_ne!(lifted(one).shape(), lifted(other).shape(), "{one} {other}");
    }
}

#[test]
fn statements_and_parameters_are_counted() {
    assert!(lifted("select 1; select 2").is_multiple());
    assert!(!lifted(";; select 1;;").is_multiple());
    assert!(lifted(" -- nothing").is_empty());
    assert_eq!(lifted("select $3, $12, $2").max_param(), 12);
    assert!(!lifted("select 'a").is_valid());
    assert!(!lifted("select $99999999999").is_valid());
    assert!(!lifted("select 1a").is_valid());
}

#[test]
fn slots_are_found_by_the_tokens_of_the_tree() {
    let text = "select * from t where a = -5 and b in ('x', 'y')";
    let statements = crate::parse(text).unwrap();
    let lifted = lifted(text);
    let mut found = Vec::new();
    crate::ast::walk::for_each_expr(&statements[0].body, &mut |expr| {
        if let crate::ast::ExprKind::Const(constant) = &expr.kind {
            found.push(lifted.slot_at(constant.token.unwrap().start).unwrap());
        }
    });
    assert_eq!(found, [0, 1, 2]);
}

#[test]
fn warm_buffers_are_kept() {
    let mut buffers = lifted("select 1, 'a', 'b' from a_table_with_a_long_name");
    let (shape, slots) = (buffers.shape.capacity(), buffers.slots.capacity());
    lift("select 2 from t", ParseOptions::default(), &mut buffers);
    assert_eq!(
        (buffers.shape.capacity(), buffers.slots.capacity()),
        (shape, slots)
    );
}
