// Shared by the drains in Node.js: starts worker processes, each a copy of the calling program,
// which report how many jobs they have completed. Prints the seconds from their start to the last
// completion, and tells them to stop.
//
// A program whose workers cannot tell when the server has answered reports jobs whose handler has
// ended, and passes `toTheEnd`: then the seconds go to the end of its last worker, which waits for
// its answers.
import cluster from "node:cluster";

export async function drain(processes, count, toTheEnd = false) {
  const start = process.hrtime.bigint();
  const workers = Array.from({ length: processes }, () => cluster.fork());
  let done = 0;
  await new Promise((resolve) => cluster.on("message", (worker, completed) => { if ((done += completed) >= count) resolve(); }));
  const print = () => console.log(Number(process.hrtime.bigint() - start) / 1e9);
  if (!toTheEnd) print();
  const ends = workers.map((worker) => new Promise((resolve) => worker.once("exit", resolve)));
  workers.forEach((worker) => worker.send("stop"));
  await Promise.all(ends);
  if (toTheEnd) print();
}
