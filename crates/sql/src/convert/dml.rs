//! `INSERT`, `UPDATE`, `DELETE`, `MERGE`.

use pg_raw_parse::raw::{CmdType, OnConflictAction, OverridingKind, SetOperation};
use pg_raw_parse::{Node, nodes};

use super::{Converter, Result, Stop, location, owned, required, table, text};
use crate::ast;

impl Converter<'_> {
    pub(super) fn insert(&self, insert: &nodes::InsertStmt) -> Result<ast::Insert> {
        let columns = insert
            .cols()
            .iter()
            .map(|column| self.insert_column(column))
            .collect::<Result<_>>()?;
        Ok(ast::Insert {
            with: self.with(insert.with_clause())?,
            table: table(required(insert.relation())?),
            source: self.insert_source(insert)?,
            columns,
            overriding_system: match insert.override_ {
                OverridingKind::OVERRIDING_SYSTEM_VALUE => Some(true),
                OverridingKind::OVERRIDING_USER_VALUE => Some(false),
                _ => None,
            },
            on_conflict: insert
                .on_conflict_clause()
                .map(|clause| self.on_conflict(clause))
                .transpose()?,
            returning: self.returning(insert.returning_clause())?,
        })
    }

    fn insert_source(&self, insert: &nodes::InsertStmt) -> Result<ast::InsertSource> {
        let select = match insert.select_stmt() {
            Node::None => return Ok(ast::InsertSource::Default),
            Node::SelectStmt(select) => select,
            _ => return Err(Stop::Unexpected("an INSERT without a query")),
        };
        let plain = select.op == SetOperation::SETOP_NONE
            && !select.values_lists().is_empty()
            && select.sort_clause().is_empty()
            && select.locking_clause().is_empty()
            && select.with_clause().is_none()
            && matches!(select.limit_count(), Node::None)
            && matches!(select.limit_offset(), Node::None);
        if plain {
            let spans = self.row_spans(insert).unwrap_or_default();
            if spans.len() == select.values_lists().len() {
                let rows = self.nested(|| self.rows(select.values_lists()))?;
                return Ok(ast::InsertSource::Values { rows, spans });
            }
        }
        Ok(ast::InsertSource::Query(Box::new(self.query(select)?)))
    }

    /// The rows behind `INTO table [AS alias] [(columns)] [OVERRIDING ... VALUE] [(] VALUES`.
    fn row_spans(&self, insert: &nodes::InsertStmt) -> Option<Vec<ast::Span>> {
        let first = self.source.at(location(insert.relation()?.location)?)?;
        let mut index = self.source.after_name(first);
        if self.source.is_word(index, "as") {
            index += 2;
        }
        if !insert.cols().is_empty() {
            index = self.source.after_brackets(index);
        }
        if self.source.is_word(index, "overriding") {
            index += 3;
        }
        while self.source.is(index, "(") {
            index += 1;
        }
        if !self.source.is_word(index, "values") {
            return None;
        }
        let mut spans = Vec::new();
        loop {
            let open = index + 1;
            let close = self.source.partner(open)?;
            spans.push(ast::Span {
                start: self.source.get(open)?.span.start,
                end: self.source.get(close)?.span.end,
            });
            index = close + 1;
            if !self.source.is(index, ",") {
                return Some(spans);
            }
        }
    }

    fn on_conflict(&self, clause: &nodes::OnConflictClause) -> Result<ast::OnConflict> {
        let mut target = Vec::new();
        let infer = clause.infer();
        for element in infer.iter().flat_map(|infer| infer.index_elems()) {
            if let Node::IndexElem(element) = element {
                target.push(self.index_element(element)?);
            }
        }
        let update = if clause.action == OnConflictAction::ONCONFLICT_UPDATE {
            Some(self.assignments(clause.target_list().iter())?)
        } else {
            None
        };
        Ok(ast::OnConflict {
            target,
            target_filter: match infer {
                Some(infer) => self.optional(infer.where_clause())?,
                None => None,
            },
            constraint: infer.and_then(|infer| owned(infer.conname())),
            update,
            filter: self.optional(clause.where_clause())?,
        })
    }

    /// A column of an index as a column reference, or its expression.
    fn index_element(&self, element: &nodes::IndexElem) -> Result<ast::Expr> {
        match element.name() {
            Some(column) => Ok(ast::Expr {
                kind: ast::ExprKind::Column(super::named(vec![column.to_owned()], None)),
                location: None,
            }),
            None => self.expr(element.expr()),
        }
    }

    pub(super) fn returning(
        &self,
        clause: Option<&nodes::ReturningClause>,
    ) -> Result<Vec<ast::Target>> {
        let Some(clause) = clause else {
            return Ok(Vec::new());
        };
        let mut targets = Vec::with_capacity(clause.exprs().len());
        for node in clause.exprs() {
            let Node::ResTarget(target) = node else {
                return Err(Stop::Unexpected("an unknown entry of RETURNING"));
            };
            targets.extend(self.targets(std::iter::once(target))?);
        }
        Ok(targets)
    }

    /// `SET` of an `UPDATE`. The columns of `(a, b) = ...` share one source, which comes out once.
    pub(super) fn assignments<'n>(
        &self,
        list: impl Iterator<Item = &'n nodes::ResTarget>,
    ) -> Result<Vec<ast::Assignment>> {
        let mut assignments: Vec<ast::Assignment> = Vec::new();
        for target in list {
            let has_indirection = !target.indirection().is_empty();
            let column = text(target.name());
            let value = match target.val() {
                Node::MultiAssignRef(multiple) if multiple.colno > 1 => {
                    let earlier = assignments
                        .last_mut()
                        .ok_or(Stop::Unexpected("an assignment without its source"))?;
                    earlier.columns.push(column);
                    earlier.has_indirection |= has_indirection;
                    earlier.indirection.extend(self.subscripts(target)?);
                    continue;
                }
                Node::MultiAssignRef(multiple) => self.expr(multiple.source())?,
                node => self.expr(node)?,
            };
            assignments.push(ast::Assignment {
                columns: vec![column],
                has_indirection,
                indirection: self.subscripts(target)?,
                value,
                location: location(target.location),
            });
        }
        Ok(assignments)
    }

    pub(super) fn update(&self, update: &nodes::UpdateStmt) -> Result<ast::Update> {
        Ok(ast::Update {
            with: self.with(update.with_clause())?,
            table: table(required(update.relation())?),
            assignments: self.assignments(update.target_list().iter())?,
            from: self.items_of_from(update.from_clause())?,
            filter: self.optional(update.where_clause())?,
            returning: self.returning(update.returning_clause())?,
        })
    }

    pub(super) fn delete(&self, delete: &nodes::DeleteStmt) -> Result<ast::Delete> {
        Ok(ast::Delete {
            with: self.with(delete.with_clause())?,
            table: table(required(delete.relation())?),
            using: self.items_of_from(delete.using_clause())?,
            filter: self.optional(delete.where_clause())?,
            returning: self.returning(delete.returning_clause())?,
        })
    }

    pub(super) fn merge(&self, merge: &nodes::MergeStmt) -> Result<ast::Merge> {
        let mut converted = ast::Merge {
            with: self.with(merge.with_clause())?,
            table: table(required(merge.relation())?),
            source: self.item_of_from(merge.source_relation())?,
            on: self.expr(merge.join_condition())?,
            children: Vec::new(),
            updates: Vec::new(),
            inserts: Vec::new(),
            returning: self.returning(merge.returning_clause())?,
        };
        for clause in merge.merge_when_clauses() {
            self.merge_when(clause, &mut converted)?;
        }
        Ok(converted)
    }

    fn merge_when(&self, clause: &nodes::MergeWhenClause, merge: &mut ast::Merge) -> Result<()> {
        merge.children.extend(self.optional(clause.condition())?);
        let targets = || {
            clause.target_list().iter().filter_map(|node| match node {
                Node::ResTarget(target) => Some(target),
                _ => None,
            })
        };
        match clause.command_type {
            CmdType::CMD_UPDATE => {
                let assignments = self.assignments(targets())?;
                merge.children.extend(
                    assignments
                        .iter()
                        .map(|assignment| assignment.value.clone()),
                );
                merge.updates.extend(assignments);
            }
            CmdType::CMD_INSERT => {
                let columns = targets().map(|target| text(target.name())).collect();
                let values = self.exprs(clause.values())?;
                merge.children.extend(values.iter().cloned());
                merge.inserts.push((columns, values));
            }
            _ => {}
        }
        Ok(())
    }

    fn insert_column(&self, node: Node<'_>) -> Result<ast::InsertColumn> {
        let Node::ResTarget(target) = node else {
            return Err(Stop::Unexpected("an unknown column of INSERT"));
        };
        Ok(ast::InsertColumn {
            name: text(target.name()),
            has_indirection: !target.indirection().is_empty(),
            indirection: self.subscripts(target)?,
            location: location(target.location),
        })
    }

    /// Expressions of what follows an assigned column's name.
    fn subscripts(&self, target: &nodes::ResTarget) -> Result<Vec<ast::Expr>> {
        let mut found = Vec::new();
        for step in target.indirection() {
            if let Node::A_Indices(indices) = step {
                found.extend(self.optional(indices.lidx())?);
                found.extend(self.optional(indices.uidx())?);
            }
        }
        Ok(found)
    }
}
