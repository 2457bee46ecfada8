-- What the oracle's fixture has beyond the storefront: a table for every type of key and for every
-- kind of shard index, one with a column of every type, and an unsharded one.

CREATE TABLE k_int2 (k smallint PRIMARY KEY, v text, n integer);
CREATE TABLE k_int4 (k integer PRIMARY KEY, v text, n integer);
CREATE TABLE k_int8 (k bigint PRIMARY KEY, v text, n integer);
CREATE TABLE k_text (k text PRIMARY KEY, v text, n integer);
CREATE TABLE k_varchar (k varchar(20) PRIMARY KEY, v text, n integer);
CREATE TABLE k_bpchar (k char(4) PRIMARY KEY, v text, n integer);
CREATE TABLE k_uuid (k uuid PRIMARY KEY, v text, n integer);
CREATE TABLE k_date (k date PRIMARY KEY, v text, n integer);
CREATE TABLE k_timestamp (k timestamp PRIMARY KEY, v text, n integer);
CREATE TABLE k_timestamptz (k timestamptz PRIMARY KEY, v text, n integer);
CREATE TABLE k_numeric (k numeric PRIMARY KEY, v text, n integer);
CREATE TABLE k_scaled (k numeric(6, 1) PRIMARY KEY, v text, n integer);
CREATE TABLE k_float8 (k float8 PRIMARY KEY, v text, n integer);
CREATE TABLE k_bool (k boolean PRIMARY KEY, v text, n integer);
CREATE TABLE k_bytea (k bytea PRIMARY KEY, v text, n integer);
CREATE TABLE k_enum (k order_status PRIMARY KEY, v text, n integer);

CREATE TABLE k_two (a integer, b text, v text, PRIMARY KEY (a, b));
CREATE TABLE k_range (k bigint PRIMARY KEY, v text, at date);
CREATE TABLE k_modulo (k integer PRIMARY KEY, v text);
CREATE TABLE k_list (k text, v text, n integer, PRIMARY KEY (k, n));

CREATE TABLE wide (
    id bigint PRIMARY KEY,
    c_int2 smallint,
    c_int4 integer,
    c_int8 bigint,
    c_numeric numeric,
    c_float4 real,
    c_float8 double precision,
    c_text text,
    c_varchar varchar(30),
    c_bpchar char(6),
    c_bool boolean,
    c_date date,
    c_time time,
    c_timetz timetz,
    c_timestamp timestamp,
    c_timestamptz timestamptz,
    c_interval interval,
    c_uuid uuid,
    c_bytea bytea,
    c_json json,
    c_jsonb jsonb,
    c_int4s integer[],
    c_texts text[],
    c_int4range int4range,
    c_daterange daterange,
    c_inet inet,
    c_cidr cidr,
    c_enum order_status,
    c_tsvector tsvector,
    c_point point,
    c_varbit varbit,
    c_numeric2 numeric(10,2)
);

CREATE TABLE events (
    id bigint PRIMARY KEY,
    kind text NOT NULL,
    payload jsonb,
    at timestamptz NOT NULL
);
