use super::*;

fn span(start: u32, end: u32) -> Span {
    Span { start, end }
}

#[test]
fn what_is_not_edited_stays() {
    let source = "select 'é', b from t limit 5";
    let mut edits = Edits::new();
    edits.replace(span(22, 29), "limit 10").unwrap();
    edits.insert(14, ", x").unwrap();
    edits.insert(14, ", y").unwrap();
    edits.delete(span(11, 13)).unwrap();
    let changed = edits.apply(source);
    assert_eq!(changed, "select 'é'b, x, y from t limit 10");
    assert_eq!(edits.apply_within(source, span(0, 13)), "select 'é'");
}

#[test]
fn overlaps_are_refused() {
    let mut edits = Edits::new();
    edits.replace(span(5, 10), "x").unwrap();
    assert!(edits.replace(span(9, 12), "y").is_err());
    assert!(edits.replace(span(0, 6), "y").is_err());
    assert!(edits.insert(7, "y").is_err());
    assert!(edits.replace(span(5, 10), "y").is_err());
    assert!(edits.insert(5, "y").is_ok());
    assert!(edits.insert(10, "y").is_ok());
    assert_eq!(edits.apply("0123456789abc"), "01234yxyabc");
}

#[test]
fn positions_find_their_way_back() {
    let source = "select 'é', b from t";
    let mut edits = Edits::new();
    edits.replace(span(7, 11), "$1").unwrap();
    edits.insert(14, ", c").unwrap();
    let changed = edits.apply(source);
    assert_eq!(changed, "select $1, b, c from t");
    let back = |new: u32| edits.map_position(source, whole(source), new);
    assert_eq!(back(1), Some(1));
    assert_eq!(back(8), Some(8), "the replaced literal");
    assert_eq!(back(9), Some(8));
    assert_eq!(back(12), Some(13), "b");
    assert_eq!(back(14), None, "the inserted c");
    assert_eq!(back(17), Some(15), "from");
    assert_eq!(back(23), Some(21), "the end");
    assert_eq!(back(24), None);
    assert_eq!(back(0), None);
}
