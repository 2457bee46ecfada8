//! What a plan computes once before any shard sees the statement: sequence values, clock readings, expressions.

use catalog::Relation;
use pg::{Diagnostic, Oid, SqlState};
use plan::{Compute, Plan, Unsupported, UnsupportedId};
use topology::SequencePlace;

use crate::ask::ask_with_request;
use crate::executor::Executor;
use crate::sequence::{SequenceName, Source};
use crate::{ExecuteError, Request};

impl Executor<'_, '_> {
    /// Every value of a plan's list, as text; `None` is NULL.
    pub(crate) async fn compute(
        &mut self,
        plan: &Plan,
        request: &Request<'_>,
    ) -> Result<Vec<Option<String>>, ExecuteError> {
        let mut computed = Vec::with_capacity(plan.compute.len());
        for compute in &plan.compute {
            let value = match compute {
                Compute::NextVal { sequence } => Some(self.next_value(*sequence).await?),
                Compute::CurrVal { sequence } => {
                    let name = self.relation(*sequence)?.name.clone();
                    Some(self.sequences.current(*sequence, &name)?.to_string())
                }
                Compute::LastVal => Some(self.sequences.last()?.to_string()),
                Compute::SetVal {
                    sequence,
                    arguments,
                } => self.set_value(*sequence, arguments, request).await?,
                Compute::Steady { param } => {
                    check_steady(*param, request)?;
                    None
                }
                Compute::Expression { sql, .. } => self.expression(sql, request).await?,
            };
            computed.push(value);
        }
        Ok(computed)
    }

    fn relation(&self, oid: Oid) -> Result<&Relation, Diagnostic> {
        let found = self.snapshot.catalog.relations.get(&oid);
        found.map(|relation| &**relation).ok_or_else(|| {
            let message = format!("sequence with OID {} does not exist", oid.0);
            Diagnostic::error(SqlState::UNDEFINED_TABLE, message)
        })
    }

    pub(crate) async fn next_value(&mut self, sequence: Oid) -> Result<String, ExecuteError> {
        let relation = self.relation(sequence)?;
        let (schema, name) = (relation.schema.clone(), relation.name.clone());
        let named = SequenceName {
            schema: &schema,
            name: &name,
            oid: sequence,
        };
        let database = self.hands.transaction.identity().database.clone();
        let place = self.snapshot.topology.sequence(&database, &schema, &name);
        let authority = self.snapshot.topology.authoritative_shard();
        let sees_own = self
            .hands
            .transaction
            .block()
            .is_some_and(|block| block.has_defined);
        let values = if sees_own && self.hands.transaction.holds(authority) {
            let place = self.enlist(authority).await?;
            let backend = self.hands.transaction.participants()[place].backend();
            let source = Source::Transaction(backend);
            self.hands
                .environment
                .sequences
                .next(source, named, (1, 1))
                .await
        } else {
            let source = Source::Authority {
                pools: self.hands.transaction.pools(),
                shard: authority,
                identity: self.hands.transaction.identity(),
                settings: self.hands.wanted.session,
                wait: self.hands.transaction.wait(),
            };
            self.hands
                .environment
                .sequences
                .next(source, named, (1, block_of(place)))
                .await
        };
        let values = values.map_err(|error| pg::Diagnose::to_diagnostic(&error))?;
        let value = values.first().copied().unwrap_or_default();
        self.sequences.note_next(sequence, value);
        Ok(value.to_string())
    }

    async fn set_value(
        &mut self,
        sequence: Oid,
        arguments: &str,
        request: &Request<'_>,
    ) -> Result<Option<String>, ExecuteError> {
        let relation = self.relation(sequence)?;
        let (schema, name) = (
            sql::quote_ident(&relation.schema),
            sql::quote_ident(&relation.name),
        );
        let name = format!("{schema}.{name}");
        let authority = self.snapshot.topology.authoritative_shard();
        let place = self.enlist(authority).await?;
        let backend = self.hands.transaction.participants()[place].backend();
        let query = format!(
            "SELECT pg_catalog.setval({}::pg_catalog.regclass, {arguments})",
            sql::quote_literal(&name)
        );
        let called = format!("SELECT is_called FROM {name}");
        let rows = ask_with_request(backend, &query, request, None).await?;
        let is_called = backend.simple(&called).await?;
        let is_called = is_called.first().and_then(pool::ResultSet::value) == Some("t");
        self.hands.environment.sequences.forget(sequence);
        let value = rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten();
        if let Some(value) = value.as_deref().and_then(|value| value.parse().ok())
            && is_called
        {
            self.sequences.note_set(sequence, value);
        }
        Ok(value)
    }

    async fn expression(
        &mut self,
        sql: &str,
        request: &Request<'_>,
    ) -> Result<Option<String>, ExecuteError> {
        let place = self.enlist_any().await?;
        let shard = self.hands.transaction.participants()[place].shard;
        let translation = self.hands.translation(shard).await?;
        let backend = self.hands.transaction.participants()[place].backend();
        let request = Request {
            row: None,
            ..*request
        };
        let query = format!("SELECT ({sql})");
        let rows = ask_with_request(backend, &query, &request, translation.as_ref()).await?;
        self.hands.transaction.release().await;
        Ok(rows
            .into_iter()
            .next()
            .and_then(|row| row.into_iter().next())
            .flatten())
    }
}

/// How many values are fetched at a time: one, unless the document declares the sequence.
fn block_of(place: SequencePlace) -> u32 {
    place.block.max(1)
}

/// A bound text such as `now` would be read by each copy's own clock.
fn check_steady(param: u32, request: &Request<'_>) -> Result<(), ExecuteError> {
    let index = usize::try_from(param).unwrap_or(0).wrapping_sub(1);
    let value = request.bind.and_then(|bind| bind.parameter(index));
    let text = match value {
        Some((Some(bytes), pg::Format::Text)) => std::str::from_utf8(bytes).unwrap_or_default(),
        _ => "",
    };
    if plan::is_clock_word(text) {
        return Err(
            plan::PlanError::from(Unsupported::new(UnsupportedId::ReferenceVolatile)).into(),
        );
    }
    Ok(())
}
