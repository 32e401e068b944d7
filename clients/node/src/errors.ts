// What a handler throws to say what becomes of its job, and what it is told when its attempt is over.

import type { Duration } from "./sql.js";

/** Thrown by a handler: the job has failed, and trying again cannot help. */
export class Permanent extends Error {
  override name = "Permanent";
}

/** Thrown by a handler: the job runs again after the delay, and no retry is charged. */
export class Release extends Error {
  override name = "Release";
  constructor(readonly delay: Duration = 0) {
    super("the job is given back");
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
const sqlstate = /^[0-9A-Z]{5}$/;
// The server shuts down, has crashed, or is not up yet.
const serverIsAway = new Set(["57P01", "57P02", "57P03"]);

export function sqlstateOf(error: unknown): string | undefined {
  const code = (error as { code?: unknown } | null)?.code;
  return typeof code === "string" && sqlstate.test(code) ? code : undefined;
}

export function isOver(error: unknown): boolean {
  return error instanceof AttemptOver || sqlstateOf(error) === attemptIsOver;
}

/** Whether the statement may have got lost on the way: anything but an answer of the server. */
export function isConnectionLost(error: unknown): boolean {
  const code = sqlstateOf(error);
  return code === undefined ? !(error instanceof TypeError) : code.startsWith("08") || serverIsAway.has(code);
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
