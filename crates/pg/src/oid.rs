//! Type numbers. Those of built-in types are the same on every PostgreSQL; those of user types are not,
//! and differ from shard to shard.

use std::fmt;

/// The number of a catalog object, most often of a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Oid(
    /// The number itself.
    pub u32,
);

/// The first number that `initdb` leaves to users: below it a type means the same on every server.
const FIRST_NORMAL: u32 = 16384;

impl Oid {
    /// No object: "let the server decide" in Parse, "no table" in `RowDescription`.
    pub const INVALID: Self = Self(0);

    /// Whether the object came with PostgreSQL, so that its number is the same on every shard.
    #[must_use]
    pub const fn is_builtin(self) -> bool {
        self.0 != 0 && self.0 < FIRST_NORMAL
    }

    /// The array type whose elements have this built-in type.
    #[must_use]
    pub fn array(self) -> Option<Self> {
        BUILTIN.iter().find(|row| row.0 == self).map(|row| row.1)
    }

    /// The element type of this built-in array type.
    #[must_use]
    pub fn element(self) -> Option<Self> {
        BUILTIN.iter().find(|row| row.1 == self).map(|row| row.0)
    }

    /// The name of a built-in scalar type as the catalog has it (`int4`).
    #[must_use]
    pub fn type_name(self) -> Option<&'static str> {
        BUILTIN.iter().find(|row| row.0 == self).map(|row| row.2)
    }

    /// The built-in scalar type that the catalog calls so (`int4`, not `integer`).
    #[must_use]
    pub fn from_type_name(name: &str) -> Option<Self> {
        BUILTIN.iter().find(|row| row.2 == name).map(|row| row.0)
    }
}

impl fmt::Display for Oid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u32> for Oid {
    fn from(number: u32) -> Self {
        Self(number)
    }
}

/// `bool`.
pub const BOOL: Oid = Oid(16);
/// `bool[]`.
pub const BOOL_ARRAY: Oid = Oid(1000);
/// `bytea`.
pub const BYTEA: Oid = Oid(17);
/// `bytea[]`.
pub const BYTEA_ARRAY: Oid = Oid(1001);
/// `"char"`.
pub const CHAR: Oid = Oid(18);
/// `"char"[]`.
pub const CHAR_ARRAY: Oid = Oid(1002);
/// `name`.
pub const NAME: Oid = Oid(19);
/// `name[]`.
pub const NAME_ARRAY: Oid = Oid(1003);
/// `int8`.
pub const INT8: Oid = Oid(20);
/// `int8[]`.
pub const INT8_ARRAY: Oid = Oid(1016);
/// `int2`.
pub const INT2: Oid = Oid(21);
/// `int2[]`.
pub const INT2_ARRAY: Oid = Oid(1005);
/// `int2vector`.
pub const INT2VECTOR: Oid = Oid(22);
/// `int2vector[]`.
pub const INT2VECTOR_ARRAY: Oid = Oid(1006);
/// `int4`.
pub const INT4: Oid = Oid(23);
/// `int4[]`.
pub const INT4_ARRAY: Oid = Oid(1007);
/// `regproc`.
pub const REGPROC: Oid = Oid(24);
/// `regproc[]`.
pub const REGPROC_ARRAY: Oid = Oid(1008);
/// `text`.
pub const TEXT: Oid = Oid(25);
/// `text[]`.
pub const TEXT_ARRAY: Oid = Oid(1009);
/// `oid`.
pub const OID: Oid = Oid(26);
/// `oid[]`.
pub const OID_ARRAY: Oid = Oid(1028);
/// `tid`.
pub const TID: Oid = Oid(27);
/// `tid[]`.
pub const TID_ARRAY: Oid = Oid(1010);
/// `xid`.
pub const XID: Oid = Oid(28);
/// `xid[]`.
pub const XID_ARRAY: Oid = Oid(1011);
/// `cid`.
pub const CID: Oid = Oid(29);
/// `cid[]`.
pub const CID_ARRAY: Oid = Oid(1012);
/// `oidvector`.
pub const OIDVECTOR: Oid = Oid(30);
/// `oidvector[]`.
pub const OIDVECTOR_ARRAY: Oid = Oid(1013);
/// `json`.
pub const JSON: Oid = Oid(114);
/// `json[]`.
pub const JSON_ARRAY: Oid = Oid(199);
/// `xml`.
pub const XML: Oid = Oid(142);
/// `xml[]`.
pub const XML_ARRAY: Oid = Oid(143);
/// `point`.
pub const POINT: Oid = Oid(600);
/// `point[]`.
pub const POINT_ARRAY: Oid = Oid(1017);
/// `lseg`.
pub const LSEG: Oid = Oid(601);
/// `lseg[]`.
pub const LSEG_ARRAY: Oid = Oid(1018);
/// `path`.
pub const PATH: Oid = Oid(602);
/// `path[]`.
pub const PATH_ARRAY: Oid = Oid(1019);
/// `box`.
pub const BOX: Oid = Oid(603);
/// `box[]`.
pub const BOX_ARRAY: Oid = Oid(1020);
/// `polygon`.
pub const POLYGON: Oid = Oid(604);
/// `polygon[]`.
pub const POLYGON_ARRAY: Oid = Oid(1027);
/// `line`.
pub const LINE: Oid = Oid(628);
/// `line[]`.
pub const LINE_ARRAY: Oid = Oid(629);
/// `float4`.
pub const FLOAT4: Oid = Oid(700);
/// `float4[]`.
pub const FLOAT4_ARRAY: Oid = Oid(1021);
/// `float8`.
pub const FLOAT8: Oid = Oid(701);
/// `float8[]`.
pub const FLOAT8_ARRAY: Oid = Oid(1022);
/// `circle`.
pub const CIRCLE: Oid = Oid(718);
/// `circle[]`.
pub const CIRCLE_ARRAY: Oid = Oid(719);
/// `money`.
pub const MONEY: Oid = Oid(790);
/// `money[]`.
pub const MONEY_ARRAY: Oid = Oid(791);
/// `macaddr`.
pub const MACADDR: Oid = Oid(829);
/// `macaddr[]`.
pub const MACADDR_ARRAY: Oid = Oid(1040);
/// `inet`.
pub const INET: Oid = Oid(869);
/// `inet[]`.
pub const INET_ARRAY: Oid = Oid(1041);
/// `cidr`.
pub const CIDR: Oid = Oid(650);
/// `cidr[]`.
pub const CIDR_ARRAY: Oid = Oid(651);
/// `macaddr8`.
pub const MACADDR8: Oid = Oid(774);
/// `macaddr8[]`.
pub const MACADDR8_ARRAY: Oid = Oid(775);
/// `aclitem`.
pub const ACLITEM: Oid = Oid(1033);
/// `aclitem[]`.
pub const ACLITEM_ARRAY: Oid = Oid(1034);
/// `bpchar`.
pub const BPCHAR: Oid = Oid(1042);
/// `bpchar[]`.
pub const BPCHAR_ARRAY: Oid = Oid(1014);
/// `varchar`.
pub const VARCHAR: Oid = Oid(1043);
/// `varchar[]`.
pub const VARCHAR_ARRAY: Oid = Oid(1015);
/// `date`.
pub const DATE: Oid = Oid(1082);
/// `date[]`.
pub const DATE_ARRAY: Oid = Oid(1182);
/// `time`.
pub const TIME: Oid = Oid(1083);
/// `time[]`.
pub const TIME_ARRAY: Oid = Oid(1183);
/// `timestamp`.
pub const TIMESTAMP: Oid = Oid(1114);
/// `timestamp[]`.
pub const TIMESTAMP_ARRAY: Oid = Oid(1115);
/// `timestamptz`.
pub const TIMESTAMPTZ: Oid = Oid(1184);
/// `timestamptz[]`.
pub const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);
/// `interval`.
pub const INTERVAL: Oid = Oid(1186);
/// `interval[]`.
pub const INTERVAL_ARRAY: Oid = Oid(1187);
/// `timetz`.
pub const TIMETZ: Oid = Oid(1266);
/// `timetz[]`.
pub const TIMETZ_ARRAY: Oid = Oid(1270);
/// `bit`.
pub const BIT: Oid = Oid(1560);
/// `bit[]`.
pub const BIT_ARRAY: Oid = Oid(1561);
/// `varbit`.
pub const VARBIT: Oid = Oid(1562);
/// `varbit[]`.
pub const VARBIT_ARRAY: Oid = Oid(1563);
/// `numeric`.
pub const NUMERIC: Oid = Oid(1700);
/// `numeric[]`.
pub const NUMERIC_ARRAY: Oid = Oid(1231);
/// `refcursor`.
pub const REFCURSOR: Oid = Oid(1790);
/// `refcursor[]`.
pub const REFCURSOR_ARRAY: Oid = Oid(2201);
/// `regprocedure`.
pub const REGPROCEDURE: Oid = Oid(2202);
/// `regprocedure[]`.
pub const REGPROCEDURE_ARRAY: Oid = Oid(2207);
/// `regoper`.
pub const REGOPER: Oid = Oid(2203);
/// `regoper[]`.
pub const REGOPER_ARRAY: Oid = Oid(2208);
/// `regoperator`.
pub const REGOPERATOR: Oid = Oid(2204);
/// `regoperator[]`.
pub const REGOPERATOR_ARRAY: Oid = Oid(2209);
/// `regclass`.
pub const REGCLASS: Oid = Oid(2205);
/// `regclass[]`.
pub const REGCLASS_ARRAY: Oid = Oid(2210);
/// `regtype`.
pub const REGTYPE: Oid = Oid(2206);
/// `regtype[]`.
pub const REGTYPE_ARRAY: Oid = Oid(2211);
/// `uuid`.
pub const UUID: Oid = Oid(2950);
/// `uuid[]`.
pub const UUID_ARRAY: Oid = Oid(2951);
/// `txid_snapshot`.
pub const TXID_SNAPSHOT: Oid = Oid(2970);
/// `txid_snapshot[]`.
pub const TXID_SNAPSHOT_ARRAY: Oid = Oid(2949);
/// `pg_lsn`.
pub const PG_LSN: Oid = Oid(3220);
/// `pg_lsn[]`.
pub const PG_LSN_ARRAY: Oid = Oid(3221);
/// `tsvector`.
pub const TSVECTOR: Oid = Oid(3614);
/// `tsvector[]`.
pub const TSVECTOR_ARRAY: Oid = Oid(3643);
/// `tsquery`.
pub const TSQUERY: Oid = Oid(3615);
/// `tsquery[]`.
pub const TSQUERY_ARRAY: Oid = Oid(3645);
/// `regconfig`.
pub const REGCONFIG: Oid = Oid(3734);
/// `regconfig[]`.
pub const REGCONFIG_ARRAY: Oid = Oid(3735);
/// `regdictionary`.
pub const REGDICTIONARY: Oid = Oid(3769);
/// `regdictionary[]`.
pub const REGDICTIONARY_ARRAY: Oid = Oid(3770);
/// `jsonb`.
pub const JSONB: Oid = Oid(3802);
/// `jsonb[]`.
pub const JSONB_ARRAY: Oid = Oid(3807);
/// `int4range`.
pub const INT4RANGE: Oid = Oid(3904);
/// `int4range[]`.
pub const INT4RANGE_ARRAY: Oid = Oid(3905);
/// `numrange`.
pub const NUMRANGE: Oid = Oid(3906);
/// `numrange[]`.
pub const NUMRANGE_ARRAY: Oid = Oid(3907);
/// `tsrange`.
pub const TSRANGE: Oid = Oid(3908);
/// `tsrange[]`.
pub const TSRANGE_ARRAY: Oid = Oid(3909);
/// `tstzrange`.
pub const TSTZRANGE: Oid = Oid(3910);
/// `tstzrange[]`.
pub const TSTZRANGE_ARRAY: Oid = Oid(3911);
/// `daterange`.
pub const DATERANGE: Oid = Oid(3912);
/// `daterange[]`.
pub const DATERANGE_ARRAY: Oid = Oid(3913);
/// `int8range`.
pub const INT8RANGE: Oid = Oid(3926);
/// `int8range[]`.
pub const INT8RANGE_ARRAY: Oid = Oid(3927);
/// `jsonpath`.
pub const JSONPATH: Oid = Oid(4072);
/// `jsonpath[]`.
pub const JSONPATH_ARRAY: Oid = Oid(4073);
/// `regnamespace`.
pub const REGNAMESPACE: Oid = Oid(4089);
/// `regnamespace[]`.
pub const REGNAMESPACE_ARRAY: Oid = Oid(4090);
/// `regrole`.
pub const REGROLE: Oid = Oid(4096);
/// `regrole[]`.
pub const REGROLE_ARRAY: Oid = Oid(4097);
/// `regcollation`.
pub const REGCOLLATION: Oid = Oid(4191);
/// `regcollation[]`.
pub const REGCOLLATION_ARRAY: Oid = Oid(4192);
/// `pg_snapshot`.
pub const PG_SNAPSHOT: Oid = Oid(5038);
/// `pg_snapshot[]`.
pub const PG_SNAPSHOT_ARRAY: Oid = Oid(5039);
/// `xid8`.
pub const XID8: Oid = Oid(5069);
/// `xid8[]`.
pub const XID8_ARRAY: Oid = Oid(271);
/// A literal or parameter whose type is not decided yet.
pub const UNKNOWN: Oid = Oid(705);
/// `record`: an anonymous row.
pub const RECORD: Oid = Oid(2249);
/// `void`: what procedures give.
pub const VOID: Oid = Oid(2278);

/// Type, its array type, its name.
const BUILTIN: &[(Oid, Oid, &str)] = &[
    (BOOL, BOOL_ARRAY, "bool"),
    (BYTEA, BYTEA_ARRAY, "bytea"),
    (CHAR, CHAR_ARRAY, "char"),
    (NAME, NAME_ARRAY, "name"),
    (INT8, INT8_ARRAY, "int8"),
    (INT2, INT2_ARRAY, "int2"),
    (INT2VECTOR, INT2VECTOR_ARRAY, "int2vector"),
    (INT4, INT4_ARRAY, "int4"),
    (REGPROC, REGPROC_ARRAY, "regproc"),
    (TEXT, TEXT_ARRAY, "text"),
    (OID, OID_ARRAY, "oid"),
    (TID, TID_ARRAY, "tid"),
    (XID, XID_ARRAY, "xid"),
    (CID, CID_ARRAY, "cid"),
    (OIDVECTOR, OIDVECTOR_ARRAY, "oidvector"),
    (JSON, JSON_ARRAY, "json"),
    (XML, XML_ARRAY, "xml"),
    (POINT, POINT_ARRAY, "point"),
    (LSEG, LSEG_ARRAY, "lseg"),
    (PATH, PATH_ARRAY, "path"),
    (BOX, BOX_ARRAY, "box"),
    (POLYGON, POLYGON_ARRAY, "polygon"),
    (LINE, LINE_ARRAY, "line"),
    (FLOAT4, FLOAT4_ARRAY, "float4"),
    (FLOAT8, FLOAT8_ARRAY, "float8"),
    (CIRCLE, CIRCLE_ARRAY, "circle"),
    (MONEY, MONEY_ARRAY, "money"),
    (MACADDR, MACADDR_ARRAY, "macaddr"),
    (INET, INET_ARRAY, "inet"),
    (CIDR, CIDR_ARRAY, "cidr"),
    (MACADDR8, MACADDR8_ARRAY, "macaddr8"),
    (ACLITEM, ACLITEM_ARRAY, "aclitem"),
    (BPCHAR, BPCHAR_ARRAY, "bpchar"),
    (VARCHAR, VARCHAR_ARRAY, "varchar"),
    (DATE, DATE_ARRAY, "date"),
    (TIME, TIME_ARRAY, "time"),
    (TIMESTAMP, TIMESTAMP_ARRAY, "timestamp"),
    (TIMESTAMPTZ, TIMESTAMPTZ_ARRAY, "timestamptz"),
    (INTERVAL, INTERVAL_ARRAY, "interval"),
    (TIMETZ, TIMETZ_ARRAY, "timetz"),
    (BIT, BIT_ARRAY, "bit"),
    (VARBIT, VARBIT_ARRAY, "varbit"),
    (NUMERIC, NUMERIC_ARRAY, "numeric"),
    (REFCURSOR, REFCURSOR_ARRAY, "refcursor"),
    (REGPROCEDURE, REGPROCEDURE_ARRAY, "regprocedure"),
    (REGOPER, REGOPER_ARRAY, "regoper"),
    (REGOPERATOR, REGOPERATOR_ARRAY, "regoperator"),
    (REGCLASS, REGCLASS_ARRAY, "regclass"),
    (REGTYPE, REGTYPE_ARRAY, "regtype"),
    (UUID, UUID_ARRAY, "uuid"),
    (TXID_SNAPSHOT, TXID_SNAPSHOT_ARRAY, "txid_snapshot"),
    (PG_LSN, PG_LSN_ARRAY, "pg_lsn"),
    (TSVECTOR, TSVECTOR_ARRAY, "tsvector"),
    (TSQUERY, TSQUERY_ARRAY, "tsquery"),
    (REGCONFIG, REGCONFIG_ARRAY, "regconfig"),
    (REGDICTIONARY, REGDICTIONARY_ARRAY, "regdictionary"),
    (JSONB, JSONB_ARRAY, "jsonb"),
    (INT4RANGE, INT4RANGE_ARRAY, "int4range"),
    (NUMRANGE, NUMRANGE_ARRAY, "numrange"),
    (TSRANGE, TSRANGE_ARRAY, "tsrange"),
    (TSTZRANGE, TSTZRANGE_ARRAY, "tstzrange"),
    (DATERANGE, DATERANGE_ARRAY, "daterange"),
    (INT8RANGE, INT8RANGE_ARRAY, "int8range"),
    (JSONPATH, JSONPATH_ARRAY, "jsonpath"),
    (REGNAMESPACE, REGNAMESPACE_ARRAY, "regnamespace"),
    (REGROLE, REGROLE_ARRAY, "regrole"),
    (REGCOLLATION, REGCOLLATION_ARRAY, "regcollation"),
    (PG_SNAPSHOT, PG_SNAPSHOT_ARRAY, "pg_snapshot"),
    (XID8, XID8_ARRAY, "xid8"),
];
