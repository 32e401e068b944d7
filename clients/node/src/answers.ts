// Reports the results of attempts to the server: successes together, as many as have come
// meanwhile.

import { AttemptOver } from "./errors.js";
import type { Job } from "./job.js";
import type { Session } from "./session.js";
import { duration } from "./sql.js";

const mostAtOnce = 1_000;

interface Success {
  job: Job;
  result: string;
  resolve: () => void;
  reject: (error: unknown) => void;
}

export class Answers {
  #waiting: Success[] = [];
  #isTelling = false;

  constructor(private readonly session: Session) {}

  /**
   * Resolves when the server has committed it. Rejects with AttemptOver, or with the server's
   * objection to the result, which is JSON.
   */
  complete(job: Job, result: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ job, result, resolve, reject });
      if (!this.#isTelling) void this.#tellAll();
    });
  }

  /** Resolves to the job's new state: retry, final, or error while a retry handler decides. */
  async fail(job: Job, error: string, retriable: boolean, retryAfter?: string): Promise<string> {
    const values = [job.id, job.attempt, error, retriable, ...(retryAfter === undefined ? [] : [retryAfter])];
    const more = retryAfter === undefined ? "" : `, retry_after => $5::${duration}`;
    const { rows } = await this.session.query(`SELECT hipq.fail($1::bigint, $2::integer, $3::text, $4::boolean${more}) AS state`, values);
    return rows[0].state;
  }

  async release(job: Job, delay: string): Promise<void> {
    await this.session.query(`SELECT hipq.release($1::bigint, $2::integer, $3::${duration})`, [job.id, job.attempt, delay]);
  }

  async #tellAll(): Promise<void> {
    this.#isTelling = true;
    await Promise.resolve(); // attempts that end in the same turn go together
    while (this.#waiting.length > 0) await this.#tell(this.#waiting.splice(0, mostAtOnce));
    this.#isTelling = false;
  }

  async #tell(successes: Success[]): Promise<void> {
    try {
      const { rows } = await this.session.query("SELECT hipq.complete_attempts($1::bigint[], $2::integer[], $3::jsonb[])::text[] AS ids", [
        successes.map(({ job }) => job.id), successes.map(({ job }) => job.attempt), successes.map(({ result }) => result),
      ]);
      const told = new Set<string>(rows[0].ids);
      for (const { job, resolve, reject } of successes)
        if (told.has(job.id)) resolve();
        else reject(new AttemptOver(job.id, job.attempt));
    } catch (error) {
      // One bad answer makes the whole statement fail.
      if (successes.length === 1) successes[0]!.reject(error);
      else for (const success of successes) await this.#tell([success]);
    }
  }
}
