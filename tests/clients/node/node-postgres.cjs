// The scenario for node-postgres.
"use strict";

const { Client, Pool } = require("pg");
const Cursor = require("pg-cursor");
const copy = require("pg-copy-streams");
const { pipeline } = require("node:stream/promises");
const { Readable } = require("node:stream");
const { play, wrong } = require("./steps.cjs");

const rows = async (db, text, values) => (await db.query({ text, values, rowMode: "array" })).rows;
const steps = [];
const step = (name, body) => steps.push([name, body]);

step("simple", async (db) => rows(db, "SELECT 1, 'x', NULL, 1.5, true"));
step("several statements", async (db) =>
  (await db.query("UPDATE accounts SET name = 'n' WHERE id IN (1, 2, 3); SELECT count(*) FROM accounts WHERE name = 'n'; SELECT 7 AS x"))
    .map((r) => [r.command, r.rowCount, r.rows]));
step("keyed read", async (db) => rows(db, "SELECT * FROM accounts WHERE id = $1", [7]));
step("fields", async (db) => (await db.query("SELECT * FROM accounts WHERE id = $1", [1])).fields
  .map((f) => [f.name, f.dataTypeID < 16384 ? f.dataTypeID : "own", f.dataTypeModifier]));
step("scatter in order", async (db) => rows(db, "SELECT id, name, balance FROM accounts WHERE id <= $1 ORDER BY id", [9]));
step("count", async (db) => rows(db, "SELECT count(*), sum(balance) FROM accounts WHERE id <= 40"));
step("insert returning", async (db) => rows(db,
  "INSERT INTO accounts (id, name, balance, born, token, raw, tags, doc, mood, mail, seen) VALUES ($1,$2,$3,$4,$5,$6,$7,$8,$9,$10,$11) RETURNING *",
  [100, "é✓'\\", "12.30", "1999-12-31", "00000000-0000-0000-0000-000000000005", Buffer.from([0, 255]), ["a", null, 'b,"c'], { k: [1, null] }, "happy", "x@y", new Date(0)]));
step("insert nulls", async (db) => rows(db, "INSERT INTO accounts (id, name, tags, doc) VALUES ($1, $2, $3, $4) RETURNING *", [101, "n", null, null]));
step("multi-row insert", async (db) => {
  const r = await db.query("INSERT INTO accounts (id, name) VALUES ($1,$2),($3,$4),($5,$6) RETURNING id", [110, "a", 111, "b", 112, "c"]);
  return [r.command, r.rowCount, r.rows];
});
step("named statement", async (db) => {
  const found = [];
  for (let n = 1; n < 9; n++) found.push((await db.query({ name: "one", text: "SELECT name FROM accounts WHERE id = $1", values: [n] })).rows[0].name);
  return found;
});
step("named statement over shards", async (db) => {
  const found = [];
  for (let n = 1; n < 9; n++) found.push((await db.query({ name: "all", text: "SELECT count(*) AS n FROM accounts WHERE id <= $1", values: [n] })).rows[0].n);
  return found;
});
step("queued queries", async (db) => (await Promise.all([5, 6, 7, 8].map((n) => rows(db, "SELECT name FROM accounts WHERE id = $1", [n])))).flat());
step("transaction", async (db) => {
  await db.query("BEGIN");
  await db.query("UPDATE accounts SET name = 't' WHERE id IN (21, 22, 23)");
  await db.query("SAVEPOINT s");
  const code = await db.query("INSERT INTO accounts (id, name) VALUES ($1, 'x')", [1]).catch((e) => e.code);
  await db.query("ROLLBACK TO SAVEPOINT s");
  await db.query("UPDATE accounts SET name = 'u' WHERE id = $1", [24]);
  await db.query("COMMIT");
  return [code, await rows(db, "SELECT id, name FROM accounts WHERE id BETWEEN 21 AND 24 ORDER BY id")];
});
step("failed transaction", async (db) => {
  await db.query("BEGIN");
  const a = await db.query("SELECT 1/0").catch(wrong);
  const b = await db.query("SELECT 1").catch(wrong);
  return [a, b, (await db.query("COMMIT")).command, await rows(db, "SELECT 1")];
});
step("cursor, one shard", async (db) => {
  const cursor = db.query(new Cursor("SELECT id FROM entries WHERE account_id = $1 ORDER BY id", [4]));
  const found = [await cursor.read(2), await cursor.read(2), await cursor.read(2)];
  await cursor.close();
  return [found, await rows(db, "SELECT 1")];
});
step("cursor, one shard, closed early", async (db) => {
  const cursor = db.query(new Cursor("SELECT id FROM entries WHERE account_id = $1 ORDER BY id", [4]));
  const found = await cursor.read(1);
  await cursor.close();
  return [found, await rows(db, "SELECT count(*) FROM accounts WHERE id <= 40")];
});
step("cursor, all shards", async (db) => {
  const cursor = db.query(new Cursor("SELECT id FROM accounts WHERE id <= 40 ORDER BY id"));
  return [await cursor.read(7), await cursor.read(7)];
});
step("copy in", async (db) => {
  const into = db.query(copy.from("COPY accounts (id, name) FROM STDIN"));
  await pipeline(Readable.from(Array.from({ length: 50 }, (_v, n) => `${200 + n}\tc${n}\n`)), into);
  return [into.rowCount, await rows(db, "SELECT count(*) FROM accounts WHERE id BETWEEN 200 AND 249")];
});
step("copy out", async (db) => {
  let text = "";
  for await (const part of db.query(copy.to("COPY accounts (id, mood) TO STDOUT"))) text += part;
  return text.trim().split("\n").sort().slice(0, 4);
});
for (const [name, text, values] of [
  ["syntax", "SELEC 1"], ["table", "SELECT * FROM nowhere"], ["unique", "INSERT INTO accounts (id, name) VALUES ($1, 'x')", [1]],
  ["check", "UPDATE accounts SET mail = $1 WHERE id = 1", ["nope"]], ["enum", "UPDATE accounts SET mood = $1 WHERE id = 1", ["angry"]],
  ["number", "SELECT * FROM accounts WHERE id = $1", ["x"]], ["parameters", "SELECT $1::int", [1, 2]],
]) step(`error, ${name}`, (db) => rows(db, text, values));
step("notice", async (db) => {
  const found = [];
  db.on("notice", (n) => found.push([n.severity, n.code, n.message]));
  await db.query("DROP TABLE IF EXISTS never_there");
  return found;
});
step("statement timeout", async (db) => {
  await db.query("SET statement_timeout = 150");
  const found = await db.query("SELECT pg_sleep(10)").catch(wrong);
  return [found, (await db.query("SHOW statement_timeout")).rows];
});
step("listen", async (db) => {
  const got = new Promise((ok) => db.on("notification", (m) => ok([m.channel, m.payload])));
  await db.query("LISTEN ch4");
  await db.query("SELECT pg_notify('ch4', 'x')");
  return got;
});
step("settings", async (db) => [
  await rows(db, "SELECT set_config('app.x', $1, false)", ["v"]), await db.query("SET TIME ZONE 'Asia/Tokyo'").then((r) => r.command),
  await rows(db, "SELECT current_setting('app.x'), seen::text FROM accounts WHERE id = 3")]);
step("options", async () => {
  const db = new Client({ options: "-c geqo=off", application_name: "n", statement_timeout: 999, lock_timeout: 55 });
  await db.connect();
  const found = await rows(db, "SELECT current_setting('geqo'), current_setting('application_name'), current_setting('statement_timeout'), current_setting('lock_timeout')");
  await db.end();
  return found;
});
step("pool", async () => {
  const pool = new Pool({ max: 5 });
  const found = await Promise.all(Array.from({ length: 40 }, (_v, n) => pool.query("SELECT id FROM accounts WHERE id = $1", [n + 1]).then((r) => r.rows[0].id)));
  await pool.end();
  return found;
});

play(steps, async () => {
  const db = new Client();
  db.on("error", () => {});
  await db.connect();
  return db;
}, (db) => db.end());
