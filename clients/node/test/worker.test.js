import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import * as hipq from "../dist/index.js";
import { AttemptOver, enqueue, enqueueMany, Permanent, RawJson, Release, RetryAfter, waitFor, Worker } from "../dist/index.js";
import { connect, connection, makeQueue, until, withWorker } from "./support.js";

let client;
before(async () => void (client = await connect()));
after(() => client.end());

const logged = [];
const makeWorker = (queue, options = {}) =>
  new Worker({ name: queue, queues: [queue], connection, log: (entry) => logged.push(entry), ...options });
const runUntilIdle = (worker, client, queue) => hipq.runUntilIdle(worker, client, queue, 60_000);
const outcome = async (id) => (await waitFor(client, id, { timeout: 20 }))?.outcome;
const jobOf = async (id) => (await client.query("SELECT * FROM hipq.jobs_detail WHERE id = $1", [id])).rows[0];

for (const pooler of [false, true])
  test(`jobs are run, ${pooler ? "unbound" : "bound"}`, async () => {
    const queue = await makeQueue(client, ["add", "unheard"]);
    const worker = makeWorker(queue, { concurrency: 4, pooler }).job("add", (job) => ({ sum: job.data.a + job.data.b }));
    await withWorker(worker, async () => {
      const ids = await enqueueMany(client, "add", Array.from({ length: 20 }, (_, n) => ({ a: n, b: 1 })), { queue });
      for (const [n, id] of ids.entries()) assert.deepEqual(await waitFor(client, id, { timeout: 20 }), { outcome: "succeeded", result: { sum: n + 1 }, error: null });
      assert.match(worker.id, /^\d+$/);
    });
    assert.equal(worker.id, undefined);
    assert.equal((await client.query("SELECT count(*) FROM hipq.workers WHERE name = $1", [queue])).rows[0].count, "0", "it has deregistered");
  });

const traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

test("a job knows what it is", async () => {
  const queue = await makeQueue(client);
  let seen;
  const worker = makeWorker(queue).job("work", (job) => void (seen = job));
  await enqueue(client, "work", { n: 1 }, { queue, key: "k", maxRetries: 7, timeout: 60, traceparent });
  await runUntilIdle(worker, client, queue);
  assert.deepEqual([seen.attempt, seen.queue, seen.type, seen.key, seen.data, seen.retryCount, seen.maxRetries, seen.originalJobId, seen.traceparent],
    [1, queue, "work", "k", { n: 1 }, 0, 7, null, traceparent]);
  assert.ok(seen.deadline - seen.createdTime > 50_000 && seen.scheduledRunTime instanceof Date);
});

test("a handler enqueues a job that comes after its own", async () => {
  const queue = await makeQueue(client, ["first", "second"]);
  const ended = [];
  const worker = makeWorker(queue, { concurrency: 2 })
    .job("first", async (job) => {
      await enqueue(client, "second", {}, { queue, after: [job] });
      ended.push(job.type);
    })
    .job("second", (job) => void ended.push(job.type));
  await enqueue(client, "first", {}, { queue });
  await runUntilIdle(worker, client, queue);
  assert.deepEqual(ended, ["first", "second"]);
});

test("numbers are exact where data are read as text, and results are written so", async () => {
  const queue = await makeQueue(client, ["copy", "parsed", "unread"], "max_retries => 0");
  const text = '{"id": 12345678901234567890123, "price": 1.10}';
  const results = [];
  for (const [type, parse] of [["copy", (text) => text], ["parsed", (text) => ({ text })], ["unread", () => { throw new Error("no"); }]]) {
    const worker = makeWorker(queue, { parse }).job(type, ({ data }) => new RawJson(data.text ?? data));
    const id = await enqueue(client, type, new RawJson(text), { queue });
    await runUntilIdle(worker, client, queue);
    const { rows } = await client.query("SELECT outcome, result::text, error FROM hipq.jobs_detail WHERE id = $1", [id]);
    results.push(rows[0]);
  }
  const copied = { outcome: "succeeded", result: text, error: null };
  assert.deepEqual(results, [copied, copied, { outcome: "failed", result: null, error: "no" }]);
});

test("concurrency is a limit, and is used", async () => {
  const queue = await makeQueue(client);
  let running = 0, most = 0, open;
  const gate = new Promise((resolve) => (open = resolve));
  const worker = makeWorker(queue, { concurrency: 3 }).job("work", async () => {
    most = Math.max(most, ++running);
    if (running === 3) open();
    await gate;
    running--;
  });
  await enqueueMany(client, "work", Array(9).fill({}), { queue });
  await runUntilIdle(worker, client, queue);
  assert.equal(most, 3);
});

test("what a handler throws decides", async () => {
  const queue = await makeQueue(client);
  const attempts = [];
  const worker = makeWorker(queue, { concurrency: 4 }).job("work", (job) => {
    attempts.push(`${job.data.how} ${job.attempt}`);
    if (job.data.how === "once" && job.attempt === 1) throw new Error("the first time");
    if (job.data.how === "always") throw new TypeError("never works");
    if (job.data.how === "permanent") throw new Permanent("no such address");
    if (job.data.how === "release" && job.attempt === 1) throw new Release();
    if (job.data.how === "large") return "x".repeat(1_100_000);
  });
  const ids = {};
  for (const how of ["once", "always", "permanent", "release", "large"]) ids[how] = await enqueue(client, "work", { how }, { queue, maxRetries: 1 });
  await runUntilIdle(worker, client, queue);
  const ended = {};
  for (const [how, id] of Object.entries(ids)) {
    const job = await jobOf(id);
    ended[how] = [job.outcome, job.retry_count, job.retry_reason];
  }
  assert.deepEqual(ended, {
    once: ["succeeded", 1, "transient_error"], always: ["failed", 1, "transient_error"], permanent: ["failed", 0, "explicit_failure"],
    release: ["succeeded", 0, "released"], large: ["failed", 0, "explicit_failure"],
  });
  assert.match((await jobOf(ids.always)).error, /never works/);
  assert.match((await jobOf(ids.large)).error, /too large/);
});

test("RetryAfter: the retry is charged, and waits so long; one that names no delay fails as usual", async () => {
  const queue = await makeQueue(client);
  const delays = ["7 min", 420, "soon", "-1 s", undefined];
  const later = ({ data }) => new RetryAfter(delays[data.n], "b\u00fcsy");
  const worker = makeWorker(queue, { concurrency: 10 })
    .job("work", (job) => { throw later(job); });
  const batches = makeWorker(queue, { concurrency: 10 }).batch("work", (jobs) => jobs.map(later));
  for (const one of [worker, batches]) {
    const datas = delays.map((_, n) => ({ n }));
    const ids = await enqueueMany(client, "work", datas, { queue, maxRetries: 1 });
    const from = logged.length;
    await runUntilIdle(one, client, queue);
    const ended = [];
    for (const job of await Promise.all(ids.map(jobOf)))
      ended.push([job.state, job.retry_count, job.error,
        job.state === "retry" && (job.scheduled_run_time - job.update_time) / 1_000]);
    const [waits, fails] = [["retry", 1, "b\u00fcsy", 420], ["final", 1, "b\u00fcsy", false]];
    assert.deepEqual(ended, [waits, waits, fails, fails, fails]);
    const events = (id) => logged.slice(from).filter(({ jobId }) => jobId === id)
      .map(({ event, message }) => (event === "job failed" ? message : event));
    assert.deepEqual(events(ids[0]), ["b\u00fcsy"]);
    assert.equal(events(ids[2]).filter((event) => event === "answer refused").length, 4);
    await client.query("SELECT hipq.cancel_jobs($1)", [queue]);
  }
});

test("batches: results, errors of single jobs, errors of all", async () => {
  const queue = await makeQueue(client, ["work"], "max_retries => 0");
  const sizes = [];
  const worker = makeWorker(queue, { concurrency: 50 }).batch("work", (jobs) => {
    sizes.push(jobs.length);
    if (jobs.some(({ data }) => data.n === "spoils")) throw new Error("all");
    return jobs.map(({ data }) => (data.n === 3 ? new Permanent("three") : data.n * 2));
  }, { size: 10 });
  const ids = await enqueueMany(client, "work", Array.from({ length: 20 }, (_, n) => ({ n })), { queue });
  await runUntilIdle(worker, client, queue);
  assert.ok(Math.max(...sizes) <= 10 && sizes.length < 20, String(sizes));
  for (const [n, id] of ids.entries()) {
    const { outcome, result } = await jobOf(id);
    assert.deepEqual([outcome, result], n === 3 ? ["failed", null] : ["succeeded", n * 2]);
  }
});

test("one job of a batch is cancelled: the others fail, and are not lost", async () => {
  const queue = await makeQueue(client, ["work"], "max_retries => 0");
  const worker = makeWorker(queue, { concurrency: 50 }).batch("work", async (jobs) => {
    await client.query("SELECT hipq.cancel($1)", [jobs[0].id]);
    await jobs[0].progress(1);
  }, { size: 10 });
  const ids = await enqueueMany(client, "work", [{}, {}, {}, {}], { queue });
  await runUntilIdle(worker, client, queue);
  const outcomes = await Promise.all(ids.map(async (id) => (await jobOf(id)).outcome));
  assert.ok(outcomes.includes("cancelled") && outcomes.every((outcome) => outcome === "cancelled" || outcome === "failed"), String(outcomes));
});

test("progress shows, extend gives time", async () => {
  const queue = await makeQueue(client);
  let go;
  const gate = new Promise((resolve) => (go = resolve));
  const extended = [];
  const worker = makeWorker(queue).job("work", async (job) => {
    await job.progress(3, 10, "on the way");
    const clock = async () => (await client.query("SELECT clock_timestamp() AS time")).rows[0].time;
    for (const more of ["1 h", "1 min"])
      extended.push([await clock(), await job.extend(more), await clock()]);
    await gate;
  });
  const id = await enqueue(client, "work", {}, { queue });
  await withWorker(worker, async () => {
    const { rows } = await until(async () => {
      const shown = await client.query("SELECT done, total, message FROM hipq.progress_detail WHERE id = $1", [id]);
      return shown.rows.length > 0 && extended.length === 2 && shown;
    }, "progress shows");
    assert.deepEqual(rows, [{ done: "3", total: "10", message: "on the way" }]);
    const [[before, deadline, after], [, same]] = extended;
    assert.ok(before <= deadline - 3_600_000 && deadline - 3_600_000 <= after, String(extended));
    assert.deepEqual(same, deadline); // the attempt had more time already
    go();
    assert.equal(await outcome(id), "succeeded");
  });
});

test("a cancelled job's handler is told, though it asks for nothing", async () => {
  const queue = await makeQueue(client);
  let reason, started;
  const worker = makeWorker(queue, { checkInterval: 50 }).job("work", (job, { signal }) => {
    started = true;
    return new Promise((_, reject) => signal.addEventListener("abort", () => reject((reason = signal.reason))));
  });
  const id = await enqueue(client, "work", {}, { queue });
  await withWorker(worker, async () => {
    await until(() => started, "it runs");
    await client.query("SELECT hipq.cancel($1)", [id]);
    await until(() => reason, "it is told");
    assert.ok(reason instanceof AttemptOver);
    assert.equal(await outcome(id), "cancelled");
    const next = await enqueue(client, "work", {}, { queue });
    await until(async () => (await jobOf(next)).state === "running", "its place is free");
    await client.query("SELECT hipq.cancel($1)", [next]);
  });
});

test("one that asks is told at once, and its place is free though it goes on", async () => {
  const queue = await makeQueue(client, ["work", "other"]);
  let error, go, started;
  const gate = new Promise((resolve) => (go = resolve));
  const worker = makeWorker(queue, { checkInterval: 50 })
    .job("work", async (job) => {
      started = true;
      await gate;
      await job.progress(1).catch((why) => (error = why));
      return new Promise(() => undefined); // forever
    })
    .job("other", () => "ran");
  const id = await enqueue(client, "work", {}, { queue });
  await withWorker(worker, async () => {
    await until(() => started, "it runs");
    await client.query("SELECT hipq.cancel($1)", [id]);
    go();
    await until(() => error, "it is told");
    assert.ok(error instanceof AttemptOver);
    assert.equal(await outcome(await enqueue(client, "other", {}, { queue })), "succeeded");
  });
});

test("middleware is around handlers, the first one outermost", async () => {
  const queue = await makeQueue(client);
  const steps = [];
  const step = (name) => async (job, next) => {
    steps.push(`${name} before`);
    const result = await next();
    steps.push(`${name} after ${result}`);
    return result + 1;
  };
  const worker = makeWorker(queue).use(step("a")).use(step("b")).job("work", () => (steps.push("handler"), 1));
  const id = await enqueue(client, "work", {}, { queue });
  await runUntilIdle(worker, client, queue);
  assert.deepEqual(steps, ["a before", "b before", "handler", "b after 1", "a after 2"]);
  assert.equal((await jobOf(id)).result, 3);
});

test("a schema refuses data for good, and converts it", async () => {
  const queue = await makeQueue(client);
  const schema = z.object({ to: z.string().email(), tries: z.number().default(1) });
  const seen = [];
  const worker = makeWorker(queue).job("work", ({ data }) => void seen.push(data), { schema });
  const good = await enqueue(client, "work", { to: "ann@example.com" }, { queue });
  const bad = await enqueue(client, "work", { to: "nobody" }, { queue });
  await runUntilIdle(worker, client, queue);
  assert.deepEqual(seen, [{ to: "ann@example.com", tries: 1 }]);
  assert.equal((await jobOf(good)).outcome, "succeeded");
  const { outcome: ended, error, retry_count } = await jobOf(bad);
  assert.deepEqual([ended, retry_count], ["failed", 0]);
  assert.match(error, /data is not valid.*email/s);
});

test("wrong use is said", async () => {
  const queue = await makeQueue(client);
  await assert.rejects(makeWorker(queue).run(), /has no handler/);
  assert.throws(() => makeWorker(queue).job("work", () => 1).job("work", () => 2), /has a handler already/);
  await assert.rejects(makeWorker("no.queue").job("work", () => 1).run(), { code: "42704" });
  await assert.rejects(makeWorker(queue).job("unknown", () => 1).run(), { code: "42704" });
  const first = makeWorker(queue).job("work", () => 1);
  await withWorker(first, async () => {
    await until(() => first.id, "the first has registered");
    await assert.rejects(makeWorker(queue).job("work", () => 1).run(), { code: "55006" }, "a second one of the name");
  });
});

test("a worker that cannot connect can be stopped", async () => {
  const lost = [];
  const worker = new Worker({ name: "nowhere", queues: ["a.b"], connection: { host: "127.0.0.1", port: 1 }, log: ({ event }) => lost.push(event) });
  const run = worker.job("work", () => 1).run({ signals: false });
  await until(() => lost.filter((event) => event === "connection lost").length > 1, "it has tried twice");
  await worker.stop();
  await run;
});

test("one that takes over ends the first", async () => {
  const queue = await makeQueue(client);
  const first = makeWorker(queue).job("work", () => 1);
  const ended = assert.rejects(first.run({ signals: false }), (error) => ["55000", "42704"].includes(error.code));
  await until(() => first.id, "the first has registered");
  const second = makeWorker(queue, { takeOver: true }).job("work", () => 2);
  await withWorker(second, async () => {
    await until(() => second.id, "the second has registered");
    assert.deepEqual((await waitFor(client, await enqueue(client, "work", {}, { queue }), { timeout: 20 })).result, 2);
    await ended;
  });
});

test("a session that is lost comes back, and so does the worker", async () => {
  const queue = await makeQueue(client);
  let go, started;
  const gate = new Promise((resolve) => (go = resolve));
  const worker = makeWorker(queue, { concurrency: 2 }).job("work", async ({ data }) => {
    started = true;
    if (data.waits) await gate;
    return "done";
  });
  const id = await enqueue(client, "work", { waits: true }, { queue });
  await withWorker(worker, async () => {
    await until(() => started, "it runs");
    const { rows } = await client.query("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = $1", [`hipq worker ${queue}`]);
    assert.ok(Number(rows[0].count) >= 1);
    go();
    assert.equal(await outcome(id), "succeeded", "what it has done is told on a new connection");
    assert.equal(await outcome(await enqueue(client, "work", {}, { queue })), "succeeded", "and it has new jobs");
  });
});

// ---- processes

const program = fileURLToPath(new URL("program.js", import.meta.url));

function startProgram(queue, name) {
  const child = spawn(process.execPath, [program, queue, name], { stdio: ["ignore", "pipe", "inherit"] });
  child.said = "";
  child.stdout.on("data", (text) => (child.said += text));
  child.ended = new Promise((resolve) => child.on("exit", (code, signal) => resolve(code ?? signal)));
  return child;
}

test("SIGTERM: what runs ends, nothing new begins", async () => {
  const queue = await makeQueue(client);
  const child = startProgram(queue, "terminated");
  await client.query("SELECT pg_advisory_lock(4711)");
  const id = await enqueue(client, "work", { lock: 4711 }, { queue });
  await until(() => child.said.includes("runs"), "it runs");
  child.kill("SIGTERM");
  await until(async () => (await client.query("SELECT is_draining FROM hipq.workers_detail WHERE name = 'terminated'")).rows[0]?.is_draining, "it drains");
  const later = await enqueue(client, "work", {}, { queue });
  await client.query("SELECT pg_advisory_unlock(4711)");
  assert.equal(await outcome(id), "succeeded");
  assert.equal(await child.ended, 0);
  assert.equal((await jobOf(later)).state, "initial");
});

test("a second SIGTERM gives the job back", async () => {
  const queue = await makeQueue(client);
  const child = startProgram(queue, "impatient");
  await client.query("SELECT pg_advisory_lock(4712)");
  const id = await enqueue(client, "work", { lock: 4712 }, { queue });
  await until(() => child.said.includes("runs"), "it runs");
  child.kill("SIGTERM");
  await until(() => child.said.includes("draining"), "it drains");
  child.kill("SIGTERM");
  assert.equal(await child.ended, 0);
  const { state, retry_count, retry_reason } = await jobOf(id);
  assert.deepEqual([state, retry_count, retry_reason], ["retry", 0, "released"]);
  await client.query("SELECT pg_advisory_unlock(4712)");
});

test("kill -9: another worker does the job", async () => {
  const queue = await makeQueue(client);
  const child = startProgram(queue, "killed");
  await client.query("SELECT pg_advisory_lock(4713)");
  const id = await enqueue(client, "work", { lock: 4713 }, { queue });
  await until(() => child.said.includes("runs"), "it runs");
  child.kill("SIGKILL");
  assert.equal(await child.ended, "SIGKILL");
  await client.query("SELECT pg_advisory_unlock(4713)");
  await withWorker(makeWorker(queue).job("work", () => "by another"), async () => {
    assert.deepEqual(await waitFor(client, id, { timeout: 40 }), { outcome: "succeeded", result: "by another", error: null });
  });
  assert.equal((await jobOf(id)).retry_reason, "worker_lost");
});
