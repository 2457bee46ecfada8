//! PostgreSQL's own functions that aren't immutable, by what their values depend on. Invariant: a function is listed only if
//! that is all that it depends on; what is listed nowhere is not proven.

use pg::{Oid, oid};

/// Words that date and time input reads as a moment relative to now.
pub(super) const CLOCK_WORDS: &[&str] = &["now", "today", "tomorrow", "yesterday"];

/// Types whose input knows those words.
pub(super) const CLOCK_TYPES: &[Oid] = &[
    oid::DATE,
    oid::TIME,
    oid::TIMETZ,
    oid::TIMESTAMP,
    oid::TIMESTAMPTZ,
];

/// Types whose values are numbers of objects, which differ from shard to shard.
pub(super) const OID_TYPES: &[&str] = &[
    "regclass",
    "regproc",
    "regprocedure",
    "regoper",
    "regoperator",
    "regtype",
    "regrole",
    "regnamespace",
    "regcollation",
    "regconfig",
    "regdictionary",
];

/// One value for a statement.
pub(super) const CLOCK_FUNCTIONS: &[&str] =
    &["now", "transaction_timestamp", "statement_timestamp"];

/// Another value with each call.
pub(super) const FRESH_FUNCTIONS: &[&str] = &[
    "clock_timestamp",
    "timeofday",
    "random",
    "random_normal",
    "gen_random_uuid",
    "uuidv4",
    "uuidv7",
];

/// The same, from the extensions `uuid-ossp` and `pgcrypto`.
pub(super) const FRESH_LIBRARY_FUNCTIONS: &[&str] = &[
    "uuid_generate_v1",
    "uuid_generate_v1mc",
    "uuid_generate_v4",
    "gen_random_bytes",
    "gen_salt",
];

/// Sequence functions.
pub(super) const SEQUENCE_FUNCTIONS: &[&str] = &["nextval", "currval", "lastval", "setval"];

/// Stable by settings alone (time zone, date style, text search configuration, encoding), which every shard shares.
pub(super) const SETTLED_FUNCTIONS: &[&str] = &[
    "array_to_json",
    "array_to_string",
    "anytextcat",
    "textanycat",
    "concat",
    "concat_ws",
    "convert",
    "convert_from",
    "convert_to",
    "current_schema",
    "current_schemas",
    "current_setting",
    "date",
    "date_part",
    "date_trunc",
    "enum_first",
    "enum_last",
    "enum_range",
    "extract",
    "format",
    "json_build_array",
    "json_build_object",
    "json_populate_record",
    "json_populate_recordset",
    "json_to_record",
    "json_to_recordset",
    "json_to_tsvector",
    "jsonb_build_array",
    "jsonb_build_object",
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
    "numeric",
    "overlaps",
    "phraseto_tsquery",
    "plainto_tsquery",
    "quote_literal",
    "quote_nullable",
    "row_to_json",
    "timestamp",
    "timestamptz",
    "to_char",
    "to_date",
    "to_json",
    "to_jsonb",
    "to_number",
    "to_timestamp",
    "to_tsquery",
    "to_tsvector",
    "ts_headline",
    "websearch_to_tsquery",
    "timezone",
    "generate_series",
    "date_add",
    "date_subtract",
];

/// The type of a keyword that reads the clock.
pub(super) fn clock_keyword(word: &str) -> Option<Oid> {
    Some(match word {
        "CURRENT_TIMESTAMP" => oid::TIMESTAMPTZ,
        "CURRENT_DATE" => oid::DATE,
        "CURRENT_TIME" => oid::TIMETZ,
        "LOCALTIME" => oid::TIME,
        "LOCALTIMESTAMP" => oid::TIMESTAMP,
        _ => return None,
    })
}
