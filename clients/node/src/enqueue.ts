// Enqueues jobs in the caller's transaction, and waits for their outcome.

import type { Batch } from "./batch.js";
import { call, duration, json, type Duration, type Queryable, type Types } from "./sql.js";

/** A job by its id, or by an object that has it, such as the job of a handler. */
export type JobOrId = string | { readonly id: string };

/** A batch, or its id. */
export type BatchOrId = string | Batch;

export interface EnqueueOptions {
  /** "instance.queue"; by default the queue that has the job type. */
  queue?: string;
  /** One unfinished job for each key. */
  key?: string;
  /** What to do if an unfinished job has the key. */
  onDuplicate?: "error" | "return" | "replace" | "merge" | "debounce" | "after" | "after_first";
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
  /** The jobs that it comes after: it waits for their ends. */
  after?: readonly JobOrId[];
  /** The batch that it comes after: it waits for the end of its jobs, too. */
  afterBatch?: BatchOrId;
  /** When it starts: when all of them have succeeded (the default), when all have ended, when one
      has succeeded, or when one has failed. */
  afterPolicy?: "succeeded" | "finished" | "any" | "failed";
  /** What becomes of it when that cannot be met: "fail" is the default. */
  onFailure?: "fail" | "skip" | "run";
  /** The batch that it belongs to; undefined: none. */
  batch?: BatchOrId | undefined;
}

export interface EnqueueManyOptions extends Omit<EnqueueOptions, "key" | "worker"> {
  /** One for each job; null: no key. */
  keys?: (string | null)[];
}

/** How a job ended. */
export type Ended = "succeeded" | "failed" | "cancelled" | "expired" | "skipped";

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
  outcome: Ended;
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
  after: "bigint[]",
  after_policy: "text",
  on_failure: "text",
  batch: "bigint",
  after_batch: "bigint",
};
const manyTypes: Types = { ...types, job_data: "jsonb[]", job_keys: "text[]" };

export function idOf(job: JobOrId): string {
  return typeof job === "object" ? job.id : job;
}

function idOfBatch(batch: BatchOrId | undefined): string | undefined {
  return batch === undefined ? undefined : idOf(batch);
}

/** Options by their names in SQL. */
export function named(options: EnqueueOptions): Record<string, unknown> {
  const { queue, key, onDuplicate, scheduledRunTime, expiresTime, priority, timeout, queueTtl, ...rest } = options;
  const { maxRetries, throttleKey, throttleFactor, timeWindows, worker, traceparent, after, afterPolicy, onFailure, batch, afterBatch, ...unknown } = rest;
  for (const name of Object.keys(unknown)) throw new TypeError(`there is no option "${name}"`);
  return {
    queue, job_key: key, on_duplicate: onDuplicate, scheduled_run_time: scheduledRunTime, expires_time: expiresTime,
    priority, timeout, queue_ttl: queueTtl, max_retries: maxRetries, throttle_key: throttleKey,
    throttle_factor: throttleFactor, time_windows: timeWindows, worker, traceparent,
    after: after?.map(idOf), after_policy: afterPolicy, on_failure: onFailure,
    batch: idOfBatch(batch), after_batch: idOfBatch(afterBatch),
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
  if (row === undefined || !["succeeded", "failed", "cancelled", "expired", "skipped"].includes(row.outcome)) return undefined;
  return { outcome: row.outcome, result: row.result, error: row.error };
}

function askOf(client: Queryable, what: "outcome" | "result", job: JobOrId, of: JobOrId | undefined): Promise<any> {
  const given = of === undefined ? { id: idOf(job) } : { name: idOf(job), job: idOf(of) };
  const { text, values } = call(`${what}_of`, { id: "bigint", name: "text", job: "bigint" }, given);
  return client.query(`SELECT ${text} AS answer`, values).then(({ rows }) => rows[0].answer);
}

/** How a job ended, or "waiting" or "running". Needs the right `read`. */
export function outcomeOf(client: Queryable, job: JobOrId): Promise<Ended | "waiting" | "running">;
/** The same of the job of this name in a graph. `job` is any job of the graph. */
export function outcomeOf(client: Queryable, name: string, job: JobOrId): Promise<Ended | "waiting" | "running">;
export function outcomeOf(client: Queryable, job: JobOrId, of?: JobOrId): Promise<Ended | "waiting" | "running"> {
  return askOf(client, "outcome", job, of);
}

/** What the handler of a job returned; null: nothing, or the job has not ended. Needs `read`. */
export function resultOf<Result = unknown>(client: Queryable, job: JobOrId): Promise<Result | null>;
/** The same of the job of this name in a graph. `job` is any job of the graph. */
export function resultOf<Result = unknown>(client: Queryable, name: string, job: JobOrId): Promise<Result | null>;
export function resultOf<Result = unknown>(client: Queryable, job: JobOrId, of?: JobOrId): Promise<Result | null> {
  return askOf(client, "result", job, of);
}
