//! One suite for every kind of store: whoever writes another calls [`check`] from a test. It panics where
//! a store breaks a promise.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::{NewRevision, Records, StoreError};

/// A maker of new, empty stores.
pub type Make<'m> = &'m dyn Fn() -> Box<dyn Records>;

/// Runs every test of the suite, each on a store of its own.
pub fn check(make: Make<'_>) {
    a_new_store_has_no_revision(&*make());
    revisions_are_numbered_from_one(&*make());
    a_revision_replaces_only_the_one_that_was_seen(&*make());
    history_is_newest_first(&*make());
    of_writers_at_once_one_wins(&*make());
    an_epoch_is_given_once(&*make());
    a_lease_is_renewed_until_the_router_is_removed(&*make());
    an_acknowledgement_only_grows(&*make());
}

/// A small document that differs by `name`.
#[must_use]
pub fn revision(name: &str) -> NewRevision {
    let range = topology::KeyRange {
        shard_uid: "store-1".to_owned(),
        start: None,
        end: None,
    };
    let group = topology::ShardGroup {
        uid: "main".to_owned(),
        name: Some(name.to_owned()),
        default_shard_index: None,
        key_ranges: vec![range],
    };
    let document = topology::Document {
        shard_groups: vec![group],
        ..topology::Document::default()
    };
    NewRevision {
        document,
        author: format!("author of {name}"),
        comment: format!("as {name}"),
    }
}

/// A moment that survives storing: whole milliseconds.
fn moment(seconds: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs(1_800_000_000 + seconds)
}

fn done<T>(result: Result<T, StoreError>) -> T {
    result.expect("the store does not fail")
}

fn a_new_store_has_no_revision(records: &dyn Records) {
    assert_eq!(done(records.current()), None);
    assert_eq!(done(records.current_number()), 0);
    assert_eq!(done(records.revision(1)), None);
    assert_eq!(done(records.revision(u64::MAX)), None);
    assert_eq!(done(records.history()), []);
    assert_eq!(done(records.routers()), []);
}

fn revisions_are_numbered_from_one(records: &dyn Records) {
    let first = done(records.put(0, &revision("first"), moment(1)));
    assert_eq!((first.number, first.at), (1, moment(1)));
    assert_eq!(
        (&*first.author, &*first.comment),
        ("author of first", "as first")
    );
    let second = done(records.put(1, &revision("second"), moment(2)));
    assert_eq!(second.number, 2);
    assert_eq!(done(records.current_number()), 2);
    assert_eq!(done(records.current()), Some(second.clone()));
    assert_eq!(done(records.revision(1)), Some(first));
    assert_eq!(done(second.read()).document, revision("second").document);
}

fn a_revision_replaces_only_the_one_that_was_seen(records: &dyn Records) {
    done(records.put(0, &revision("first"), moment(1)));
    for expected in [0, 2, u64::MAX] {
        let conflict = records.put(expected, &revision("other"), moment(2));
        let refused = matches!(conflict,
            Err(StoreError::Conflict { expected: e, current: 1 }) if e == expected);
        assert!(
            refused,
            "revision {expected} is not the newest: {conflict:?}"
        );
    }
    assert_eq!(done(records.history()).len(), 1);
}

fn history_is_newest_first(records: &dyn Records) {
    for number in 0..3 {
        done(records.put(number, &revision(&number.to_string()), moment(number)));
    }
    let history = done(records.history());
    let numbers: Vec<u64> = history.iter().map(|summary| summary.number).collect();
    assert_eq!(numbers, [3, 2, 1]);
    assert_eq!(history[0].comment, "as 2");
}

fn of_writers_at_once_one_wins(records: &dyn Records) {
    const WRITERS: u64 = 8;
    let won = std::thread::scope(|scope| {
        let write = |writer: u64| {
            scope.spawn(move || {
                records
                    .put(0, &revision(&writer.to_string()), moment(writer))
                    .is_ok()
            })
        };
        let writers: Vec<_> = (0..WRITERS).map(write).collect();
        let won = writers.into_iter().filter_map(|writer| writer.join().ok());
        won.filter(|won| *won).count()
    });
    assert_eq!(won, 1);
    assert_eq!(done(records.current_number()), 1);
}

fn an_epoch_is_given_once(records: &dyn Records) {
    let first = done(records.register_router("a", moment(1)));
    let second = done(records.register_router("a", moment(1)));
    assert!(0 < first && first < second);
    done(records.remove_router(second));
    let third = done(records.register_router("a", moment(1)));
    assert!(
        second < third,
        "an epoch is not given again after its router is gone"
    );
}

fn a_lease_is_renewed_until_the_router_is_removed(records: &dyn Records) {
    let epoch = done(records.register_router("host:1", moment(10)));
    let router = done(records.routers()).remove(0);
    assert_eq!(
        (router.epoch, &*router.name, router.acknowledged),
        (epoch, "host:1", 0)
    );
    assert!(!router.is_silent(moment(9)));
    assert!(router.is_silent(moment(10)));
    done(records.renew(epoch, moment(20)));
    assert_eq!(done(records.routers())[0].lease_until, moment(20));
    done(records.remove_router(epoch));
    done(records.remove_router(epoch));
    let renewed = records.renew(epoch, moment(30));
    assert!(matches!(renewed, Err(StoreError::UnknownRouter { epoch: e }) if e == epoch));
}

fn an_acknowledgement_only_grows(records: &dyn Records) {
    let epoch = done(records.register_router("a", moment(1)));
    done(records.acknowledge(epoch, 5));
    done(records.acknowledge(epoch, 3));
    assert_eq!(done(records.routers())[0].acknowledged, 5);
    let unknown = records.acknowledge(epoch + 1, 5);
    assert!(matches!(unknown, Err(StoreError::UnknownRouter { .. })));
}
