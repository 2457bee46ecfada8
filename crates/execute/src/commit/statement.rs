//! The SQL of the atomic commit. Every name is qualified and every text quoted, since it runs in
//! the client's own session: under its `search_path`, its encoding and its role.

use super::gid::{Gid, PreparedName};

/// What makes a write at least as durable as `synchronous_commit = on` for the rest of the
/// transaction, and keeps a timeout from breaking its wait for a standby off. A stronger level is
/// kept.
pub(crate) const DURABLE: &str = "SELECT pg_catalog.set_config('statement_timeout', '0', true), \
     pg_catalog.set_config('idle_in_transaction_session_timeout', '0', true), \
     CASE WHEN pg_catalog.current_setting('synchronous_commit') OPERATOR(pg_catalog.=) \
     ANY (ARRAY['off', 'local', 'remote_write']) \
     THEN pg_catalog.set_config('synchronous_commit', 'on', true) END, \
     pg_catalog.pg_current_xact_id()";

/// Which column of [`DURABLE`] holds the transaction's number.
pub(crate) const DURABLE_XID: usize = 3;

/// Whether COMMIT PREPARED, which can't be given a level of its own, needs another than the
/// session's.
pub(crate) fn is_weak(synchronous_commit: &str) -> bool {
    matches!(synchronous_commit, "off" | "local" | "remote_write")
}

/// Which backend it is. Deferred constraints fail here rather than after others have prepared,
/// where it is asked.
pub(crate) const IDENTIFY: &str =
    "SET CONSTRAINTS ALL IMMEDIATE; SELECT pid, start_us FROM kintsugi.whoami()";

/// `PREPARE TRANSACTION`, with what is needed before and after.
pub(crate) fn prepare(name: &PreparedName) -> String {
    format!(
        "SET CONSTRAINTS ALL IMMEDIATE; {DURABLE}; PREPARE TRANSACTION {}; \
         SELECT pg_catalog.current_setting('synchronous_commit')",
        quote(&name.to_string())
    )
}

/// The decision. `prepared` are the uids and transaction numbers of the prepared participants, in
/// the order of their numbers.
pub(crate) fn decide(gid: &Gid, prepared: &[(String, u64)]) -> String {
    let uids: Vec<String> = prepared.iter().map(|(uid, _)| quote(uid)).collect();
    let xids: Vec<String> = prepared.iter().map(|(_, xid)| xid.to_string()).collect();
    format!(
        "SET CONSTRAINTS ALL IMMEDIATE; {DURABLE}; \
         SELECT kintsugi.decide({}, ARRAY[{}]::pg_catalog.text[], ARRAY[{}]::pg_catalog.int8[]); COMMIT",
        quote(&gid.to_string()),
        uids.join(", "),
        xids.join(", ")
    )
}

/// `COMMIT PREPARED`.
pub(crate) fn commit_prepared(name: &PreparedName) -> String {
    format!("COMMIT PREPARED {}", quote(&name.to_string()))
}

/// `ROLLBACK PREPARED`.
pub(crate) fn rollback_prepared(name: &PreparedName) -> String {
    format!("ROLLBACK PREPARED {}", quote(&name.to_string()))
}

/// A string constant that means the same whatever `standard_conforming_strings` is.
pub(crate) fn quote(text: &str) -> String {
    let doubled = text.replace('\'', "''");
    if doubled.contains('\\') {
        format!("E'{}'", doubled.replace('\\', "\\\\"))
    } else {
        format!("'{doubled}'")
    }
}

/// A quoted identifier.
pub(crate) fn quote_name(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_and_names_are_quoted() {
        assert_eq!(quote("it's"), "'it''s'");
        assert_eq!(quote(r"a\'b"), r"E'a\\''b'");
        assert_eq!(quote_name("a\"b"), "\"a\"\"b\"");
    }
}
