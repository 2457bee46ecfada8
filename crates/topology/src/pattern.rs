//! Names of tables that stay on one shard: the bookkeeping of migration tools. A pattern is a table's
//! name, or `schema.name`, in which `*` stands for any characters.

/// What applies where a database gives no `unsharded_patterns`.
pub const DEFAULT_UNSHARDED_PATTERNS: &[&str] = &[
    // Django
    "django_migrations",
    "django_content_type",
    "django_session",
    "django_admin_log",
    // Rails
    "schema_migrations",
    "ar_internal_metadata",
    // Flyway
    "flyway_schema_history",
    "schema_version",
    // Liquibase
    "databasechangelog",
    "databasechangeloglock",
    // Alembic
    "alembic_version",
    // sqlx
    "_sqlx_migrations",
    // Diesel
    "__diesel_schema_migrations",
    // Refinery
    "refinery_schema_history",
    // SeaORM
    "seaql_migrations",
    // Prisma
    "_prisma_migrations",
    // golang-migrate, Ecto and dbmate use Rails' name; goose and Atlas their own
    "goose_db_version",
    "atlas_schema_revisions",
    "bun_migrations",
    "bun_migration_locks",
    // Knex
    "knex_migrations",
    "knex_migrations_lock",
    // TypeORM, Laravel
    "migrations",
    "typeorm_metadata",
    // Sequelize
    "SequelizeMeta",
    // MikroORM
    "mikro_orm_migrations",
    // node-pg-migrate
    "pgmigrations",
    // Drizzle
    "__drizzle_migrations",
    // Kysely
    "kysely_migration",
    "kysely_migration_lock",
    // Entity Framework
    "__EFMigrationsHistory",
    // Doctrine
    "doctrine_migration_versions",
    // Phinx
    "phinxlog",
    // Sqitch
    "sqitch.*",
    // yoyo
    "_yoyo_log",
    "_yoyo_migration",
    "_yoyo_version",
    "yoyo_lock",
];

/// Whether a table's name is among the patterns.
pub(crate) fn matches_any<S: AsRef<str>>(patterns: &[S], schema: &str, table: &str) -> bool {
    patterns
        .iter()
        .any(|pattern| match pattern.as_ref().split_once('.') {
            Some((in_schema, name)) => matches(in_schema, schema) && matches(name, table),
            None => matches(pattern.as_ref(), table),
        })
}

/// Whether `name` fits a pattern with `*`.
fn matches(pattern: &str, name: &str) -> bool {
    let Some((head, tail)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(mut rest) = name.strip_prefix(head) else {
        return false;
    };
    let mut pieces = tail.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return rest.ends_with(piece);
        }
        let Some(found) = rest.find(piece) else {
            return false;
        };
        rest = &rest[found + piece.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        let cases = [
            ("migrations", "migrations", true),
            ("migrations", "migration", false),
            ("knex_*", "knex_migrations", true),
            ("*_version", "alembic_version", true),
            ("*_version", "alembic_versions", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "acb", false),
            ("a*a", "a", false),
            ("*", "", true),
        ];
        for (pattern, name, expected) in cases {
            assert_eq!(matches(pattern, name), expected, "{pattern} on {name}");
        }
    }

    #[test]
    fn a_pattern_with_a_schema_matches_there_only() {
        assert!(matches_any(&["sqitch.*"], "sqitch", "changes"));
        assert!(!matches_any(&["sqitch.*"], "public", "changes"));
        assert!(matches_any(
            DEFAULT_UNSHARDED_PATTERNS,
            "public",
            "schema_migrations"
        ));
        assert!(!matches_any(DEFAULT_UNSHARDED_PATTERNS, "public", "orders"));
    }
}
