// Does with node-postgres what the lines of its input say, and answers each with a line, both in JSON.

import fs from "node:fs";
import readline from "node:readline";
import pg from "pg";

// A Date of JavaScript has milliseconds and the machine's time zone: dates and timestamps stay as they come.
for (const oid of [pg.types.builtins.DATE, pg.types.builtins.TIMESTAMP]) pg.types.setTypeParser(oid, (text) => text);

const clients = new Map();
const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

// What README says to write makes a client.
const made = (line) => new Function("pg", "fs", `return ${line}`)(pg, fs);

async function ask(client, sql, values) {
  const found = await client.query({ text: sql, values, rowMode: "array" });
  return { columns: found.fields.map((field) => [field.name, `${field.dataTypeID}`]), rows: found.rows };
}

// A cancel that comes before its statement does nothing: so again and again.
async function cancel(name, line, sql) {
  const client = clients.get(name);
  const query = new pg.Query(sql);
  let done = false;
  const asking = new Promise((resolve, reject) => {
    query.on("end", resolve);
    query.on("error", reject);
  }).finally(() => (done = true));
  client.query(query);
  const cancelling = (async () => {
    while (!done) {
      await pause(100);
      const other = made(line);
      other.connection.on("error", () => {}); // the server closes the connection that cancelled
      if (!done) other.cancel(client, query);
    }
  })();
  try {
    await asking;
  } finally {
    await cancelling;
  }
  return {};
}

async function answer({ task, name, line, sql, values }) {
  switch (task) {
    case "connect":
      clients.set(name, made(line));
      await clients.get(name).connect();
      return {};
    case "close":
      await clients.get(name).end();
      return {};
    case "ask":
      return await ask(clients.get(name), sql, values);
    case "cancel":
      return await cancel(name, line, sql);
  }
}

for await (const text of readline.createInterface({ input: process.stdin })) {
  try {
    console.log(JSON.stringify(await answer(JSON.parse(text))));
  } catch (error) {
    console.log(JSON.stringify({ state: error.code ?? null, message: error.message }));
  }
}
