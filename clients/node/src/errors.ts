// What a handler throws to say what becomes of its job, and what it is told when its attempt is over.

import type { Duration } from "./sql.js";

/** Thrown by a handler: the job has failed, and trying again cannot help. */
export class Permanent extends Error {
  override name = "Permanent";
}

/** Thrown by a handler: the attempt has failed, and a retry, which is charged, waits so long. */
export class RetryAfter extends Error {
  override name = "RetryAfter";
  readonly delay: string;
  constructor(delay: Duration, message = "retry asked for", options?: ErrorOptions) {
    super(message, options);
    this.delay = String(delay);
  }
}

/** Thrown by a handler: the job runs again after the delay, and no retry is charged. */
export class Release extends Error {
  override name = "Release";
  readonly delay: string;
  constructor(delay: Duration = 0) {
    super("the job is given back");
    this.delay = String(delay);
  }
}

/** The attempt is over: the job was cancelled, took too long, or is somebody else's now. */
export class AttemptOver extends Error {
  override name = "AttemptOver";
  constructor(id: string, attempt: number) {
    super(`attempt ${attempt} of job ${id} is over`);
  }
}

const attemptIsOver = "HQ003";
// The server shuts down, has crashed, or is not up yet.
const serverIsAway = new Set(["57P01", "57P02", "57P03"]);
// It is not writable yet, a statement took too long, or waited too long for a lock.
const passing = new Set(["25006", "57014", "55P03"]);

/** Of what the server says; errors of the system have a code, too: "EPIPE" is no SQLSTATE. */
export function sqlstateOf(error: unknown): string | undefined {
  const { code, severity } = (error ?? {}) as { code?: unknown; severity?: unknown };
  return typeof code === "string" && severity !== undefined ? code : undefined;
}

export function isOver(error: unknown): boolean {
  return error instanceof AttemptOver || sqlstateOf(error) === attemptIsOver;
}

/** Whether the statement may have got lost on the way: anything but an answer of the server. */
export function isConnectionLost(error: unknown): boolean {
  const code = sqlstateOf(error);
  return code === undefined ? !(error instanceof TypeError) : code.startsWith("08") || serverIsAway.has(code);
}

/** Whether the server may accept the same statement later: it lacks room, say, or has undone one of several transactions. */
export function mayPass(error: unknown): boolean {
  const code = sqlstateOf(error);
  return isConnectionLost(error) || (code !== undefined && (/^(?:53|40)/.test(code) || passing.has(code)));
}

// ---- error texts: the rule is that of docs/reference/external-workers.md#error-texts, and the same in all clients

const most = 10_000; // UTF-16 units; the server keeps 8 kB
const notInText = /[\0\ud800-\udfff]/gu; // by u, halves of pairs alone
const notAscii = /[^\x01-\x7f]/g;

/** What an error says, as a text that the server takes, whatever was thrown. Throws nothing. */
export function messageOf(error: unknown): string {
  try {
    const text = error instanceof Error ? error.message || error.name : error;
    return String(text).slice(0, most).replace(notInText, "\ufffd");
  } catch {
    return "its text cannot be read"; // it is made by code of the user's
  }
}

/** What was thrown, as an Error. */
export function errorOf(thrown: unknown): Error {
  try {
    if (thrown instanceof Error) return thrown;
  } catch {
    // a proxy
  }
  return new Error(messageOf(thrown));
}

/** The error with \u20ac for the euro: for a database whose encoding lacks characters. */
export function inAscii(error: Error): Error {
  const text = messageOf(error).replace(notAscii, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
  if (error instanceof RetryAfter) return new RetryAfter(error.delay, text);
  return error instanceof Permanent ? new Permanent(text) : new Error(text);
}
