"""The scenario for psycopg 3."""

import datetime
import decimal
import threading
import time
import uuid

import psycopg
from psycopg.rows import dict_row
from psycopg.types.enum import EnumInfo, register_enum
from psycopg.types.json import Jsonb

from steps import line, refusal, shown


def step(name):
    def run(body):
        with psycopg.connect("", autocommit=True) as conn:
            try:
                line(name, shown(body(conn)))
            except psycopg.Error as error:
                d = error.diag
                told = refusal(d.sqlstate, d.message_detail)
                line(name, told or f"{type(error).__name__} {d.sqlstate} {d.message_primary or error}")
    return run


ALL = "SELECT id, name FROM accounts WHERE id <= 12 ORDER BY id"
TYPED = (
    "INSERT INTO accounts (id, name, balance, born, token, raw, tags, doc, mood, mail, seen)"
    " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s) RETURNING *"
)


def values(key):
    return (
        key, "é'\\ ✓", decimal.Decimal("12.30"), datetime.date(1999, 12, 31),
        uuid.UUID(int=key), b"\x00\xff'\\", ["a", None, "b,\"c"], Jsonb({"k": [1, None]}),
        "happy", "x@y", datetime.datetime(2020, 5, 17, 12, tzinfo=datetime.timezone.utc),
    )


@step("connect")
def _(conn):
    i = conn.info
    names = ("server_encoding", "client_encoding", "DateStyle", "TimeZone", "integer_datetimes",
             "standard_conforming_strings", "is_superuser", "session_authorization", "IntervalStyle")
    return [i.transaction_status.name, i.dbname, *[i.parameter_status(n) for n in names]]


@step("connect with options")
def _(_conn):
    with psycopg.connect("", autocommit=True, application_name="some app",
                         options="-c statement_timeout=4321 -c TimeZone=Asia/Tokyo") as conn:
        rows = conn.execute("SELECT current_setting('statement_timeout'), current_setting('application_name'),"
                            " '2020-01-01 00:00+00'::timestamptz::text").fetchall()
        return [rows, conn.info.parameter_status("TimeZone"), conn.info.parameter_status("application_name")]


@step("wrong option")
def _(_conn):
    try:
        psycopg.connect("", options="-c no_such=1").close()
    except psycopg.OperationalError as error:
        return str(error).split("FATAL:")[-1].strip().splitlines()[0]


step("simple select")(lambda c: c.execute("SELECT 1, 'x', NULL, 1.50, true").fetchall())
step("keyed read")(lambda c: c.execute("SELECT * FROM accounts WHERE id = %s", (7,)).fetchall())
step("keyed read, binary")(lambda c: c.execute("SELECT * FROM accounts WHERE id = %s", (7,), binary=True).fetchall())
step("keyed read by text")(lambda c: c.execute("SELECT name FROM accounts WHERE id = %s", ("7",)).fetchall())
step("no such row")(lambda c: c.execute("SELECT name FROM accounts WHERE id = %s", (7000,)).fetchall())
step("scatter in order")(lambda c: c.execute(ALL).fetchall())
step("scatter in order, parameters")(lambda c: c.execute(
    "SELECT id FROM accounts WHERE balance > %s ORDER BY id DESC LIMIT %s", (decimal.Decimal(9), 5)).fetchall())
step("scatter in order, binary")(lambda c: c.execute(ALL, binary=True).fetchall())
step("count")(lambda c: c.execute("SELECT count(*), sum(balance), min(born), max(seen) FROM accounts").fetchall())
step("count, binary")(lambda c: c.execute("SELECT count(*), sum(balance), min(born), max(seen) FROM accounts", binary=True).fetchall())
step("in list")(lambda c: c.execute("SELECT id FROM accounts WHERE id = ANY(%s) ORDER BY id", ([1, 2, 3, 30],)).fetchall())
step("dict rows")(lambda c: c.cursor(row_factory=dict_row).execute("SELECT id, mood FROM accounts WHERE id = 3").fetchall())
step("join")(lambda c: c.execute("SELECT a.id, sum(e.amount) FROM accounts a JOIN entries e ON e.account_id = a.id"
                                 " WHERE a.id = %s GROUP BY a.id", (5,)).fetchall())


@step("columns")
def _(conn):
    cur = conn.execute("SELECT * FROM accounts WHERE id = 1")
    return [[d.name, d.type_code if d.type_code < 16384 else "own", d.internal_size] for d in cur.description]


step("insert returning")(lambda c: c.execute(TYPED, values(100)).fetchall())
step("insert returning, binary")(lambda c: c.execute(TYPED, values(101), binary=True).fetchall())
step("insert nulls")(lambda c: c.execute(TYPED, (102, "n", 0) + (None,) * 8).fetchall())


@step("multi-row insert")
def _(conn):
    cur = conn.execute("INSERT INTO accounts (id, name) VALUES (%s,%s),(%s,%s),(%s,%s),(%s,%s),(%s,%s) RETURNING id",
                       (110, "a", 111, "b", 112, "c", 113, "d", 114, "e"))
    return [cur.fetchall(), cur.rowcount, cur.statusmessage]


@step("executemany")
def _(conn):
    cur = conn.cursor()
    cur.executemany("INSERT INTO accounts (id, name) VALUES (%s, %s)", [(n, f"m{n}") for n in range(120, 140)])
    return [cur.rowcount, conn.execute("SELECT count(*) FROM accounts WHERE id BETWEEN 120 AND 139").fetchone()]


@step("executemany returning")
def _(conn):
    cur = conn.cursor()
    cur.executemany("INSERT INTO accounts (id, name) VALUES (%s, %s) RETURNING id", [(n, f"m{n}") for n in range(140, 150)], returning=True)
    found = []
    while True:
        found.append(cur.fetchone())
        if not cur.nextset():
            return found


@step("executemany fails in the middle")
def _(conn):
    try:
        conn.cursor().executemany("INSERT INTO accounts (id, name) VALUES (%s, %s)", [(n, "x") for n in (150, 151, 1, 152)])
    except psycopg.errors.UniqueViolation as error:
        return [error.diag.constraint_name, conn.execute("SELECT count(*) FROM accounts WHERE id BETWEEN 150 AND 152").fetchone()]


@step("pipeline")
def _(conn):
    with conn.pipeline() as p:
        cursors = [conn.execute("SELECT name FROM accounts WHERE id = %s", (n,)) for n in range(1, 9)]
        cursors.append(conn.execute("SELECT count(*) FROM accounts WHERE id <= 40"))
        cursors.append(conn.execute("UPDATE accounts SET name = 'p' WHERE id IN (33, 34, 35) RETURNING id"))
        p.sync()
        cursors.append(conn.execute("SELECT id FROM accounts WHERE name = 'p' ORDER BY id"))
    return [sorted(c.fetchall()) for c in cursors]


@step("pipeline with an error")
def _(conn):
    try:
        with conn.pipeline():
            conn.execute("UPDATE accounts SET name = 'q1' WHERE id = 36")
            conn.execute("SELECT 1/0")
            conn.execute("UPDATE accounts SET name = 'q2' WHERE id = 37")
    # Which of the two it is depends on when the answer arrives.
    except (psycopg.errors.DivisionByZero, psycopg.errors.PipelineAborted):
        pass
    d = conn.execute("SELECT id, name FROM accounts WHERE id IN (36, 37) ORDER BY id")
    return [d.fetchall(), conn.info.transaction_status.name]


@step("transaction over shards")
def _(conn):
    with conn.transaction():
        conn.execute("UPDATE accounts SET balance = balance - 1 WHERE id = 1")
        conn.execute("UPDATE accounts SET balance = balance + 1 WHERE id = 2")
    return conn.execute("SELECT id, balance FROM accounts WHERE id IN (1, 2) ORDER BY id").fetchall()


@step("transaction rolled back")
def _(conn):
    with conn.transaction(force_rollback=True):
        conn.execute("UPDATE accounts SET balance = 0")
    return conn.execute("SELECT count(*) FROM accounts WHERE balance = 0 AND id <= 40").fetchall()


@step("savepoints")
def _(conn):
    with conn.transaction():
        conn.execute("UPDATE accounts SET name = 's1' WHERE id = 11")
        try:
            with conn.transaction():
                conn.execute("UPDATE accounts SET name = 's2' WHERE id = 12")
                conn.execute("INSERT INTO accounts (id, name) VALUES (13, 'twice')")
        except psycopg.errors.UniqueViolation as error:
            first = error.sqlstate
        with conn.transaction():
            conn.execute("UPDATE accounts SET name = 's3' WHERE id = 14")
    return [first, conn.execute("SELECT id, name FROM accounts WHERE id BETWEEN 11 AND 14 ORDER BY id").fetchall()]


@step("failed transaction")
def _(conn):
    conn.autocommit = False
    codes = []
    for sql in ("SELECT * FROM nowhere", "SELECT 1"):
        try:
            conn.execute(sql)
        except psycopg.Error as error:
            codes.append([error.sqlstate, error.diag.message_primary, error.diag.statement_position])
    state = conn.info.transaction_status.name
    conn.rollback()
    return [codes, state, conn.execute("SELECT 1").fetchone()]


@step("server cursor, one shard")
def _(conn):
    with conn.transaction(), conn.cursor("c1") as cur:
        cur.execute("SELECT id FROM entries WHERE account_id = 4 ORDER BY id")
        return [cur.fetchone(), cur.fetchmany(1), cur.fetchall()]


@step("server cursor, all shards")
def _(conn):
    with conn.transaction(), conn.cursor("c2") as cur:
        cur.itersize = 7
        cur.execute("SELECT id FROM accounts WHERE id <= 40 ORDER BY id")
        return [r[0] for r in cur]


@step("stream")
def _(conn):
    return list(conn.cursor().stream("SELECT id FROM accounts WHERE id <= 10 ORDER BY id"))


@step("copy in")
def _(conn):
    cur = conn.cursor()
    with cur.copy("COPY accounts (id, name, doc, mood) FROM STDIN") as copy:
        for n in range(200, 230):
            copy.write_row((n, f"c\t{n}\\", Jsonb({"n": n}), "ok"))
    return [cur.rowcount, conn.execute("SELECT count(*), min(name), max(id) FROM accounts WHERE id BETWEEN 200 AND 229").fetchall()]


@step("copy in, binary")
def _(conn):
    cur = conn.cursor()
    with cur.copy("COPY accounts (id, name) FROM STDIN (FORMAT binary)") as copy:
        copy.set_types(["int8", "text"])
        for n in range(230, 240):
            copy.write_row((n, f"c{n}"))
    return [cur.rowcount, conn.execute("SELECT count(*) FROM accounts WHERE id BETWEEN 230 AND 239").fetchall()]


@step("copy in, given up")
def _(conn):
    try:
        with conn.cursor().copy("COPY accounts (id, name) FROM STDIN") as copy:
            copy.write_row((240, "x"))
            raise KeyError
    except KeyError:
        return conn.execute("SELECT count(*) FROM accounts WHERE id = 240").fetchone()


@step("copy in, bad row")
def _(conn):
    with conn.cursor().copy("COPY accounts (id, name) FROM STDIN") as copy:
        copy.write("241\tx\n242\ty\nnonsense\tz\n")


@step("copy out")
def _(conn):
    with conn.cursor().copy("COPY accounts (id, name, mood) TO STDOUT") as copy:
        return sorted(row for row in (bytes(b).decode() for b in copy) if int(row.split("\t")[0]) <= 10)


@step("copy out of a query")
def _(conn):
    with conn.cursor().copy("COPY (SELECT id, mail FROM accounts WHERE id <= 9 ORDER BY id) TO STDOUT (FORMAT csv, HEADER)") as copy:
        return [bytes(b).decode() for b in copy]


@step("copy out, binary")
def _(conn):
    with conn.cursor().copy("COPY (SELECT id, name FROM accounts WHERE id = 6) TO STDOUT (FORMAT binary)") as copy:
        copy.set_types(["int8", "text"])
        return list(copy.rows())


for n, (name, sql) in enumerate([
    ("syntax", "SELEC 1"), ("table", "SELECT * FROM nowhere"), ("column", "SELECT nope FROM accounts"),
    ("unique", "INSERT INTO accounts (id, name) VALUES (1, 'x')"),
    ("not null", "INSERT INTO accounts (id) VALUES (900)"),
    ("foreign key", "INSERT INTO entries VALUES (9999, 1, 1)"),
    ("check", "UPDATE accounts SET mail = 'nope' WHERE id = 1"),
    ("enum", "UPDATE accounts SET mood = 'angry' WHERE id = 1"),
    ("division", "SELECT 1/0"), ("function", "SELECT no_such_function(1)"),
    ("division on all", "SELECT 1/(id - id) FROM accounts"),
    ("text for number", "SELECT * FROM accounts WHERE id = 'x'"),
    ("two statements", "SELECT 1; SELECT 2"),
]):
    step(f"error, {name}")(lambda c, sql=sql: c.execute(sql).fetchall())
step("error, parameter")(lambda c: c.execute("SELECT * FROM accounts WHERE id = %s::text::bigint", ("x",)).fetchall())


@step("notice")
def _(conn):
    found = []
    conn.add_notice_handler(lambda d: found.append([d.severity, d.sqlstate, d.message_primary]))
    conn.execute("DROP TABLE IF EXISTS never_there")
    conn.execute("COMMIT")
    return found


step("do block")(lambda c: c.execute("DO $$ BEGIN RAISE NOTICE 'hello'; END $$").statusmessage)


@step("commit told at the end of a set")
def _(conn):
    told = []
    for sql in ("BEGIN; SET TimeZone = 'Asia/Tokyo'; ROLLBACK", "SET TimeZone = 'Asia/Tokyo'; SELECT 1/0", "BEGIN", "SAVEPOINT s", "SET TimeZone = 'Asia/Seoul'",
                "ROLLBACK TO s", "SET LOCAL TimeZone = 'Asia/Dili'", "COMMIT", "SET LOCAL TimeZone = 'Asia/Dili'; SELECT 1", "SET TimeZone = 'Asia/Dili'"):
        try:
            conn.execute(sql)
        except psycopg.Error as error:
            told.append(error.sqlstate)
        told.append([conn.info.parameter_status("TimeZone"), conn.info.transaction_status.name])
    told.append(conn.execute("SHOW TimeZone").fetchone())
    return told


@step("set in a pipeline that fails")
def _(conn):
    try:
        with conn.pipeline():
            conn.execute("SET application_name = 'piped'")
            conn.execute("SELECT 1/0")
    except psycopg.errors.DivisionByZero:
        pass
    return [conn.execute("SHOW application_name").fetchone(), conn.info.parameter_status("application_name")]


@step("cancel")
def _(conn):
    threading.Timer(0.3, conn.cancel).start()
    began = time.time()
    try:
        conn.execute("SELECT pg_sleep(20)")
    except psycopg.errors.QueryCanceled as error:
        return [error.sqlstate, time.time() - began < 3, conn.execute("SELECT 1").fetchone()]


@step("cancel on all shards")
def _(conn):
    threading.Timer(0.3, conn.cancel_safe).start()
    began = time.time()
    try:
        conn.execute("SELECT id, pg_sleep(5) FROM accounts ORDER BY id").fetchall()
    except psycopg.errors.QueryCanceled as error:
        return [error.sqlstate, time.time() - began < 3, conn.execute("SELECT count(*) FROM countries").fetchone()]


@step("statement timeout")
def _(conn):
    conn.execute("SET statement_timeout = 200")
    try:
        conn.execute("SELECT pg_sleep(20)")
    except psycopg.errors.QueryCanceled as error:
        conn.execute("RESET statement_timeout")
        return [error.diag.message_primary, conn.execute("SHOW statement_timeout").fetchone()]


@step("statement timeout on all shards")
def _(conn):
    conn.execute("SET statement_timeout = 200")
    conn.execute("SELECT id, pg_sleep(5) FROM accounts ORDER BY id")


@step("prepared many times")
def _(conn):
    found = [conn.execute("SELECT name FROM accounts WHERE id = %s", (n,), prepare=True).fetchone()[0] for n in range(1, 21)]
    found += [conn.execute("SELECT count(*) FROM accounts WHERE id < %s", (n,), prepare=True).fetchone()[0] for n in range(1, 9)]
    return found


@step("prepared, then its table changes")
def _(conn):
    one = "SELECT * FROM accounts WHERE id = %s"
    a = conn.execute(one, (3,), prepare=True).fetchone()
    conn.execute("ALTER TABLE accounts ADD COLUMN extra int DEFAULT 5")
    try:
        b = conn.execute(one, (3,), prepare=True).fetchone()
    except psycopg.Error as error:
        b = [error.sqlstate, error.diag.message_primary]
    conn.execute("ALTER TABLE accounts DROP COLUMN extra")
    return [a, b, conn.execute("SELECT count(*) FROM accounts WHERE id = 3").fetchone()]


@step("prepared, then deallocated")
def _(conn):
    conn.execute("SELECT name FROM accounts WHERE id = %s", (3,), prepare=True)
    conn.execute("DEALLOCATE ALL")
    try:
        return conn.execute("SELECT name FROM accounts WHERE id = %s", (3,), prepare=True).fetchone()
    except psycopg.Error as error:
        return error.sqlstate


@step("sql prepare")
def _(conn):
    conn.execute("PREPARE p (bigint) AS SELECT name FROM accounts WHERE id = $1")
    found = [conn.execute(f"EXECUTE p({n})").fetchone() for n in range(1, 9)]
    conn.execute("DEALLOCATE p")
    return found


@step("settings")
def _(conn):
    conn.execute("SELECT set_config('app.tenant', %s, false)", ("t 1",))
    conn.execute("SET TIME ZONE 'America/New_York'")
    conn.execute("SET DateStyle = 'German, DMY'")
    told = [conn.info.parameter_status("TimeZone"), conn.info.parameter_status("DateStyle")]
    rows = conn.execute("SELECT current_setting('app.tenant'), seen::text, born::text FROM accounts WHERE id <= 4 ORDER BY id").fetchall()
    conn.execute("RESET ALL")
    return [told, rows, conn.execute("SELECT current_setting('app.tenant', true), current_setting('TimeZone')").fetchone(), conn.info.parameter_status("TimeZone")]


@step("settings of a transaction")
def _(conn):
    with conn.transaction():
        conn.execute("SET LOCAL TimeZone = 'Asia/Tokyo'")
        a = conn.execute("SELECT seen::text FROM accounts WHERE id <= 3 ORDER BY id").fetchall()
    return [a, conn.execute("SELECT seen::text FROM accounts WHERE id <= 3 ORDER BY id").fetchall(), conn.info.parameter_status("TimeZone")]


@step("timestamps in a time zone")
def _(conn):
    conn.execute("SET TIME ZONE 'Asia/Kathmandu'")
    return [str(r[0]) for r in conn.execute("SELECT seen FROM accounts WHERE id <= 3 ORDER BY id").fetchall()]


@step("enum")
def _(conn):
    info = EnumInfo.fetch(conn, "mood")
    register_enum(info, conn)
    rows = conn.execute("SELECT mood FROM accounts WHERE id <= 4 ORDER BY id").fetchall()
    arrays = conn.execute("SELECT array_agg(mood ORDER BY id) FROM accounts WHERE id = 4", binary=True).fetchall()
    return [[r[0].name for r in rows], info.labels, [x.name for x in arrays[0][0]]]


@step("enum parameters")
def _(conn):
    return [conn.execute("SELECT id FROM accounts WHERE mood = %s AND id < 10 ORDER BY id", ("happy",)).fetchall(),
            conn.execute("SELECT id FROM accounts WHERE mood = ANY(%s::mood[]) AND id < 10 ORDER BY id", (["happy", "sad"],)).fetchall()]


step("serial")(lambda c: [r[0] > 0 for r in c.execute("INSERT INTO notes (body) VALUES ('a'), ('b') RETURNING id").fetchall()])
step("reference table")(lambda c: [c.execute("INSERT INTO countries VALUES ('us', 'America') RETURNING *").fetchall(),
                                   c.execute("SELECT a.id, c.name FROM accounts a JOIN countries c ON c.code = 'us' WHERE a.id < 5 ORDER BY 1").fetchall()])
step("empty query")(lambda c: c.execute("").statusmessage)
step("many parameters")(lambda c: c.execute("SELECT count(*) FROM accounts WHERE id IN (" + ",".join(["%s"] * 500) + ")", list(range(500))).fetchall())
step("large value")(lambda c: c.execute("UPDATE accounts SET raw = %s WHERE id = 20 RETURNING length(raw), md5(raw)", (b"ab" * 500000,)).fetchall())
step("temporary table")(lambda c: [c.execute("CREATE TEMP TABLE tt (x int)").statusmessage, c.execute("INSERT INTO tt VALUES (1) RETURNING x").fetchall(), c.execute("SELECT * FROM tt").fetchall()])
step("advisory lock")(lambda c: [c.execute("SELECT pg_advisory_lock(7)").fetchall(), c.execute("SELECT pg_advisory_unlock(7)").fetchall()])


@step("listen")
def _(conn):
    conn.execute("LISTEN ch")
    with psycopg.connect("", autocommit=True) as other:
        other.execute("NOTIFY ch, 'hi'")
    return [[n.channel, n.payload] for n in conn.notifies(timeout=3, stop_after=1)]
