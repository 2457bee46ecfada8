//! What came of the cases: shown to a person, and held against the ratchet.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use super::case::Case;
use super::corpus::problem;
use super::error::OracleError;

/// What a target made of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The same answer as plain PostgreSQL.
    Answered,
    /// Refused, by this id.
    Refused(String),
    /// Something else.
    Wrong(String),
}

/// What came of all cases on one target.
#[derive(Debug, Default)]
pub struct Tally {
    /// Cases that were answered in every lane.
    pub answered: usize,
    /// Ids of refusals, each with the cases refused by it.
    pub refused: BTreeMap<String, Vec<String>>,
    /// Wrong answers: the case and what is wrong.
    pub wrong: Vec<(String, String)>,
}

/// The whole result.
#[derive(Debug, Default)]
pub struct Report {
    /// By target.
    pub tallies: BTreeMap<String, Tally>,
    /// Cases that do not do on plain PostgreSQL what their author meant.
    pub mistakes: Vec<(String, String)>,
    /// What a person wants to know besides.
    pub remarks: Vec<String>,
}

impl Report {
    /// Notes what a target made of a case.
    pub fn note(&mut self, target: &str, case: &Case, verdict: Verdict) {
        let tally = self.tallies.entry(target.to_owned()).or_default();
        let label = format!("{} ({})", case.name, case.place());
        match verdict {
            Verdict::Answered => tally.answered += 1,
            Verdict::Refused(id) => tally.refused.entry(id).or_default().push(label),
            Verdict::Wrong(what) => tally.wrong.push((label, what)),
        }
    }

    /// Whether anything is wrong.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.mistakes.is_empty() && self.tallies.values().all(|tally| tally.wrong.is_empty())
    }

    /// Cases that are wrong on any target, and mistakes of the cases themselves.
    #[must_use]
    pub fn wrong_count(&self) -> usize {
        let wrong: BTreeSet<&String> = self
            .tallies
            .values()
            .flat_map(|tally| &tally.wrong)
            .map(|(label, _)| label)
            .collect();
        wrong.len() + self.mistakes.len()
    }

    /// Cases that are refused on any target.
    #[must_use]
    pub fn refused_count(&self) -> usize {
        let tallies = self.tallies.values();
        let refused: BTreeSet<&String> = tallies
            .flat_map(|tally| tally.refused.values().flatten())
            .collect();
        refused.len()
    }

    /// The report as text, without the wrong answers one by one.
    #[must_use]
    pub fn text(&self, verbose: bool) -> String {
        let mut out = String::new();
        for remark in &self.remarks {
            line(&mut out, format_args!("{remark}"));
        }
        for (label, what) in &self.mistakes {
            line(
                &mut out,
                format_args!("MISTAKE IN THE CASE {label}\n  {what}"),
            );
        }
        for (target, tally) in &self.tallies {
            let all = tally.all();
            line(
                &mut out,
                format_args!(
                    "{target}: {} of {all} answered ({}), {} refused, {} wrong",
                    tally.answered,
                    percent(tally.answered, all),
                    tally.refused.values().map(Vec::len).sum::<usize>(),
                    tally.wrong.len()
                ),
            );
            for (id, cases) in &tally.refused {
                line(&mut out, format_args!("  {id}: {}", cases.len()));
                let shown = if verbose { cases.as_slice() } else { &[] };
                out.extend(shown.iter().map(|case| format!("    {case}\n")));
            }
        }
        out
    }

    /// Holds the numbers answered against the file and, with `accept`, writes better ones into it.
    /// Returns what fell.
    ///
    /// # Errors
    /// The file can't be read or written.
    pub fn ratchet(
        &self,
        path: &Path,
        major: u32,
        accept: bool,
    ) -> Result<Vec<String>, OracleError> {
        let text = fs::read_to_string(path).unwrap_or_default();
        let mut kept: BTreeMap<String, usize> = text
            .lines()
            .filter(|line| !line.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
            .filter_map(|(key, count)| Some((key.to_owned(), count.parse().ok()?)))
            .collect();
        let mut fallen = Vec::new();
        for (target, tally) in &self.tallies {
            let key = format!("{major} {target}");
            let least = kept.get(&key).copied().unwrap_or(0);
            if tally.answered < least {
                fallen.push(format!(
                    "{target} answers {}, it was {least}",
                    tally.answered
                ));
            }
            kept.insert(key, tally.answered.max(least));
        }
        if accept {
            let mut out = "# PostgreSQL's major version, target, cases answered: may only rise\n\
                           # (`oracle --accept` writes it).\n"
                .to_owned();
            for (key, count) in &kept {
                line(&mut out, format_args!("{key} {count}"));
            }
            fs::write(path, out).map_err(|e| problem(path, e))?;
        }
        Ok(fallen)
    }
}

impl Tally {
    fn all(&self) -> usize {
        self.answered + self.refused.values().map(Vec::len).sum::<usize>() + self.wrong.len()
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    writeln!(out, "{text}").expect("a string takes everything");
}

/// Per cent with one digit, cut, so that 100.0 means all.
fn percent(part: usize, all: usize) -> String {
    let tenths = (part * 1000).checked_div(all).unwrap_or(0);
    format!("{}.{} %", tenths / 10, tenths % 10)
}
