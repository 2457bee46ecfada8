use std::process::Command;

use pg::Diagnose;

use super::*;
use crate::conformance::revision;
use crate::{Store, conformance};

/// Set in a child process: the file that it shall write to.
const CHILD_FILE: &str = "KINTSUGI_TEST_STORE";

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn put(file: &File, expected: u64, name: &str) -> Result<Revision, StoreError> {
    file.put(expected, &revision(name), SystemTime::now())
}

#[test]
fn a_file_passes_the_suite() {
    let folder = folder();
    let count = std::cell::Cell::new(0);
    conformance::check(&|| {
        count.set(count.get() + 1);
        let name = format!("{}.db", count.get());
        Box::new(File::open(&folder.path().join(name)).unwrap())
    });
}

#[test]
fn what_was_written_is_there_after_reopening() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let file = File::open(&path).unwrap();
    let first = put(&file, 0, "first").unwrap();
    let epoch = file.register_router("a", SystemTime::now()).unwrap();
    drop(file);
    let file = File::open(&path).unwrap();
    assert_eq!(file.current().unwrap(), Some(first));
    file.remove_router(epoch).unwrap();
    drop(file);
    let file = File::open(&path).unwrap();
    assert!(file.register_router("b", SystemTime::now()).unwrap() > epoch);
}

#[test]
fn two_that_open_one_file_see_each_other() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let (one, other) = (File::open(&path).unwrap(), File::open(&path).unwrap());
    put(&one, 0, "first").unwrap();
    let conflict = put(&other, 0, "second").unwrap_err();
    assert!(matches!(
        conflict,
        StoreError::Conflict {
            expected: 0,
            current: 1
        }
    ));
    put(&other, 1, "second").unwrap();
    assert_eq!(one.current_number().unwrap(), 2);
}

/// Not a test of its own: what a child process of the next one does.
#[test]
fn child_adds_twenty_revisions() {
    let Some(path) = std::env::var_os(CHILD_FILE) else {
        return;
    };
    let file = File::open(Path::new(&path)).unwrap();
    let mut written = 0;
    while written < 20 {
        let current = file.current_number().unwrap();
        match put(&file, current, &format!("after {current}")) {
            Ok(_) => written += 1,
            Err(StoreError::Conflict { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

#[test]
fn no_revision_of_several_processes_is_lost() {
    let folder = folder();
    let path = folder.path().join("store.db");
    // The file does not exist yet, so that making it is contended too.
    let start = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "file::tests::child_adds_twenty_revisions"]);
        command.env(CHILD_FILE, &path).spawn().unwrap()
    };
    let children: Vec<_> = (0..3).map(|_| start()).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let file = File::open(&path).unwrap();
    assert_eq!(file.current_number().unwrap(), 60);
    for summary in file.history().unwrap() {
        assert_eq!(summary.comment, format!("as after {}", summary.number - 1));
    }
}

/// What opening a file with this content says.
fn open_error(content: &[u8]) -> StoreError {
    let folder = folder();
    let path = folder.path().join("store.db");
    std::fs::write(&path, content).unwrap();
    let error = File::open(&path).unwrap_err();
    assert_eq!(
        std::fs::read(&path).unwrap(),
        content,
        "the file is left as it was"
    );
    error
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let error =
        open_error(&b"{\"shards\": {}} and more text to be longer than a header. ".repeat(99));
    assert!(matches!(error, StoreError::Foreign { .. }), "{error}");
    assert_eq!(error.hint().unwrap(), "name another file as the store");
}

#[test]
fn a_database_of_somebody_else_is_refused() {
    let folder = folder();
    let path = folder.path().join("other.db");
    Connection::open(&path)
        .unwrap()
        .execute_batch("CREATE TABLE t (a)")
        .unwrap();
    let error = open_error(&std::fs::read(&path).unwrap());
    assert!(
        error
            .to_string()
            .ends_with("store.db is not a store of Kintsugi"),
        "{error}"
    );
}

#[test]
fn a_store_of_a_newer_release_is_refused() {
    let folder = folder();
    let path = folder.path().join("store.db");
    drop(File::open(&path).unwrap());
    Connection::open(&path)
        .unwrap()
        .pragma_update(None, "user_version", 2)
        .unwrap();
    let error = File::open(&path).unwrap_err();
    let expected = "has format 2, this release knows formats up to 1";
    assert!(error.to_string().ends_with(expected), "{error}");
}

#[test]
fn a_damaged_store_is_refused() {
    let folder = folder();
    let path = folder.path().join("store.db");
    let file = File::open(&path).unwrap();
    for number in 0..50 {
        put(&file, number, "a revision with some text in it").unwrap();
    }
    drop(file);
    let mut content = std::fs::read(&path).unwrap();
    let third_page = 2 * 4096..3 * 4096;
    content[third_page].fill(0xa5);
    std::fs::write(&path, content).unwrap();
    let error = File::open(&path).unwrap_err();
    assert!(matches!(error, StoreError::Damaged { .. }), "{error:?}");
    assert_eq!(error.sqlstate(), pg::SqlState::DATA_CORRUPTED);
}

#[test]
fn a_path_that_can_not_be_opened_is_named() {
    let error = File::open(Path::new("/nonexistent/store.db")).unwrap_err();
    let expected = "the store /nonexistent/store.db could not be opened";
    assert_eq!(error.to_string(), expected);
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .build()
        .unwrap()
}

#[test]
fn a_watch_sees_what_another_process_would_write() {
    let folder = folder();
    let path = folder.path().join("store.db");
    runtime().block_on(async {
        let store = Store::open(&path).await.unwrap();
        let other = Store::open(&path).await.unwrap();
        let mut watch = store.watch(0);
        let write = async {
            other.put(0, revision("first")).await.unwrap();
        };
        let (seen, ()) = tokio::join!(watch.next(), write);
        assert_eq!(seen.unwrap().number, 1);
        other.put(1, revision("second")).await.unwrap();
        other.put(2, revision("third")).await.unwrap();
        assert_eq!(
            watch.next().await.unwrap().number,
            3,
            "those between are passed over"
        );
    });
}

#[test]
fn applying_waits_for_every_router() {
    let folder = folder();
    runtime().block_on(async {
        let store = Store::open(&folder.path().join("store.db")).await.unwrap();
        let lease = Duration::from_secs(10);
        let one = store
            .register_router("one".to_owned(), lease)
            .await
            .unwrap();
        let two = store
            .register_router("two".to_owned(), lease)
            .await
            .unwrap();
        let revision = store.put(0, revision("first")).await.unwrap().number;
        store.acknowledge(one, revision).await.unwrap();
        let missing = store
            .wait_acknowledged(revision, Duration::ZERO)
            .await
            .unwrap();
        assert_eq!(
            missing
                .iter()
                .map(|router| router.epoch)
                .collect::<Vec<_>>(),
            [two]
        );
        let wait = store.wait_acknowledged(revision, Duration::from_secs(30));
        let (missing, acknowledged) = tokio::join!(wait, store.acknowledge(two, revision));
        acknowledged.unwrap();
        assert_eq!(missing.unwrap(), []);
    });
}
