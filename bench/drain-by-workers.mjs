// Shared by the drains in Node.js: starts worker processes, each a copy of the calling program,
// which report how many jobs they have run. Prints the seconds from their start to the last job,
// and tells them to stop.
import cluster from "node:cluster";

export async function drain(processes, count) {
  const start = process.hrtime.bigint();
  const workers = Array.from({ length: processes }, () => cluster.fork());
  let done = 0;
  await new Promise((resolve) => cluster.on("message", (worker, completed) => { if ((done += completed) >= count) resolve(); }));
  console.log(Number(process.hrtime.bigint() - start) / 1e9);
  workers.forEach((worker) => worker.send("stop"));
}
