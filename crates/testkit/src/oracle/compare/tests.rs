use std::path::Path;

use super::super::case::{self, Case};
use super::super::run::{Shown, Step, Trace};
use super::{authors_mistake, difference};

fn case(heading: &str) -> Case {
    let text = format!("== {heading}\nSELECT 1;\n");
    case::read(Path::new("x.test"), &text).unwrap().remove(0)
}

fn trace(rows: &[&str], change: impl FnOnce(&mut Step)) -> Trace {
    let shown = Shown {
        columns: vec![("n".to_owned(), "int4".to_owned())],
        rows: rows.iter().map(|row| vec![(*row).to_owned()]).collect(),
        tag: format!("SELECT {}", rows.len()),
        ..Shown::default()
    };
    let mut step = Step {
        answers: vec![shown],
        status: 'I',
        ..Step::default()
    };
    change(&mut step);
    Trace { steps: vec![step] }
}

fn same(heading: &str, right: &Trace, seen: &Trace) -> bool {
    difference(&case(heading), right, seen).is_none()
}

#[test]
fn the_order_of_rows_counts_only_where_it_is_total() {
    let (one, other) = (trace(&["1", "2"], |_| ()), trace(&["2", "1"], |_| ()));
    assert!(same("x", &one, &other));
    assert!(!same("x [ordered]", &one, &other));
    assert!(!same("x", &one, &trace(&["1", "1"], |_| ())));
}

#[test]
fn everything_but_the_message_of_an_error_is_compared() {
    let right = trace(&["1"], |_| ());
    let differs = |change: fn(&mut Step)| !same("x", &right, &trace(&["1"], change));
    assert!(differs(|step| step.status = 'T'));
    assert!(differs(|step| step.answers[0].tag = "SELECT 2".to_owned()));
    assert!(differs(|step| step.answers[0].columns[0].0 = "m".to_owned()));
    assert!(differs(
        |step| step.answers[0].columns[0].1 = "int8".to_owned()
    ));
    assert!(differs(|step| step.answers[0].error = "22012".to_owned()));
    assert!(differs(|step| step.broken = Some("gone".to_owned())));
    assert!(differs(|step| step.answers.push(Shown::default())));
    assert!(!differs(
        |step| step.answers[0].message = "other words".to_owned()
    ));
}

#[test]
fn masks_hide_values_but_not_nulls() {
    let mut masked = case("x");
    masked.masks.push("n".to_owned());
    let right = trace(&["1"], |_| ());
    assert!(difference(&masked, &right, &trace(&["7"], |_| ())).is_none());
    assert!(difference(&masked, &right, &trace(&["NULL"], |_| ())).is_some());
}

#[test]
fn a_refusal_is_no_difference_and_a_missing_step_is() {
    let right = trace(&["1"], |_| ());
    let refused = trace(&[], |step| step.refused = Some("unsupported/x".to_owned()));
    assert!(same("x", &right, &refused));
    assert!(!same("x", &right, &Trace::default()));
}

#[test]
fn authors_say_when_nothing_comes_back() {
    assert!(authors_mistake(&case("x"), &trace(&[], |_| ())).is_some());
    assert!(authors_mistake(&case("x [empty]"), &trace(&[], |_| ())).is_none());
    assert!(authors_mistake(&case("x [empty]"), &trace(&["1"], |_| ())).is_some());
    let failed = trace(&[], |step| step.answers[0].error = "22012".to_owned());
    assert!(authors_mistake(&case("x"), &failed).is_some());
}
