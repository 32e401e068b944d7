// The errors with which a handler ends its job, and the error when its attempt is over.

import type { Duration } from "./sql.js";

/** A handler throws this: the job has failed, and a retry cannot help. */
export class Permanent extends Error {
  override name = "Permanent";
}

/** A handler throws this: the attempt failed; a retry, which is charged, waits this long. */
export class RetryAfter extends Error {
  override name = "RetryAfter";
  readonly delay: string;
  constructor(delay: Duration, message = "retry asked for", options?: ErrorOptions) {
    super(message, options);
    this.delay = String(delay);
  }
}

/** A handler throws this: the job runs again after the delay, and no retry is charged. */
export class Release extends Error {
  override name = "Release";
  readonly delay: string;
  constructor(delay: Duration = 0) {
    super("the job is given back");
    this.delay = String(delay);
  }
}

/** The attempt is over: the job was cancelled, took too long, or belongs to another worker now. */
export class AttemptOver extends Error {
  override name = "AttemptOver";
  constructor(id: string, attempt: number) {
    super(`attempt ${attempt} of job ${id} is over`);
  }
}

const attemptIsOver = "HQ003";
// The server is shutting down (57P01), has crashed (57P02) or is starting (57P03).
const serverIsAway = new Set(["57P01", "57P02", "57P03"]);
// It is not writable yet, a statement took too long, or waited too long for a lock.
const passing = new Set(["25006", "57014", "55P03"]);

/** For errors of the server; system errors have a code, too: "EPIPE" is not an SQLSTATE. */
export function sqlstateOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === "string" && severity !== undefined ? code : undefined;
}

export function isOver(error: unknown): boolean {
  return error instanceof AttemptOver || sqlstateOf(error) === attemptIsOver;
}

/** Whether the statement may be lost: any error except an answer of the server. */
export function isConnectionLost(error: unknown): boolean {
  const code = sqlstateOf(error);
  return code === undefined ? !(error instanceof TypeError) : code.startsWith("08") || serverIsAway.has(code);
}

/** Whether the same statement may succeed later: the server lacks resources, for example, or has
    rolled back one of several transactions. */
export function mayPass(error: unknown): boolean {
  const code = sqlstateOf(error);
  return isConnectionLost(error) || (code !== undefined && (/^(?:53|40)/.test(code) || passing.has(code)));
}

// ---- error texts: the rule is in docs/reference/external-workers.md#error-texts, and is the same
// in all clients

const most = 10_000; // UTF-16 units; the server keeps 8 kB
const notInText = /[\0\ud800-\udfff]/gu; // with the flag u, only unpaired surrogates match
const notAscii = /[^\x01-\x7f]/g;

/** An error's message as a text that the server accepts, whatever was thrown. Never throws. */
export function messageOf(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message || error.name : error;
    return String(text).slice(0, most).replace(notInText, "\ufffd");
  } catch {
    return "its text cannot be read"; // the user's code makes it
  }
}

/** The thrown value, as an Error. */
export function errorOf(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // a proxy
  }
  return new Error(messageOf(thrown));
}

/** The error with \u20ac for the euro sign: for a database whose encoding lacks characters. */
export function inAscii(error: Error): Error {
  const text = messageOf(error).replace(notAscii, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  if (error instanceof RetryAfter) return new RetryAfter(error.delay, text);
  return error instanceof Permanent ? new Permanent(text) : new Error(text);
}
