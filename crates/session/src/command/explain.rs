//! `EXPLAIN`: the distributed plan, then each shard's.

use execute::{ExecuteError, Known, Ran, Request, Snapshot};
use sql::ast::Explain;

use crate::session::Session;

impl Session {
    pub(super) async fn explain(
        &mut self,
        explain: &Explain,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        let (start, end) = (explain.span.start as usize, explain.span.end as usize);
        let (options, text) = (&request.text[..start], &request.text[start..end]);
        // The statement is planned as a text of its own, so that its literals are found where it stands alone.
        let statement = self.parse_one(text, request.types).await?;
        let Some(statement) = statement else {
            return Ok(self.done("EXPLAIN"));
        };
        let context = self.meaning.context(snapshot, request.types);
        let planned = plan::plan(&statement, text, &context)?;
        let mut lifted = sql::Lifted::new();
        sql::lift(text, self.meaning.parse_options(), &mut lifted);
        let inner = Request {
            text,
            lifted: Some(&lifted),
            ..*request
        };
        let known = Known {
            request: &inner,
            computed: &[],
            asked: &[],
        };
        let is_run = explain.options.iter().any(|(name, value)| {
            let is_off = matches!(value.as_deref(), Some("false" | "off" | "0"));
            name == "analyze" && !is_off
        });
        let header = plan::explain_for(&planned.plan, &snapshot.topology, &known);
        let mut workbench = self.executor(snapshot);
        workbench
            .lend()
            .explain(
                &planned.plan,
                planned.facts,
                (options, &header, is_run),
                &inner,
            )
            .await
    }
}
