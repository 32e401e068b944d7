// Runs the waiting jobs, and prints the seconds from the start of the workers to the last
// completion.
//
//   node drain.mjs default|best COUNT
//
// default: one worker process with default settings. best: two worker processes, one for each core
// of the reference machine, with the configuration of the benchmark in
// https://worker.graphile.org/docs/performance.
import cluster from "node:cluster";
import { run, Logger } from "graphile-worker";
import { drain } from "../drain-by-workers.mjs";

const [kind, count] = [process.argv[2], Number(process.argv[3])];
const { processes, settings } = {
  default: { processes: 1, settings: {} },
  best: {
    processes: 2,
    settings: { concurrentJobs: 24, maxPoolSize: 25, localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 },
  },
}[kind];
const report_interval = 20; // ms

async function work() {
  const runner = await run({
    preset: { worker: { connectionString: `postgres:///${process.env.PGDATABASE}`, ...settings, logger: new Logger(() => () => {}) } },
    taskList: { run: async () => {} },
  });
  let done = 0;
  runner.events.on("job:complete", () => { ++done; });
  setInterval(() => { process.send(done); done = 0; }, report_interval);
  process.on("message", async () => { await runner.stop(); process.exit(0); });
}

await (cluster.isPrimary ? drain(processes, count) : work());
