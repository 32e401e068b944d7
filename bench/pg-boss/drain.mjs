// Runs the waiting jobs with two processes, like graphile-worker's best
// (../graphile-worker/drain.mjs). Prints the seconds from the start of the workers to the last
// completion.
//
//   node drain.mjs best|work COUNT
//
// best: each process fetches and completes batches, several at a time, in its own loop. work()
// makes the same calls, but pauses for the rest of pollingIntervalSeconds after each batch. work:
// uses work(), with its shortest interval.
import cluster from "node:cluster";
import PgBoss from "pg-boss";
import { drain } from "../drain-by-workers.mjs";

const [kind, count] = [process.argv[2], Number(process.argv[3])];
const processes = 2;
const loops = 2; // of a process
const size = 500; // of a batch
const shortestInterval = 0.5; // s
const reportInterval = 20; // ms
const handler = async () => {};

// Without maintenance, which would start only after a minute anyway.
async function makeBoss() {
  const boss = new PgBoss({ connectionString: `postgres:///${process.env.PGDATABASE}`, max: loops + 2, supervise: false, schedule: false });
  await boss.start();
  return boss;
}

async function fetchAndComplete(boss, report) {
  for (;;) {
    const jobs = await boss.fetch("run", { batchSize: size, priority: false });
    if (jobs.length === 0) { await new Promise((resolve) => setTimeout(resolve, reportInterval)); continue; }
    await handler(jobs);
    await boss.complete("run", jobs.map(({ id }) => id));
    report(jobs.length);
  }
}

async function work() {
  let done = 0;
  const report = (completed) => { done += completed; };
  const boss = await makeBoss();
  for (let loop = 0; loop < loops; loop++) {
    if (kind === "best") void fetchAndComplete(boss, report);
    else await boss.work("run", { batchSize: size, priority: false, pollingIntervalSeconds: shortestInterval }, async (jobs) => { await handler(jobs); report(jobs.length); });
  }
  setInterval(() => { process.send(done); done = 0; }, reportInterval);
  // work() completes jobs only after its handler has returned.
  process.on("message", async () => { await boss.stop({ graceful: kind === "work", wait: true, timeout: 10_000 }); process.exit(0); });
}

await (cluster.isPrimary ? drain(processes, count) : work());
