// The handlers of a worker: by job type, for one job or for many, with middleware and with checked
// data.

import { AttemptOver, errorOf, messageOf, Permanent } from "./errors.js";
import type { Job } from "./job.js";
import { json } from "./sql.js";

export interface Context {
  /** Aborted when the attempt is over; for a batch, when all its attempts are. */
  signal: AbortSignal;
}

export type Handler<Data = any> = (job: Job<Data>, context: Context) => unknown;

/**
 * Runs many jobs; returns their results in the same order, or nothing. An Error in place of a
 * result fails only that job.
 */
export type BatchHandler<Data = any> = (jobs: Job<Data>[], context: Context) => unknown[] | void | Promise<unknown[] | void>;

/** Wraps every handler: `next()` calls it, or the next middleware, and returns its result. */
export type Middleware = (job: Job, next: () => Promise<unknown>) => unknown;

/** Checks the data of jobs: zod, or any library with Standard Schema or a method `parse`. */
export type Schema<Data> =
  | { "~standard": { validate(value: unknown): Validated<Data> | Promise<Validated<Data>> } }
  | { parse(value: unknown): Data };
type Validated<Data> = { value: Data; issues?: undefined } | { issues: readonly { message: string }[] };

export interface HandlerOptions<Data> {
  /** Jobs whose data it refuses fail for good. */
  schema?: Schema<Data>;
}

export interface BatchOptions<Data> extends HandlerOptions<Data> {
  /** The maximum number of jobs in a call. */
  size?: number;
}

async function validate<Data>(schema: Schema<Data>, data: unknown): Promise<Data> {
  if (!("~standard" in schema)) {
    try {
      return schema.parse(data);
    } catch (error) {
      throw new Permanent(`the job's data is not valid: ${messageOf(error)}`, { cause: error });
    }
  }
  const checked = await schema["~standard"].validate(data);
  if (checked.issues !== undefined)
    throw new Permanent(`the job's data is not valid: ${checked.issues.map(({ message }) => message).join("; ")}`);
  return checked.value;
}

/** How a job has ended: its result as JSON, or an Error. */
export type Ending = string | Error;

export interface Registered {
  /** The maximum number of jobs in one call; undefined: one, with a handler for one job. */
  size: number | undefined;
  /** The ending of each job. */
  run(jobs: Job[]): Promise<Ending[]>;
}

async function settled(run: () => unknown): Promise<unknown> {
  try {
    return await run();
  } catch (error) {
    return errorOf(error);
  }
}

// If the result cannot be JSON, the job fails.
function endingOf(result: unknown): Ending {
  try {
    return result instanceof Error ? result : json(result);
  } catch (error) {
    return new Permanent(messageOf(error));
  }
}

export function single<Data>(handler: Handler<Data>, options: HandlerOptions<Data>, middleware: Middleware[]): Registered {
  const run = async (job: Job) => {
    if (options.schema !== undefined) job.data = await validate(options.schema, job.data);
    return handler(job, { get signal() { return job.signal; } });
  };
  const wrapped = (job: Job, i: number): Promise<unknown> =>
    i === middleware.length ? run(job) : Promise.resolve(middleware[i]!(job, () => wrapped(job, i + 1)));
  const ended = async (job: Job) => endingOf(await settled(() => wrapped(job, 0)));
  return { size: undefined, run: (jobs) => Promise.all(jobs.map(ended)) };
}

function signalOfAll(jobs: Job[]): AbortSignal {
  const controller = new AbortController();
  let running = jobs.length;
  for (const job of jobs) job.whenOver((reason) => --running === 0 && controller.abort(reason));
  return controller.signal;
}

// Its signal is only made when it is read.
function contextOf(jobs: Job[]): Context {
  let signal: AbortSignal | undefined;
  return { get signal() { return (signal ??= signalOfAll(jobs)); } };
}

// An exception of a handler applies to all its jobs; but AttemptOver of one of them does not end
// the others.
function thrownFor(job: Job, error: unknown): unknown {
  return error instanceof AttemptOver && !job.isOver ? new Error(`another job of its batch ended it: ${error.message}`) : error;
}

/** Middleware wraps single jobs, so it does not wrap batches. */
export function batched<Data>(handler: BatchHandler<Data>, options: BatchOptions<Data>): Registered {
  const { schema, size = 100 } = options;
  const run = async (jobs: Job[]) => {
    const refused = new Map<Job, unknown>();
    if (schema !== undefined)
      for (const job of jobs) {
        const checked = await settled(async () => void (job.data = await validate(schema, job.data)));
        if (checked instanceof Error) refused.set(job, checked);
      }
    const valid = jobs.filter((job) => !refused.has(job));
    const results = valid.length === 0 ? [] : await settled(() => handler(valid, contextOf(valid)));
    if (Array.isArray(results) && results.length !== valid.length)
      return jobs.map(() => new Error(`the handler returned ${results.length} results for ${valid.length} jobs`));
    const ended = new Map(valid.map((job, i) => [job, Array.isArray(results) ? results[i] : thrownFor(job, results)]));
    return jobs.map((job) => endingOf(refused.get(job) ?? ended.get(job)));
  };
  return { size, run };
}
