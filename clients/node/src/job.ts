// A job as its handler sees it: one attempt, with a signal that fires when it is over.

import { currentBatch, type Batch } from "./batch.js";
import { AttemptOver, isOver } from "./errors.js";
import type { Session } from "./session.js";
import { duration, timeOf, type Duration } from "./sql.js";

export interface ClaimedRow {
  id: string;
  attempt: number;
  queue: string;
  job_type: string;
  job_key: string | null;
  job_data: unknown;
  /** Times in the server's format. */
  deadline: string;
  retry_count: number;
  max_retries: number;
  scheduled_run_time: string;
  created_time: string;
  original_job_id: string | null;
  traceparent: string | null;
}

export class Job<Data = any> {
  readonly id: string;
  /** The number of the attempt: 1 is the first. */
  readonly attempt: number;
  readonly queue: string;
  readonly type: string;
  readonly key: string | null;
  data!: Data;
  readonly retryCount: number;
  readonly maxRetries: number;
  /** The first job of the chain of manual retries. */
  readonly originalJobId: string | null;
  /** The trace of the job, in the format of W3C Trace Context. */
  readonly traceparent: string | null;

  #session: Session;
  #row: ClaimedRow;
  #deadline: Date | undefined;
  #controller: AbortController | undefined;
  #reason: Error | undefined;
  #isSettled = false;
  #listeners: ((reason: Error) => void)[] = [];

  constructor(row: ClaimedRow, session: Session, parse?: (text: string) => unknown) {
    this.id = row.id;
    this.attempt = row.attempt;
    this.queue = row.queue;
    this.type = row.job_type;
    this.key = row.job_key;
    if (parse === undefined) this.data = row.job_data as Data;
    else this.#readLater(() => parse(row.job_data as string));
    this.retryCount = row.retry_count;
    this.maxRetries = row.max_retries;
    this.originalJobId = row.original_job_id;
    this.traceparent = row.traceparent;
    this.#session = session;
    this.#row = row;
  }

  /** When the attempt times out, unless it is extended. */
  get deadline(): Date {
    return (this.#deadline ??= timeOf(this.#row.deadline));
  }

  get scheduledRunTime(): Date {
    return timeOf(this.#row.scheduled_run_time);
  }

  get createdTime(): Date {
    return timeOf(this.#row.created_time);
  }

  /** Aborted when the attempt is over: its result is not needed. The reason is an AttemptOver. */
  get signal(): AbortSignal {
    // Only made when it is read: it would be half of a job's cost.
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#reason !== undefined) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /**
   * Reports the progress of the job; the view hipq.progress shows it at once. Rejects with
   * AttemptOver if the attempt is over.
   */
  async progress(done: number, total: number | null = null, message: string | null = null): Promise<void> {
    await this.#tell("SELECT hipq.report_progress($1::bigint, $2::integer, $3::bigint, $4::bigint, $5::text)", [done, total, message]);
  }

  /** Gives the attempt at least this much time from now; returns the deadline. Rejects with
      AttemptOver if it is over. */
  async extend(more: Duration): Promise<Date> {
    const rows = await this.#tell(`SELECT hipq.extend($1::bigint, $2::integer, $3::${duration}) AS deadline`, [String(more)]);
    return (this.#deadline = rows[0].deadline as Date);
  }

  /**
   * The batch that the job belongs to, or comes after, as a callback does; undefined: none. The
   * worker's role needs the right `read`.
   */
  batch(): Promise<Batch | undefined> {
    return currentBatch(this.#session, this);
  }

  /** @internal The attempt is over for a reason other than its handler. */
  end(reason: Error = new AttemptOver(this.id, this.attempt)): void {
    if (this.#reason !== undefined) return;
    this.#reason = reason;
    this.#controller?.abort(reason);
    for (const listener of this.#listeners) listener(reason);
  }

  /** @internal */
  get isOver(): boolean {
    return this.#reason !== undefined;
  }

  /** @internal Calls the listener when the attempt is over, or at once if it is already over. */
  whenOver(listener: (reason: Error) => void): void {
    if (this.#reason === undefined) this.#listeners.push(listener);
    else listener(this.#reason);
  }

  /** @internal True for the first caller that decides the ending: the handler, or the end of the
      attempt. */
  settle(): boolean {
    return !this.#isSettled && (this.#isSettled = true);
  }

  // In the handler, so that unreadable data fails the job.
  #readLater(read: () => unknown): void {
    const isData = { configurable: true, enumerable: true };
    const set = (value: unknown) => void Object.defineProperty(this, "data", { ...isData, value, writable: true });
    Object.defineProperty(this, "data", { ...isData, get: () => (set(read()), this.data), set });
  }

  async #tell(text: string, values: unknown[]): Promise<any[]> {
    if (this.#reason !== undefined) throw this.#reason;
    try {
      const { rows } = await this.#session.query(text, [this.id, this.attempt, ...values]);
      return rows;
    } catch (error) {
      if (!isOver(error)) throw error;
      this.end();
      throw this.#reason;
    }
  }
}
