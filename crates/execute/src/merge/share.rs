//! What each shard gets of a statement.

use plan::{Evaluated, Text};
use topology::ShardId;

use crate::executor::{Executor, Work, render, render_parts};
use crate::{ExecuteError, Known, Request};

/// One shard's part of a statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    /// The shard.
    pub(crate) shard: ShardId,
    /// Its text.
    pub(crate) text: String,
    /// For the rows of an INSERT: their places in the client's list.
    pub(crate) rows: Vec<usize>,
}

impl Executor<'_, '_> {
    /// The shares of a plan, in the order of the shards; a broadcast keeps the plan's own order.
    pub(crate) async fn shares(&mut self, work: Work<'_>) -> Result<Vec<Share>, ExecuteError> {
        let Work {
            plan,
            request,
            computed,
            ..
        } = work;
        if let Text::Rows { head, rows, tail } = &plan.text {
            let homes = self.homes(rows, request, computed).await?;
            let mut shards = homes.clone();
            shards.sort_unstable();
            shards.dedup();
            let share = |shard: ShardId| {
                let own: Vec<usize> = (0..rows.len()).filter(|at| homes[*at] == shard).collect();
                let texts: Vec<String> = own
                    .iter()
                    .map(|at| render_parts(&rows[*at].text, plan, computed))
                    .collect();
                let mut text = render_parts(head, plan, computed);
                text.push_str(&texts.join(", "));
                text.push_str(&render_parts(tail, plan, computed));
                Share {
                    shard,
                    text,
                    rows: own,
                }
            };
            return Ok(shards.into_iter().map(share).collect());
        }
        let shards = self.resolve(&plan.target, request, computed).await?;
        let text = render(&plan.text, plan, computed, request.text);
        let share = |shard| Share {
            shard,
            text: text.clone(),
            rows: Vec::new(),
        };
        Ok(shards.into_iter().map(share).collect())
    }

    async fn homes(
        &mut self,
        rows: &[plan::Row],
        request: &Request<'_>,
        computed: &[Option<String>],
    ) -> Result<Vec<ShardId>, ExecuteError> {
        let mut asked = Vec::new();
        loop {
            let known = Known {
                request,
                computed,
                asked: &asked,
            };
            match plan::evaluate_rows(rows, &known, &self.snapshot.topology)? {
                Evaluated::Known(homes) => return Ok(homes),
                Evaluated::Ask(asks) => asked = self.ask(&asks).await?,
            }
        }
    }
}
