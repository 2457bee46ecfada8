"""The scenario for asyncpg: binary, named statements, portals with row limits."""

import asyncio
import datetime
import decimal
import io
import uuid

import asyncpg

from steps import line, refusal, shown

STEPS = []


def step(name):
    def keep(body):
        STEPS.append((name, body))
    return keep


async def main():
    for name, body in STEPS:
        conn = await asyncpg.connect()
        try:
            line(name, shown(await asyncio.wait_for(body(conn), 20)))
        except asyncpg.PostgresError as error:
            line(name, refusal(error.sqlstate, error.detail) or f"{type(error).__name__} {error.sqlstate} {error.message}")
        except (asyncpg.InterfaceError, TimeoutError) as error:
            line(name, f"{type(error).__name__} {error}")
        finally:
            await asyncio.wait_for(conn.close(), 10)


def rows(found):
    return [tuple(r) for r in found]


@step("connect")
async def _(c):
    s = c.get_settings()
    return [s.TimeZone, s.client_encoding, c.get_server_version().major, c.is_in_transaction()]


@step("server settings")
async def _(_c):
    c = await asyncpg.connect(server_settings={"application_name": "x", "statement_timeout": "1234", "search_path": "public"})
    try:
        return [await c.fetchval("SHOW statement_timeout"), await c.fetchval("SHOW search_path"), await c.fetchval("SELECT count(*) FROM accounts WHERE id < 5")]
    finally:
        await c.close()


@step("simple")
async def _(c):
    return [await c.execute("SELECT 1"), await c.execute("UPDATE accounts SET name = 'x' WHERE id IN (1, 2, 3); SELECT 1")]


@step("keyed read")
async def _(c):
    return rows(await c.fetch("SELECT * FROM accounts WHERE id = $1", 7))


@step("fetchrow")
async def _(c):
    return [tuple(await c.fetchrow("SELECT id, name FROM accounts WHERE id = $1", 9)), tuple(await c.fetchrow("SELECT id, mood FROM accounts ORDER BY id DESC")),
            await c.fetchrow("SELECT id FROM accounts WHERE id = -1")]


@step("fetchval over all shards")
async def _(c):
    return [await c.fetchval("SELECT count(*) FROM accounts WHERE id <= 40"), await c.fetchval("SELECT id FROM accounts WHERE id <= 40 ORDER BY id DESC")]


@step("scatter in order")
async def _(c):
    return rows(await c.fetch("SELECT id, balance, born, seen FROM accounts WHERE id <= $1 ORDER BY id", 8))


@step("any array")
async def _(c):
    return rows(await c.fetch("SELECT id FROM accounts WHERE id = ANY($1::bigint[]) ORDER BY id", [5, 6, 7, 8, 9]))


VALUES = (100, "é✓", decimal.Decimal("12.30"), datetime.date(1999, 12, 31), uuid.UUID(int=5), b"\x00\xff",
          ["a", None, 'b,"c'], '{"k": [1, null]}', "happy", "x@y", datetime.datetime(2020, 5, 17, 12, tzinfo=datetime.timezone.utc))
INSERT = ("INSERT INTO accounts (id, name, balance, born, token, raw, tags, doc, mood, mail, seen)"
          " VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) RETURNING *")


@step("insert returning")
async def _(c):
    return rows(await c.fetch(INSERT, *VALUES))


@step("insert nulls")
async def _(c):
    return rows(await c.fetch(INSERT, 101, "n", 0, *[None] * 8))


@step("multi-row insert")
async def _(c):
    return rows(await c.fetch("INSERT INTO accounts (id, name) VALUES ($1, $2), ($3, $4), ($5, $6), ($7, $8) RETURNING id, name", 110, "a", 111, "b", 112, "c", 113, "d"))


@step("executemany")
async def _(c):
    await c.executemany("INSERT INTO accounts (id, name, mood) VALUES ($1, $2, $3)", [(n, f"m{n}", "ok") for n in range(120, 160)])
    return await c.fetchval("SELECT count(*) FROM accounts WHERE id BETWEEN 120 AND 159")


@step("executemany fails as a whole")
async def _(c):
    try:
        await c.executemany("INSERT INTO accounts (id, name) VALUES ($1, $2)", [(n, "x") for n in (160, 161, 162, 163, 1, 164)])
    except asyncpg.UniqueViolationError as error:
        return [error.constraint_name, await c.fetchval("SELECT count(*) FROM accounts WHERE id BETWEEN 160 AND 164")]


@step("fetchmany")
async def _(c):
    return rows(await c.fetchmany("INSERT INTO accounts (id, name) VALUES ($1, $2) RETURNING id", [(n, "f") for n in range(170, 180)]))


@step("transaction and savepoint")
async def _(c):
    async with c.transaction():
        await c.execute("UPDATE accounts SET name = 'a' WHERE id = 11")
        try:
            async with c.transaction():
                await c.execute("UPDATE accounts SET name = 'b' WHERE id = 12")
                await c.execute("SELECT 1/0")
        except asyncpg.DivisionByZeroError:
            pass
        await c.execute("UPDATE accounts SET name = 'c' WHERE id = 13")
    return rows(await c.fetch("SELECT id, name FROM accounts WHERE id BETWEEN 11 AND 13 ORDER BY id"))


@step("isolation")
async def _(c):
    async with c.transaction(isolation="repeatable_read", readonly=True):
        return await c.fetchval("SELECT name FROM accounts WHERE id = 21")


@step("cursor, one shard")
async def _(c):
    async with c.transaction():
        return [r["id"] async for r in c.cursor("SELECT id FROM entries WHERE account_id = $1 ORDER BY id", 4, prefetch=2)]


@step("cursor, all shards")
async def _(c):
    async with c.transaction():
        return [r["id"] async for r in c.cursor("SELECT id FROM accounts WHERE id <= 40 ORDER BY id", prefetch=7)]


@step("cursor by hand")
async def _(c):
    async with c.transaction():
        cur = await c.cursor("SELECT id FROM entries WHERE account_id = 4 ORDER BY id")
        return [tuple(await cur.fetchrow()), await cur.forward(1), rows(await cur.fetch(5)), rows(await cur.fetch(5))]


@step("prepare")
async def _(c):
    s = await c.prepare("SELECT id, name, mood, mail, tags FROM accounts WHERE id = $1")
    return [[p.name for p in s.get_parameters()], [[a.name, a.type.name, a.type.kind] for a in s.get_attributes()],
            s.get_statusmsg(), [tuple(await s.fetchrow(n)) for n in range(1, 6)]]


@step("prepare over shards")
async def _(c):
    s = await c.prepare("SELECT count(*) FROM accounts WHERE id <= $1")
    return [await s.fetchval(n) for n in range(1, 10)]


@step("copy records")
async def _(c):
    tag = await c.copy_records_to_table("accounts", records=[(n, f"r{n}", "sad") for n in range(200, 260)], columns=["id", "name", "mood"])
    return [tag, await c.fetchval("SELECT count(*) FROM accounts WHERE id BETWEEN 200 AND 259")]


@step("copy in")
async def _(c):
    return await c.copy_to_table("entries", source=io.BytesIO("".join(f"{n}\t9\t1.5\n" for n in range(1, 41)).encode()), columns=["account_id", "id", "amount"])


@step("copy in fails")
async def _(c):
    return await c.copy_to_table("entries", source=io.BytesIO(b"1\t10\tx\n"), columns=["account_id", "id", "amount"])


@step("copy out")
async def _(c):
    out = io.BytesIO()
    tag = await c.copy_from_table("accounts", columns=["id", "mood"], output=out)
    return [tag, len(out.getvalue().splitlines()), sorted(out.getvalue().splitlines())[:3]]


@step("copy out of a query")
async def _(c):
    out = io.BytesIO()
    tag = await c.copy_from_query("SELECT id, name FROM accounts WHERE id = $1", 22, output=out, format="csv")
    return [tag, out.getvalue()]


for name, sql, values in [
    ("syntax", "SELEC 1", ()), ("table", "SELECT * FROM nowhere", ()), ("unique", "INSERT INTO accounts (id, name) VALUES ($1, 'x')", (1,)),
    ("check", "UPDATE accounts SET mail = $1 WHERE id = 1", ("nope",)), ("enum", "UPDATE accounts SET mood = $1 WHERE id = 1", ("angry",)),
    ("foreign key", "INSERT INTO entries VALUES ($1, 1, 1)", (9999,)), ("division on all", "SELECT 1/(id - $1) FROM accounts", (5,)),
]:
    async def body(c, sql=sql, values=values):
        return await c.fetch(sql, *values)
    step(f"error, {name}")(body)


@step("timeout")
async def _(c):
    try:
        await c.fetch("SELECT pg_sleep(20)", timeout=0.3)
    except TimeoutError:
        return await c.fetchval("SELECT 1")


@step("timeout on all shards")
async def _(c):
    try:
        await c.fetch("SELECT id, pg_sleep(5) FROM accounts ORDER BY id", timeout=0.3)
    except TimeoutError:
        return await c.fetchval("SELECT count(*) FROM countries")


@step("table changes under a statement")
async def _(c):
    found = [len(await c.fetchrow("SELECT * FROM accounts WHERE id = $1", 3))]
    await c.execute("ALTER TABLE accounts ADD COLUMN extra int DEFAULT 5")
    found.append(len(await c.fetchrow("SELECT * FROM accounts WHERE id = $1", 3)))
    await c.execute("ALTER TABLE accounts DROP COLUMN extra")
    found.append(len(await c.fetchrow("SELECT * FROM accounts WHERE id = $1", 3)))
    return found


@step("settings")
async def _(c):
    await c.execute("SELECT set_config('app.t', 'v', false)")
    await c.fetch("SELECT set_config('app.u', $1, false)", "w")
    await c.execute("SET TIME ZONE 'Asia/Tokyo'")
    return [await c.fetchval("SELECT current_setting('app.t')"), await c.fetchval("SELECT current_setting('app.u')"), c.get_settings().TimeZone,
            await c.fetchval("SELECT seen::text FROM accounts WHERE id = 1")]


@step("reset")
async def _(c):
    await c.execute("SET TIME ZONE 'Asia/Tokyo'")
    await c.reset()
    return await c.fetchval("SHOW TimeZone")


@step("enum and domain arrays")
async def _(c):
    return [await c.fetchval("SELECT array_agg(mood ORDER BY id) FROM accounts WHERE id = 3"), await c.fetchval("SELECT $1::mood", "ok"),
            await c.fetchval("SELECT $1::mood[]", ["ok", "sad"]), await c.fetchval("SELECT $1::email", "a@b"), await c.fetchval("SELECT ROW(1, mood) FROM accounts WHERE id = 1")]


@step("listen")
async def _(c):
    got = asyncio.Queue()
    await c.add_listener("ch3", lambda _c, _p, channel, payload: got.put_nowait((channel, payload)))
    other = await asyncpg.connect()
    await other.execute("SELECT pg_notify('ch3', 'hi')")
    await other.close()
    found = await asyncio.wait_for(got.get(), 3)
    return found


@step("pool")
async def _(_c):
    async with asyncpg.create_pool(min_size=2, max_size=4) as pool:
        return sorted(await asyncio.gather(*[pool.fetchval("SELECT id FROM accounts WHERE id = $1", n) for n in range(1, 31)]))


asyncio.run(main())
