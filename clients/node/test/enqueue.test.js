import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enqueue, enqueued, enqueueMany, enqueueUnique, waitFor } from "../dist/index.js";
import { connect, makeQueue } from "./support.js";

let client, queue;
before(async () => {
  client = await connect();
  queue = await makeQueue(client);
});
after(() => client.end());

test("a job is part of the caller's transaction", async () => {
  await client.query("BEGIN");
  const id = await enqueue(client, "work", { to: "ann" }, { queue });
  assert.deepEqual((await enqueued(client, { queue })).map(({ id, data }) => ({ id, data })), [{ id, data: { to: "ann" } }]);
  await client.query("ROLLBACK");
  assert.deepEqual(await enqueued(client, { queue }), []);
});

test("options are those of the SQL function", async () => {
  await client.query("BEGIN");
  const id = await enqueue(client, "work", [1, null, "x"], {
    queue, key: "k", onDuplicate: "return", scheduledRunTime: new Date("2040-01-02T03:04:05Z"), expiresTime: "2041-01-01Z", priority: -7,
    timeout: "5 min", queueTtl: 1.5, maxRetries: 9, throttleKey: "t", throttleFactor: 0.5, timeWindows: "09:00-17:00",
  });
  const { rows } = await client.query("SELECT * FROM hipq.jobs_detail WHERE id = $1", [id]);
  const { job_data, job_key, scheduled_run_time, priority, timeout, max_retries, throttle_key, throttle_factor, time_windows } = rows[0];
  assert.deepEqual([job_data, job_key, priority, timeout, max_retries, throttle_key, Number(throttle_factor), time_windows],
    [[1, null, "x"], "k", -7, 300, 9, "t", 0.5, "09:00-17:00"]);
  assert.equal(scheduled_run_time.toISOString(), "2040-01-02T03:04:05.000Z");
  assert.deepEqual(await enqueueUnique(client, "work", {}, { queue, key: "k" }), { id, action: "returned" });
  await client.query("ROLLBACK");
});

test("many jobs take one statement", async () => {
  await client.query("BEGIN");
  const ids = await enqueueMany(client, "work", [{ n: 1 }, { n: 'quotes " \\ {}' }, null], { queue, keys: ["a", null, "c"], priority: 3 });
  const waiting = new Map((await enqueued(client, { queue })).map(({ id, key, data }) => [id, [key, data]]));
  assert.deepEqual(ids.map((id) => waiting.get(id)), [["a", { n: 1 }], [null, { n: 'quotes " \\ {}' }], ["c", null]]);
  await client.query("ROLLBACK");
});

test("what is wrong is said", async () => {
  await assert.rejects(enqueue(client, "work", {}, { queue, keys: "k" }), new TypeError('there is no option "keys"'));
  await assert.rejects(enqueue(client, "work", {}, { queue, priority: 99999 }), { code: "22023" });
  await assert.rejects(enqueue(client, "work", {}, { queue: "no.queue" }), { code: "42704" });
});

test("waiting for a job that does not end", async () => {
  const id = await enqueue(client, "work", {}, { queue });
  assert.equal(await waitFor(client, id, { timeout: 0.05 }), undefined);
});
