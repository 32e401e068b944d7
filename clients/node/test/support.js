// Shared by the tests: a database with a queue, and connections to it. PGHOST, PGPORT and PGUSER
// name the server.

import pg from "pg";

export async function connect(user) {
  const client = new pg.Client({ database: "postgres", ...(user && { user }) });
  client.on("error", () => undefined); // some tests restart the server
  await client.connect();
  return client;
}

// Names of queues contain only letters.
const letters = (number) => [...String(number)].map((digit) => "abcdefghij"[digit]).join("");
let queues = 0;

/** Makes a separate queue with job types for external workers; returns its name. */
export async function makeQueue(client, types = ["work"], more = "max_retries => 3, retry_base => '0'") {
  const queue = `node.q${letters(process.pid)}_${letters(++queues)}`;
  await client.query(`SELECT hipq.create_queue('${queue}', owner => 'app')`);
  for (const type of types)
    await client.query(`SELECT hipq.register_job_type('${queue}', '${type}', handler_kind => 'notify', ${more})`);
  return queue;
}

export const connection = { database: "postgres", user: "app" };

/** Calls `look` until it returns a true value, at most for `seconds`. */
export async function until(look, what, seconds = 20) {
  for (const end = Date.now() + seconds * 1_000; Date.now() < end; ) {
    const found = await look();
    if (found) return found;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`waited in vain until ${what}`);
}

/** Runs a worker while `during` runs, and stops it. */
export async function withWorker(worker, during) {
  const run = worker.run({ signals: false });
  run.catch(() => undefined);
  try {
    return await Promise.race([during(), run.then(() => Promise.reject(new Error("the worker has ended")))]);
  } finally {
    await worker.stop();
  }
}
