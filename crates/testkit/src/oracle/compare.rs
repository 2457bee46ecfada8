//! Whether two traces say the same. What isn't said here to be ignored is compared.

use std::fmt::Write as _;

use super::case::Case;
use super::run::{Shown, Step, Trace};

/// How many lines of either side a difference shows.
const LINES_MAX: usize = 12;

/// The first difference between what is right and what was seen, as text for people.
#[must_use]
pub fn difference(case: &Case, right: &Trace, seen: &Trace) -> Option<String> {
    for (at, right) in right.steps.iter().enumerate() {
        let Some(seen) = seen.steps.get(at) else {
            return Some(format!("statement {} was not reached", at + 1));
        };
        if seen.refused.is_some() {
            return None;
        }
        if let Some(what) = step_difference(case, right, seen) {
            let sql = case
                .statements()
                .get(at)
                .map_or("", |statement| statement.sql.as_str());
            return Some(format!("in: {sql}\n{what}"));
        }
    }
    let extra = seen.steps.len() > right.steps.len();
    extra.then(|| "more was run than on the right side".to_owned())
}

fn step_difference(case: &Case, right: &Step, seen: &Step) -> Option<String> {
    if right.broken.is_some() != seen.broken.is_some() {
        return Some(sides(
            "connection",
            text(right.broken.as_ref()),
            text(seen.broken.as_ref()),
        ));
    }
    if case.flags.runs {
        let error = |step: &Step| {
            step.answers
                .iter()
                .map(|a| a.error.clone())
                .collect::<String>()
        };
        return differ("error", &error(right), &error(seen));
    }
    let count = |step: &Step| step.answers.len().to_string();
    let parameters = |step: &Step| step.parameters.join("\n");
    differ("number of answers", &count(right), &count(seen))
        .or_else(|| {
            let pairs = right.answers.iter().zip(&seen.answers);
            pairs
                .into_iter()
                .find_map(|(right, seen)| answer_difference(case, right, seen))
        })
        .or_else(|| {
            differ(
                "messages or parameter types",
                &parameters(right),
                &parameters(seen),
            )
        })
        .or_else(|| {
            differ(
                "status",
                &right.status.to_string(),
                &seen.status.to_string(),
            )
        })
}

fn answer_difference(case: &Case, right: &Shown, seen: &Shown) -> Option<String> {
    let columns = |shown: &Shown| {
        let named = shown
            .columns
            .iter()
            .map(|(name, kind)| format!("{name} {kind}"));
        named.collect::<Vec<_>>().join("\n")
    };
    let error = |shown: &Shown| match shown.error.as_str() {
        "" => "none".to_owned(),
        code => format!("{code}: {}", shown.message),
    };
    if right.error != seen.error {
        return Some(sides("error", &error(right), &error(seen)));
    }
    if !right.error.is_empty() {
        // How far a statement got before its error is nobody's promise.
        return None;
    }
    differ("columns", &columns(right), &columns(seen))
        .or_else(|| differ("rows", &rows(case, right), &rows(case, seen)))
        .or_else(|| differ("COPY data", &copy_out(case, right), &copy_out(case, seen)))
        .or_else(|| differ("tag", &right.tag, &seen.tag))
}

/// Rows as lines: masked, and sorted unless their order is total.
fn rows(case: &Case, shown: &Shown) -> String {
    let masked: Vec<bool> = shown
        .columns
        .iter()
        .map(|(name, _)| case.masks.contains(name))
        .collect();
    let line = |row: &Vec<String>| {
        let values = row.iter().enumerate().map(|(at, value)| {
            let hidden = masked.get(at).copied().unwrap_or(false) && value != "NULL";
            if hidden { "*" } else { value }
        });
        values.collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<String> = shown.rows.iter().map(line).collect();
    if !case.flags.ordered {
        lines.sort_unstable();
    }
    lines.join("\n")
}

fn copy_out(case: &Case, shown: &Shown) -> String {
    let mut lines = shown.copy_out.clone();
    if !case.flags.ordered {
        lines.sort_unstable();
    }
    lines.join("\n")
}

fn text(value: Option<&String>) -> &str {
    value.map_or("fine", String::as_str)
}

fn differ(what: &str, right: &str, seen: &str) -> Option<String> {
    (right != seen).then(|| sides(what, right, seen))
}

/// Both sides of a difference; of long ones only the lines that differ.
#[must_use]
pub fn sides(what: &str, right: &str, seen: &str) -> String {
    let mut out = format!("  {what} differ:\n");
    let (rights, seens): (Vec<&str>, Vec<&str>) = (right.lines().collect(), seen.lines().collect());
    for (mark, lines, others) in [("right", &rights, &seens), ("seen ", &seens, &rights)] {
        let mut left: Vec<&str> = (*others).clone();
        let mut shown = 0;
        for line in lines {
            if let Some(at) = left.iter().position(|other| other == line) {
                left.swap_remove(at);
                continue;
            }
            shown += 1;
            if shown <= LINES_MAX {
                let cut: String = line.chars().take(200).collect();
                writeln!(out, "    {mark}: {cut}").expect("a string takes everything");
            }
        }
        if shown > LINES_MAX {
            writeln!(out, "    {mark}: ... {} more lines", shown - LINES_MAX)
                .expect("a string takes everything");
        }
        if shown == 0 && rights.len() == seens.len() {
            writeln!(out, "    {mark}: the same lines in another order")
                .expect("a string takes everything");
        }
    }
    writeln!(
        out,
        "    ({} lines right, {} lines seen)",
        rights.len(),
        seens.len()
    )
    .expect("a string takes everything");
    out
}

/// What is wrong with a case by plain PostgreSQL alone: its author meant something else.
#[must_use]
pub fn authors_mistake(case: &Case, trace: &Trace) -> Option<String> {
    let mut rows = 0;
    let mut may_have_rows = false;
    for (at, (statement, step)) in case.statements().iter().zip(&trace.steps).enumerate() {
        if let Some(broken) = &step.broken {
            return Some(format!(
                "statement {} broke the connection: {broken}",
                at + 1
            ));
        }
        let error = step.answers.iter().find(|answer| !answer.error.is_empty());
        let seen = error.map(|answer| answer.error.split(' ').next().unwrap_or_default());
        if seen != statement.error.as_deref() {
            let message = error.map_or("", |answer| answer.message.as_str());
            return Some(format!(
                "statement {} gives {} {message}, the file says {}: {}",
                at + 1,
                seen.unwrap_or("no error"),
                statement.error.as_deref().unwrap_or("no error"),
                statement.sql
            ));
        }
        for answer in &step.answers {
            rows += answer.rows.len() + answer.copy_out.len();
            may_have_rows |= answer.tag.starts_with("SELECT") && !answer.columns.is_empty();
        }
    }
    let has_errors = case
        .statements()
        .iter()
        .any(|statement| statement.error.is_some());
    if case.flags.runs {
        return None;
    }
    match (may_have_rows && rows == 0 && !has_errors, case.flags.empty) {
        (true, false) => Some("no rows, and the file doesn't say [empty]".to_owned()),
        (false, true) => Some("rows, and the file says [empty]".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
