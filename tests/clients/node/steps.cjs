// What the scenarios of Node's drivers share: one line for each step, an answer or an error.
"use strict";

function shown(value) {
  return JSON.stringify(value, (_key, v) => {
    if (typeof v === "bigint") return `${v}n`;
    if (v instanceof Uint8Array) return `bytes ${Buffer.from(v).toString("hex")}`;
    if (v && v.type === "Buffer") return `bytes ${Buffer.from(v.data).toString("hex")}`;
    return v;
  });
}

function wrong(error) {
  const told = /kintsugi\/[a-z0-9-]+/.exec(error.detail || "");
  if (error.code === "0A000" && told) return `refused ${told[0]}`;
  return `${error.code} ${error.message} ${error.constraint_name || error.constraint || ""}`.trim();
}

function limited(promise, ms) {
  let timer;
  const late = new Promise((_ok, fail) => {
    timer = setTimeout(() => fail(Object.assign(new Error("no answer in time"), { code: "LATE" })), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

// Runs each step on a connection of its own.
async function play(steps, open, close) {
  for (const [name, body] of steps) {
    const db = await open();
    try {
      console.log(`${name}: ${shown(await limited(body(db), 20000))}`);
    } catch (error) {
      console.log(`${name}: ${wrong(error)}`);
    }
    await limited(close(db), 5000).catch(() => {});
  }
  process.exit(0);
}

module.exports = { play, wrong };
