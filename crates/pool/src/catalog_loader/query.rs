//! The catalog queries. Each is one statement; `{which}` is replaced by a condition on the OID, so that what came
//! with PostgreSQL can be read once and what people made again and again.
//!
//! Invariant: temporary objects of any session are never in a snapshot.

/// The database itself.
pub(super) const DATABASE: &str = "
SELECT current_database(), current_setting('server_version_num'), datlocprovider, datcollate,
  lower('ABCDEFGHIJKLMNOPQRSTUVWXYZ') = 'abcdefghijklmnopqrstuvwxyz'
    AND upper('abcdefghijklmnopqrstuvwxyz') = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'
FROM pg_database WHERE datname = current_database()";

/// Schemas.
pub(super) const SCHEMAS: &str = r"
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_(toast_)?temp_' ORDER BY nspname";

/// Collations by OID.
pub(super) const COLLATIONS: &str = "
SELECT c.oid, quote_ident(n.nspname) || '.' || quote_ident(c.collname), c.collprovider, c.collcollate,
  c.collisdeterministic
FROM pg_collation c JOIN pg_namespace n ON n.oid = c.collnamespace";

/// Relations, indexes among them.
pub(super) const RELATIONS: &str = r"
SELECT c.oid, n.nspname, c.relname, c.relkind, c.relispartition, c.relrowsecurity, c.relpersistence,
  CASE WHEN c.relkind IN ('v', 'm') THEN pg_get_viewdef(c.oid) END,
  EXISTS (SELECT FROM pg_rewrite r WHERE r.ev_class = c.oid AND r.rulename <> '_RETURN')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c', 'i', 'I') AND c.relpersistence <> 't'
  AND n.nspname !~ '^pg_(toast|temp_)' AND c.oid {which}";

/// Columns of every relation but indexes, with defaults (their own, else the domain's) and identity sequences.
pub(super) const COLUMNS: &str = "
SELECT a.attrelid, a.attnum, a.attname, a.atttypid,
  CASE t.typtype WHEN 'd' THEN
    (WITH RECURSIVE domain AS (SELECT t.typbasetype AS base, t.typtypmod AS modifier
       UNION ALL SELECT u.typbasetype, u.typtypmod FROM domain JOIN pg_type u ON u.oid = domain.base
       WHERE u.typtype = 'd')
     SELECT max(modifier) FROM domain)
  ELSE a.atttypmod END, a.attnotnull, a.attidentity, a.attgenerated,
  a.attcollation, coalesce(pg_get_expr(d.adbin, d.adrelid), pg_get_expr(t.typdefaultbin, 0)),
  coalesce(d.adbin, t.typdefaultbin)::text,
  (SELECT string_agg(p.refobjid::text, ' ') FROM pg_depend p JOIN pg_class s ON s.oid = p.refobjid
   WHERE p.classid = 'pg_attrdef'::regclass AND p.objid = d.oid AND p.refclassid = 'pg_class'::regclass
     AND s.relkind = 'S'),
  CASE WHEN a.attidentity <> '' THEN
    (SELECT p.objid FROM pg_depend p JOIN pg_class s ON s.oid = p.objid
     WHERE p.refclassid = 'pg_class'::regclass AND p.refobjid = a.attrelid AND p.refobjsubid = a.attnum
       AND p.classid = 'pg_class'::regclass AND p.deptype = 'i' AND s.relkind = 'S' LIMIT 1) END
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f', 'c')
  AND c.relpersistence <> 't' AND a.attrelid {which}
ORDER BY a.attrelid, a.attnum";

/// Constraints of relations.
pub(super) const CONSTRAINTS: &str = "
SELECT conrelid, conname, contype, array_to_string(conkey, ' '), confrelid, array_to_string(confkey, ' '),
  confupdtype, confdeltype, array_to_string(confdelsetcols, ' ')
FROM pg_constraint WHERE contype IN ('p', 'u', 'f', 'c', 'x') AND conrelid <> 0 AND conrelid {which}
ORDER BY conrelid, conname";

/// Indexes, with their key columns and expressions.
pub(super) const INDEXES: &str = "
SELECT i.indrelid, c.relname, i.indexrelid, i.indisunique, i.indisprimary, i.indkey, i.indnkeyatts,
  CASE WHEN i.indexprs IS NOT NULL THEN
    (SELECT array_agg(pg_get_indexdef(i.indexrelid, k, false) ORDER BY k)
     FROM generate_series(1, i.indnkeyatts) k WHERE i.indkey[k - 1] = 0) END,
  pg_get_expr(i.indexprs, i.indrelid), i.indpred IS NOT NULL, i.indisvalid AND i.indisready
FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
WHERE c.relpersistence <> 't' AND i.indrelid {which}
ORDER BY i.indrelid, c.relname";

/// Triggers that people made.
pub(super) const TRIGGERS: &str = "
SELECT tgrelid, tgname, tgfoid, tgtype, tgenabled FROM pg_trigger
WHERE NOT tgisinternal AND tgrelid {which} ORDER BY tgrelid, tgname";

/// Inheritance and partitions.
pub(super) const INHERITANCE: &str = "
SELECT inhrelid, inhparent FROM pg_inherits WHERE inhrelid {which} ORDER BY inhparent, inhrelid, inhseqno";

/// The relations that views and materialized views read.
pub(super) const VIEW_READS: &str = "
SELECT DISTINCT r.ev_class, d.refobjid FROM pg_rewrite r
JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = r.oid
  AND d.refclassid = 'pg_class'::regclass AND d.refobjid <> r.ev_class
WHERE r.rulename = '_RETURN' AND r.ev_class {which} ORDER BY 1, 2";

/// Types.
pub(super) const TYPES: &str = r"
SELECT t.oid, n.nspname, t.typname, t.typtype, t.typarray, t.typcollation, t.typbasetype,
  CASE WHEN t.typsubscript = 'array_subscript_handler'::regproc AND t.typlen = -1 THEN t.typelem END
FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
WHERE n.nspname !~ '^pg_(toast|temp_)' AND t.oid {which}";

/// Labels of enums, in order.
pub(super) const LABELS: &str = "
SELECT enumtypid, enumlabel FROM pg_enum WHERE enumtypid {which} ORDER BY enumtypid, enumsortorder";

/// Functions, procedures, aggregates and window functions.
pub(super) const FUNCTIONS: &str = r"
SELECT p.oid, n.nspname, p.proname, p.prokind, p.provolatile, p.proargtypes, p.pronargdefaults,
  p.provariadic <> 0, p.prorettype, p.proretset, l.lanname,
  CASE WHEN p.oid < 16384 THEN ''
    WHEN p.prokind = 'a' THEN
      (SELECT string_agg(quote_ident(f.proname) || '()', ' ' ORDER BY f.oid) FROM pg_aggregate a JOIN pg_proc f
         ON f.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggserialfn, a.aggdeserialfn, a.aggmtransfn,
           a.aggminvtransfn, a.aggmfinalfn)
       WHERE a.aggfnoid = p.oid)
    ELSE coalesce(pg_get_function_sqlbody(p.oid), p.prosrc) END,
  CASE WHEN p.oid >= 16384 THEN
    (SELECT string_agg(DISTINCT d.refobjid::text, ' ') FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass
       AND d.objid = p.oid AND d.refclassid = 'pg_class'::regclass) END
FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace JOIN pg_language l ON l.oid = p.prolang
WHERE n.nspname !~ '^pg_temp_' AND p.oid {which}
ORDER BY p.oid";

/// Operators that are not PostgreSQL's own.
pub(super) const OPERATORS: &str =
    "SELECT DISTINCT oprname FROM pg_operator WHERE oid >= 16384 ORDER BY oprname";

/// One row that is another one after any definition has changed, and the same otherwise. The first column is about
/// what came with PostgreSQL, the second about the rest. Temporary objects don't count.
pub(super) const FINGERPRINT: &str = "
WITH class AS MATERIALIZED (
  SELECT oid, xmin FROM pg_catalog.pg_class WHERE relpersistence <> 't' AND relkind <> 't'),
temporary AS MATERIALIZED (
  SELECT oid FROM pg_catalog.pg_namespace WHERE nspname ~ '^pg_(toast_)?temp_'),
part (n, owner, id, x) AS (
  SELECT 1, oid, 0, xmin FROM class
  UNION ALL SELECT 2, attrelid, attnum, xmin FROM pg_catalog.pg_attribute
    WHERE attrelid IN (SELECT oid FROM class)
  UNION ALL SELECT 3, adrelid, adnum, xmin FROM pg_catalog.pg_attrdef WHERE adrelid IN (SELECT oid FROM class)
  UNION ALL SELECT 4, oid, 0, xmin FROM pg_catalog.pg_type
    WHERE typnamespace NOT IN (SELECT oid FROM temporary)
  UNION ALL SELECT 5, oid, 0, xmin FROM pg_catalog.pg_proc
    WHERE pronamespace NOT IN (SELECT oid FROM temporary)
  UNION ALL SELECT 6, oid, 0, xmin FROM pg_catalog.pg_constraint
    WHERE connamespace NOT IN (SELECT oid FROM temporary)
  UNION ALL SELECT 7, indexrelid, 0, xmin FROM pg_catalog.pg_index WHERE indexrelid IN (SELECT oid FROM class)
  UNION ALL SELECT 8, oid, 0, xmin FROM pg_catalog.pg_trigger WHERE tgrelid IN (SELECT oid FROM class)
  UNION ALL SELECT 9, oid, 0, xmin FROM pg_catalog.pg_enum
  UNION ALL SELECT 10, oid, 0, xmin FROM pg_catalog.pg_rewrite WHERE ev_class IN (SELECT oid FROM class)
  UNION ALL SELECT 11, oid, 0, xmin FROM pg_catalog.pg_namespace WHERE oid NOT IN (SELECT oid FROM temporary)
  UNION ALL SELECT 12, inhrelid, inhseqno, xmin FROM pg_catalog.pg_inherits
    WHERE inhrelid IN (SELECT oid FROM class)
  UNION ALL SELECT 13, oid, 0, xmin FROM pg_catalog.pg_operator
  UNION ALL SELECT 14, oid, 0, xmin FROM pg_catalog.pg_collation
  UNION ALL SELECT 15, oid, 0, xmin FROM pg_catalog.pg_language),
hashed AS (
  SELECT owner < 16384 AS is_builtin,
    pg_catalog.hashint8extended(owner::int8 * 65536 + id, n * 4294967296 + x::text::int8) AS h FROM part)
SELECT count(*) FILTER (WHERE is_builtin) || ' ' || coalesce(bit_xor(h) FILTER (WHERE is_builtin), 0),
  count(*) FILTER (WHERE NOT is_builtin) || ' ' || coalesce(bit_xor(h) FILTER (WHERE NOT is_builtin), 0)
FROM hashed";
