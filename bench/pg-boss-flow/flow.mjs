// pg-boss's flow(): jobs that come after others.
//
//   node flow.mjs enqueue chain|fan_out|fan_in|graph COUNT
//   node flow.mjs drain COUNT                               prints the seconds it takes
//
// pg-boss looks for jobs whose parents have ended every flowIntervalSeconds, at least one. Here each
// loop has it look after each complete(), which is the soonest that its interface allows.
import { PgBoss } from "pg-boss";

const size = 500; // jobs fetched at once
const loops = 4;
const pause = 1; // ms, when there is no job

// The numbers of the jobs before job n, as bench/flow has them.
const before = {
  chain: (n) => (n > 1 ? [n - 1] : []),
  fan_out: (n) => (n > 1 ? [1] : []),
  fan_in: (n, count) => (n === count ? Array.from({ length: Math.min(n - 1, 10_000) }, (_, i) => i + 1) : []),
  graph: (n) => (n > 1 ? [...new Set([1, 2, 3].map((k) => Math.max(1, n - 1 - ((n * 7919 * k) % 100))))] : []),
};

const boss = new PgBoss({ connectionString: `postgres:///${process.env.PGDATABASE}`, max: loops + 2, supervise: false, schedule: false });
await boss.start();

async function enqueue(shape, count) {
  await boss.createQueue("run");
  const refs = (n) => before[shape](n, count).map((m) => `j${m}`);
  await boss.flow(Array.from({ length: count }, (_, i) => ({ ref: `j${i + 1}`, name: "run", data: {}, dependsOn: refs(i + 1) })));
}

async function drain(count) {
  const start = performance.now();
  let left = count;
  const loop = async () => {
    while (left > 0) {
      const jobs = await boss.fetch("run", { batchSize: size });
      if (jobs.length > 0) {
        await boss.complete("run", jobs.map(({ id }) => id));
        left -= jobs.length;
        await boss.resolveFlow();
      } else {
        await boss.resolveFlow();
        await new Promise((resolve) => setTimeout(resolve, pause));
      }
    }
  };
  await Promise.all(Array.from({ length: loops }, loop));
  console.log(((performance.now() - start) / 1000).toFixed(3));
}

const [action, ...given] = process.argv.slice(2);
await (action === "enqueue" ? enqueue(given[0], Number(given[1])) : drain(Number(given[0])));
await boss.stop({ graceful: false });
process.exit(0);
