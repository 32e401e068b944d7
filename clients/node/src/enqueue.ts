// Enqueues jobs in the caller's transaction, and waits for their outcome.

import { call, duration, json, type Duration, type Queryable, type Types } from "./sql.js";

export interface EnqueueOptions {
  /** "instance.queue"; by default the queue that has the job type. */
  queue?: string;
  /** One unfinished job for each key. */
  key?: string;
  /** What to do if an unfinished job has the key. */
  onDuplicate?: "error" | "return" | "replace" | "merge" | "debounce" | "after";
  scheduledRunTime?: Date | string;
  /** The job expires if it has not started by this time. */
  expiresTime?: Date | string;
  priority?: number;
  timeout?: Duration;
  queueTtl?: Duration;
  maxRetries?: number;
  throttleKey?: string;
  throttleFactor?: number;
  timeWindows?: string;
  /** The name of the only worker for the first attempt. */
  worker?: string;
  /** The trace of the job, in the format of W3C Trace Context. */
  traceparent?: string;
}

export interface EnqueueManyOptions extends Omit<EnqueueOptions, "key" | "worker"> {
  /** One for each job; null: no key. */
  keys?: (string | null)[];
}

/** sent: to another server, which drops the job if its key is taken there. */
export type Action =
  | "inserted"
  | "returned"
  | "replaced"
  | "merged"
  | "debounced"
  | "after"
  | "sent";

export interface Outcome<Result = unknown> {
  outcome: "succeeded" | "failed" | "cancelled" | "expired";
  result: Result;
  error: string | null;
}

const types: Types = {
  job_type: "text",
  job_data: "jsonb",
  queue: "text",
  job_key: "text",
  scheduled_run_time: "timestamptz",
  priority: "integer",
  timeout: duration,
  throttle_factor: "double precision",
  time_windows: "text",
  max_retries: "integer",
  expires_time: "timestamptz",
  on_duplicate: "text",
  throttle_key: "text",
  queue_ttl: duration,
  worker: "text",
  traceparent: "text",
};
const manyTypes: Types = { ...types, job_data: "jsonb[]", job_keys: "text[]" };

function named(options: EnqueueOptions): Record<string, unknown> {
  const { queue, key, onDuplicate, scheduledRunTime, expiresTime, priority, timeout, queueTtl, ...rest } = options;
  const { maxRetries, throttleKey, throttleFactor, timeWindows, worker, traceparent, ...unknown } = rest;
  for (const name of Object.keys(unknown)) throw new TypeError(`there is no option "${name}"`);
  return {
    queue, job_key: key, on_duplicate: onDuplicate, scheduled_run_time: scheduledRunTime, expires_time: expiresTime,
    priority, timeout, queue_ttl: queueTtl, max_retries: maxRetries, throttle_key: throttleKey,
    throttle_factor: throttleFactor, time_windows: timeWindows, worker, traceparent,
  };
}

/**
 * Enqueues a job and returns its id. The job is part of the open transaction of `client`: a
 * rollback removes it. Raises the errors of hipq.enqueue(): 23505 if the key is taken.
 */
export async function enqueue(client: Queryable, type: string, data: unknown = {}, options: EnqueueOptions = {}): Promise<string> {
  const { text, values } = call("enqueue", types, { job_type: type, job_data: json(data), ...named(options) });
  const { rows } = await client.query(`SELECT ${text}::text AS id`, values);
  return rows[0].id;
}

/** Enqueues a job unless an unfinished job has its key; returns the id of this or that job, and the
    action. */
export async function enqueueUnique(
  client: Queryable, type: string, data: unknown, options: EnqueueOptions & { key: string },
): Promise<{ id: string; action: Action }> {
  const { text, values } = call("enqueue_unique", types, { job_type: type, job_data: json(data), ...named(options) });
  const { rows } = await client.query(`SELECT id::text, action FROM ${text}`, values);
  return rows[0];
}

/** Enqueues a job for each element of `data`, in one statement; returns the ids in this order. */
export async function enqueueMany(client: Queryable, type: string, data: unknown[], options: EnqueueManyOptions = {}): Promise<string[]> {
  const { keys, ...rest } = options;
  const { text, values } = call("enqueue_many", manyTypes, { job_type: type, job_data: data.map(json), job_keys: keys, ...named(rest) });
  const { rows } = await client.query(`SELECT ${text}::text[] AS ids`, values);
  return rows[0].ids;
}

/**
 * Waits up to `timeout` (a minute) for a job to end, and returns its outcome, or undefined if the
 * job has not ended. The job must be committed: do not call this in the transaction that enqueued it.
 */
export async function waitFor<Result = unknown>(
  client: Queryable, id: string, options: { timeout?: Duration; queue?: string } = {},
): Promise<Outcome<Result> | undefined> {
  const { text, values } = call("wait_for", { id: "bigint", timeout: duration, queue: "text" }, { id, ...options });
  const { rows } = await client.query(`SELECT outcome, result, error FROM ${text}`, values);
  const [row] = rows;
  if (row === undefined || !["succeeded", "failed", "cancelled", "expired"].includes(row.outcome)) return undefined;
  return { outcome: row.outcome, result: row.result, error: row.error };
}
