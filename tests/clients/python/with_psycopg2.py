"""The scenario for psycopg2."""

import io
import select
import threading
import time

import psycopg2
import psycopg2.errorcodes
import psycopg2.extras

from steps import line, refusal, shown


def step(name):
    def run(body):
        conn = psycopg2.connect("")
        conn.autocommit = True
        try:
            line(name, shown(body(conn, conn.cursor())))
        except psycopg2.Error as error:
            told = refusal(error.pgcode, error.diag.message_detail)
            line(name, told or f"{type(error).__name__} {error.pgcode} {error.diag.message_primary or error}")
        finally:
            conn.close()
    return run


def asked(cur, sql, values=None):
    cur.execute(sql, values)
    return cur.fetchall()


step("connect")(lambda conn, cur: [conn.get_parameter_status("TimeZone"), conn.encoding, conn.status, conn.get_transaction_status()])
step("simple select")(lambda _, cur: asked(cur, "SELECT 1, 'x', NULL, 1.5, now() IS NULL"))
step("keyed read")(lambda _, cur: asked(cur, "SELECT * FROM accounts WHERE id = %s", (7,)))
step("scatter in order")(lambda _, cur: asked(cur, "SELECT id, name, mood FROM accounts WHERE id <= %(n)s ORDER BY id", {"n": 9}))
step("several statements")(lambda _, cur: asked(cur, "UPDATE accounts SET name = 'a' WHERE id = 1; UPDATE accounts SET name = 'b' WHERE id = 2; SELECT id, name FROM accounts WHERE id < 3 ORDER BY id"))


@step("several statements, one fails")
def _(conn, cur):
    try:
        cur.execute("UPDATE accounts SET name = 'zz' WHERE id = 3; UPDATE accounts SET name = 'zz' WHERE id = 4; SELECT 1/0")
    except psycopg2.Error as error:
        return [error.pgcode, asked(cur, "SELECT id, name FROM accounts WHERE id IN (3, 4) ORDER BY id")]


@step("execute_values")
def _(conn, cur):
    rows = psycopg2.extras.execute_values(
        cur, "INSERT INTO accounts (id, name, tags) VALUES %s RETURNING id",
        [(n, f"v{n}", ["a", "b"]) for n in range(100, 130)], page_size=12, fetch=True)
    return [rows, asked(cur, "SELECT count(*) FROM accounts WHERE id BETWEEN 100 AND 129")]


@step("execute_batch")
def _(conn, cur):
    psycopg2.extras.execute_batch(cur, "UPDATE accounts SET balance = %s WHERE id = %s", [(n, n) for n in range(1, 31)], page_size=7)
    return asked(cur, "SELECT count(*) FROM accounts WHERE balance = id")


@step("executemany")
def _(conn, cur):
    cur.executemany("INSERT INTO accounts (id, name) VALUES (%s, %s)", [(n, "m") for n in range(140, 150)])
    return [cur.rowcount, cur.statusmessage]


@step("transaction")
def _(conn, cur):
    conn.autocommit = False
    with conn:
        cur.execute("UPDATE accounts SET name = 't' WHERE id IN (5, 6, 7)")
    try:
        with conn:
            cur.execute("UPDATE accounts SET name = 'u'")
            cur.execute("SELECT 1/0")
    except psycopg2.Error as error:
        code = error.pgcode
    return [code, asked(cur, "SELECT id, name FROM accounts WHERE id BETWEEN 4 AND 8 ORDER BY id")]


@step("isolation levels")
def _(conn, cur):
    found = []
    for level in ("READ COMMITTED", "REPEATABLE READ", "SERIALIZABLE"):
        conn.set_session(isolation_level=level, autocommit=False)
        found.append(asked(cur, "SHOW transaction_isolation"))
        found.append(asked(cur, "SELECT name FROM accounts WHERE id = 9"))
        conn.rollback()
    return found


@step("read only")
def _(conn, cur):
    conn.set_session(readonly=True)
    cur.execute("UPDATE accounts SET name = 'r' WHERE id = 1")


@step("named cursor, one shard")
def _(conn, _cur):
    conn.autocommit = False
    cur = conn.cursor("c")
    cur.itersize = 2
    cur.execute("SELECT id FROM entries WHERE account_id = 4 ORDER BY id")
    return [list(cur), [d.name for d in cur.description]]


@step("named cursor, all shards")
def _(conn, _cur):
    conn.autocommit = False
    cur = conn.cursor("c")
    cur.itersize = 20
    cur.execute("SELECT id FROM accounts WHERE id <= 40 ORDER BY id")
    return list(cur)


@step("cursor with hold")
def _(conn, _cur):
    cur = conn.cursor("h", withhold=True)
    cur.execute("SELECT id FROM entries WHERE account_id = 4 ORDER BY id")
    first = cur.fetchmany(2)
    other = asked(conn.cursor(), "SELECT count(*) FROM accounts WHERE id <= 40")
    return [first, other, cur.fetchall()]


@step("copy in")
def _(conn, cur):
    cur.copy_expert("COPY accounts (id, name, mail) FROM STDIN (FORMAT csv, HEADER)",
                    io.StringIO("id,name,mail\n" + "".join(f'{n},"a, ""{n}""",x@{n}\n' for n in range(200, 260))))
    return [cur.rowcount, asked(cur, "SELECT count(*), max(name) FROM accounts WHERE id BETWEEN 200 AND 259")]


@step("copy out")
def _(conn, cur):
    out = io.StringIO()
    cur.copy_to(out, "countries")
    return sorted(out.getvalue().splitlines())


@step("copy in, check")
def _(conn, cur):
    cur.copy_from(io.StringIO("300\tx\ty\n301\tx\ta@b\n"), "accounts", columns=("id", "name", "mail"))


@step("after a bad copy")
def _(conn, cur):
    try:
        cur.copy_from(io.StringIO("300\tx\ty\n"), "accounts", columns=("id", "name", "mail"))
    except psycopg2.Error as error:
        return [error.pgcode, asked(cur, "SELECT count(*) FROM accounts WHERE id = 300")]


@step("error fields")
def _(conn, cur):
    try:
        cur.execute("INSERT INTO accounts (id, name) VALUES (1, 'x')")
    except psycopg2.Error as error:
        d = error.diag
        return [d.severity, d.sqlstate, d.message_primary, d.message_detail, d.schema_name, d.table_name, d.constraint_name]


@step("error position")
def _(conn, cur):
    found = []
    for sql in ("SELECT nope FROM accounts", "SELECT 1; SELECT 'é', nope FROM accounts"):
        try:
            cur.execute(sql)
        except psycopg2.Error as error:
            found.append([error.pgcode, error.diag.statement_position])
    return found


@step("notices")
def _(conn, cur):
    cur.execute("DROP TABLE IF EXISTS never_there")
    return conn.notices


@step("cancel")
def _(conn, cur):
    threading.Timer(0.3, conn.cancel).start()
    began = time.time()
    try:
        cur.execute("SELECT pg_sleep(20)")
    except psycopg2.Error as error:
        return [error.pgcode, time.time() - began < 3]


@step("types")
def _(conn, cur):
    psycopg2.extras.register_uuid()
    return asked(cur, "SELECT '2020-01-01'::date, '12:30'::time, '1 day 2 h'::interval, 1.10::numeric, '{a,NULL}'::text[],"
                      " '{\"a\": 1}'::jsonb, 'NaN'::float8, '00000000-0000-0000-0000-000000000007'::uuid, '\\x00ff'::bytea")


step("hstore and composites")(lambda conn, cur: [asked(cur, "SELECT to_regtype('hstore') IS NULL"), psycopg2.extras.HstoreAdapter.get_oids(conn)])
step("settings")(lambda conn, cur: [cur.execute("SET search_path = pg_catalog, public"), asked(cur, "SHOW search_path"),
                                    asked(cur, "SELECT count(*) FROM accounts WHERE id < 4"), cur.execute("RESET search_path"), asked(cur, "SHOW search_path")])
step("client encoding")(lambda conn, cur: [conn.set_client_encoding("UTF8"), asked(cur, "SHOW client_encoding")])


@step("statement timeout in a transaction")
def _(conn, cur):
    conn.autocommit = False
    cur.execute("SET LOCAL statement_timeout = '150ms'")
    try:
        cur.execute("SELECT pg_sleep(10)")
    except psycopg2.Error as error:
        code = error.pgcode
    conn.rollback()
    return [code, asked(cur, "SHOW statement_timeout")]


@step("wait for notifications")
def _(conn, cur):
    cur.execute("LISTEN ch2")
    other = psycopg2.connect("")
    with other:
        other.cursor().execute("SELECT pg_notify('ch2', 'x')")
    other.close()
    select.select([conn], [], [], 3)
    conn.poll()
    return [[n.channel, n.payload] for n in conn.notifies]


@step("reset")
def _(conn, cur):
    cur.execute("SET TIME ZONE 'Asia/Tokyo'")
    conn.reset()
    return asked(cur, "SHOW TimeZone")
