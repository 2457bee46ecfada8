use super::*;

const WRITER: Participant = Participant {
    wrote: true,
    can_prepare: true,
};
const BOUND: Participant = Participant {
    wrote: true,
    can_prepare: false,
};
const READER: Participant = Participant {
    wrote: false,
    can_prepare: false,
};

/// Feeds answers (`2 done`, `settled commit`), and compares everything that was wanted.
fn check(participants: &[Participant], answers: &str, wanted: &str) {
    let (mut commit, effects) = Commit::new(participants.to_vec()).unwrap();
    let mut seen = vec![show(&effects)];
    for answer in answers.split(", ").filter(|answer| !answer.is_empty()) {
        let effects;
        (commit, effects) = commit.on(event(answer));
        seen.push(show(&effects));
    }
    assert_eq!(seen.join(" | "), wanted);
    assert_eq!(commit.outcome().is_some(), wanted.contains("tell"));
}

fn show(effects: &[Effect]) -> String {
    let texts: Vec<String> = effects.iter().map(Effect::to_string).collect();
    texts.join(", ")
}

fn event(text: &str) -> Event {
    match text.split_once(' ').unwrap() {
        ("settled", "commit") => Event::Settled(Verdict::Committed),
        ("settled", "abort") => Event::Settled(Verdict::Aborted),
        ("settled", "not") => Event::Settled(Verdict::Unsettled),
        (from, reply) => Event::Answered {
            from: from.parse().unwrap(),
            reply: match reply {
                "done" => Reply::Done,
                "refused" => Reply::Refused,
                "lost" => Reply::Lost,
                other => panic!("{other}"),
            },
        },
    }
}

#[test]
fn readers_are_released() {
    check(&[], "", "tell committed");
    check(
        &[READER, READER],
        "0 done, 1 done",
        "commit 0, commit 1 |  | tell committed",
    );
    check(
        &[READER, READER],
        "0 refused, 1 done",
        "commit 0, commit 1 |  | tell rolled back: commit 0 refused",
    );
}

#[test]
fn one_writer_commits_plainly_and_before_readers_are_released() {
    check(
        &[READER, BOUND],
        "1 done, 0 lost",
        "commit 1 | commit 0 | tell committed",
    );
    check(
        &[READER, WRITER],
        "1 refused, 0 done",
        "commit 1 | rollback 0 | tell rolled back: commit 1 refused",
    );
    check(
        &[WRITER],
        "0 lost",
        "commit 0 | tell unknown: commit 0 lost",
    );
}

#[test]
fn several_writers_commit_in_two_phases() {
    check(
        &[WRITER, WRITER, READER, WRITER],
        "3 done, 1 done, 0 done, 3 done, 2 done, 0 done, 1 done",
        "identify 3 | prepare 0, prepare 1 |  | decide 3 | commit-prepared 0, commit-prepared 1, \
         commit 2 |  |  | tell committed",
    );
}

#[test]
fn the_participant_that_cannot_be_prepared_decides() {
    check(
        &[BOUND, WRITER],
        "0 done, 1 done, 0 done, 1 done",
        "identify 0 | prepare 1 | decide 0 | commit-prepared 1 | tell committed",
    );
    let refused = Commit::new(vec![BOUND, WRITER, BOUND]).unwrap_err();
    assert_eq!((refused.first, refused.second), (0, 2));
}

#[test]
fn a_failed_prepare_rolls_everything_back() {
    check(
        &[WRITER, WRITER, WRITER, READER],
        "2 done, 0 refused, 1 done, 0 done, 1 done, 2 done, 3 done",
        "identify 2 | prepare 0, prepare 1 |  | rollback 0, rollback-prepared 1, rollback 2, \
         rollback 3 |  |  |  | tell rolled back: prepare 0 refused",
    );
    // Nobody knows whether it was prepared: the connection is gone, and recovery looks.
    check(
        &[WRITER, WRITER],
        "1 done, 0 lost, 1 done",
        "identify 1 | prepare 0 | rollback 1 | tell rolled back: prepare 0 lost",
    );
}

#[test]
fn a_refused_decision_rolls_everything_back() {
    check(
        &[WRITER, WRITER],
        "1 done, 0 done, 1 refused, 0 done, 1 done",
        "identify 1 | prepare 0 | decide 1 | rollback-prepared 0, rollback 1 |  | tell rolled \
         back: decide 1 refused",
    );
}

#[test]
fn a_lost_decision_is_settled() {
    let until = "identify 1 | prepare 0 | decide 1 | settle";
    check(
        &[WRITER, WRITER],
        "1 done, 0 done, 1 lost, settled commit, 0 done",
        &format!("{until} | commit-prepared 0 | tell committed"),
    );
    check(
        &[WRITER, WRITER],
        "1 done, 0 done, 1 lost, settled abort, 0 done",
        &format!("{until} | rollback-prepared 0 | tell rolled back: decide 1 lost"),
    );
    // An answer that nobody waits for changes nothing.
    check(&[WRITER, WRITER, READER], "2 done", "identify 1 | ");
    check(
        &[WRITER, WRITER],
        "1 done, 0 done, 1 lost, settled not",
        &format!("{until} | tell unknown: decide 1 lost"),
    );
}

#[test]
fn a_second_phase_that_fails_is_finished_elsewhere_or_left_to_recovery() {
    let until =
        "identify 2 | prepare 0, prepare 1 |  | decide 2 | commit-prepared 0, commit-prepared 1";
    check(
        &[WRITER, WRITER, WRITER],
        "2 done, 0 done, 1 done, 2 done, 0 refused, 1 lost, 0 done, 1 lost",
        &format!("{until} | finish 0 | finish 1 |  | tell committed, unfinished on [1]"),
    );
}
