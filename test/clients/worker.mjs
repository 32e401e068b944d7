// A worker in Node.js as a user would write it. Each start and each end of a job is a line of a
// ledger. A long job waits for a file.
import { appendFileSync, existsSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";

const {
  HIPQ_CLIENT, HIPQ_LEDGER: folder, HIPQ_NAME: name, HIPQ_QUEUE: queue = "app.run", HIPQ_POOLER,
} = process.env;
const { Worker } = await import(`${HIPQ_CLIENT}/dist/index.js`);

const note = (word, { id, attempt }) =>
  appendFileSync(`${folder}/ledger`, `${word} ${id} ${attempt}\n`);
const mayEnd = ({ id }) => existsSync(`${folder}/${id}`) || existsSync(`${folder}/all`);

async function run(job, { signal }) {
  note("start", job);
  signal.addEventListener("abort", () => note("over", job));
  while (job.type === "long" && !mayEnd(job)) await sleep(50, undefined, { signal });
  note("end", job);
  return job.attempt;
}

// libpq takes lists of servers; here each is a connection of its own.
const [hosts, ports] = [process.env.PGHOST.split(","), process.env.PGPORT.split(",")];
const connection = hosts.map((host, i) => ({ host, port: Number(ports[i]) }));
const worker = new Worker({
  name, queues: [queue], concurrency: 4, pooler: HIPQ_POOLER !== undefined, connection,
  replyTimeout: 6_000,
});
await worker.job("short", run).job("long", run).run();
