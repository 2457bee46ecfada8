//! What a write reads besides its own table. Invariant: a table that isn't whole where the statement runs is never read there.

use catalog::Relation;
use sql::ast::{self, Body};
use topology::ShardId;

use super::{Goal, Written, trigger};
use crate::function::{self, Class};
use crate::place::{self, Named, Place};
use crate::plan::Facts;
use crate::volatile::tree::{self, Node};
use crate::{Context, PlanError, UnsupportedId, refuse};

/// What the parts of a statement need.
#[derive(Debug, Default)]
pub(super) struct Needs<'a> {
    /// Tables that are read, and written inside `WITH`; names of `WITH` queries that no table has are left out.
    reads: Vec<&'a ast::TableRef>,
    /// Tables that are written inside `WITH`.
    inner_writes: Vec<&'a ast::TableRef>,
    calls: Vec<&'a ast::Call>,
    operators: Vec<&'a ast::Name>,
    cte_names: Vec<&'a str>,
}

// === impl Needs ===

impl<'a> Needs<'a> {
    /// The needs of a statement; its own target is not among them.
    pub(super) fn of(body: &'a Body) -> Self {
        let mut needs = Self::default();
        let own = target(body);
        tree::walk_body(body, &mut |node| {
            match node {
                Node::Table(table) if own.is_some_and(|own| std::ptr::eq(own, table)) => {}
                Node::Table(table) => needs.reads.push(table),
                Node::Expr(ast::Expr {
                    kind: ast::ExprKind::Call(call),
                    ..
                }) => {
                    needs.calls.push(call);
                    // The sequence that `currval(pg_get_serial_sequence('t', 'c'))` names is the router's to find.
                    return !is_sequence_call(call);
                }
                Node::Expr(ast::Expr {
                    kind: ast::ExprKind::Operator { name, .. } | ast::ExprKind::AnyAll { name, .. },
                    ..
                }) => needs.operators.push(name),
                Node::Body(inner) if !std::ptr::eq(inner, body) => {
                    needs.inner_writes.extend(target(inner));
                }
                Node::Query(query) => needs.add_with(query.with.as_ref()),
                Node::Body(_) | Node::Expr(_) => {}
            }
            true
        });
        needs.add_with(with_of(body));
        needs
    }

    fn add_with(&mut self, with: Option<&'a ast::With>) {
        self.cte_names.extend(
            with.into_iter()
                .flat_map(|with| &with.ctes)
                .map(|cte| cte.name.as_str()),
        );
    }

    /// No table is read.
    pub(super) fn reads_nothing(&self, cx: &Context<'_>) -> bool {
        self.reads.iter().all(|table| self.is_cte(cx, table))
    }

    /// Something is written besides the statement's own table.
    pub(super) fn writes_inside(&self) -> bool {
        !self.inner_writes.is_empty()
    }

    fn is_cte(&self, cx: &Context<'_>, table: &ast::TableRef) -> bool {
        matches!(table.name.parts.as_slice(), [name] if self.cte_names.contains(&name.as_str()))
            && cx
                .catalog
                .relation(&table.name.parts, cx.search_path)
                .is_none()
    }

    /// Every table that is read is whole on each of `shards`.
    ///
    /// # Errors
    ///
    /// `id`, naming the table that isn't.
    pub(super) fn are_whole_on(
        &self,
        written: &Written<'_>,
        shards: &[ShardId],
        id: UnsupportedId,
    ) -> Result<(), PlanError> {
        for table in &self.reads {
            if self.is_cte(written.cx, table) {
                continue;
            }
            let is_whole = match place::resolve(written.cx, &table.name, written.source)? {
                Named::Temporary => false,
                Named::Known(relation) => is_whole(written.cx, relation, shards)?,
            };
            if !is_whole {
                return Err(refuse(id, table.name.parts.join(".")));
            }
        }
        Ok(())
    }

    /// Every table that is read is temporary, or whole on the shard that the session's own backend is on.
    ///
    /// # Errors
    ///
    /// One isn't.
    pub(super) fn are_whole_beside_temporary(
        &self,
        written: &Written<'_>,
        shard: ShardId,
    ) -> Result<(), PlanError> {
        for table in self
            .reads
            .iter()
            .filter(|table| !self.is_cte(written.cx, table))
        {
            if let Named::Known(relation) = place::resolve(written.cx, &table.name, written.source)?
                && !is_whole(written.cx, relation, &[shard])?
            {
                return Err(refuse(
                    UnsupportedId::UnshardedJoin,
                    table.name.parts.join("."),
                ));
            }
        }
        Ok(())
    }

    /// Tables written inside `WITH` live on this shard alone.
    ///
    /// # Errors
    ///
    /// One doesn't.
    pub(super) fn inner_writes_are_on(
        &self,
        written: &Written<'_>,
        shard: ShardId,
    ) -> Result<(), PlanError> {
        for table in &self.inner_writes {
            let Named::Known(relation) = place::resolve(written.cx, &table.name, written.source)?
            else {
                continue;
            };
            let is_here = written.cx.topology.shards().len() == 1
                || matches!(place::place(written.cx, relation)?, Place::Shard(home) if home == shard);
            if !is_here {
                return Err(refuse(
                    UnsupportedId::WriteInCte,
                    table.name.parts.join("."),
                ));
            }
            trigger::check(written.cx, &Goal::Alone(shard), relation, trigger::ANY)?;
        }
        Ok(())
    }

    /// What the calls mean for the session. Where the statement goes to several shards none may have an effect.
    ///
    /// # Errors
    ///
    /// A function may look at sharded tables, or has an effect on a session that several backends serve.
    pub(super) fn check_calls(
        &self,
        cx: &Context<'_>,
        is_one_shard: bool,
    ) -> Result<Facts, PlanError> {
        let mut facts = Facts::default();
        let is_alone = cx.topology.shards().len() == 1;
        let theirs = self.operators.iter().find(|name| {
            let is_system = name
                .parts
                .first()
                .is_some_and(|schema| schema == "pg_catalog");
            !is_system
                && name
                    .parts
                    .last()
                    .is_some_and(|name| cx.catalog.user_operators.contains(name))
        });
        if let Some(name) = theirs
            && !is_alone
            && !function::every_function_is_proven(cx)
        {
            return Err(refuse(UnsupportedId::OperatorUser, name.parts.join(".")));
        }
        for call in &self.calls {
            let name = call.name.parts.join(".");
            match function::classify(cx, call) {
                Class::Authority if !is_one_shard => {
                    return Err(refuse(UnsupportedId::FunctionPlace, name));
                }
                Class::Pinning if is_one_shard => facts.pins = true,
                Class::Notify if is_one_shard => facts.unpreparable = true,
                Class::SetConfig if is_one_shard => facts.sets_config = true,
                Class::Pinning | Class::Notify | Class::SetConfig => {
                    return Err(refuse(UnsupportedId::FunctionEffect, name));
                }
                Class::Snapshot => return Err(refuse(UnsupportedId::SnapshotExport, name)),
                Class::Dynamic if !is_alone => {
                    return Err(refuse(UnsupportedId::FunctionDynamic, name));
                }
                Class::Unproven if !is_alone => {
                    return Err(refuse(UnsupportedId::FunctionUser, name));
                }
                Class::Free
                | Class::Fresh
                | Class::Clock
                | Class::Sequence
                | Class::Authority
                | Class::Dynamic
                | Class::Unproven => {}
                Class::Unknown => {
                    return Err(PlanError::UndefinedFunction {
                        name,
                        position: None,
                    });
                }
            }
        }
        Ok(facts)
    }
}

fn is_sequence_call(call: &ast::Call) -> bool {
    let name = call.name.parts.last().map_or("", String::as_str);
    matches!(name, "nextval" | "currval") && call.arguments.len() == 1
}

/// The table that a statement writes.
fn target(body: &Body) -> Option<&ast::TableRef> {
    match body {
        Body::Insert(insert) => Some(&insert.table),
        Body::Update(update) => Some(&update.table),
        Body::Delete(delete) => Some(&delete.table),
        Body::Merge(merge) => Some(&merge.table),
        _ => None,
    }
}

/// The `WITH` of a write.
pub(super) fn with_of(body: &Body) -> Option<&ast::With> {
    match body {
        Body::Insert(insert) => insert.with.as_ref(),
        Body::Update(update) => update.with.as_ref(),
        Body::Delete(delete) => delete.with.as_ref(),
        Body::Merge(merge) => merge.with.as_ref(),
        _ => None,
    }
}

/// Whether each of these shards holds all rows of a relation.
pub(crate) fn is_whole(
    cx: &Context<'_>,
    relation: &Relation,
    shards: &[ShardId],
) -> Result<bool, PlanError> {
    if cx.topology.shards().len() == 1 {
        return Ok(true);
    }
    let authority = cx.topology.authoritative_shard();
    Ok(match place::place(cx, relation)? {
        Place::Sharded(_) | Place::Temporary => false,
        Place::Reference(reference) => shards.iter().all(|shard| reference.shards.contains(shard)),
        Place::Copies(copies) => shards.iter().all(|shard| copies.contains(shard)),
        Place::Shard(home) => shards.iter().all(|shard| *shard == home),
        Place::Catalog => shards.iter().all(|shard| *shard == authority),
        Place::View => {
            for oid in place::base_relations(cx, relation) {
                match cx.catalog.relations.get(&oid) {
                    Some(read) if is_whole(cx, read, shards)? => {}
                    _ => return Ok(false),
                }
            }
            true
        }
    })
}
