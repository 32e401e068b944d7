// A job as its handler sees it: one attempt, with a signal that tells when it is over.

import { AttemptOver, isOver } from "./errors.js";
import type { Session } from "./session.js";
import { duration, type Duration } from "./sql.js";

export interface ClaimedRow {
  id: string;
  attempt: number;
  queue: string;
  job_type: string;
  job_key: string;
  job_data: unknown;
  deadline: Date;
  retry_count: number;
  max_retries: number;
  scheduled_run_time: Date;
  created_time: Date;
  original_job_id: string | null;
  traceparent: string | null;
}

export class Job<Data = any> {
  readonly id: string;
  /** Which attempt of the job this is: 1 is the first. */
  readonly attempt: number;
  readonly queue: string;
  readonly type: string;
  readonly key: string | null;
  data: Data;
  readonly retryCount: number;
  readonly maxRetries: number;
  readonly scheduledRunTime: Date;
  readonly createdTime: Date;
  /** The first of the jobs that it was retried from by hand. */
  readonly originalJobId: string | null;
  /** The trace that it belongs to, as W3C Trace Context writes it. */
  readonly traceparent: string | null;
  /** Aborted when the attempt is over: stop, nobody wants the result. Its reason is an AttemptOver. */
  readonly signal: AbortSignal;

  #session: Session;
  #controller = new AbortController();
  #deadline: Date;

  constructor(row: ClaimedRow, session: Session) {
    this.id = row.id;
    this.attempt = row.attempt;
    this.queue = row.queue;
    this.type = row.job_type;
    this.key = row.job_key === "NONE" ? null : row.job_key;
    this.data = row.job_data as Data;
    this.retryCount = row.retry_count;
    this.maxRetries = row.max_retries;
    this.scheduledRunTime = row.scheduled_run_time;
    this.createdTime = row.created_time;
    this.originalJobId = row.original_job_id;
    this.traceparent = row.traceparent;
    this.signal = this.#controller.signal;
    this.#session = session;
    this.#deadline = row.deadline;
  }

  /** When the attempt times out, unless it is extended. */
  get deadline(): Date {
    return this.#deadline;
  }

  /**
   * Says how far the job has come; view hipq.progress shows it at once. Rejects with AttemptOver if the
   * attempt is over.
   */
  async progress(done: number, total: number | null = null, message: string | null = null): Promise<void> {
    await this.#tell("SELECT hipq.report_progress($1::bigint, $2::integer, $3::bigint, $4::bigint, $5::text)", [done, total, message]);
  }

  /** Gives the attempt so much more time; returns the new deadline. Rejects with AttemptOver if it is over. */
  async extend(more: Duration): Promise<Date> {
    const rows = await this.#tell(`SELECT hipq.extend($1::bigint, $2::integer, $3::${duration}) AS deadline`, [String(more)]);
    this.#deadline = rows[0].deadline;
    return this.#deadline;
  }

  /** @internal The attempt is over for a reason that its handler has not given. */
  end(reason: Error = new AttemptOver(this.id, this.attempt)): void {
    this.#controller.abort(reason);
  }

  /** @internal */
  get isOver(): boolean {
    return this.signal.aborted;
  }

  async #tell(text: string, values: unknown[]): Promise<any[]> {
    this.signal.throwIfAborted();
    try {
      const { rows } = await this.#session.query(text, [this.id, this.attempt, ...values]);
      return rows;
    } catch (error) {
      if (!isOver(error)) throw error;
      this.end();
      throw this.signal.reason;
    }
  }
}
