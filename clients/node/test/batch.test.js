import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Batch, currentBatch, enqueue, enqueueMany, enqueueUnique, RawJson, waitFor, Worker } from "../dist/index.js";
import { connect, connection, makeQueue, until, withWorker } from "./support.js";

let client, inHandlers, queue;
before(async () => {
  client = await connect();
  inHandlers = await connect(connection.user); // the other one waits for jobs
  queue = await makeQueue(client, ["work", "told"], "max_retries => 0");
});
after(() => Promise.all([client.end(), inHandlers.end()]));

const callbackOf = async (batch) =>
  (await client.query("SELECT job_id::text AS id FROM hipq.dependency WHERE before_id = $1", [batch.id])).rows[0].id;
const endOf = (id) => waitFor(client, id, { timeout: 20 });

/** Runs work() and told() while `during` runs. */
function working(work, told, during) {
  const worker = new Worker({ name: "batch", queues: [queue], concurrency: 4, connection });
  worker.job("work", work).job("told", told);
  return withWorker(worker, during);
}

test("a batch is part of the caller's transaction, with its options", async () => {
  await client.query("BEGIN");
  const batch = await Batch.create(client, {
    name: "import", callbackType: "told", callbackData: new RawJson("[12345678901234567890]"), callWhen: "succeeded", queue,
    expiresAfter: "2 hours", closed: true,
  });
  const { rows } = await client.query(
    `SELECT one.name, one.queue, one.state, round(extract(epoch FROM one.expires_time - one.created_time) / 3600)::integer AS hours,
       job.job_data::text AS data, after_policy
     FROM hipq.batches_detail AS one
     JOIN hipq.dependency ON before_id = one.batch_id JOIN hipq.jobs_detail AS job ON job.id = job_id
     WHERE one.batch_id = $1`, [batch.id]);
  assert.deepEqual(rows, [
    { name: "import", queue, state: "finished", hours: 2, data: "[12345678901234567890]", after_policy: "succeeded" },
  ]);
  await client.query("ROLLBACK");
  assert.equal(await batch.progress(client), undefined);
});

test("a batch counts its jobs, and a worker runs its callback after them", async () => {
  const seen = [];
  const told = async (job) => {
    const batch = await job.batch();
    seen.push([job.data.file, batch.id, await batch.progress(inHandlers)]);
  };
  const batch = await Batch.create(client, { callbackType: "told", callbackData: { file: "a.csv" }, queue });
  const callback = await callbackOf(batch);
  await batch.enqueue(client, "work", { n: 1 }, { queue });
  await batch.enqueueMany(client, "work", [{ n: 2 }, { n: 3, fail: true }], { queue });
  await enqueueMany(client, "work", [{ n: 4 }], { queue, batch });
  await enqueueUnique(client, "work", { n: 5 }, { queue, key: "five", batch: batch.id });
  assert.deepEqual(await batch.progress(client), { state: "open", jobs: 5, unfinished: 5, succeeded: 0, failed: 0, skipped: 0 });
  await working((job) => { if (job.data.fail) throw new Error("no"); }, told, async () => {
    await until(async () => (await batch.progress(client)).unfinished === 0, "all jobs have ended");
    assert.deepEqual(seen, []);
    assert.equal(await batch.close(client), true);
    assert.equal(await batch.close(client), false);
    assert.equal((await endOf(callback)).outcome, "succeeded");
  });
  assert.deepEqual(seen, [["a.csv", batch.id, { state: "finished", jobs: 5, unfinished: 0, succeeded: 4, failed: 1, skipped: 0 }]]);
});

test("a job of a closed batch adds jobs to it while it runs", async () => {
  await client.query("BEGIN");
  const batch = await Batch.create(client, { callbackType: "told", queue, closed: true });
  await batch.enqueue(client, "work", { adds: 2 }, { queue });
  await client.query("COMMIT");
  await assert.rejects(batch.enqueue(client, "work", {}, { queue }), { code: "55000", message: /is closed/ });
  const work = async (job) => {
    const own = await job.batch();
    await enqueueMany(inHandlers, "work", Array(job.data.adds ?? 0).fill({}), { queue, batch: own });
  };
  const told = async (job) => (await job.batch()).progress(inHandlers);
  const { result } = await working(work, told, async () => endOf(await callbackOf(batch)));
  assert.deepEqual([result.state, result.jobs, result.succeeded], ["finished", 3, 3]);
});

test("a cancelled batch is closed, and its callback runs", async () => {
  const batch = await Batch.create(client, { callbackType: "told", queue });
  const ids = await batch.enqueueMany(client, "work", [{}, {}], { queue, scheduledRunTime: "2100-01-01" });
  assert.equal(await batch.cancel(client, "not wanted"), 2);
  assert.match((await endOf(ids[0])).error, /not wanted/);
  const told = async (job) => (await job.batch()).progress(inHandlers);
  const { result } = await working(() => undefined, told, async () => endOf(await callbackOf(batch)));
  assert.deepEqual(result, { state: "finished", jobs: 2, unfinished: 0, succeeded: 0, failed: 2, skipped: 0 });
});

test("a job comes after a batch: after all of its jobs, or after the first failure", async () => {
  const batch = await Batch.create(client, { queue });
  const later = await enqueue(client, "work", {}, { queue, afterBatch: batch });
  const alarm = await enqueue(client, "work", {}, { queue, afterBatch: batch.id, afterPolicy: "failed", onFailure: "skip" });
  assert.equal((await currentBatch(client, later)).id, batch.id);
  await batch.enqueue(client, "work", {}, { queue });
  await batch.close(client);
  await working(() => undefined, () => undefined, async () => {
    assert.equal((await endOf(later)).outcome, "succeeded");
    assert.equal((await endOf(alarm)).outcome, "skipped");
  });
});

test("what is wrong with a batch is said", async () => {
  await assert.rejects(Batch.create(client, { queue, call: "x" }), new TypeError('there is no option "call"'));
  await assert.rejects(Batch.create(client), { code: "22023", message: /needs a queue/ });
  await assert.rejects(new Batch("900719925474099301").close(client), { code: "42704", message: /900719925474099301/ });
  const id = await enqueue(client, "work", {}, { queue, scheduledRunTime: "2100-01-01" });
  assert.equal(await currentBatch(client, { id }), undefined);
  await client.query("SELECT hipq.cancel($1)", [id]);
});
