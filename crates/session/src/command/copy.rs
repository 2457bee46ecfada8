//! `COPY` in binary where shards number types otherwise.

use execute::ExecuteError;
use sql::ast::Copy;

use crate::command::refusal;
use crate::session::Session;

impl Session {
    /// Binary rows are copied as they are, so they must have no numbers of types inside that differ from shard to shard.
    ///
    /// # Errors
    /// They have, or what the columns are is not known.
    pub(crate) async fn check_binary_copy(&mut self, copy: &Copy) -> Result<(), ExecuteError> {
        let is_binary = |(name, value): &(String, Option<String>)| {
            name == "format" && value.as_deref() == Some("binary")
        };
        if !copy.options.iter().any(is_binary) {
            return Ok(());
        }
        let snapshot = self.snapshot()?;
        let path = &self.meaning.search_path;
        let found = |table: &sql::ast::TableRef| snapshot.catalog.relation(&table.name.parts, path);
        let table = copy.table.as_ref().and_then(found).cloned();
        let shards: Vec<_> = self.house.pools.shards().collect();
        for shard in shards {
            let Some(translation) = self.hands().translation(shard).await? else {
                continue;
            };
            let is_plain = table.as_ref().is_some_and(|table| {
                let mut types = table.columns.iter().map(|column| column.type_oid);
                types.all(|type_oid| translation.leaves_binary(type_oid))
            });
            if !is_plain {
                let what =
                    "COPY in binary of values that have numbers of types inside is not supported";
                let hint = "Shards number types differently. Copy as text or CSV.";
                return Err(refusal("binary-type-numbers", what, hint).into());
            }
        }
        Ok(())
    }
}
