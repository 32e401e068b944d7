// For tests of programs that enqueue or work.

import type { Queryable } from "./sql.js";
import type { Worker } from "./worker.js";
import { setTimeout as sleep } from "node:timers/promises";

export interface Enqueued {
  id: string;
  type: string;
  key: string | null;
  data: any;
  scheduledRunTime: Date;
}

/** The waiting jobs, also those of the open transaction of `client`, in the order of their ids. */
export async function enqueued(client: Queryable, filter: { type?: string; queue?: string } = {}): Promise<Enqueued[]> {
  const { rows } = await client.query(
    `SELECT id::text, job_type AS type, nullif(job_key, 'NONE') AS key, job_data AS data, scheduled_run_time AS "scheduledRunTime"
     FROM hipq.enqueued($1::text, $2::text) AS waiting ORDER BY waiting.id`,
    [filter.type ?? null, filter.queue ?? null],
  );
  return rows;
}

/**
 * Has a worker run all due jobs of a queue, and stops it. Rejects if that takes longer than
 * `timeout` (ms, 10 s). `client` is another connection, whose role must have the right to read the
 * queue.
 */
export async function runUntilIdle(worker: Worker, client: Queryable, queue: string, timeout = 10_000): Promise<void> {
  const end = Date.now() + timeout;
  const run = worker.run({ signals: false });
  run.catch(() => undefined);
  try {
    while (await isBusy(client, queue)) {
      if (Date.now() > end) throw new Error(`jobs of queue "${queue}" have not ended within ${timeout} ms`);
      await Promise.race([sleep(20), run]);
    }
  } finally {
    await worker.stop();
  }
}

async function isBusy(client: Queryable, queue: string): Promise<boolean> {
  const { rows } = await client.query(
    "SELECT EXISTS (SELECT FROM hipq.jobs_detail WHERE queue = $1 AND state <> 'final' AND scheduled_run_time <= hipq.now()) AS busy",
    [queue],
  );
  return rows[0].busy;
}
