// Prints the time from the answer to a COMMIT to the handler, in ms: p50, p99 and the maximum of
// COUNT jobs, one at a time.
//
//   node latency.mjs hipq|graphile COUNT
//
// One process enqueues and works, so that both times are from the same clock. NOTIFY wakes both
// programs; graphile-worker also polls, at its default interval.
import { createRequire } from "node:module";

const [kind, count] = [process.argv[2], Number(process.argv[3])];
const load = createRequire(kind === "hipq" ? `${process.env.NODE_CLIENT}/` : new URL("../graphile-worker/", import.meta.url));
const pg = load("pg");

const started = new Map(); // by number
const waiting = new Map();
function start(number) {
  started.set(number, performance.now());
  waiting.get(number)?.();
}

async function beginHipq() {
  const { Worker } = await import(`${process.env.NODE_CLIENT}/dist/index.js`);
  const worker = new Worker({ name: "latency", queues: ["app.main"], concurrency: 4 }).job("ping", (job) => start(job.data.n));
  const run = worker.run({ signals: false });
  while (worker.id === undefined) await pause(10);
  return { sql: "SELECT hipq.enqueue('ping', jsonb_build_object('n', $1::integer), queue => 'app.main')", stop: async () => { await worker.stop(); await run; } };
}

async function beginGraphile() {
  const { run, Logger } = load("graphile-worker");
  const runner = await run({
    preset: { worker: { connectionString: `postgres:///${process.env.PGDATABASE}`, concurrentJobs: 4, logger: new Logger(() => () => {}) } },
    taskList: { ping: async (payload) => start(payload.n) },
  });
  return { sql: "SELECT graphile_worker.add_job('ping', json_build_object('n', $1::integer))", stop: () => runner.stop() };
}

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

const { sql, stop } = await (kind === "hipq" ? beginHipq() : beginGraphile());
const client = new pg.Client();
await client.connect();
const took = [];
for (let number = 1; number <= count; number++) {
  await client.query("BEGIN");
  await client.query(sql, [number]);
  await client.query("COMMIT");
  const answered = performance.now();
  if (!started.has(number)) await new Promise((resolve) => waiting.set(number, resolve));
  took.push(started.get(number) - answered);
  await pause(5);
}
await client.end();
await stop();
took.sort((a, b) => a - b);
const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))].toFixed(2);
console.log(at(0.5), at(0.99), at(1));
process.exit(0);
