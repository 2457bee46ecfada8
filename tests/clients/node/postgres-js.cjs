// The scenario for postgres.js: binary-free, pipelined, statements prepared under names of its own.
"use strict";

const postgres = require("postgres");
const { Readable } = require("node:stream");
const { pipeline } = require("node:stream/promises");
const { play, wrong } = require("./steps.cjs");

const steps = [];
const step = (name, body) => steps.push([name, body]);
const plain = (found) => found.map((row) => ({ ...row }));

step("simple", async (sql) => plain(await sql`SELECT 1 AS a, 'x' AS b, ${null}::int AS c, ${1.5}::numeric AS d`));
step("keyed read", async (sql) => plain(await sql`SELECT * FROM accounts WHERE id = ${7}`));
step("scatter in order", async (sql) => plain(await sql`SELECT id, name FROM accounts WHERE id <= ${9} ORDER BY id`));
step("in list", async (sql) => plain(await sql`SELECT id FROM accounts WHERE id IN ${sql([1, 2, 3, 9])} ORDER BY id`));
step("array", async (sql) => plain(await sql`SELECT id FROM accounts WHERE id = ANY(${[4, 5, 6]}) ORDER BY id`));
step("columns", async (sql) => (await sql`SELECT * FROM accounts WHERE id = 1`).columns.map((c) => [c.name, c.type < 16384 ? c.type : "own"]));
step("insert helper", async (sql) => {
  const made = [100, 101, 102, 103].map((id) => ({ id, name: `n${id}`, mood: "ok", tags: ["a", "b"], doc: sql.json({ id }) }));
  const found = await sql`INSERT INTO accounts ${sql(made, "id", "name", "mood", "tags", "doc")} RETURNING id, name, mood, tags, doc`;
  return [found.command, found.count, plain(found)];
});
step("update helper", async (sql) => plain(await sql`UPDATE accounts SET ${sql({ name: "up", balance: 3 }, "name", "balance")} WHERE id = ${30} RETURNING id, name, balance`));
step("pipelined", async (sql) => (await Promise.all([1, 2, 3, 4, 5, 6, 7, 8].map((n) => sql`SELECT name FROM accounts WHERE id = ${n}`))).map((r) => r[0].name));
step("pipelined with errors", async (sql) => Promise.all([
  sql`SELECT name FROM accounts WHERE id = ${1}`.then(plain), sql`SELECT 1/0`.catch(wrong),
  sql`SELECT count(*) FROM accounts WHERE id <= 40`.then(plain), sql`SELECT nope FROM accounts`.catch(wrong), sql`SELECT name FROM accounts WHERE id = ${2}`.then(plain)]));
step("transaction", async (sql) => {
  const code = await sql.begin(async (tx) => {
    await tx`UPDATE accounts SET name = 'b' WHERE id = 11`;
    return tx.savepoint(async (sp) => {
      await sp`UPDATE accounts SET name = 'c' WHERE id = 12`;
      await sp`SELECT 1/0`;
    }).catch((e) => e.code);
  });
  return [code, plain(await sql`SELECT id, name FROM accounts WHERE id IN (11, 12) ORDER BY id`)];
});
step("transaction, pipelined", async (sql) => {
  const found = await sql.begin((tx) => [tx`UPDATE accounts SET name = 'p' WHERE id = 13`, tx`UPDATE accounts SET name = 'p' WHERE id = 14`, tx`SELECT id FROM accounts WHERE name = 'p' ORDER BY id`]);
  return plain(found[2]);
});
step("transaction rolled back", async (sql) => [
  await sql.begin(async (tx) => { await tx`UPDATE accounts SET name = 'gone'`; throw Object.assign(new Error("given up"), { code: "OWN" }); }).catch(wrong),
  plain(await sql`SELECT count(*) FROM accounts WHERE name = 'gone'`)]);
step("read only", async (sql) => sql.begin("read only", (tx) => tx`UPDATE accounts SET name = 'x' WHERE id = 1`));
step("cursor, one shard", async (sql) => {
  const found = [];
  await sql`SELECT id FROM entries WHERE account_id = ${4} ORDER BY id`.cursor(2, (part) => { found.push(plain(part)); });
  return [found, plain(await sql`SELECT 1 AS x`)];
});
step("cursor, all shards", async (sql) => {
  const found = [];
  await sql`SELECT id FROM accounts WHERE id <= 40 ORDER BY id`.cursor(7, (part) => { found.push(plain(part)); });
  return found;
});
step("for each", async (sql) => {
  const found = [];
  await sql`SELECT id FROM accounts WHERE id <= 12 ORDER BY id`.forEach((row) => { found.push(row.id); });
  return found;
});
step("describe", async (sql) => { const d = await sql`SELECT id, name FROM accounts WHERE id = ${1} AND born > ${"2000-01-01"}`.describe(); return [d.types, d.columns.map((c) => c.type)]; });
step("simple protocol", async (sql) => (await sql`SELECT 1 AS a; SELECT count(*) AS n FROM accounts WHERE id <= 40`.simple()).map(plain));
step("unsafe", async (sql) => plain(await sql.unsafe("SELECT id FROM accounts WHERE id = $1", [5])));
step("unsafe, prepared", async (sql) => plain(await sql.unsafe("SELECT id FROM accounts WHERE id = $1", [5], { prepare: true })));
step("copy in", async (sql) => {
  const into = await sql`COPY accounts (id, name) FROM STDIN`.writable();
  await pipeline(Readable.from(Array.from({ length: 50 }, (_v, n) => `${200 + n}\tc${n}\n`)), into);
  return plain(await sql`SELECT count(*) FROM accounts WHERE id BETWEEN 200 AND 249`);
});
step("copy out", async (sql) => {
  let text = "";
  for await (const part of await sql`COPY accounts (id, mood) TO STDOUT`.readable()) text += part;
  return text.trim().split("\n").sort().slice(0, 4);
});
step("error, unique", async (sql) => sql`INSERT INTO accounts (id, name) VALUES (${1}, 'x')`);
step("error, enum", async (sql) => sql`UPDATE accounts SET mood = ${"angry"} WHERE id = 1`);
step("error, table", async (sql) => sql`SELECT * FROM nowhere`);
step("cancel", async (sql) => {
  const query = sql`SELECT pg_sleep(20)`;
  setTimeout(() => query.cancel(), 300);
  return [await query.catch(wrong), plain(await sql`SELECT 1 AS x`)];
});
step("notices", async () => {
  const found = [];
  const sql = postgres({ max: 1, onnotice: (n) => found.push([n.severity, n.code, n.message]) });
  await sql`DROP TABLE IF EXISTS never_there`;
  await sql.end();
  return found;
});
step("without preparing", async () => {
  const sql = postgres({ max: 1, prepare: false });
  const found = [];
  for (let n = 1; n < 9; n++) found.push((await sql`SELECT name FROM accounts WHERE id = ${n}`)[0].name);
  await sql.end();
  return found;
});
step("table changes under a statement", async (sql) => {
  const ask = async () => Object.keys((await sql`SELECT * FROM accounts WHERE id = ${3}`)[0]).length;
  const found = [await ask()];
  await sql`ALTER TABLE accounts ADD COLUMN extra int`;
  found.push(await ask().catch(wrong));
  await sql`ALTER TABLE accounts DROP COLUMN extra`;
  found.push(await ask().catch(wrong));
  return found;
});
step("listen", async (sql) => {
  let heard;
  const got = new Promise((ok) => { heard = ok; });
  await sql.listen("ch5", (text) => heard(text));
  await sql.notify("ch5", "hi");
  return got;
});

play(steps, async () => postgres({ max: 1, onnotice: () => {} }), (sql) => sql.end({ timeout: 1 }));
