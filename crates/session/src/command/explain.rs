//! `EXPLAIN`: the distributed plan, then each shard's.

use execute::{ExecuteError, Ran, Request, Snapshot};
use sql::ast::Explain;

use crate::session::Session;

impl Session {
    pub(super) async fn explain(
        &mut self,
        explain: &Explain,
        request: &Request<'_>,
        snapshot: &Snapshot,
    ) -> Result<Ran, ExecuteError> {
        let context = self.meaning.context(snapshot, request.types);
        let planned = plan::plan_body(&explain.body, (request.text, explain.span), &context)?;
        let inner = explain.span.start as usize..explain.span.end as usize;
        let options = &request.text[..inner.start];
        let statement = Request {
            text: &request.text[inner],
            ..*request
        };
        let header = plan::explain(&planned.plan, &snapshot.topology);
        let mut workbench = self.executor(snapshot);
        workbench
            .lend()
            .explain(&planned.plan, planned.facts, (options, &header), &statement)
            .await
    }
}
