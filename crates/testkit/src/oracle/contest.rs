//! Each case on each target by each lane, and the verdicts.

use std::collections::BTreeSet;

use super::case::Case;
use super::compare;
use super::contents::{self, Baseline, Looker, Tables};
use super::error::OracleError;
use super::report::{Report, Verdict};
use super::run::{self, Lane, Trace};
use super::stage::Stage;
use super::target::{Server, Target};

/// The cases, one after the other.
#[derive(Debug)]
pub struct Contest {
    stage: Stage,
    baselines: Vec<Baseline>,
    lookers: Vec<Looker>,
    /// What came of it so far.
    pub report: Report,
}

impl Contest {
    /// Notes what everybody holds at the beginning.
    ///
    /// # Errors
    /// A server can't be asked.
    pub async fn begin(mut stage: Stage) -> Result<Self, OracleError> {
        let (mut baselines, mut lookers) = (Vec::new(), Vec::new());
        let mut report = Report::default();
        let mut plain = Tables::new();
        for (at, target) in stage.targets.iter_mut().enumerate() {
            let topology = at.checked_sub(1).map(|at| &stage.topologies[at]);
            let mut looker = Looker::default();
            let seen = looker.look(target, topology, &[]).await?;
            match topology {
                None => plain = seen.first().cloned().unwrap_or_default(),
                Some(topology) => {
                    let (lines, uneven) = stage.fixture.shares(target, &seen);
                    report.remarks.extend(lines);
                    let settled = BTreeSet::new();
                    let mut found = contents::problems(target, topology, &plain, &seen, &settled);
                    found.extend(uneven);
                    if !found.is_empty() {
                        let label = format!("the fixture on {}", target.name);
                        report.mistakes.push((label, found.join("\n")));
                    }
                }
            }
            baselines.push(Baseline::take(target, seen).await?);
            lookers.push(looker);
        }
        Ok(Self {
            stage,
            baselines,
            lookers,
            report,
        })
    }

    /// Whether this PostgreSQL has what the case is about.
    #[must_use]
    pub fn takes(&self, case: &Case) -> bool {
        (case.flags.since..=case.flags.until).contains(&self.stage.major)
    }

    /// The major version of PostgreSQL.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.stage.major
    }

    /// Runs a case in all its lanes and notes what each target made of it. Returns what is wrong, by
    /// target.
    ///
    /// # Errors
    /// A server can't be reached any more.
    pub async fn play(&mut self, case: &Case) -> Result<Vec<(String, String)>, OracleError> {
        let names: Vec<String> = self
            .stage
            .targets
            .iter()
            .skip(1)
            .map(|target| target.name.clone())
            .collect();
        let mut verdicts = vec![Verdict::Answered; names.len()];
        for lane in Lane::ALL.into_iter().filter(|lane| lane.takes(case)) {
            let traces = run_all(&mut self.stage.targets, case, lane).await?;
            if let Some(what) = compare::authors_mistake(case, &traces[0]) {
                self.report
                    .mistakes
                    .push((format!("{} [{}]", case.place(), lane.name()), what));
            }
            let mut problems = vec![Vec::new(); names.len()];
            if case.flags.writes {
                problems = self.look(case, &traces).await?;
            }
            for (at, verdict) in verdicts.iter_mut().enumerate() {
                let now = judge(case, lane, &traces, at + 1, &problems[at]);
                *verdict = worse(std::mem::replace(verdict, Verdict::Answered), now);
            }
        }
        let mut wrong = Vec::new();
        for (name, verdict) in names.into_iter().zip(verdicts) {
            if let Verdict::Wrong(what) = &verdict {
                wrong.push((name.clone(), what.clone()));
            }
            self.report.note(&name, case, verdict);
        }
        Ok(wrong)
    }

    /// Ends the contest and stops everything.
    pub async fn end(self) -> Report {
        self.stage.strike().await;
        self.report
    }

    /// The end of what the routers printed.
    #[must_use]
    pub fn router_output(&self) -> String {
        self.stage.router_output()
    }

    /// Looks at every server, cleans up, and puts everything back.
    async fn look(
        &mut self,
        case: &Case,
        traces: &[Trace],
    ) -> Result<Vec<Vec<String>>, OracleError> {
        let (mut plain, mut unchanged) = (Tables::new(), BTreeSet::new());
        let mut all = Vec::new();
        for (at, target) in self.stage.targets.iter_mut().enumerate() {
            let topology = at.checked_sub(1).map(|at| &self.stage.topologies[at]);
            let seen = self.lookers[at].look(target, topology, &case.masks).await?;
            match topology {
                None => {
                    plain = seen.first().cloned().unwrap_or_default();
                    unchanged = self.baselines[at].unchanged(&seen);
                }
                Some(topology) => {
                    let mut settled = self.baselines[at].unchanged(&seen);
                    settled.retain(|table| unchanged.contains(table));
                    let mut found = contents::left_prepared(target).await?;
                    let refusal = traces[at].refusal();
                    match refusal {
                        None => {
                            found.extend(contents::problems(
                                target, topology, &plain, &seen, &settled,
                            ));
                        }
                        // A refusal comes before any effect.
                        Some((0, _)) => found.extend(self.baselines[at].effects(&seen)),
                        Some(_) => {}
                    }
                    if target.servers.iter_mut().any(Server::take_freed) {
                        found.push("  a session had to be ended that held locks".to_owned());
                    }
                    all.push(found);
                }
            }
            run::clean_up(target, case).await?;
            let looked_whole = case.masks.is_empty() && case.cleanup.is_empty();
            let whole = if looked_whole {
                seen
            } else {
                self.lookers[at].look(target, topology, &[]).await?
            };
            self.baselines[at].restore(target, &whole).await?;
        }
        Ok(all)
    }
}

async fn run_all(
    targets: &mut [Target],
    case: &Case,
    lane: Lane,
) -> Result<Vec<Trace>, OracleError> {
    Ok(match targets {
        [a, b, c] => {
            let (a, b, c) = tokio::join!(
                run::run(a, case, lane),
                run::run(b, case, lane),
                run::run(c, case, lane)
            );
            vec![a?, b?, c?]
        }
        [a, b] => {
            let (a, b) = tokio::join!(run::run(a, case, lane), run::run(b, case, lane));
            vec![a?, b?]
        }
        others => {
            let mut traces = Vec::new();
            for target in others {
                traces.push(run::run(target, case, lane).await?);
            }
            traces
        }
    })
}

fn judge(case: &Case, lane: Lane, traces: &[Trace], at: usize, problems: &[String]) -> Verdict {
    let difference = compare::difference(case, &traces[0], &traces[at]);
    let mut wrong: Vec<String> = difference.into_iter().collect();
    wrong.extend(problems.iter().cloned());
    if !wrong.is_empty() {
        return Verdict::Wrong(format!(
            "  by the {} protocol, {}",
            lane.name(),
            wrong.join("\n")
        ));
    }
    match traces[at].refusal() {
        Some((_, id)) => Verdict::Refused(id.to_owned()),
        None => Verdict::Answered,
    }
}

fn worse(one: Verdict, other: Verdict) -> Verdict {
    let rank = |verdict: &Verdict| match verdict {
        Verdict::Answered => 0,
        Verdict::Refused(_) => 1,
        Verdict::Wrong(_) => 2,
    };
    if rank(&other) > rank(&one) {
        other
    } else {
        one
    }
}
