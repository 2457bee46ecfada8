//! `EXPLAIN`: the distributed plan in the router's words, then what each shard says of its part.

use bytes::{Bytes, BytesMut};
use pg::{Format, oid};
use plan::{Compute, Effect, Facts, Plan};
use wire::backend::{Field, Message};

use crate::executor::{Executor, Ran, Work};
use crate::{ExecuteError, Request};

impl Executor<'_, '_> {
    /// Explains a plan. `options` is the client's text up to the statement, such as `EXPLAIN (COSTS off) `; `header` is the
    /// distributed plan; `is_run` says that ANALYZE runs the statement.
    ///
    /// # Errors
    /// What a shard says.
    ///
    /// # Cancel safety
    /// Not cancel safe.
    pub async fn explain(
        &mut self,
        plan: &Plan,
        facts: Facts,
        (options, header, is_run): (&str, &[String], bool),
        request: &Request<'_>,
    ) -> Result<Ran, ExecuteError> {
        // A statement that is only explained draws nothing: its computed values are NULL, or zero for a sequence.
        let computed = if is_run {
            self.compute(plan, request).await?
        } else {
            plan.compute.iter().map(standing_in).collect()
        };
        let shares = self
            .shares(Work {
                plan,
                facts,
                request,
                computed: &computed,
            })
            .await?;
        if is_run && plan.effect > Effect::Read && shares.len() > 1 {
            self.begin_implicit();
        }
        let mut lines: Vec<String> = header.to_vec();
        for share in &shares {
            let translation = self.hands.translation(share.shard).await?;
            let place = self.enlist(share.shard).await?;
            let participant = &mut self.hands.transaction.participants()[place];
            participant.note(plan.effect, facts);
            let text = format!("{options}{}", share.text);
            let request = Request {
                text: &text,
                row: None,
                ..*request
            };
            let backend = participant.backend();
            let rows = crate::ask::ask_with_request(backend, &text, &request, translation.as_ref())
                .await?;
            lines.push(format!(
                "  Shard {}",
                self.hands.environment.shard_name(share.shard)
            ));
            let texts = rows
                .into_iter()
                .filter_map(|row| row.into_iter().next().flatten());
            for text in texts {
                lines.extend(text.lines().map(|line| format!("    {line}")));
            }
        }
        self.say_lines(&lines, request.says_columns);
        Ok(Ran::Done {
            tag: Some(Bytes::from_static(b"EXPLAIN")),
        })
    }

    fn say_lines(&mut self, lines: &[String], says_columns: bool) {
        let output: &mut BytesMut = self.hands.client.output();
        if says_columns {
            let field = Field::computed("QUERY PLAN", oid::TEXT, -1, Format::Text);
            Message::RowDescription(vec![field]).encode(output);
        }
        for line in lines {
            wire::backend::data_row(output, std::iter::once(Some(line.as_bytes())));
        }
    }
}

fn standing_in(compute: &Compute) -> Option<String> {
    match compute {
        Compute::NextVal { .. } | Compute::CurrVal { .. } | Compute::LastVal => {
            Some("0".to_owned())
        }
        Compute::SetVal { .. } | Compute::Steady { .. } | Compute::Expression { .. } => None,
    }
}
