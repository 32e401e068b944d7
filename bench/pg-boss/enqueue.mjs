// Installs pg-boss's schema and its queue, or enqueues jobs.
//
//   node enqueue.mjs [COUNT]
import PgBoss from "pg-boss";

const atOnce = 10_000; // jobs per statement
const count = Number(process.argv[2] ?? 0);
const boss = new PgBoss({ connectionString: `postgres:///${process.env.PGDATABASE}`, supervise: false, schedule: false });
await boss.start();
if (count === 0) await boss.createQueue("run");
for (let n = 0; n < count; n += atOnce)
  await boss.insert(Array.from({ length: Math.min(atOnce, count - n) }, (_, i) => ({ name: "run", data: { n: n + i, text: "x".repeat(80) } })));
await boss.stop({ graceful: false });
process.exit(0);
