// A worker as in a user's program: program.js QUEUE NAME. A job whose data names a lock waits for
// it.

import pg from "pg";
import { Worker } from "../dist/index.js";
import { connection } from "./support.js";

const [queue, name] = process.argv.slice(2);
const worker = new Worker({ name, queues: [queue], connection, log: ({ event }) => console.log(event) });
worker.job("work", async ({ data }) => {
  console.log("runs");
  if (data.lock === undefined) return;
  const client = new pg.Client(connection);
  await client.connect();
  await client.query("SELECT pg_advisory_lock($1)", [data.lock]);
  await client.end();
});
await worker.run();
process.exit(0);
