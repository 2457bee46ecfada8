//! A store in one `SQLite` file, shared by the processes of one host. Invariant: every change is one
//! transaction that takes the write lock first, so that two writers can't both see the old state, and is
//! on disk before it is answered (write-ahead log, `synchronous = FULL`).

use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior,
    params,
};

use crate::{NewRevision, Records, Revision, RevisionSummary, Router, StoreError};

/// Marks a `SQLite` file as ours: "KINT".
const APPLICATION_ID: i64 = 0x4b49_4e54;
/// The newest format of the file.
const FORMAT: i64 = 1;
/// How long a writer waits for another process's write.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

const SCHEMA: &str = "
    CREATE TABLE revision (
        number INTEGER PRIMARY KEY CHECK (number > 0),
        document TEXT NOT NULL,
        author TEXT NOT NULL,
        comment TEXT NOT NULL,
        at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE router (
        epoch INTEGER PRIMARY KEY AUTOINCREMENT,
        name TEXT NOT NULL,
        lease_until_ms INTEGER NOT NULL,
        acknowledged INTEGER NOT NULL DEFAULT 0
    ) STRICT;
";

/// A store in one `SQLite` file.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    connection: Mutex<Connection>,
}

// === impl File ===

impl File {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    ///
    /// It can't be opened, is damaged, is not a store, or is of a newer release.
    pub fn open(path: &Path) -> Result<Self, StoreError> {
        let open_error = |source| StoreError::Open {
            path: path.to_owned(),
            source,
        };
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).map_err(open_error)?;
        connection.busy_timeout(BUSY_TIMEOUT).map_err(open_error)?;
        // Judged before anything is written, so that a stranger's file is left as it was.
        let is_new = judge(&connection, path)?;
        let prepared = prepare(&mut connection, is_new);
        prepared.map_err(|source| damaged_or(path, source, open_error))?;
        if is_new {
            // Another process may have made the file meanwhile.
            judge(&connection, path)?;
        }
        Ok(Self {
            path: path.to_owned(),
            connection: Mutex::new(connection),
        })
    }

    /// A panic elsewhere rolls its transaction back, so the connection stays good.
    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    fn read<T>(
        &self,
        operation: &'static str,
        read: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Result<T, StoreError> {
        read(&self.lock()).map_err(|source| self.failed(operation, source))
    }

    /// Runs a change in a transaction; what the change refuses is rolled back.
    fn change<T>(
        &self,
        operation: &'static str,
        change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let mut connection = self.lock();
        let run = || {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let changed = change(&transaction)?;
            if changed.is_ok() {
                transaction.commit()?;
            }
            Ok(changed)
        };
        run().map_err(|source| self.failed(operation, source))?
    }

    fn failed(&self, operation: &'static str, source: rusqlite::Error) -> StoreError {
        damaged_or(&self.path, source, |source| StoreError::Sqlite {
            operation,
            source,
        })
    }
}

impl Records for File {
    fn current(&self) -> Result<Option<Revision>, StoreError> {
        let sql = "SELECT number, document, author, comment, at_ms FROM revision
                   ORDER BY number DESC LIMIT 1";
        self.read("read the current revision", |connection| {
            connection
                .prepare_cached(sql)?
                .query_row([], revision)
                .optional()
        })
    }

    fn current_number(&self) -> Result<u64, StoreError> {
        self.read("read the current revision", current_number)
    }

    fn revision(&self, number: u64) -> Result<Option<Revision>, StoreError> {
        let sql = "SELECT number, document, author, comment, at_ms FROM revision WHERE number = ?1";
        self.read("read a revision", |connection| {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            connection
                .prepare_cached(sql)?
                .query_row([number], revision)
                .optional()
        })
    }

    fn history(&self) -> Result<Vec<RevisionSummary>, StoreError> {
        let sql = "SELECT number, author, comment, at_ms FROM revision ORDER BY number DESC";
        self.read("read the history", |connection| {
            connection
                .prepare_cached(sql)?
                .query_map([], summary)?
                .collect()
        })
    }

    fn put(
        &self,
        expected: u64,
        new: &NewRevision,
        at: SystemTime,
    ) -> Result<Revision, StoreError> {
        let document = new.document.to_json();
        let at_ms = to_ms(at);
        self.change("write a revision", |transaction| {
            let current = current_number(transaction)?;
            if current != expected {
                return Ok(Err(StoreError::Conflict { expected, current }));
            }
            let number = current + 1;
            transaction.execute(
                "INSERT INTO revision (number, document, author, comment, at_ms)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
                params![
                    number.cast_signed(),
                    document,
                    new.author,
                    new.comment,
                    at_ms
                ],
            )?;
            Ok(Ok(Revision {
                number,
                document,
                author: new.author.clone(),
                comment: new.comment.clone(),
                at: from_ms(at_ms),
            }))
        })
    }

    fn register_router(&self, name: &str, lease_until: SystemTime) -> Result<u64, StoreError> {
        self.change("register a router", |transaction| {
            transaction.execute(
                "INSERT INTO router (name, lease_until_ms) VALUES (?1, ?2)",
                params![name, to_ms(lease_until)],
            )?;
            Ok(Ok(transaction.last_insert_rowid().cast_unsigned()))
        })
    }

    fn renew(&self, epoch: u64, lease_until: SystemTime) -> Result<(), StoreError> {
        self.change("renew a router's lease", |transaction| {
            let found = transaction.execute(
                "UPDATE router SET lease_until_ms = ?2 WHERE epoch = ?1",
                params![epoch.cast_signed(), to_ms(lease_until)],
            )?;
            Ok(exactly_one(epoch, found))
        })
    }

    fn remove_router(&self, epoch: u64) -> Result<(), StoreError> {
        self.change("remove a router", |transaction| {
            transaction.execute("DELETE FROM router WHERE epoch = ?1", [epoch.cast_signed()])?;
            Ok(Ok(()))
        })
    }

    fn routers(&self) -> Result<Vec<Router>, StoreError> {
        let sql = "SELECT epoch, name, lease_until_ms, acknowledged FROM router ORDER BY epoch";
        self.read("read the routers", |connection| {
            connection
                .prepare_cached(sql)?
                .query_map([], router)?
                .collect()
        })
    }

    fn acknowledge(&self, epoch: u64, revision: u64) -> Result<(), StoreError> {
        self.change("acknowledge a revision", |transaction| {
            let found = transaction.execute(
                "UPDATE router SET acknowledged = max(acknowledged, ?2) WHERE epoch = ?1",
                params![epoch.cast_signed(), revision.cast_signed()],
            )?;
            Ok(exactly_one(epoch, found))
        })
    }
}

/// Whose file it is; true: nobody's, for it is empty.
fn judge(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    let open_error = |source| StoreError::Open {
        path: path.to_owned(),
        source,
    };
    let marks = marks(connection).map_err(|source| damaged_or(path, source, open_error))?;
    match marks {
        (APPLICATION_ID, found, _) if found > FORMAT => Err(StoreError::TooNew {
            path: path.to_owned(),
            found,
            known: FORMAT,
        }),
        (APPLICATION_ID, _, _) => Ok(false),
        (0, _, 0) => Ok(true),
        _ => Err(StoreError::Foreign {
            path: path.to_owned(),
        }),
    }
}

/// Application id, format and number of tables, all of one moment: another process may be making the file.
fn marks(connection: &Connection) -> rusqlite::Result<(i64, i64, i64)> {
    let transaction = connection.unchecked_transaction()?;
    let read = |sql| transaction.query_row(sql, [], |row| row.get(0));
    let marks = (
        read("PRAGMA application_id")?,
        read("PRAGMA user_version")?,
        read("SELECT count(*) FROM sqlite_schema")?,
    );
    transaction.commit()?;
    Ok(marks)
}

fn prepare(connection: &mut Connection, is_new: bool) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    if is_new {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let tables_count: i64 =
            transaction.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        if tables_count == 0 {
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
        }
        return transaction.commit();
    }
    let report: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if report == "ok" {
        return Ok(());
    }
    let code = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
    Err(rusqlite::Error::SqliteFailure(code, Some(report)))
}

/// Damage and strangers' files have errors of their own; anything else is what `other` makes of it.
fn damaged_or(
    path: &Path,
    source: rusqlite::Error,
    other: impl FnOnce(rusqlite::Error) -> StoreError,
) -> StoreError {
    match source.sqlite_error_code() {
        Some(ErrorCode::NotADatabase) => StoreError::Foreign {
            path: path.to_owned(),
        },
        Some(ErrorCode::DatabaseCorrupt) => StoreError::Damaged {
            path: path.to_owned(),
            report: source.to_string(),
        },
        _ => other(source),
    }
}

fn current_number(connection: &Connection) -> rusqlite::Result<u64> {
    let mut statement =
        connection.prepare_cached("SELECT coalesce(max(number), 0) FROM revision")?;
    statement.query_row([], |row| Ok(row.get::<_, i64>(0)?.cast_unsigned()))
}

fn revision(row: &Row<'_>) -> rusqlite::Result<Revision> {
    Ok(Revision {
        number: row.get::<_, i64>(0)?.cast_unsigned(),
        document: row.get(1)?,
        author: row.get(2)?,
        comment: row.get(3)?,
        at: from_ms(row.get(4)?),
    })
}

fn summary(row: &Row<'_>) -> rusqlite::Result<RevisionSummary> {
    Ok(RevisionSummary {
        number: row.get::<_, i64>(0)?.cast_unsigned(),
        author: row.get(1)?,
        comment: row.get(2)?,
        at: from_ms(row.get(3)?),
    })
}

fn router(row: &Row<'_>) -> rusqlite::Result<Router> {
    Ok(Router {
        epoch: row.get::<_, i64>(0)?.cast_unsigned(),
        name: row.get(1)?,
        lease_until: from_ms(row.get(2)?),
        acknowledged: row.get::<_, i64>(3)?.cast_unsigned(),
    })
}

fn exactly_one(epoch: u64, found: usize) -> Result<(), StoreError> {
    if found == 1 {
        Ok(())
    } else {
        Err(StoreError::UnknownRouter { epoch })
    }
}

/// Milliseconds since 1970; moments before count as 1970.
fn to_ms(at: SystemTime) -> i64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}

fn from_ms(ms: i64) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or(0))
}

#[cfg(test)]
mod tests;
