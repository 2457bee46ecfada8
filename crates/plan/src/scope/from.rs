//! `FROM`: row sources, joins, views and common table expressions.

use std::ops::Range;
use std::sync::Arc;

use catalog::Relation;
use sql::ast::{Alias, Body, Expr, ExprKind, FromItem, Join, JoinKind, Query, TableRef};

use super::{
    Analysis, Attribute, BlockId, Column, CteBody, Environment, Here, Item, KeyPart, Meaning,
    Output, Position, Scope, Use,
};
use crate::key::{Class, opaque_where_case_is_odd};
use crate::place::{self, Named, Place};
use crate::{PlanError, Unsupported, UnsupportedId, session};

/// Deepest nesting of views that is followed; PostgreSQL's own is bounded by its stack.
const VIEW_DEPTH_MAX: usize = 50;

/// What an entry of `FROM` adds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Joined {
    pub(crate) items: Vec<Item>,
    /// The columns of `*`, in order.
    pub(crate) star: Vec<Column>,
}

/// Where an entry of `FROM` stands.
#[derive(Clone, Copy)]
pub(crate) struct Standing<'s> {
    pub(crate) environment: Environment<'s>,
    pub(crate) block: BlockId,
    /// Entries to the left, which `LATERAL` and functions see.
    pub(crate) left: &'s [Item],
    pub(crate) is_preserved: bool,
    /// Column names that `WHERE` compares strictly.
    pub(crate) strict: &'s [&'s [String]],
}

impl Analysis<'_> {
    pub(crate) fn source_item(
        &mut self,
        item: &FromItem,
        at: Standing<'_>,
    ) -> Result<Joined, PlanError> {
        let lateral_scope = Scope {
            items: at.left,
            parent: at.environment.scope,
        };
        match item {
            FromItem::Table(table) => self.table(table, at),
            FromItem::Join(join) => self.join(join, at),
            FromItem::Subquery {
                lateral,
                query,
                alias,
            } => {
                let mut environment = at.environment;
                if *lateral {
                    environment.scope = Some(&lateral_scope);
                }
                self.derived(query, environment, alias.as_ref(), at)
            }
            FromItem::Function { calls, alias, .. } => {
                self.expressions(calls, at.here(&lateral_scope))?;
                Ok(open(alias.as_ref(), calls.first().and_then(called)))
            }
            FromItem::Sample { item, arguments } => {
                self.traits.has_sample = true;
                self.expressions(arguments, at.here(&lateral_scope))?;
                self.source_item(item, at)
            }
            FromItem::Other {
                children, alias, ..
            } => {
                self.expressions(children, at.here(&lateral_scope))?;
                Ok(open(alias.as_ref(), None))
            }
        }
    }

    pub(crate) fn table(
        &mut self,
        table: &TableRef,
        at: Standing<'_>,
    ) -> Result<Joined, PlanError> {
        let last = table.name.parts.last().map_or("", String::as_str);
        if table.name.parts.len() == 1
            && let Some(cte) = at.environment.ctes.and_then(|ctes| ctes.named(last))
        {
            cte.is_referenced.set(true);
            if let CteBody::Query { cte, environment } = &cte.body
                && let Body::Query(query) = &*cte.body
            {
                let alias = cte_alias(&cte.name, &cte.columns, table.alias.as_ref());
                return self.derived(query, *environment, Some(&alias), at);
            }
            return Ok(open(table.alias.as_ref(), Some(last)));
        }
        session::check_table(self.context, &table.name)?;
        let place = if self.is_system(table) {
            Place::Catalog
        } else if let Some(relation) = self.named(table, at.environment)? {
            return self.relation(&relation, table.alias.as_ref(), at);
        } else {
            Place::Temporary
        };
        self.uses.push(Use {
            name: last.to_owned(),
            label: table
                .alias
                .as_ref()
                .map_or(last, |alias| &alias.name)
                .to_owned(),
            place,
            relation: None,
            parts: Vec::new(),
            block: at.block,
            is_preserved: at.is_preserved,
            is_written: false,
            is_target: false,
            is_inserted: false,
        });
        Ok(open(table.alias.as_ref(), Some(last)))
    }

    /// One of PostgreSQL's own relations that the snapshot doesn't hold.
    fn is_system(&self, table: &TableRef) -> bool {
        let is_named_so = match table.name.parts.as_slice() {
            [single] => single.starts_with("pg_") && !self.context.temporary.contains(single),
            [.., schema, _] => place::SYSTEM_SCHEMAS.contains(&schema.as_str()),
            [] => false,
        };
        let catalog = self.context.catalog;
        is_named_so
            && catalog
                .relation(&table.name.parts, self.context.search_path)
                .is_none()
    }

    /// `None` is a temporary table.
    fn named(
        &self,
        table: &TableRef,
        environment: Environment<'_>,
    ) -> Result<Option<Arc<Relation>>, PlanError> {
        let Some(view) = environment.view else {
            return Ok(
                match place::resolve(self.context, &table.name, self.source)? {
                    Named::Known(relation) => Some(Arc::clone(relation)),
                    Named::Temporary => None,
                },
            );
        };
        // A view's definition names relations as they were when it was printed; what it reads is known by number.
        let parts = &table.name.parts;
        let last = parts.last().map_or("", String::as_str);
        let schema = parts.len().checked_sub(2).map(|at| &parts[at]);
        let relations = &self.context.catalog.relations;
        let mut read = view.reads.iter().filter_map(|oid| relations.get(oid));
        let is_it = |relation: &&Arc<Relation>| {
            relation.name == last && schema.is_none_or(|schema| relation.schema == *schema)
        };
        if let Some(found) = read.find(is_it) {
            return Ok(Some(Arc::clone(found)));
        }
        let system = ["pg_catalog".to_owned()];
        let found = self.context.catalog.relation(parts, &system).cloned();
        found.map(Some).ok_or_else(|| PlanError::UndefinedTable {
            name: parts.join("."),
            position: None,
        })
    }

    fn relation(
        &mut self,
        relation: &Arc<Relation>,
        alias: Option<&Alias>,
        at: Standing<'_>,
    ) -> Result<Joined, PlanError> {
        let place = place::place(self.context, relation)?;
        if place == Place::View {
            return self.view(relation, alias, at);
        }
        let name = format!("{}.{}", relation.schema, relation.name);
        if self.context.is_spread() && matches!(place, Place::Sharded(_)) {
            if relation.has_row_security {
                return Err(Unsupported::about(UnsupportedId::RowSecurity, name).into());
            }
            if relation.has_rules {
                return Err(Unsupported::about(UnsupportedId::Rule, name).into());
            }
        }
        let columns: Vec<Column> = relation
            .columns
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                attribute: self.column_attribute(column),
            })
            .collect();
        let parts = self.key_parts(&place, &columns);
        self.uses.push(Use {
            name,
            label: alias.map_or(&relation.name, |alias| &alias.name).clone(),
            place,
            relation: Some(Arc::clone(relation)),
            parts,
            block: at.block,
            is_preserved: at.is_preserved,
            is_written: false,
            is_target: false,
            is_inserted: false,
        });
        let mut item = Item {
            name: relation.name.clone(),
            schema: Some(relation.schema.clone()),
            columns,
            merged: Vec::new(),
            is_open: false,
        };
        rename(&mut item, alias);
        Ok(Joined {
            star: item.columns.clone(),
            items: vec![item],
        })
    }

    fn key_parts(&mut self, place: &Place, columns: &[Column]) -> Vec<KeyPart> {
        let Place::Sharded(sharded) = place else {
            return Vec::new();
        };
        let attribute = |name: &str| {
            let column = columns.iter().find(|column| column.name == name);
            column.map(|column| column.attribute)
        };
        let plain = self.context.catalog.ascii_case_is_plain;
        let mut parts = Vec::new();
        for part in sharded.key.parts() {
            let column = match part.columns().as_slice() {
                [single] => attribute(single),
                _ => None,
            };
            if part.as_column().is_some() {
                let whole = column.unwrap_or_else(|| self.attribute(Attribute::default()));
                parts.push(KeyPart {
                    whole,
                    column: None,
                    expression: None,
                });
                continue;
            }
            let known = column.map(|column| self.attributes[column].clone());
            let class = known
                .as_ref()
                .and_then(|column| column.class?.of_expression(part));
            let whole = self.attribute(Attribute {
                type_oid: None,
                collation: known.and_then(|column| column.collation),
                class,
            });
            parts.push(KeyPart {
                whole,
                column: column.filter(|_| class.is_some()),
                expression: Some(opaque_where_case_is_odd(part, plain)),
            });
        }
        parts
    }

    fn view(
        &mut self,
        relation: &Arc<Relation>,
        alias: Option<&Alias>,
        at: Standing<'_>,
    ) -> Result<Joined, PlanError> {
        let refused = || {
            let name = format!("view {}.{}", relation.schema, relation.name);
            PlanError::from(Unsupported::about(UnsupportedId::Statement, name))
        };
        if self.view_depth >= VIEW_DEPTH_MAX {
            return Err(refused());
        }
        let definition = relation.definition.as_deref().ok_or_else(refused)?;
        let statements = sql::parse(definition).map_err(|_error| refused())?;
        let [statement] = statements.as_slice() else {
            return Err(refused());
        };
        let Body::Query(query) = &statement.body else {
            return Err(refused());
        };
        let columns = relation.columns.iter().map(|column| column.name.clone());
        let named = cte_alias(&relation.name, &columns.collect::<Vec<_>>(), alias);
        let environment = Environment {
            scope: None,
            ctes: None,
            view: Some(relation),
        };
        self.view_depth += 1;
        let joined = self.derived(query, environment, Some(&named), at);
        self.view_depth -= 1;
        let mut joined = joined?;
        for item in &mut joined.items {
            item.schema = alias.is_none().then(|| relation.schema.clone());
            for (column, known) in item.columns.iter().zip(&relation.columns) {
                let attribute = &mut self.attributes[column.attribute];
                attribute.type_oid = Some(known.type_oid);
                attribute.collation.clone_from(&known.collation);
                attribute.class = Class::of_column(self.context.catalog, known);
            }
        }
        Ok(joined)
    }

    /// A query as a row source.
    fn derived(
        &mut self,
        query: &Query,
        environment: Environment<'_>,
        alias: Option<&Alias>,
        at: Standing<'_>,
    ) -> Result<Joined, PlanError> {
        let position = Position {
            parent: Some(at.block),
            is_spine: at.is_preserved && self.blocks[at.block].is_spine,
        };
        let output = self.query(query, environment, position)?;
        let mut item = self.item_of(&output);
        rename(&mut item, alias);
        Ok(Joined {
            star: item.columns.clone(),
            items: vec![item],
        })
    }

    /// The columns of a query's result as attributes of their own.
    pub(crate) fn item_of(&mut self, output: &Output) -> Item {
        let mut columns = Vec::with_capacity(output.columns.len());
        for column in &output.columns {
            let inner = column.attribute;
            let attribute = self.attribute(column.known.clone());
            if let Some(inner) = inner {
                self.edges.push((inner, attribute));
                if column.is_pushable {
                    self.edges.push((attribute, inner));
                }
            }
            columns.push(Column {
                name: column.name.clone(),
                attribute,
            });
        }
        Item {
            name: String::new(),
            schema: None,
            columns,
            merged: Vec::new(),
            is_open: output.is_open,
        }
    }

    fn join(&mut self, join: &Join, at: Standing<'_>) -> Result<Joined, PlanError> {
        let keeps_left = !matches!(join.kind, JoinKind::Right | JoinKind::Full);
        let keeps_right = !matches!(join.kind, JoinKind::Left | JoinKind::Full);
        let (start, first_use) = (self.attributes.len(), self.uses.len());
        let mut side = at;
        side.is_preserved = at.is_preserved && keeps_left;
        let left = self.source_item(&join.left, side)?;
        let (middle, middle_use) = (self.attributes.len(), self.uses.len());
        let mut visible = at.left.to_vec();
        visible.extend_from_slice(&left.items);
        let side = Standing {
            left: &visible,
            is_preserved: at.is_preserved && keeps_right,
            ..at
        };
        let right = self.source_item(&join.right, side)?;
        let end = self.attributes.len();
        // A strict comparison in WHERE drops the rows that the outer join would have added, so it is an inner one.
        let kind = match join.kind {
            JoinKind::Left if is_compared(at.strict, &right, &left) => {
                self.preserve(middle_use..self.uses.len(), at);
                JoinKind::Inner
            }
            JoinKind::Right if is_compared(at.strict, &left, &right) => {
                self.preserve(first_use..middle_use, at);
                JoinKind::Inner
            }
            kind => kind,
        };
        self.traits.has_full_join |= kind == JoinKind::Full;
        let allowed = match kind {
            JoinKind::Inner => start..end,
            JoinKind::Left => middle..end,
            JoinKind::Right => start..middle,
            JoinKind::Full => 0..0,
        };
        let (star, merged) = self.merge_columns(join, kind, (&left, &right), &allowed);
        let mut items = left.items;
        items.extend(right.items);
        if let Some(on) = &join.on {
            let scope = Scope {
                items: &items,
                parent: at.environment.scope,
            };
            self.condition(on, at.here(&scope), &allowed)?;
        }
        Ok(named_join(join, items, star, merged))
    }

    /// Tables of a side that turned out to be joined inner.
    fn preserve(&mut self, range: Range<usize>, at: Standing<'_>) {
        for table in &mut self.uses[range] {
            if table.block == at.block {
                table.is_preserved |= at.is_preserved;
            }
        }
    }

    /// `*` of the join, and what `USING` or `NATURAL` merged.
    fn merge_columns(
        &mut self,
        join: &Join,
        kind: JoinKind,
        (left, right): (&Joined, &Joined),
        allowed: &Range<usize>,
    ) -> (Vec<Column>, Vec<Column>) {
        let is_right = |name: &String| right.star.iter().any(|column| column.name == *name);
        let names: Vec<String> = if join.natural {
            let names = left.star.iter().map(|column| column.name.clone());
            names.filter(is_right).collect()
        } else {
            join.using.clone()
        };
        let mut merged = Vec::new();
        for name in &names {
            let a = left.star.iter().find(|column| column.name == *name);
            let b = right.star.iter().find(|column| column.name == *name);
            let (Some(a), Some(b)) = (a, b) else {
                continue;
            };
            self.equal(a.attribute, b.attribute, allowed);
            let attribute = match kind {
                JoinKind::Inner | JoinKind::Left => a.attribute,
                JoinKind::Right => b.attribute,
                JoinKind::Full => self.attribute(Attribute::default()),
            };
            merged.push(Column {
                name: name.clone(),
                attribute,
            });
        }
        let rest = left.star.iter().chain(&right.star);
        let rest = rest.filter(|column| !names.contains(&column.name)).cloned();
        (merged.iter().cloned().chain(rest).collect(), merged)
    }
}

// === impl Standing ===

impl<'s> Standing<'s> {
    fn here(self, scope: &'s Scope<'s>) -> Here<'s> {
        Here {
            scope,
            environment: self.environment,
            block: self.block,
            windows: &[],
        }
    }
}

/// The row sources that names above the join see.
fn named_join(
    join: &Join,
    mut items: Vec<Item>,
    mut star: Vec<Column>,
    merged: Vec<Column>,
) -> Joined {
    let mut whole = Item {
        name: String::new(),
        schema: None,
        columns: merged,
        merged: Vec::new(),
        is_open: false,
    };
    if join.alias.is_some() {
        whole.columns.clone_from(&star);
        whole.is_open = items.iter().any(|item| item.is_open);
        rename(&mut whole, join.alias.as_ref());
        star.clone_from(&whole.columns);
        items = vec![whole];
    } else if !whole.columns.is_empty() {
        let names: Vec<String> = whole
            .columns
            .iter()
            .map(|column| column.name.clone())
            .collect();
        for item in &mut items {
            item.merged.extend_from_slice(&names);
        }
        items.push(whole);
    }
    Joined { items, star }
}

/// Whether `WHERE` compares a column of the nullable side strictly.
fn is_compared(strict: &[&[String]], nullable: &Joined, other: &Joined) -> bool {
    let scope = |joined| Scope {
        items: joined,
        parent: None,
    };
    let (nullable, other) = (scope(&nullable.items), scope(&other.items));
    strict.iter().any(|parts| {
        matches!(nullable.column(parts), Meaning::Local(_))
            && other.column(parts) == Meaning::Unknown
            && !other.items.iter().any(|item| item.is_open)
    })
}

fn cte_alias(name: &str, columns: &[String], alias: Option<&Alias>) -> Alias {
    let mut named = Alias {
        name: name.to_owned(),
        columns: columns.to_vec(),
    };
    if let Some(alias) = alias {
        named.name.clone_from(&alias.name);
        for (at, column) in alias.columns.iter().enumerate() {
            match named.columns.get_mut(at) {
                Some(slot) => slot.clone_from(column),
                None => named.columns.push(column.clone()),
            }
        }
    }
    named
}

fn rename(item: &mut Item, alias: Option<&Alias>) {
    let Some(alias) = alias else {
        return;
    };
    item.name.clone_from(&alias.name);
    item.schema = None;
    for (column, name) in item.columns.iter_mut().zip(&alias.columns) {
        column.name.clone_from(name);
    }
}

/// A row source whose columns aren't followed.
fn open(alias: Option<&Alias>, name: Option<&str>) -> Joined {
    let name = alias
        .map(|alias| alias.name.clone())
        .or_else(|| name.map(str::to_owned));
    let item = Item {
        name: name.unwrap_or_default(),
        schema: None,
        columns: Vec::new(),
        merged: Vec::new(),
        is_open: true,
    };
    Joined {
        items: vec![item],
        star: Vec::new(),
    }
}

fn called(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Call(call) => call.name.parts.last().map(String::as_str),
        _ => None,
    }
}
