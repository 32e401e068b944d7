// Runs the waiting jobs with two processes of the Node.js client, like graphile-worker's best
// (../graphile-worker/drain.mjs). Prints the seconds from the start of the workers to their end,
// after the last answer of the server.
//
//   node drain.mjs batch|single COUNT
import cluster from "node:cluster";
import { drain } from "../drain-by-workers.mjs";

const { Worker } = await import(`${process.env.NODE_CLIENT}/dist/index.js`);
const [kind, count] = [process.argv[2], Number(process.argv[3])];
const processes = 2;
const reportInterval = 20; // ms
const size = 500; // jobs per batch

async function work() {
  let done = 0;
  const worker = new Worker({ name: `node ${process.pid}`, queues: ["app.main"], concurrency: 2 * size, prefetch: Number(process.env.PREFETCH ?? 4 * size) });
  if (kind === "batch") worker.batch("run", (jobs) => void (done += jobs.length), { size });
  else worker.job("run", () => void ++done);
  setInterval(() => { process.send(done); done = 0; }, reportInterval);
  process.on("message", async () => { await worker.stop(); process.exit(0); });
  await worker.run({ signals: false });
}

await (cluster.isPrimary ? drain(processes, count, true) : work());
