//! What a definition does.

use pg_raw_parse::raw::{GrantTargetType, ObjectType};
use pg_raw_parse::{Node, list, nodes};

use super::utility::{object_name, object_names, role};
use super::{Converter, Result, name, named, owned, relation, required, text, typed_strings};
use crate::ast::{self, DdlAction};
use crate::raw;

impl Converter<'_> {
    /// What the definition does; `None` when it is no definition.
    pub(super) fn action(&self, node: Node<'_>) -> Result<Option<DdlAction>> {
        Ok(Some(match node {
            Node::CreateStmt(create) => {
                DdlAction::CreateTable(Box::new(self.create_table(create)?))
            }
            Node::CreateTableAsStmt(create) => {
                let materialized = create.objtype == ObjectType::OBJECT_MATVIEW;
                let mut action = create_table_as(create.into(), materialized)?;
                if let DdlAction::CreateTableAs { if_not_exists, .. } = &mut action {
                    *if_not_exists = create.if_not_exists;
                }
                action
            }
            Node::SelectStmt(select) => create_table_as(super::select_into(select), false)?,
            Node::AlterTableStmt(alter) => DdlAction::AlterTable {
                name: relation(required(alter.relation())?),
                commands: self.alter_commands(alter)?,
                object: object(alter.objtype),
            },
            Node::IndexStmt(index) => create_index(index)?,
            Node::ViewStmt(view) => {
                let view = required(view.view())?;
                DdlAction::CreateView {
                    name: relation(view),
                    temporary: is_temporary(view),
                }
            }
            Node::CreateSeqStmt(create) => {
                let sequence = required(create.sequence())?;
                DdlAction::CreateSequence {
                    name: relation(sequence),
                    temporary: is_temporary(sequence),
                }
            }
            Node::AlterSeqStmt(alter) => DdlAction::AlterSequence {
                name: relation(required(alter.sequence())?),
            },
            Node::CreateTrigStmt(trigger) => DdlAction::CreateTrigger {
                table: relation(required(trigger.relation())?),
                function: name(trigger.funcname(), None),
            },
            Node::DropStmt(drop) => DdlAction::Drop {
                object: object(drop.remove_type),
                names: object_names(drop.objects()),
                concurrently: drop.concurrent,
            },
            Node::RenameStmt(rename) => rename_action(rename),
            Node::AlterEnumStmt(alter) if alter.old_val().is_some() => DdlAction::Rename {
                object: "VALUE",
                name: Some(named(typed_strings(alter.type_name()), None)),
                // The values are literals, which a tree does not hold.
                part: None,
                to: String::new(),
            },
            other => return Ok(create_other(other).or_else(|| alter_or_attribute(other))),
        }))
    }
}

pub(super) fn is_temporary(range: &nodes::RangeVar) -> bool {
    range.relpersistence == b't'.cast_signed()
}

fn create_table_as(into: Option<&nodes::IntoClause>, materialized: bool) -> Result<DdlAction> {
    let range = required(into.and_then(nodes::IntoClause::rel))?;
    Ok(DdlAction::CreateTableAs {
        name: relation(range),
        materialized,
        temporary: is_temporary(range),
        no_data: into.is_some_and(|into| into.skip_data),
        if_not_exists: false,
    })
}

fn create_index(index: &nodes::IndexStmt) -> Result<DdlAction> {
    Ok(DdlAction::CreateIndex {
        table: relation(required(index.relation())?),
        unique: index.unique,
        concurrently: index.concurrent,
        columns: index
            .index_params()
            .iter()
            .map(|element| owned(element.name()))
            .collect(),
        name: owned(index.idxname()),
    })
}

/// Schemas, databases and roles are renamed without an object: their name is where else a part's name is.
fn rename_action(rename: &nodes::RenameStmt) -> DdlAction {
    let object_name = rename
        .relation()
        .map(relation)
        .or_else(|| object_name(rename.object()));
    let part = owned(rename.subname());
    let (name, part) = match (object_name, part) {
        (None, Some(name)) => (Some(named(vec![name], None)), None),
        pair => pair,
    };
    DdlAction::Rename {
        object: object(rename.rename_type),
        name,
        part,
        to: text(rename.newname()),
    }
}

/// Creations that concern no table.
fn create_other(node: Node<'_>) -> Option<DdlAction> {
    let one = |part: Option<&str>| part.map(|part| named(vec![part.to_owned()], None));
    let parts = |list: &list::CastNodeList<nodes::String>| Some(named(typed_strings(list), None));
    let (object, name) = match node {
        Node::CreateFunctionStmt(function) => {
            return Some(DdlAction::CreateFunction {
                name: name(function.funcname(), None),
            });
        }
        Node::DefineStmt(define) if define.kind == ObjectType::OBJECT_AGGREGATE => {
            return Some(DdlAction::CreateFunction {
                name: named(typed_strings(define.defnames()), None),
            });
        }
        Node::DefineStmt(define) => (object(define.kind), parts(define.defnames())),
        Node::CompositeTypeStmt(composite) => ("TYPE", composite.typevar().map(relation)),
        Node::CreateEnumStmt(create) => ("TYPE", parts(create.type_name())),
        Node::CreateRangeStmt(create) => ("TYPE", parts(create.type_name())),
        Node::CreateDomainStmt(create) => ("DOMAIN", parts(create.domainname())),
        Node::CreateSchemaStmt(create) => (
            "SCHEMA",
            one(create.schemaname()).or_else(|| create.authrole().map(role)),
        ),
        Node::CreateExtensionStmt(create) => ("EXTENSION", one(create.extname())),
        Node::CreateCastStmt(_) => ("CAST", None),
        Node::CreateConversionStmt(create) => {
            ("CONVERSION", Some(name(create.conversion_name(), None)))
        }
        Node::CreateTransformStmt(_) => ("TRANSFORM", None),
        Node::CreateOpClassStmt(create) => ("OPERATOR CLASS", parts(create.opclassname())),
        Node::CreateOpFamilyStmt(create) => ("OPERATOR FAMILY", parts(create.opfamilyname())),
        Node::CreatePLangStmt(create) => ("LANGUAGE", one(create.plname())),
        Node::CreateAmStmt(create) => ("ACCESS METHOD", one(create.amname())),
        Node::CreateEventTrigStmt(create) => ("EVENT TRIGGER", one(create.trigname())),
        Node::CreateRoleStmt(create) => ("ROLE", one(create.role())),
        Node::CreateFdwStmt(create) => ("FOREIGN DATA WRAPPER", one(create.fdwname())),
        Node::CreateForeignServerStmt(create) => ("SERVER", one(create.servername())),
        Node::CreateUserMappingStmt(create) => ("USER MAPPING", one(create.servername())),
        Node::CreatedbStmt(create) => ("DATABASE", one(create.dbname())),
        Node::CreateTableSpaceStmt(create) => ("TABLESPACE", one(create.tablespacename())),
        Node::CreateSubscriptionStmt(create) => ("SUBSCRIPTION", one(create.subname())),
        _ => return None,
    };
    Some(DdlAction::CreateOther { object, name })
}

fn alter_or_attribute(node: Node<'_>) -> Option<DdlAction> {
    alter_other(node)
        .or_else(|| drop_other(node))
        .or_else(|| attribute(node))
}

fn alter_other(node: Node<'_>) -> Option<DdlAction> {
    let one = |part: Option<&str>| part.map(|part| named(vec![part.to_owned()], None));
    let parts = |list: &list::CastNodeList<nodes::String>| Some(named(typed_strings(list), None));
    let of = |range: Option<&nodes::RangeVar>, other: Node<'_>| {
        range.map(relation).or_else(|| object_name(other))
    };
    let (object, name) = match node {
        Node::AlterObjectSchemaStmt(alter) => (
            object(alter.object_type),
            of(alter.relation(), alter.object()),
        ),
        Node::AlterOwnerStmt(alter) => (
            object(alter.object_type),
            of(alter.relation(), alter.object()),
        ),
        Node::AlterObjectDependsStmt(alter) => (
            object(alter.object_type),
            of(alter.relation(), alter.object()),
        ),
        Node::AlterEnumStmt(alter) => ("TYPE", parts(alter.type_name())),
        Node::AlterTypeStmt(alter) => ("TYPE", Some(name(alter.type_name(), None))),
        Node::AlterDomainStmt(alter) => ("DOMAIN", Some(name(alter.type_name(), None))),
        Node::AlterCollationStmt(alter) => ("COLLATION", Some(name(alter.collname(), None))),
        Node::AlterFunctionStmt(alter) => (
            object(alter.objtype),
            alter
                .func()
                .and_then(|func| object_name(Node::ObjectWithArgs(func))),
        ),
        Node::AlterOperatorStmt(alter) => (
            "OPERATOR",
            alter
                .opername()
                .and_then(|name| object_name(Node::ObjectWithArgs(name))),
        ),
        Node::AlterOpFamilyStmt(alter) => ("OPERATOR FAMILY", parts(alter.opfamilyname())),
        Node::AlterStatsStmt(alter) => ("STATISTICS", parts(alter.defnames())),
        Node::AlterTSDictionaryStmt(alter) => ("TEXT SEARCH DICTIONARY", parts(alter.dictname())),
        Node::AlterTSConfigurationStmt(alter) => {
            ("TEXT SEARCH CONFIGURATION", parts(alter.cfgname()))
        }
        Node::AlterExtensionStmt(alter) => ("EXTENSION", one(alter.extname())),
        Node::AlterExtensionContentsStmt(alter) => ("EXTENSION", one(alter.extname())),
        Node::AlterFdwStmt(alter) => ("FOREIGN DATA WRAPPER", one(alter.fdwname())),
        Node::AlterForeignServerStmt(alter) => ("SERVER", one(alter.servername())),
        Node::AlterUserMappingStmt(alter) => ("USER MAPPING", one(alter.servername())),
        Node::AlterEventTrigStmt(alter) => ("EVENT TRIGGER", one(alter.trigname())),
        Node::AlterRoleStmt(alter) => ("ROLE", alter.role().map(role)),
        Node::AlterRoleSetStmt(alter) => ("ROLE", alter.role().map(role)),
        Node::AlterDatabaseStmt(alter) => ("DATABASE", one(alter.dbname())),
        Node::AlterDatabaseSetStmt(alter) => ("DATABASE", one(alter.dbname())),
        Node::AlterDatabaseRefreshCollStmt(alter) => ("DATABASE", one(alter.dbname())),
        Node::AlterTableSpaceOptionsStmt(alter) => ("TABLESPACE", one(alter.tablespacename())),
        Node::AlterTableMoveAllStmt(alter) => ("TABLESPACE", one(alter.orig_tablespacename())),
        Node::AlterSubscriptionStmt(alter) => ("SUBSCRIPTION", one(alter.subname())),
        _ => return None,
    };
    Some(DdlAction::AlterOther { object, name })
}

/// Drops that have statements of their own.
fn drop_other(node: Node<'_>) -> Option<DdlAction> {
    let one = |part: Option<&str>| vec![named(vec![text(part)], None)];
    let (object, names) = match node {
        Node::DropRoleStmt(drop) => ("ROLE", object_names(drop.roles())),
        Node::DropdbStmt(drop) => ("DATABASE", one(drop.dbname())),
        Node::DropTableSpaceStmt(drop) => ("TABLESPACE", one(drop.tablespacename())),
        Node::DropUserMappingStmt(drop) => ("USER MAPPING", one(drop.servername())),
        Node::DropSubscriptionStmt(drop) => ("SUBSCRIPTION", one(drop.subname())),
        _ => return None,
    };
    Some(DdlAction::Drop {
        object,
        names,
        concurrently: false,
    })
}

fn attribute(node: Node<'_>) -> Option<DdlAction> {
    let one = |part: Option<&str>| vec![named(vec![text(part)], None)];
    let range = |range: Option<&nodes::RangeVar>| range.map(relation).into_iter().collect();
    let (command, object, names): (_, _, Vec<ast::Name>) = match node {
        Node::GrantStmt(grant) => (
            if grant.is_grant { "GRANT" } else { "REVOKE" },
            if grant.targtype == GrantTargetType::ACL_TARGET_ALL_IN_SCHEMA {
                "ALL IN SCHEMA"
            } else {
                object(grant.objtype)
            },
            object_names(raw::plain(grant.objects())),
        ),
        Node::GrantRoleStmt(grant) => (
            if grant.is_grant { "GRANT" } else { "REVOKE" },
            "ROLE",
            object_names(grant.grantee_roles()),
        ),
        Node::AlterDefaultPrivilegesStmt(_) => {
            ("ALTER DEFAULT PRIVILEGES", "DEFAULT PRIVILEGES", Vec::new())
        }
        Node::CommentStmt(comment) => (
            "COMMENT",
            object(comment.objtype),
            object_name(comment.object()).into_iter().collect(),
        ),
        Node::SecLabelStmt(label) => (
            "SECURITY LABEL",
            object(label.objtype),
            object_name(label.object()).into_iter().collect(),
        ),
        Node::CreatePolicyStmt(policy) => ("CREATE POLICY", "POLICY", range(policy.table())),
        Node::AlterPolicyStmt(policy) => ("ALTER POLICY", "POLICY", range(policy.table())),
        Node::RuleStmt(rule) => ("CREATE RULE", "RULE", range(rule.relation())),
        Node::CreateStatsStmt(create) => (
            "CREATE STATISTICS",
            "STATISTICS",
            vec![named(typed_strings(create.defnames()), None)],
        ),
        Node::CreatePublicationStmt(create) => {
            ("CREATE PUBLICATION", "PUBLICATION", one(create.pubname()))
        }
        Node::AlterPublicationStmt(alter) => {
            ("ALTER PUBLICATION", "PUBLICATION", one(alter.pubname()))
        }
        Node::DropOwnedStmt(drop) => ("DROP OWNED", "ROLE", object_names(drop.roles())),
        Node::ReassignOwnedStmt(reassign) => {
            ("REASSIGN OWNED", "ROLE", object_names(reassign.roles()))
        }
        Node::ImportForeignSchemaStmt(import) => (
            "IMPORT FOREIGN SCHEMA",
            "SCHEMA",
            one(import.remote_schema()),
        ),
        _ => return None,
    };
    Some(DdlAction::Attribute {
        command,
        object,
        names,
    })
}

/// The name of a statement that is no definition.
pub(super) fn other_name(node: Node<'_>) -> &'static str {
    match node {
        Node::LoadStmt(_) => "LoadStmt",
        Node::AlterSystemStmt(_) => "AlterSystemStmt",
        Node::ReturnStmt(_) => "ReturnStmt",
        // The bindings know no node for it.
        Node::Invalid(_) => "CreateForeignTableStmt",
        _ => "Unknown",
    }
}

/// Whether PostgreSQL refuses it inside a transaction block.
pub(super) fn outside_transaction(node: Node<'_>) -> bool {
    match node {
        Node::IndexStmt(index) => index.concurrent,
        Node::DropStmt(drop) => drop.concurrent,
        Node::CreatedbStmt(_)
        | Node::DropdbStmt(_)
        | Node::CreateTableSpaceStmt(_)
        | Node::DropTableSpaceStmt(_)
        | Node::CreateSubscriptionStmt(_)
        | Node::AlterSubscriptionStmt(_)
        | Node::DropSubscriptionStmt(_) => true,
        Node::AlterDatabaseStmt(alter) => alter
            .options()
            .iter()
            .any(|option| option.defname() == Some("tablespace")),
        Node::AlterTableStmt(alter) => alter.cmds().iter().any(|command| match command {
            Node::AlterTableCmd(command) => matches!(
                command.def(),
                Node::PartitionCmd(partition) if partition.concurrent
            ),
            _ => false,
        }),
        _ => false,
    }
}

/// The upper-case words for a kind of object.
pub(super) fn object(kind: ObjectType::Type) -> &'static str {
    const NAMES: &[(ObjectType::Type, &str)] = &[
        (ObjectType::OBJECT_ACCESS_METHOD, "ACCESS METHOD"),
        (ObjectType::OBJECT_AGGREGATE, "AGGREGATE"),
        (ObjectType::OBJECT_ATTRIBUTE, "ATTRIBUTE"),
        (ObjectType::OBJECT_CAST, "CAST"),
        (ObjectType::OBJECT_COLUMN, "COLUMN"),
        (ObjectType::OBJECT_COLLATION, "COLLATION"),
        (ObjectType::OBJECT_CONVERSION, "CONVERSION"),
        (ObjectType::OBJECT_DATABASE, "DATABASE"),
        (ObjectType::OBJECT_DOMAIN, "DOMAIN"),
        (ObjectType::OBJECT_DOMCONSTRAINT, "DOMAIN CONSTRAINT"),
        (ObjectType::OBJECT_EVENT_TRIGGER, "EVENT TRIGGER"),
        (ObjectType::OBJECT_EXTENSION, "EXTENSION"),
        (ObjectType::OBJECT_FDW, "FOREIGN DATA WRAPPER"),
        (ObjectType::OBJECT_FOREIGN_SERVER, "SERVER"),
        (ObjectType::OBJECT_FOREIGN_TABLE, "FOREIGN TABLE"),
        (ObjectType::OBJECT_FUNCTION, "FUNCTION"),
        (ObjectType::OBJECT_INDEX, "INDEX"),
        (ObjectType::OBJECT_LANGUAGE, "LANGUAGE"),
        (ObjectType::OBJECT_LARGEOBJECT, "LARGE OBJECT"),
        (ObjectType::OBJECT_MATVIEW, "MATERIALIZED VIEW"),
        (ObjectType::OBJECT_OPCLASS, "OPERATOR CLASS"),
        (ObjectType::OBJECT_OPERATOR, "OPERATOR"),
        (ObjectType::OBJECT_OPFAMILY, "OPERATOR FAMILY"),
        (ObjectType::OBJECT_PARAMETER_ACL, "PARAMETER"),
        (ObjectType::OBJECT_POLICY, "POLICY"),
        (ObjectType::OBJECT_PROCEDURE, "PROCEDURE"),
        (ObjectType::OBJECT_PUBLICATION, "PUBLICATION"),
        (ObjectType::OBJECT_ROLE, "ROLE"),
        (ObjectType::OBJECT_ROUTINE, "ROUTINE"),
        (ObjectType::OBJECT_RULE, "RULE"),
        (ObjectType::OBJECT_SCHEMA, "SCHEMA"),
        (ObjectType::OBJECT_SEQUENCE, "SEQUENCE"),
        (ObjectType::OBJECT_SUBSCRIPTION, "SUBSCRIPTION"),
        (ObjectType::OBJECT_STATISTIC_EXT, "STATISTICS"),
        (ObjectType::OBJECT_TABCONSTRAINT, "CONSTRAINT"),
        (ObjectType::OBJECT_TABLE, "TABLE"),
        (ObjectType::OBJECT_TABLESPACE, "TABLESPACE"),
        (ObjectType::OBJECT_TRANSFORM, "TRANSFORM"),
        (ObjectType::OBJECT_TRIGGER, "TRIGGER"),
        (
            ObjectType::OBJECT_TSCONFIGURATION,
            "TEXT SEARCH CONFIGURATION",
        ),
        (ObjectType::OBJECT_TSDICTIONARY, "TEXT SEARCH DICTIONARY"),
        (ObjectType::OBJECT_TSPARSER, "TEXT SEARCH PARSER"),
        (ObjectType::OBJECT_TSTEMPLATE, "TEXT SEARCH TEMPLATE"),
        (ObjectType::OBJECT_TYPE, "TYPE"),
        (ObjectType::OBJECT_USER_MAPPING, "USER MAPPING"),
        (ObjectType::OBJECT_VIEW, "VIEW"),
    ];
    NAMES
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or("OBJECT", |(_, name)| name)
}
