import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { enqueue, enqueued, enqueueMany, enqueueUnique, Graph, outcomeOf, RawJson, resultOf, waitFor, Worker } from "../dist/index.js";
import { connect, connection, makeQueue, until, withWorker } from "./support.js";

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
  for (const onDuplicate of [undefined, "after_first"])
    assert.deepEqual(await enqueueUnique(client, "work", {}, { queue, key: "k", onDuplicate }), { id, action: "returned" });
  await client.query("ROLLBACK");
});

test("many jobs take one statement", async () => {
  await client.query("BEGIN");
  const ids = await enqueueMany(client, "work", [{ n: 1 }, { n: 'quotes " \\ {}' }, null], { queue, keys: ["a", null, "c"], priority: 3 });
  const waiting = new Map((await enqueued(client, { queue })).map(({ id, key, data }) => [id, [key, data]]));
  assert.deepEqual(ids.map((id) => waiting.get(id)), [["a", { n: 1 }], [null, { n: 'quotes " \\ {}' }], ["c", null]]);
  await client.query("ROLLBACK");
});

test("a job that comes after others waits for them, and ends as it says if they fail", async () => {
  const first = await enqueue(client, "work", {}, { queue });
  const second = await enqueueUnique(client, "work", {}, { queue, key: "second", after: [first], onFailure: "skip" });
  const many = await enqueueMany(client, "work", [{}, {}], { queue, after: [first, second], afterPolicy: "any", onFailure: "run" });
  const held = "SELECT count(*)::integer FROM hipq.jobs_detail WHERE id = ANY ($1) AND waits_for = 'jobs'";
  assert.equal((await client.query(held, [[second.id, ...many]])).rows[0].count, 3);
  await client.query("SELECT hipq.cancel($1)", [first]);
  const { outcome, result } = await waitFor(client, second.id, { timeout: 20 });
  assert.deepEqual([outcome, result], ["skipped", { cause: Number(first) }]);
  await until(async () => (await client.query(held, [many])).rows[0].count === 0, "they are free");
});

const jobOf = async (id) => (await client.query("SELECT * FROM hipq.jobs_detail WHERE id = $1", [id])).rows[0];

test("a graph is enqueued in the caller's transaction, with the options of each job", async () => {
  const deadline = new Date("2040-01-02T03:04:05.678Z");
  const graph = new Graph({ queue, deadline });
  const scan = graph.job('scan "1"', "work", { path: "ü" }, {
    key: "k", scheduledRunTime: new Date("2039-01-02T03:04:05Z"), expiresTime: "2041-01-01Z", priority: -7, timeout: "5 min", queueTtl: 1.5,
    maxRetries: 9, throttleKey: "t", throttleFactor: 0.5, timeWindows: "09:00-17:00",
  });
  const index = graph.job("index", "work", new RawJson("[12345678901234567890]"), { after: [scan], afterPolicy: "finished", onFailure: "run" });
  const last = graph.job("last", "work", undefined, { after: [index] });
  await client.query("BEGIN");
  const ids = await graph.enqueue(client);
  assert.deepEqual([...ids.keys()], [scan, index, last]);
  const first = await jobOf(ids.get(scan));
  const { job_data, job_key, priority, timeout, max_retries, throttle_key, throttle_factor, time_windows } = first;
  assert.deepEqual([job_data, job_key, priority, timeout, max_retries, throttle_key, Number(throttle_factor), time_windows],
    [{ path: "ü" }, "k", -7, 300, 9, "t", 0.5, "09:00-17:00"]);
  assert.deepEqual([first.scheduled_run_time, first.expires_time], [new Date("2039-01-02T03:04:05Z"), new Date("2041-01-01Z")]);
  const second = await jobOf(ids.get(index));
  assert.deepEqual([second.waits_for, second.expires_time], ["jobs", deadline]);
  const { rows } = await client.query(
    `SELECT (SELECT job_data::text FROM hipq.jobs_detail WHERE id = $1),
            (SELECT string_agg(after_policy || ' ' || on_failure, ', ' ORDER BY job_id) FROM hipq.dependency WHERE job_id = ANY ($2))`,
    [ids.get(index), [...ids.values()]]);
  assert.deepEqual(rows[0], { job_data: "[12345678901234567890]", string_agg: "finished run, succeeded fail" });
  assert.deepEqual((await jobOf(ids.get(last))).job_data, {});
  await client.query("ROLLBACK");
  assert.equal(await jobOf(ids.get(scan)), undefined);
});

test("jobs of a graph run one after the other, and their outcomes and results are known by name", async () => {
  const before = await enqueue(client, "work", { n: 0 }, { queue, scheduledRunTime: "2100-01-01" });
  const graph = new Graph({ queue });
  graph.job("sum", "work", { n: 3 }, { after: ["one", "two"] }); // names may come later
  const both = [1, 2].map((n) => graph.job(["one", "two"][n - 1], "work", { n }, { after: [before] }));
  assert.deepEqual(both, ["one", "two"]);
  const ids = await graph.enqueue(client);
  assert.equal(await outcomeOf(client, ids.get("sum")), "waiting");
  assert.equal(await resultOf(client, "sum", before).catch(({ code }) => code), "42704");
  await client.query("SELECT hipq.reschedule($1, now())", [before]);
  const worker = new Worker({ name: "graph", queues: [queue], connection });
  worker.job("work", (job) => ({ doubled: job.data.n * 2 }));
  await withWorker(worker, () => waitFor(client, ids.get("sum"), { timeout: 20 }));
  assert.deepEqual(await resultOf(client, ids.get("sum")), { doubled: 6 });
  assert.deepEqual(await resultOf(client, "two", ids.get("one")), { doubled: 4 });
  assert.equal(await outcomeOf(client, "two", { id: ids.get("one") }), "succeeded");
});

test("an id in a graph is not rounded", async () => {
  const graph = new Graph({ queue });
  graph.job("late", "work", {}, { after: ["900719925474099301"] });
  await assert.rejects(graph.enqueue(client), { code: "42704", message: /900719925474099301/ });
});

test("what is wrong in a graph is said", async () => {
  const refused = async (add, expected) => {
    const graph = new Graph({ queue });
    await assert.rejects(async () => { add(graph); await graph.enqueue(client); }, expected);
  };
  await refused((graph) => graph.job("a", "work", {}, { keys: "k" }), new TypeError('there is no option "keys"'));
  await refused((graph) => graph.job("a", "work", {}, { worker: "w" }), { code: "22023", message: /unknown key "worker"/ });
  await refused((graph) => graph.job("a", "work", {}, { priority: NaN }), { code: "22P02" });
  await refused((graph) => graph.job("a", "work", {}, { scheduledRunTime: new Date(NaN) }), RangeError);
  await refused((graph) => graph.job("a", "work", new RawJson('{}, "queue": "other"')), SyntaxError);
  await refused((graph) => { graph.job("a", "work", {}, { after: ["b"] }); graph.job("b", "work", {}, { after: ["a"] }); },
    { code: "22023", message: /a -> b -> a|b -> a -> b/ });
  await assert.rejects(new Graph({ queue, dead: 1 }).enqueue(client), new TypeError('hipq.enqueue_graph has no argument "dead"'));
  assert.deepEqual(await new Graph({ queue }).enqueue(client), new Map());
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
