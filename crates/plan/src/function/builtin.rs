//! PostgreSQL's own functions by what they depend on. Invariant: a volatile or stable function that stands in no list
//! is taken to tell about one server.

use catalog::Volatility;

use super::Class;

/// Aggregates, for catalogs that don't say.
pub(super) const AGGREGATES: &[&str] = &[
    "array_agg",
    "avg",
    "bit_and",
    "bit_or",
    "bit_xor",
    "bool_and",
    "bool_or",
    "corr",
    "count",
    "covar_pop",
    "covar_samp",
    "every",
    "json_agg",
    "json_object_agg",
    "jsonb_agg",
    "jsonb_object_agg",
    "max",
    "min",
    "mode",
    "percentile_cont",
    "percentile_disc",
    "range_agg",
    "range_intersect_agg",
    "regr_avgx",
    "regr_avgy",
    "regr_count",
    "regr_intercept",
    "regr_r2",
    "regr_slope",
    "regr_sxx",
    "regr_sxy",
    "regr_syy",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "string_agg",
    "sum",
    "var_pop",
    "var_samp",
    "variance",
    "xmlagg",
    "any_value",
];

/// Functions of common extensions that give another value with each call and do nothing else.
pub(super) const FRESH_LIBRARY: &[&str] = &[
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
    "gen_random_bytes",
    "gen_salt",
    "gen_random_uuid",
    "pgp_sym_encrypt",
    "pgp_sym_encrypt_bytea",
    "pgp_pub_encrypt",
    "pgp_pub_encrypt_bytea",
];

/// Functions of common extensions that are stable and read no tables but the catalog's.
pub(super) const SETTLED_LIBRARY: &[&str] = &["unaccent", "hstore", "populate_record"];

/// Words that begin a statement, or a part of one, that touches tables or runs text.
pub(super) const STATEMENT_WORDS: &[&str] = &[
    "execute", "insert", "update", "delete", "merge", "truncate", "copy", "create", "alter",
    "drop", "grant", "revoke", "lock", "call", "do", "notify", "listen", "unlisten", "prepare",
    "vacuum", "analyze", "refresh", "reindex", "cluster", "comment", "load", "set", "reset",
    "commit", "rollback",
];

/// Keywords that read the clock.
pub(super) const CLOCK_WORDS: &[&str] = &[
    "current_timestamp",
    "current_date",
    "current_time",
    "localtime",
    "localtimestamp",
];

const CLOCK: &[&str] = &["now", "transaction_timestamp", "statement_timestamp"];

const FRESH: &[&str] = &[
    "clock_timestamp",
    "timeofday",
    "random",
    "random_normal",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
    "pg_sleep",
    "pg_sleep_for",
    "pg_sleep_until",
];

const SEQUENCE: &[&str] = &["nextval", "currval", "lastval", "setval"];

const DYNAMIC: &[&str] = &[
    "query_to_xml",
    "query_to_xmlschema",
    "query_to_xml_and_xmlschema",
    "cursor_to_xml",
    "cursor_to_xmlschema",
    "table_to_xml",
    "table_to_xmlschema",
    "table_to_xml_and_xmlschema",
    "schema_to_xml",
    "schema_to_xmlschema",
    "schema_to_xml_and_xmlschema",
    "database_to_xml",
    "database_to_xmlschema",
    "database_to_xml_and_xmlschema",
    "ts_stat",
];

/// Stable functions that depend on the session's settings alone, which every shard shares.
const SETTLED: &[&str] = &[
    "anytextcat",
    "array_to_json",
    "array_to_string",
    "concat",
    "concat_ws",
    "convert",
    "convert_from",
    "convert_to",
    "current_database",
    "current_role",
    "current_schema",
    "current_schemas",
    "current_setting",
    "current_user",
    "session_user",
    "getdatabaseencoding",
    "date",
    "date_add",
    "date_subtract",
    "date_part",
    "date_trunc",
    "enum_first",
    "enum_last",
    "enum_range",
    "extract",
    "format",
    "generate_series",
    "json_agg",
    "json_build_array",
    "json_build_object",
    "json_object_agg",
    "json_populate_record",
    "json_populate_recordset",
    "json_to_record",
    "json_to_recordset",
    "json_to_tsvector",
    "jsonb_agg",
    "jsonb_build_array",
    "jsonb_build_object",
    "jsonb_object_agg",
    "jsonb_path_exists_tz",
    "jsonb_path_match_tz",
    "jsonb_path_query_array_tz",
    "jsonb_path_query_first_tz",
    "jsonb_path_query_tz",
    "jsonb_populate_record",
    "jsonb_populate_recordset",
    "jsonb_to_record",
    "jsonb_to_recordset",
    "jsonb_to_tsvector",
    "make_timestamptz",
    "money",
    "numeric",
    "overlaps",
    "pg_column_size",
    "pg_typeof",
    "phraseto_tsquery",
    "plainto_tsquery",
    "quote_literal",
    "quote_nullable",
    "row_to_json",
    "string_agg",
    "textanycat",
    "timestamp",
    "timestamptz",
    "timezone",
    "to_char",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_number",
    "to_timestamp",
    "to_tsquery",
    "to_tsvector",
    "ts_headline",
    "user",
    "version",
    "websearch_to_tsquery",
    "timetz",
    "time",
    "isfinite",
    "char",
    "text",
    "name",
    "varchar",
    "bpchar",
];

/// The class of a built-in function.
pub(super) fn class(name: &str, volatility: Volatility) -> Class {
    if CLOCK.contains(&name) {
        return Class::Clock;
    }
    if SEQUENCE.contains(&name) {
        return Class::Sequence;
    }
    if DYNAMIC.contains(&name) {
        return Class::Dynamic;
    }
    match name {
        "set_config" => return Class::SetConfig,
        "pg_notify" => return Class::Notify,
        "pg_export_snapshot" => return Class::Snapshot,
        // With one argument it counts from today's midnight, on the server's clock.
        "age" => return Class::Clock,
        "setseed" => return Class::Pinning,
        _ => {}
    }
    if name.starts_with("pg_advisory_") || name.starts_with("pg_try_advisory_") {
        return if name.contains("_xact_") {
            Class::Authority
        } else {
            Class::Pinning
        };
    }
    match volatility {
        Volatility::Immutable => Class::Free,
        Volatility::Stable if SETTLED.contains(&name) || AGGREGATES.contains(&name) => Class::Free,
        Volatility::Volatile if FRESH.contains(&name) => Class::Fresh,
        Volatility::Stable | Volatility::Volatile => Class::Authority,
    }
}
