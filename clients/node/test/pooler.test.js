import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enqueueMany, waitFor, Worker } from "../dist/index.js";
import { connect, makeQueue, withWorker } from "./support.js";

// pgbouncer with pool_mode = transaction, at POOLER_HOST and POOLER_PORT.
const { POOLER_HOST: host, POOLER_PORT: port } = process.env;
const pooled = { host, port: Number(port), database: "postgres", user: "app" };
const skip = host === undefined && "POOLER_HOST is not set";

let client;
before(async () => void (client = await connect()));
after(() => client.end());

const makeWorker = (queue, pooler) =>
  new Worker({ name: queue, queues: [queue], connection: pooled, concurrency: 4, pooler, log: () => undefined }).job("work", ({ data }) => data);

test("a worker works through a pooler", { skip }, async () => {
  const queue = await makeQueue(client);
  await withWorker(makeWorker(queue, true), async () => {
    const ids = await enqueueMany(client, "work", Array.from({ length: 20 }, (_, n) => n), { queue });
    for (const [n, id] of ids.entries()) assert.deepEqual(await waitFor(client, id, { timeout: 20 }), { outcome: "succeeded", result: n, error: null });
  });
});

test("a bound worker refuses a pooler", { skip }, async () => {
  const queue = await makeQueue(client);
  await assert.rejects(makeWorker(queue, false).run({ signals: false }), /goes through a pooler.*pooler: true/);
  const { rows } = await client.query("SELECT count(*) FROM hipq.workers WHERE name = $1", [queue]);
  assert.equal(rows[0].count, "0", "it has not registered");
});
