//! `CREATE TABLE` and `ALTER TABLE`.

use pg_raw_parse::raw::{AlterTableType, ConstrType};
use pg_raw_parse::{Node, nodes};

use super::ddl_kind::is_temporary;
use super::{Converter, Result, Stop, owned, relation, required, strings, text};
use crate::ast::{self, AlterCommand, ConstraintKind};

impl Converter<'_> {
    pub(super) fn create_table(&self, create: &nodes::CreateStmt) -> Result<ast::CreateTable> {
        let range = required(create.relation())?;
        let mut table = ast::CreateTable {
            name: relation(range),
            temporary: is_temporary(range),
            if_not_exists: create.if_not_exists,
            columns: Vec::new(),
            constraints: Vec::new(),
            parents: Vec::new(),
            is_partition: create.partbound().is_some(),
            like: Vec::new(),
            is_partitioned: create.partspec().is_some(),
        };
        for parent in create.inh_relations() {
            if let Node::RangeVar(range) = parent {
                table.parents.push(relation(range));
            }
        }
        for element in create.table_elts() {
            match element {
                Node::ColumnDef(column) => table.columns.push(self.column(column)?),
                Node::Constraint(constraint) => {
                    table.constraints.push(self.constraint(constraint, None)?);
                }
                Node::TableLikeClause(like) => {
                    table.like.push(relation(required(like.relation())?));
                }
                _ => return Err(Stop::Unexpected("an unknown element of a table")),
            }
        }
        Ok(table)
    }

    fn column(&self, column: &nodes::ColumnDef) -> Result<ast::ColumnDef> {
        let name = text(column.colname());
        let mut constraints = Vec::with_capacity(column.constraints().len());
        for constraint in column.constraints() {
            if let Node::Constraint(constraint) = constraint {
                constraints.push(self.constraint(constraint, Some(&name))?);
            }
        }
        if let default @ (Node::A_Const(_) | Node::FuncCall(_) | Node::A_Expr(_)) =
            column.raw_default()
        {
            constraints.push(ast::Constraint {
                name: None,
                kind: ConstraintKind::Default(self.expr(default)?),
            });
        }
        Ok(ast::ColumnDef {
            type_name: column
                .type_name()
                .map(|name| self.type_name(name))
                .transpose()?,
            collation: column
                .coll_clause()
                .map(|clause| super::name(clause.collname(), None)),
            name,
            constraints,
        })
    }

    /// A constraint of a table, or of the column that is given.
    fn constraint(
        &self,
        constraint: &nodes::Constraint,
        column: Option<&str>,
    ) -> Result<ast::Constraint> {
        let own = || column.map(str::to_owned).into_iter().collect::<Vec<_>>();
        let keys = || {
            let keys = strings(constraint.keys());
            if keys.is_empty() { own() } else { keys }
        };
        let kind = match constraint.contype {
            ConstrType::CONSTR_NULL => ConstraintKind::Null,
            ConstrType::CONSTR_NOTNULL => ConstraintKind::NotNull,
            ConstrType::CONSTR_DEFAULT => {
                ConstraintKind::Default(self.expr(constraint.raw_expr())?)
            }
            ConstrType::CONSTR_IDENTITY => ConstraintKind::Identity {
                always: constraint.generated_when == b'a'.cast_signed(),
            },
            ConstrType::CONSTR_GENERATED => {
                ConstraintKind::Generated(self.expr(constraint.raw_expr())?)
            }
            ConstrType::CONSTR_CHECK => ConstraintKind::Check(self.expr(constraint.raw_expr())?),
            ConstrType::CONSTR_PRIMARY | ConstrType::CONSTR_UNIQUE
                if constraint.indexname().is_some() =>
            {
                ConstraintKind::UsingIndex(text(constraint.indexname()))
            }
            ConstrType::CONSTR_PRIMARY => ConstraintKind::Primary(keys()),
            ConstrType::CONSTR_UNIQUE => ConstraintKind::Unique(keys()),
            ConstrType::CONSTR_EXCLUSION => ConstraintKind::Exclude,
            ConstrType::CONSTR_FOREIGN => {
                let columns = strings(constraint.fk_attrs());
                ConstraintKind::Foreign {
                    columns: if columns.is_empty() { own() } else { columns },
                    table: relation(required(constraint.pktable())?),
                    referenced: strings(constraint.pk_attrs()),
                    on_update: action(constraint.fk_upd_action),
                    on_delete: action(constraint.fk_del_action),
                    reset: strings(constraint.fk_del_set_cols()),
                }
            }
            _ => ConstraintKind::Attribute,
        };
        Ok(ast::Constraint {
            name: owned(constraint.conname()),
            kind,
        })
    }

    pub(super) fn alter_commands(
        &self,
        alter: &nodes::AlterTableStmt,
    ) -> Result<Vec<AlterCommand>> {
        alter
            .cmds()
            .iter()
            .map(|node| match node {
                Node::AlterTableCmd(command) => self.alter_command(command),
                _ => Err(Stop::Unexpected("an unknown ALTER TABLE")),
            })
            .collect()
    }

    fn alter_command(&self, command: &nodes::AlterTableCmd) -> Result<AlterCommand> {
        let column = || text(command.name());
        Ok(match (command.subtype, command.def()) {
            (AlterTableType::AT_AddColumn, Node::ColumnDef(definition)) => {
                AlterCommand::AddColumn(self.column(definition)?)
            }
            (AlterTableType::AT_DropColumn, _) => AlterCommand::DropColumn(column()),
            (AlterTableType::AT_AlterColumnType, Node::ColumnDef(definition)) => {
                AlterCommand::AlterType {
                    column: column(),
                    type_name: definition
                        .type_name()
                        .map(|name| self.type_name(name))
                        .transpose()?,
                    using: self.optional(definition.raw_default())?,
                }
            }
            (AlterTableType::AT_AddConstraint, Node::Constraint(constraint)) => {
                AlterCommand::AddConstraint(self.constraint(constraint, None)?)
            }
            (AlterTableType::AT_AttachPartition, Node::PartitionCmd(partition)) => {
                AlterCommand::AttachPartition(relation(required(partition.name())?))
            }
            (
                AlterTableType::AT_DetachPartition | AlterTableType::AT_DetachPartitionFinalize,
                Node::PartitionCmd(partition),
            ) => AlterCommand::DetachPartition {
                partition: relation(required(partition.name())?),
                concurrently: partition.concurrent,
            },
            (
                AlterTableType::AT_AddInherit | AlterTableType::AT_DropInherit,
                Node::RangeVar(range),
            ) => AlterCommand::Inherit(relation(range)),
            (AlterTableType::AT_ColumnDefault, value) => AlterCommand::SetDefault {
                column: column(),
                value: self.optional(value)?,
            },
            (subtype, _) => AlterCommand::Other {
                name: sub_command(subtype),
                target: owned(command.name()),
            },
        })
    }
}

/// PostgreSQL's name of a sub-command, without `AT_`.
fn sub_command(kind: AlterTableType::Type) -> &'static str {
    SUB_COMMANDS
        .iter()
        .find(|(known, _)| *known == kind)
        .map_or("Unknown", |(_, name)| name)
}

const SUB_COMMANDS: &[(AlterTableType::Type, &str)] = &[
    (AlterTableType::AT_AddColumn, "AddColumn"),
    (AlterTableType::AT_AddColumnToView, "AddColumnToView"),
    (AlterTableType::AT_ColumnDefault, "ColumnDefault"),
    (
        AlterTableType::AT_CookedColumnDefault,
        "CookedColumnDefault",
    ),
    (AlterTableType::AT_DropNotNull, "DropNotNull"),
    (AlterTableType::AT_SetNotNull, "SetNotNull"),
    (AlterTableType::AT_SetExpression, "SetExpression"),
    (AlterTableType::AT_DropExpression, "DropExpression"),
    (AlterTableType::AT_SetStatistics, "SetStatistics"),
    (AlterTableType::AT_SetOptions, "SetOptions"),
    (AlterTableType::AT_ResetOptions, "ResetOptions"),
    (AlterTableType::AT_SetStorage, "SetStorage"),
    (AlterTableType::AT_SetCompression, "SetCompression"),
    (AlterTableType::AT_DropColumn, "DropColumn"),
    (AlterTableType::AT_AddIndex, "AddIndex"),
    (AlterTableType::AT_ReAddIndex, "ReAddIndex"),
    (AlterTableType::AT_AddConstraint, "AddConstraint"),
    (AlterTableType::AT_ReAddConstraint, "ReAddConstraint"),
    (
        AlterTableType::AT_ReAddDomainConstraint,
        "ReAddDomainConstraint",
    ),
    (AlterTableType::AT_AlterConstraint, "AlterConstraint"),
    (AlterTableType::AT_ValidateConstraint, "ValidateConstraint"),
    (AlterTableType::AT_AddIndexConstraint, "AddIndexConstraint"),
    (AlterTableType::AT_DropConstraint, "DropConstraint"),
    (AlterTableType::AT_ReAddComment, "ReAddComment"),
    (AlterTableType::AT_AlterColumnType, "AlterColumnType"),
    (
        AlterTableType::AT_AlterColumnGenericOptions,
        "AlterColumnGenericOptions",
    ),
    (AlterTableType::AT_ChangeOwner, "ChangeOwner"),
    (AlterTableType::AT_ClusterOn, "ClusterOn"),
    (AlterTableType::AT_DropCluster, "DropCluster"),
    (AlterTableType::AT_SetLogged, "SetLogged"),
    (AlterTableType::AT_SetUnLogged, "SetUnLogged"),
    (AlterTableType::AT_DropOids, "DropOids"),
    (AlterTableType::AT_SetAccessMethod, "SetAccessMethod"),
    (AlterTableType::AT_SetTableSpace, "SetTableSpace"),
    (AlterTableType::AT_SetRelOptions, "SetRelOptions"),
    (AlterTableType::AT_ResetRelOptions, "ResetRelOptions"),
    (AlterTableType::AT_ReplaceRelOptions, "ReplaceRelOptions"),
    (AlterTableType::AT_EnableTrig, "EnableTrig"),
    (AlterTableType::AT_EnableAlwaysTrig, "EnableAlwaysTrig"),
    (AlterTableType::AT_EnableReplicaTrig, "EnableReplicaTrig"),
    (AlterTableType::AT_DisableTrig, "DisableTrig"),
    (AlterTableType::AT_EnableTrigAll, "EnableTrigAll"),
    (AlterTableType::AT_DisableTrigAll, "DisableTrigAll"),
    (AlterTableType::AT_EnableTrigUser, "EnableTrigUser"),
    (AlterTableType::AT_DisableTrigUser, "DisableTrigUser"),
    (AlterTableType::AT_EnableRule, "EnableRule"),
    (AlterTableType::AT_EnableAlwaysRule, "EnableAlwaysRule"),
    (AlterTableType::AT_EnableReplicaRule, "EnableReplicaRule"),
    (AlterTableType::AT_DisableRule, "DisableRule"),
    (AlterTableType::AT_AddInherit, "AddInherit"),
    (AlterTableType::AT_DropInherit, "DropInherit"),
    (AlterTableType::AT_AddOf, "AddOf"),
    (AlterTableType::AT_DropOf, "DropOf"),
    (AlterTableType::AT_ReplicaIdentity, "ReplicaIdentity"),
    (AlterTableType::AT_EnableRowSecurity, "EnableRowSecurity"),
    (AlterTableType::AT_DisableRowSecurity, "DisableRowSecurity"),
    (AlterTableType::AT_ForceRowSecurity, "ForceRowSecurity"),
    (AlterTableType::AT_NoForceRowSecurity, "NoForceRowSecurity"),
    (AlterTableType::AT_GenericOptions, "GenericOptions"),
    (AlterTableType::AT_AttachPartition, "AttachPartition"),
    (AlterTableType::AT_DetachPartition, "DetachPartition"),
    (
        AlterTableType::AT_DetachPartitionFinalize,
        "DetachPartitionFinalize",
    ),
    (AlterTableType::AT_AddIdentity, "AddIdentity"),
    (AlterTableType::AT_SetIdentity, "SetIdentity"),
    (AlterTableType::AT_DropIdentity, "DropIdentity"),
    (AlterTableType::AT_ReAddStatistics, "ReAddStatistics"),
];

fn action(letter: std::ffi::c_char) -> pg::ForeignAction {
    pg::ForeignAction::of_letter(char::from(letter.cast_unsigned()))
}
