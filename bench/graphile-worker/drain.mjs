// Runs the jobs that are there and prints the seconds it took from the start of the worker to the last completion.
//
//   node drain.mjs default|best COUNT
import { run, Logger } from "graphile-worker";

const [kind, count] = [process.argv[2], Number(process.argv[3])];
// The second is what https://worker.graphile.org/docs/performance recommends for many short tasks.
const settings = {
  default: {},
  best: { concurrentJobs: 24, maxPoolSize: 30, localQueue: { size: 500, refetchDelay: { durationMs: 10 } }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
}[kind];

let done = 0;
const start = process.hrtime.bigint();
const runner = await run({
  preset: { worker: { connectionString: `postgres:///${process.env.PGDATABASE}`, ...settings, logger: new Logger(() => () => {}) } },
  taskList: { run: async () => {} },
});
await new Promise((resolve) => runner.events.on("job:complete", () => { if (++done === count) resolve(); }));
console.log(Number(process.hrtime.bigint() - start) / 1e9);
await runner.stop();
process.exit(0);
