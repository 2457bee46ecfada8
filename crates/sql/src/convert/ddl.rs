//! Definitions: what they do ([`super::ddl_kind`]), and every table, query and expression inside.
//!
//! PostgreSQL's walker does not enter utility statements; the bindings' transformer enters every field of every node, but
//! only of a tree that may be changed. So a copy is walked. Queries and expressions are converted before the walk goes
//! into them, so that a tree that is too deep ends the walk first.

use pg_raw_parse::list_mut::NodeListMut;
use pg_raw_parse::transform::{self, Assignable, Transform};
use pg_raw_parse::{Node, NodeMut, list, make, nodes};

use super::utility::{object_name, object_names};
use super::{Converter, Result, Stop, ddl_kind, relation};
use crate::limits::SHALLOW_DEFINITION_TOKENS;
use crate::{ast, raw};

impl Converter<'_> {
    /// A definition, or a statement that nothing is known of.
    pub(super) fn definition(&self, node: Node<'_>) -> Result<ast::Body> {
        let Some(action) = self.action(node)? else {
            return Ok(ast::Body::Other(ddl_kind::other_name(node)));
        };
        if !self.definitions {
            return Err(Stop::Long);
        }
        if self.shallow && self.source.tokens().len() > SHALLOW_DEFINITION_TOKENS {
            return Err(Stop::Deep);
        }
        let mut found = self.collect(node)?;
        add_named(&action, &mut found.relations);
        found.relations.extend(words_of_relations(node));
        remove_types(&action, &mut found.relations);
        let mut seen: Vec<Vec<String>> = Vec::new();
        found.relations.retain(|name| {
            let new = !seen.contains(&name.parts);
            if new {
                seen.push(name.parts.clone());
            }
            new
        });
        Ok(ast::Body::Ddl(Box::new(ast::Ddl {
            outside_transaction: ddl_kind::outside_transaction(node),
            action,
            relations: found.relations,
            queries: found.queries,
            expressions: found.expressions,
        })))
    }

    fn collect(&self, node: Node<'_>) -> Result<Found> {
        let mut collector = Collector {
            converter: self,
            found: Found::default(),
            inside: false,
            stop: None,
        };
        let copy = make::owned(|memory| {
            let mut copy = memory.make_unique(node);
            collector.transform_node(Assignable::new(&mut copy));
            memory.make_raw_stmt(copy)
        });
        drop(copy);
        collector.stop.map_or(Ok(collector.found), Err)
    }
}

/// `DROP`, `COMMENT` and the like name relations as lists of words.
fn add_named(action: &ast::DdlAction, relations: &mut Vec<ast::Name>) {
    let (object, names) = match action {
        ast::DdlAction::Drop { object, names, .. }
        | ast::DdlAction::Attribute { object, names, .. } => (*object, names.as_slice()),
        _ => return,
    };
    // The last word names the column, the trigger, the rule ... of the relation before it.
    let of_relation = matches!(
        object,
        "COLUMN" | "TRIGGER" | "RULE" | "POLICY" | "CONSTRAINT"
    );
    for name in names {
        let mut name = name.clone();
        if of_relation && name.parts.len() > 1 {
            name.parts.pop();
        } else if !is_relation(object) {
            continue;
        }
        if !relations.contains(&name) {
            relations.push(name);
        }
    }
}

/// Relations that a statement names as lists of words: the owner of a sequence, the member of an extension.
fn words_of_relations(node: Node<'_>) -> Option<ast::Name> {
    let options = match node {
        Node::CreateSeqStmt(create) => create.options(),
        Node::AlterSeqStmt(alter) => alter.options(),
        Node::AlterExtensionContentsStmt(alter) => {
            let object = ddl_kind::object(alter.objtype);
            return is_relation(object)
                .then(|| object_name(alter.object()))
                .flatten();
        }
        _ => return None,
    };
    options.iter().find_map(|option| match option {
        Node::DefElem(element) if element.defname() == Some("owned_by") => {
            let mut owner = object_name(element.arg())?;
            // The last word is the column; `NONE` alone is no table.
            owner.parts.pop();
            (!owner.parts.is_empty()).then_some(owner)
        }
        _ => None,
    })
}

/// A composite type is a relation to the grammar, and to nobody else.
fn remove_types(action: &ast::DdlAction, relations: &mut Vec<ast::Name>) {
    if let ast::DdlAction::CreateOther {
        object: "TYPE",
        name: Some(name),
    }
    | ast::DdlAction::AlterTable {
        object: "TYPE",
        name,
        ..
    }
    | ast::DdlAction::Rename {
        object: "ATTRIBUTE",
        name: Some(name),
        ..
    } = action
    {
        relations.retain(|relation| relation.parts != name.parts);
    }
}

fn is_relation(object: &str) -> bool {
    matches!(
        object,
        "TABLE" | "VIEW" | "MATERIALIZED VIEW" | "SEQUENCE" | "INDEX" | "FOREIGN TABLE"
    )
}

#[derive(Default)]
struct Found {
    relations: Vec<ast::Name>,
    queries: Vec<ast::Query>,
    expressions: Vec<ast::Expr>,
}

struct Collector<'c, 't> {
    converter: &'c Converter<'t>,
    found: Found,
    /// Inside a query or an expression that was converted: only tables are new.
    inside: bool,
    stop: Option<Stop>,
}

impl Collector<'_, '_> {
    /// Goes into what `converted` covers.
    fn within(&mut self, converted: Result<()>, enter: impl FnOnce(&mut Self)) {
        if let Err(stop) = converted {
            self.stop = Some(stop);
            return;
        }
        let before = std::mem::replace(&mut self.inside, true);
        enter(self);
        self.inside = before;
    }

    fn add_query(&mut self, select: &nodes::SelectStmt) -> Result<()> {
        if !self.inside {
            self.found.queries.push(self.converter.query(select)?);
        }
        Ok(())
    }

    fn add_expression(&mut self, node: Node<'_>) -> Result<()> {
        if !self.inside && is_expression(node) {
            self.found.expressions.push(self.converter.expr(node)?);
        }
        Ok(())
    }

    fn add_relations(&mut self, names: impl IntoIterator<Item = ast::Name>) {
        self.found.relations.extend(names);
    }
}

impl<'mem> Transform<'mem> for Collector<'_, '_> {
    fn transform_node<'mutref>(&mut self, node: Assignable<'mem, 'mutref>) {
        if self.stop.is_some() {
            return;
        }
        let plain = node.as_ref();
        if let Node::SelectStmt(_) = plain {
            return transform::transform_node(node.into_inner(), self);
        }
        if is_expression(plain) {
            let converted = self.add_expression(plain);
            self.within(converted, |this| {
                transform::transform_node(node.into_inner(), this);
            });
        } else {
            transform::transform_node(node.into_inner(), self);
        }
    }

    fn transform_select_stmt<'mutref>(&mut self, node: nodes::SelectStmtMut<'mem, 'mutref>) {
        let converted = self.add_query(&node);
        self.within(converted, |this| {
            transform::transform_select_stmt(node, this);
        });
    }

    fn transform_func_call<'mutref>(&mut self, node: nodes::FuncCallMut<'mem, 'mutref>) {
        let converted = self.add_expression(Node::FuncCall(&node));
        self.within(converted, |this| transform::transform_func_call(node, this));
    }

    fn transform_range_var<'mutref>(&mut self, node: nodes::RangeVarMut<'mem, 'mutref>) {
        self.add_relations([relation(&node)]);
    }

    /// What is granted on may be of any kind, whatever the bindings say.
    fn transform_grant_stmt<'mutref>(&mut self, node: nodes::GrantStmtMut<'mem, 'mutref>) {
        let names_objects = node.targtype == pg_raw_parse::raw::GrantTargetType::ACL_TARGET_OBJECT;
        if names_objects && is_relation(ddl_kind::object(node.objtype)) {
            self.add_relations(object_names(raw::plain(node.objects())));
        }
    }

    /// Statistics are on tables only, but the grammar takes any `FROM` list.
    fn transform_create_stats_stmt<'mutref>(
        &mut self,
        mut node: nodes::CreateStatsStmtMut<'mem, 'mutref>,
    ) {
        self.add_relations(object_names(raw::plain(node.relations())));
        self.transform_list(node.exprs_mut());
    }

    /// The subject of a comment is a list of words.
    fn transform_comment_stmt<'mutref>(&mut self, _node: nodes::CommentStmtMut<'mem, 'mutref>) {}

    fn transform_list<'mutref>(&mut self, list: NodeListMut<'mem, 'mutref, list::NodeList>) {
        for node in list {
            if !matches!(node, NodeMut::None(..) | NodeMut::Invalid(..)) {
                self.enter(node);
            }
        }
    }
}

impl Collector<'_, '_> {
    /// As [`Transform::transform_node`], for a node that came out of a list.
    fn enter(&mut self, node: NodeMut<'_, '_>) {
        if self.stop.is_some() {
            return;
        }
        let plain = node.as_ref();
        if is_expression(plain) {
            let converted = self.add_expression(plain);
            self.within(converted, |this| transform::transform_node(node, this));
        } else {
            transform::transform_node(node, self);
        }
    }
}

/// Whether a node is a whole expression when it stands in a definition.
fn is_expression(node: Node<'_>) -> bool {
    matches!(
        node,
        Node::ColumnRef(_)
            | Node::A_Const(_)
            | Node::ParamRef(_)
            | Node::A_Expr(_)
            | Node::BoolExpr(_)
            | Node::FuncCall(_)
            | Node::TypeCast(_)
            | Node::SubLink(_)
            | Node::NullTest(_)
            | Node::BooleanTest(_)
            | Node::CaseExpr(_)
            | Node::RowExpr(_)
            | Node::A_ArrayExpr(_)
            | Node::A_Indirection(_)
            | Node::SQLValueFunction(_)
            | Node::CoalesceExpr(_)
            | Node::MinMaxExpr(_)
            | Node::XmlExpr(_)
            | Node::XmlSerialize(_)
            | Node::JsonObjectConstructor(_)
            | Node::JsonArrayConstructor(_)
            | Node::JsonArrayQueryConstructor(_)
            | Node::JsonObjectAgg(_)
            | Node::JsonArrayAgg(_)
            | Node::JsonFuncExpr(_)
            | Node::JsonParseExpr(_)
            | Node::JsonScalarExpr(_)
            | Node::JsonSerializeExpr(_)
            | Node::JsonIsPredicate(_)
            | Node::MergeSupportFunc(_)
            | Node::GroupingFunc(_)
    )
}
