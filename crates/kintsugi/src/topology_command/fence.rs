//! Fences: while a document is replaced, a table that is about to live elsewhere takes no rows, so that a
//! request planned under the old document can't leave one behind. The fence is a trigger on the table
//! itself, because only that stops a router that has not heard yet.

/// The private SQLSTATE that a fence raises.
pub const FENCED: &str = "KF001";
const TRIGGER: &str = "kintsugi_fence";

/// A fence on one table of one shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fence {
    /// The shard's uid.
    pub shard: String,
    /// The database.
    pub database: String,
    /// The schema.
    pub schema: String,
    /// The table.
    pub table: String,
}

// === impl Fence ===

impl Fence {
    /// The transaction that puts the fence; it fails if the table holds a row. The lock waits for every
    /// writer, prepared ones too, and the timeout keeps it from holding up others for long.
    #[must_use]
    pub fn put_sql(&self) -> String {
        let table = self.qualified();
        let trigger = identifier(TRIGGER);
        format!(
            "BEGIN; SET LOCAL lock_timeout = '5s'; \
             CREATE SCHEMA IF NOT EXISTS kintsugi; \
             CREATE OR REPLACE FUNCTION kintsugi.fence() RETURNS trigger LANGUAGE plpgsql AS \
             $kintsugi$BEGIN RAISE EXCEPTION 'the topology of table % is being replaced', \
             TG_RELID::regclass USING ERRCODE = '{FENCED}', \
             HINT = 'Try again.'; END$kintsugi$; \
             LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE; \
             DO $kintsugi$BEGIN IF EXISTS (SELECT FROM {table}) THEN RAISE EXCEPTION \
             'table % holds rows', {literal}::regclass; END IF; END$kintsugi$; \
             DROP TRIGGER IF EXISTS {trigger} ON {table}; \
             CREATE TRIGGER {trigger} BEFORE INSERT OR UPDATE OR DELETE ON {table} \
             FOR EACH STATEMENT EXECUTE FUNCTION kintsugi.fence(); COMMIT",
            literal = literal(&table),
        )
    }

    /// The statement that takes the fence away.
    #[must_use]
    pub fn take_sql(&self) -> String {
        format!(
            "DROP TRIGGER IF EXISTS {} ON {}",
            identifier(TRIGGER),
            self.qualified()
        )
    }

    fn qualified(&self) -> String {
        format!("{}.{}", identifier(&self.schema), identifier(&self.table))
    }
}

fn identifier(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn literal(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted() {
        let fence = Fence {
            shard: "store-1".to_owned(),
            database: "shop".to_owned(),
            schema: "My \"schema\"".to_owned(),
            table: "it's".to_owned(),
        };
        let take = "DROP TRIGGER IF EXISTS \"kintsugi_fence\" ON \"My \"\"schema\"\"\".\"it's\"";
        assert_eq!(fence.take_sql(), take);
        assert!(
            fence
                .put_sql()
                .contains("'\"My \"\"schema\"\"\".\"it''s\"'::regclass")
        );
    }
}
