// Batches: jobs that are counted together, with a callback that runs after them.

import { enqueue, enqueueMany, idOf, type EnqueueManyOptions, type EnqueueOptions, type JobOrId } from "./enqueue.js";
import { call, duration, json, type Duration, type Queryable, type Types } from "./sql.js";

export interface CreateBatchOptions {
  /** A name for people. */
  name?: string;
  /** The callback: a job of this type, which comes after the batch. */
  callbackType?: string;
  /** The data of the callback. */
  callbackData?: unknown;
  /** When the callback runs: when all jobs have ended (the default), when all have succeeded, or
      when one has failed. Otherwise it is skipped. */
  callWhen?: "finished" | "succeeded" | "first_failure";
  /** "instance.queue", of the callback; by default the queue that has its type. */
  queue?: string;
  /** How long the batch may stay open; a day. Then it counts as closed. */
  expiresAfter?: Duration;
  /** Only the transaction that creates it adds jobs, and its jobs while they run; false. */
  closed?: boolean;
}

/** abandoned: all jobs have ended, and the batch was not closed in time. */
export type BatchState = "open" | "running" | "finished" | "abandoned";

/** The state of a batch, and the numbers of its jobs. */
export interface BatchProgress {
  state: BatchState;
  jobs: number;
  unfinished: number;
  succeeded: number;
  /** Failed, cancelled or expired. */
  failed: number;
  skipped: number;
}

const types: Types = {
  name: "text",
  callback_type: "text",
  callback_data: "jsonb",
  call_when: "text",
  queue: "text",
  expires_after: duration,
  closed: "boolean",
};

function named(options: CreateBatchOptions): Record<string, unknown> {
  const { name, callbackType, callbackData, callWhen, queue, expiresAfter, closed, ...unknown } = options;
  for (const option of Object.keys(unknown)) throw new TypeError(`there is no option "${option}"`);
  return {
    name, callback_type: callbackType, callback_data: callbackData === undefined ? undefined : json(callbackData),
    call_when: callWhen, queue, expires_after: expiresAfter, closed,
  };
}

/** A batch of jobs. Its methods act in the open transaction of `client`. */
export class Batch {
  /** The batch of this id. */
  constructor(readonly id: string) {}

  /**
   * Creates a batch, and its callback. Raises the errors of hipq.create_batch(): 22023 without a
   * callback and a queue.
   */
  static async create(client: Queryable, options: CreateBatchOptions = {}): Promise<Batch> {
    const { text, values } = call("create_batch", types, named(options));
    const { rows } = await client.query(`SELECT ${text}::text AS id`, values);
    return new Batch(rows[0].id);
  }

  /**
   * Enqueues a job of the batch: `enqueue` with the option `batch`. Raises 55000 if the batch is
   * closed, unless one of its jobs runs.
   */
  enqueue(client: Queryable, type: string, data: unknown = {}, options: Omit<EnqueueOptions, "batch"> = {}): Promise<string> {
    return enqueue(client, type, data, { ...options, batch: this });
  }

  /** Enqueues a job of the batch for each element of `data`, in one statement. */
  enqueueMany(client: Queryable, type: string, data: unknown[], options: Omit<EnqueueManyOptions, "batch"> = {}): Promise<string[]> {
    return enqueueMany(client, type, data, { ...options, batch: this });
  }

  /** Says that no more jobs will be added, except by its own jobs while they run. false: it was
      closed already. */
  close(client: Queryable): Promise<boolean> {
    return this.#ask(client, "close_batch");
  }

  /** Closes the batch and cancels its unfinished jobs, but not its callback; returns how many. */
  async cancel(client: Queryable, reason?: string): Promise<number> {
    return Number(await this.#ask(client, "cancel_batch", reason));
  }

  /** The state, and the numbers of its jobs; undefined: there is no such batch, or the role lacks
      the right `read`. */
  async progress(client: Queryable): Promise<BatchProgress | undefined> {
    const { text, values } = call("batch_progress", { batch: "bigint" }, { batch: this.id });
    const { rows } = await client.query(`SELECT state, jobs, unfinished, succeeded, failed, skipped FROM ${text}`, values);
    const [row] = rows;
    if (row === undefined) return undefined;
    const { state, ...counts } = row;
    const numbers = Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Number(count)]));
    return { state, ...numbers } as unknown as BatchProgress;
  }

  async #ask(client: Queryable, name: string, reason?: string): Promise<any> {
    const { text, values } = call(name, { batch: "bigint", reason: "text" }, { batch: this.id, reason });
    const { rows } = await client.query(`SELECT ${text} AS answer`, values);
    return rows[0].answer;
  }
}

/** The batch that a job belongs to, or comes after, as a callback does; undefined: none. Needs the
    right `read`. */
export async function currentBatch(client: Queryable, job: JobOrId): Promise<Batch | undefined> {
  const { text, values } = call("current_batch", { job: "bigint" }, { job: idOf(job) });
  const { rows } = await client.query(`SELECT ${text}::text AS id`, values);
  return rows[0].id === null ? undefined : new Batch(rows[0].id);
}
