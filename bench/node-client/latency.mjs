// Prints the time from the answer to a COMMIT to the handler, in ms: p50, p99 and the maximum of
// COUNT jobs, one at a time, with WORKERS idle workers, each a process.
//
//   node latency.mjs hipq|graphile COUNT WORKERS
//
// All processes have the same clock (CLOCK_MONOTONIC). NOTIFY wakes graphile-worker, which also
// polls, at its default interval.
import cluster from "node:cluster";
import { createRequire } from "node:module";

const [kind, count, workers] = [process.argv[2], Number(process.argv[3]), Number(process.argv[4])];
const load = createRequire(kind === "hipq" ? `${process.env.NODE_CLIENT}/` : new URL("../graphile-worker/", import.meta.url));
const enqueue = {
  hipq: "SELECT hipq.enqueue('ping', jsonb_build_object('n', $1::integer), queue => 'app.main')",
  graphile: "SELECT graphile_worker.add_job('ping', json_build_object('n', $1::integer))",
}[kind];

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const now = () => Number(process.hrtime.bigint()) / 1e6;

async function serveHipq(ping) {
  const { Worker } = await import(`${process.env.NODE_CLIENT}/dist/index.js`);
  const worker = new Worker({ name: `latency ${process.pid}`, queues: ["app.main"], concurrency: 4 }).job("ping", (job) => ping(job.data.n));
  worker.run({ signals: false });
  while (worker.id === undefined) await pause(10);
}

async function serveGraphile(ping) {
  const { run, Logger } = load("graphile-worker");
  await run({
    preset: { worker: { connectionString: `postgres:///${process.env.PGDATABASE}`, concurrentJobs: 4, logger: new Logger(() => () => {}) } },
    noHandleSignals: true,
    taskList: { ping: async (payload) => ping(payload.n) },
  });
}

async function work() {
  await (kind === "hipq" ? serveHipq : serveGraphile)((n) => process.send({ n, started: now() }));
  process.send("ready");
}

async function measure() {
  const waiting = new Map(); // by number
  let ready = 0;
  cluster.on("message", (worker, told) => {
    if (told === "ready") ready++;
    else waiting.get(told.n)(told.started);
  });
  const all = Array.from({ length: workers }, () => cluster.fork());
  while (ready < workers) await pause(10);
  await pause(1000); // until the effects of their start have ended
  const client = new (load("pg").Client)();
  await client.connect();
  const took = [];
  for (let n = 1; n <= count; n++) {
    const begun = new Promise((resolve) => waiting.set(n, resolve));
    await client.query("BEGIN");
    await client.query(enqueue, [n]);
    await client.query("COMMIT");
    const answered = now();
    took.push((await begun) - answered);
    await pause(5);
  }
  took.sort((a, b) => a - b);
  const at = (share) => took[Math.min(took.length - 1, Math.floor(share * took.length))].toFixed(2);
  console.log(at(0.5), at(0.99), at(1));
  all.forEach((worker) => worker.process.kill("SIGKILL"));
  process.exit(0);
}

await (cluster.isPrimary ? measure() : work());
