// A worker: registers, claims jobs, runs their handlers, reports the results, and reconnects after
// losses.

import { setTimeout as sleep } from "node:timers/promises";
import type pg from "pg";
import { Answers } from "./answers.js";
import { AttemptOver, errorOf, inAscii, isOver, mayPass, messageOf, Permanent, Release, RetryAfter, sqlstateOf } from "./errors.js";
import {
  batched, single, type BatchHandler, type BatchOptions, type Ending, type Handler, type HandlerOptions, type Middleware, type Registered,
} from "./handlers.js";
import { Job } from "./job.js";
import { Session } from "./session.js";
import { json, timesAndJsonAsText, timesAsText } from "./sql.js";

export interface LogEntry {
  level: "info" | "warning" | "error";
  event: "registered" | "connection lost" | "job failed" | "job lost" | "answer refused" | "draining";
  worker: string;
  jobId?: string;
  type?: string;
  message?: string;
}

export type Connection = string | pg.ClientConfig;

export interface WorkerOptions {
  /** One worker of this name at a time. */
  name: string;
  /** The queues that it serves, as "instance.queue". */
  queues: string[];
  /** How many jobs it runs at a time; 1. */
  concurrency?: number;
  /** How many more jobs it may be offered; 0. */
  prefetch?: number;
  /**
   * How to connect, as for pg.Client; by default PGHOST, PGDATABASE and so on. Of several servers,
   * one of which is the primary, it uses the first writable one.
   */
  connection?: Connection | Connection[];
  /** Whether connections go through a pooler in transaction mode: then it is not bound to one. */
  pooler?: boolean;
  /** What job types may require of it. */
  capabilities?: Record<string, unknown>;
  /** Takes the name from a worker that still has it; false. */
  takeOver?: boolean;
  /** How often it checks which of its attempts are over, ms; 1000. */
  checkInterval?: number;
  /** The time limit for an answer of the server, ms; 30000. Then the worker reconnects. */
  replyTimeout?: number;
  /** Parses the data of jobs; by default pg does, and rounds what JavaScript cannot hold. */
  parse?: (text: string) => unknown;
  /** Receives log messages; by default warnings and errors go to stderr. */
  log?: (entry: LogEntry) => void;
}

const pollInterval = 5_000; // ms, in case a notification is lost
// How long a claim waits in the server, ms. A session of the worker's own holds a snapshot meanwhile,
// which keeps VACUUM from removing later dead rows.
const longestWait = 1_000;
const heartbeatInterval = 10_000; // ms
const goodbye = 3_000; // ms, the longest wait for a server that is away when the worker ends
const workerHasEnded = new Set(["55000", "42704"]);

function logToStderr({ level, event, worker, jobId, message }: LogEntry): void {
  if (level !== "info") console.error([`hipq worker ${worker}: ${event}`, jobId && `job ${jobId}`, message].filter(Boolean).join(": "));
}

// If the server refuses a result or a delay, the job fails; it may accept a failure in ASCII, or
// without its delay. undefined: nothing would help.
function insteadOf(ending: Ending, refusal: unknown, first: Ending): Error | undefined {
  if (typeof ending === "string" || ending instanceof Release) return new Permanent(messageOf(refusal));
  const inOtherWords = inAscii(ending);
  if (inOtherWords.message !== messageOf(ending)) return inOtherWords;
  return ending instanceof RetryAfter ? new Error(messageOf(first)) : undefined;
}

/** A promise to wait for until wake() is called. */
class Bell {
  #rung = false;
  #wake: (() => void) | undefined;
  wake(): void {
    this.#rung = true;
    this.#wake?.();
  }
  async wait(ms: number): Promise<void> {
    if (!this.#rung) {
      const controller = new AbortController();
      const woken = new Promise<void>((resolve) => (this.#wake = resolve));
      await Promise.race([woken, sleep(ms, undefined, { signal: controller.signal }).catch(() => undefined)]);
      controller.abort();
      this.#wake = undefined;
    }
    this.#rung = false;
  }
}

export class Worker {
  readonly #options: Required<Omit<WorkerOptions, "connection" | "parse">> & Pick<WorkerOptions, "parse">;
  readonly #handlers = new Map<string, Registered>();
  readonly #middleware: Middleware[] = [];
  readonly #running = new Set<Job>();
  readonly #bell = new Bell();
  readonly #claims: Session;
  readonly #told: Session;
  readonly #answers: Answers;
  #id: string | undefined;
  #isStopping = false;
  #drained: Promise<void> | undefined;
  #run: Promise<void> | undefined;
  #failure: unknown;

  constructor(options: WorkerOptions) {
    const { connection = {}, ...rest } = options;
    this.#options = {
      concurrency: 1, prefetch: 0, pooler: false, capabilities: {}, takeOver: false, checkInterval: 1_000, replyTimeout: 30_000,
      log: logToStderr, ...rest,
    };
    const common = {
      configs: [connection].flat().map((one) => this.#configOf(one)),
      replyTimeout: this.#options.replyTimeout,
      onLost: (why: string) => {
        this.#log("warning", "connection lost", { message: why });
        this.#bell.wake();
      },
    };
    this.#claims = new Session({ ...common, prepare: (client) => this.#prepare(client), onNotification: () => this.#bell.wake() });
    this.#told = new Session(common);
    this.#answers = new Answers(this.#told);
  }

  /** The number of the worker in hipq.workers, while it is registered. */
  get id(): string | undefined {
    return this.#id;
  }

  /** Registers a handler for a job type: it returns the result, or throws the error. */
  job<Data = any>(type: string, handler: Handler<Data>, options: HandlerOptions<Data> = {}): this {
    return this.#register(type, single(handler as Handler, options as HandlerOptions<unknown>, this.#middleware));
  }

  /** Registers a handler that runs many jobs of a type at a time. */
  batch<Data = any>(type: string, handler: BatchHandler<Data>, options: BatchOptions<Data> = {}): this {
    return this.#register(type, batched(handler as BatchHandler, options as BatchOptions<unknown>));
  }

  /** Wraps handlers; the first one is the outermost. */
  use(middleware: Middleware): this {
    this.#middleware.push(middleware);
    return this;
  }

  /**
   * Works until stop() is called, or SIGTERM or SIGINT arrives: then it takes no more jobs, and
   * running jobs end. A second signal gives them back. Rejects if the worker cannot register or is
   * replaced.
   */
  run(options: { signals?: boolean } = {}): Promise<void> {
    this.#run ??= this.#work(options.signals ?? true);
    return this.#run;
  }

  /** Takes no more jobs; resolves when the running jobs have ended. */
  async stop(): Promise<void> {
    this.#beginStop();
    await this.#run;
  }

  /** Gives back the running jobs, uncharged, and tells their handlers. */
  giveBack(): void {
    this.#beginStop();
    for (const job of this.#running) job.end(new Release());
    setTimeout(() => this.#told.giveUp(), goodbye).unref();
  }

  #configOf(connection: Connection): pg.ClientConfig {
    const config = typeof connection === "string" ? { connectionString: connection } : connection;
    return { application_name: `hipq worker ${this.#options.name}`, ...config };
  }

  #register(type: string, registered: Registered): this {
    if (this.#run !== undefined) throw new Error("the worker runs already: register its handlers before");
    if (this.#handlers.has(type)) throw new Error(`job type "${type}" has a handler already`);
    this.#handlers.set(type, registered);
    return this;
  }

  #log(level: LogEntry["level"], event: LogEntry["event"], more: Partial<LogEntry> = {}): void {
    const entry = { level, event, worker: this.#options.name, ...more };
    try {
      this.#options.log(entry);
    } catch (error) {
      logToStderr({ ...entry, level: "error", message: `${entry.message}; log: ${messageOf(error)}` });
    }
  }

  // ---- its life cycle

  async #work(signals: boolean): Promise<void> {
    if (this.#handlers.size === 0) throw new Error("the worker has no handler: register one with job() or batch()");
    const onSignal = () => (this.#isStopping ? this.giveBack() : this.#beginStop());
    if (signals) for (const name of ["SIGTERM", "SIGINT"] as const) process.on(name, onSignal);
    const timers = [this.#every(this.#options.checkInterval, () => this.#check()), this.#every(heartbeatInterval, () => this.#beat())];
    try {
      await this.#claimAll().catch((error) => this.#failWith(error));
      await this.#drain();
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      timers.forEach(clearInterval);
      if (signals) for (const name of ["SIGTERM", "SIGINT"] as const) process.off(name, onSignal);
      await Promise.all([this.#claims.close(), this.#told.close()]);
      this.#id = undefined;
    }
  }

  // Its background task. Temporary errors pass; if the worker has ended, the next claim reports it.
  #every(ms: number, work: () => Promise<void>): NodeJS.Timeout {
    let isBusy = false;
    return setInterval(async () => {
      if (isBusy) return;
      isBusy = true;
      await work().catch((error) => {
        if (!mayPass(error) && !workerHasEnded.has(sqlstateOf(error) ?? "")) this.#failWith(error);
      });
      isBusy = false;
    }, ms);
  }

  #failWith(error: unknown): void {
    this.#failure ??= error;
    this.#beginStop();
  }

  #beginStop(): void {
    if (this.#isStopping) return;
    this.#isStopping = true;
    this.#log("info", "draining");
    this.#claims.giveUp();
    this.#drained = this.#sayGoodbye("drain_worker"); // a claim that waits in the server returns
    this.#bell.wake();
  }

  async #drain(): Promise<void> {
    await this.#drained;
    while (this.#running.size > 0) await this.#bell.wait(pollInterval);
    await this.#sayGoodbye("deregister_worker");
  }

  // With a time limit: without this call, the server learns it from the end of the session, or from
  // silence.
  async #sayGoodbye(name: "drain_worker" | "deregister_worker"): Promise<void> {
    if (this.#id === undefined) return;
    const said = this.#told.query(`SELECT hipq.${name}($1::bigint)`, [this.#id]).catch(() => undefined);
    const controller = new AbortController();
    await Promise.race([said, sleep(goodbye, undefined, { signal: controller.signal }).catch(() => undefined)]);
    controller.abort();
  }

  // ---- registration

  // A bound worker ends with its session, and registers again with each session; an earlier
  // registration of the same worker may still have the name.
  async #prepare(client: pg.Client): Promise<void> {
    if (!this.#options.pooler || this.#id === undefined) await this.#registerWith(client);
  }

  // A pooler reports a process number of its own. Its session would look healthy long after the
  // worker has gone.
  async #demandOwnSession(client: pg.Client): Promise<void> {
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
    if (rows[0].pid !== (client as pg.Client & { processID: number }).processID)
      throw new TypeError("this connection goes through a pooler, whose sessions are anybody's: use the option pooler: true");
  }

  async #registerWith(client: pg.Client): Promise<void> {
    if (!this.#options.pooler) await this.#demandOwnSession(client);
    const { name, queues, concurrency, prefetch, capabilities, pooler, takeOver } = this.#options;
    const { rows } = await client.query(
      `SELECT hipq.register_worker($1::text, $2::text[], $3::text[], capacity => $4::integer, prefetch => $5::integer,
         capabilities => $6::jsonb, listen => $7::boolean, take_over => $8::boolean)::text AS id`,
      [name, queues, [...this.#handlers.keys()], concurrency, prefetch, json(capabilities), !pooler, takeOver || this.#id !== undefined],
    );
    this.#id = rows[0].id;
    this.#log("info", "registered", { message: `worker ${this.#id}` });
  }

  // ---- claiming

  async #claimAll(): Promise<void> {
    while (!this.#isStopping) {
      const free = this.#options.concurrency - this.#running.size;
      const claimed = free > 0 ? await this.#claim(free) : [];
      this.#start(claimed);
      if (claimed.length === free) await this.#bell.wait(pollInterval); // for the end of a job
    }
  }

  async #claim(most: number): Promise<Job[]> {
    try {
      // A claim that is lost on the way is not sent again: its jobs time out, because their ids are
      // not known.
      const { parse } = this.#options;
      const { rows } = await this.#claims.queryOnce(
        `SELECT id::text, attempt, queue, job_type, job_key, job_data, deadline, retry_count, max_retries, scheduled_run_time,
           created_time, original_job_id::text, traceparent
         FROM hipq.claim($1::bigint, $2::integer, $3::text::hipq.duration)`,
        () => [this.#id, most, String(longestWait / 1_000)], longestWait, parse === undefined ? timesAsText : timesAndJsonAsText,
      );
      return rows.map((row) => new Job(row, this.#told, parse));
    } catch (error) {
      await this.#recover(error);
      return [];
    }
  }

  async #recover(error: unknown): Promise<void> {
    if (mayPass(error)) await sleep(50); // a lost session reconnects
    else throw error;
  }

  // ---- running

  #start(jobs: Job[]): void {
    const byType = new Map<string, Job[]>();
    this.#endEarlier(jobs);
    for (const job of jobs) {
      this.#running.add(job);
      const ofType = byType.get(job.type);
      if (ofType === undefined) byType.set(job.type, [job]);
      else ofType.push(job);
    }
    for (const [type, ofType] of byType) {
      const handler = this.#handlers.get(type)!;
      const size = handler.size ?? 1;
      for (let i = 0; i < ofType.length; i += size) void this.#runTogether(handler, ofType.slice(i, i + size));
    }
  }

  // These jobs come again, so the earlier attempts of this worker are over. heartbeat_attempts(),
  // which reports by job, would not say so.
  #endEarlier(jobs: Job[]): void {
    if (this.#running.size === 0) return;
    const again = new Set(jobs.map(({ id }) => id));
    for (const job of this.#running) if (again.has(job.id)) job.end();
  }

  // The capacity of a job is free as soon as its attempt is over, whether or not its handler reacts
  // to the signal.
  async #runTogether(handler: Registered, jobs: Job[]): Promise<void> {
    for (const job of jobs) job.whenOver((reason) => void this.#finish(job, reason));
    const endings = await handler.run(jobs).catch((error): Ending[] => jobs.map(() => errorOf(error)));
    await Promise.all(jobs.map((job, i) => this.#finish(job, endings[i]!)));
  }

  async #finish(job: Job, ending: Ending): Promise<void> {
    if (!job.settle()) return;
    await this.#answer(job, ending);
    this.#running.delete(job);
    this.#bell.wake();
  }

  async #answer(job: Job, ending: Ending): Promise<void> {
    try {
      await this.#tell(job, ending);
    } catch (error) {
      const event = isOver(error) ? "job lost" : "answer refused";
      this.#log("warning", event, { jobId: job.id, type: job.type, message: messageOf(error) });
    }
  }

  // If the server refuses an answer for good, tries another form, as long as there is one.
  async #tell(job: Job, ending: Ending, first = ending): Promise<void> {
    if (ending instanceof AttemptOver && job.isOver) throw ending;
    try {
      if (typeof ending === "string") await this.#answers.complete(job, ending);
      else if (ending instanceof Release) await this.#answers.release(job, ending.delay);
      else await this.#fail(job, ending);
    } catch (error) {
      const again = isOver(error) || mayPass(error) ? undefined : insteadOf(ending, error, first);
      if (again === undefined) throw error;
      if (ending instanceof RetryAfter) this.#log("warning", "answer refused", { jobId: job.id, type: job.type, message: messageOf(error) });
      await this.#tell(job, again, ending instanceof RetryAfter ? first : again);
    }
  }

  async #fail(job: Job, error: Error): Promise<void> {
    const delay = error instanceof RetryAfter ? error.delay : undefined;
    const state = await this.#answers.fail(job, messageOf(error), !(error instanceof Permanent), delay);
    this.#log(state === "retry" ? "info" : "error", "job failed", { jobId: job.id, type: job.type, message: messageOf(error) });
  }

  // ---- checks of its attempts

  // Handlers of attempts that are over are notified, even if they call nothing.
  async #check(): Promise<void> {
    const jobs = [...this.#running].filter((job) => !job.isOver);
    if (jobs.length === 0) return;
    const { rows } = await this.#told.query("SELECT hipq.heartbeat_attempts($1::bigint[], $2::integer[])::text[] AS ids", [
      jobs.map((job) => job.id), jobs.map((job) => job.attempt),
    ]);
    const running = new Set<string>(rows[0].ids);
    for (const job of jobs) if (!running.has(job.id)) job.end();
  }

  async #beat(): Promise<void> {
    if (this.#options.pooler && this.#id !== undefined) await this.#told.query("SELECT hipq.heartbeat($1::bigint)", [this.#id]);
  }
}
