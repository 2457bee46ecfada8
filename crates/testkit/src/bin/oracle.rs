//! `oracle`: runs the project's SQL cases against plain PostgreSQL and against the router, and
//! compares the answers.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Parser;
use testkit::oracle::case::Case;
use testkit::oracle::contest::Contest;
use testkit::oracle::corpus;
use testkit::oracle::error::OracleError;
use testkit::oracle::fixture::Fixture;
use testkit::oracle::stage::{Load, Options, Stage};

/// A case that takes longer is named.
const SLOW: Duration = Duration::from_secs(5);

/// Compares the router's answers with PostgreSQL's.
#[derive(Debug, Parser)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "they are flags of a command line"
)]
struct Arguments {
    /// Only cases whose file or name holds one of these words.
    words: Vec<String>,
    /// The project's folder.
    #[arg(long, default_value = ".")]
    project: PathBuf,
    /// The router's binary; otherwise the one in target that was built last.
    #[arg(long)]
    router: Option<PathBuf>,
    /// Checks the cases themselves, on plain PostgreSQL only.
    #[arg(long)]
    only_postgres: bool,
    /// Numbers of shards: 1,4 for the project's own fixture, 2 for Pagila.
    #[arg(long, value_delimiter = ',')]
    shards: Vec<usize>,
    /// Runs the cases of Pagila instead, loaded from `pagila.sql` in this folder.
    #[arg(long, value_name = "FOLDER")]
    pagila: Option<PathBuf>,
    /// Loads the fixture straight onto the shards.
    #[arg(long)]
    load_direct: bool,
    /// Writes the numbers answered into the ratchet file.
    #[arg(long)]
    accept: bool,
    /// Lists every refused case.
    #[arg(long, short)]
    verbose: bool,
}

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match Box::pin(run(&arguments)).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            say(&format!("oracle: {}", stdx::Chain(&error)));
            ExitCode::from(2)
        }
    }
}

async fn run(arguments: &Arguments) -> Result<bool, OracleError> {
    let began = Instant::now();
    let options = options(arguments);
    let folder = arguments.project.join(options.fixture.cases());
    let cases = corpus::read(&folder)?;
    let chosen: Vec<&Case> = cases
        .iter()
        .filter(|case| is_chosen(case, &arguments.words))
        .collect();
    let stage = Stage::set(&options).await?;
    let mut contest = Contest::begin(stage).await?;
    say(&format!("stage set in {:.1?}", began.elapsed()));
    let mut played = 0_usize;
    for case in chosen {
        if !contest.takes(case) {
            continue;
        }
        let case_began = Instant::now();
        match contest.play(case).await {
            Ok(wrong) => show(case, &wrong, case_began.elapsed()),
            Err(error) => {
                let output = contest.router_output();
                say(&format!("broke down at {}: {output}", case.place()));
                return Err(error);
            }
        }
        played += 1;
    }
    let major = contest.major();
    let report = contest.end().await;
    say(&report.text(arguments.verbose));
    let ratchet = folder.join("answered.txt");
    let mut fallen = Vec::new();
    if arguments.words.is_empty() {
        fallen = report.ratchet(&ratchet, major, arguments.accept)?;
    }
    for what in &fallen {
        say(&format!("FEWER ANSWERS: {what}"));
    }
    let wrong = report.wrong_count() + fallen.len();
    let refused = report.refused_count();
    let passed = played.saturating_sub(refused + report.wrong_count());
    say(&format!(
        "{}: {passed} passed, {wrong} failed, {refused} refused: PostgreSQL {major}, {:.1?}",
        if arguments.pagila.is_some() {
            "pagila"
        } else {
            "oracle"
        },
        began.elapsed()
    ));
    Ok(report.is_clean() && fallen.is_empty())
}

fn options(arguments: &Arguments) -> Options {
    let router = arguments
        .router
        .clone()
        .unwrap_or_else(|| newest(&arguments.project));
    let dump = arguments.pagila.as_ref();
    let (fixture, usual) = match dump {
        Some(folder) => (Fixture::Pagila(folder.join("pagila.sql")), vec![2]),
        None => (Fixture::Own, vec![1, 4]),
    };
    Options {
        project: arguments.project.clone(),
        router: (!arguments.only_postgres).then_some(router),
        shards: if arguments.shards.is_empty() {
            usual
        } else {
            arguments.shards.clone()
        },
        fixture,
        load: if arguments.load_direct {
            Load::Direct
        } else {
            Load::Router
        },
    }
}

/// What is wrong is shown at once.
fn show(case: &Case, wrong: &[(String, String)], took: Duration) {
    for (target, what) in wrong {
        say(&format!(
            "WRONG ANSWER of {target}: {} ({})\n{what}",
            case.name,
            case.place()
        ));
    }
    if took > SLOW {
        say(&format!(
            "slow: {} ({}) took {took:.1?}",
            case.name,
            case.place()
        ));
    }
}

/// The router built last.
fn newest(project: &Path) -> PathBuf {
    let built = ["debug", "release"].map(|kind| project.join("target").join(kind).join("kintsugi"));
    let age = |path: &PathBuf| {
        path.metadata()
            .and_then(|metadata| metadata.modified())
            .ok()
    };
    built.into_iter().max_by_key(age).unwrap_or_default()
}

fn is_chosen(case: &Case, words: &[String]) -> bool {
    let place = case.place();
    words.is_empty()
        || words
            .iter()
            .any(|word| place.contains(word) || case.name.contains(word))
}

#[expect(clippy::print_stdout, reason = "a program for people prints")]
fn say(text: &str) {
    println!("{text}");
}
