// Calls of hipq's functions: only the given arguments, each with its name and type.

import pg from "pg";

/** Anything that runs a statement: a Client, PoolClient or Pool of pg, or a wrapper around one. */
export interface Queryable {
  query(text: string, values: unknown[]): Promise<{ rows: any[] }>;
}

/** A duration: seconds, or a text that PostgreSQL reads as an interval, such as "5 min". */
export type Duration = number | string;

/** Types of parameters, by their names in SQL. */
export type Types = Record<string, string>;

export interface Statement {
  text: string;
  values: unknown[];
}

/**
 * `hipq.name(a => $1::type, ...)`. Leaves out arguments that are undefined; an argument that
 * `types` does not have is a TypeError.
 */
export function call(name: string, types: Types, given: Record<string, unknown>): Statement {
  const values: unknown[] = [];
  const parts: string[] = [];
  for (const [key, value] of Object.entries(given)) {
    if (value === undefined) continue;
    const type = types[key];
    if (type === undefined) throw new TypeError(`hipq.${name} has no argument "${key}"`);
    values.push(value);
    parts.push(`${key} => $${values.length}::${type}`);
  }
  return { text: `hipq.${name}(${parts.join(", ")})`, values };
}

/** Durations are sent as text, which hipq reads; numbers are seconds. */
export const duration = "text::hipq.duration";

/** JSON as text, for data or results with numbers that JavaScript would round. */
export class RawJson {
  constructor(readonly text: string) {}
}

export function json(value: unknown): string {
  return value instanceof RawJson ? value.text : JSON.stringify(value) ?? "null";
}

const timestamptz = 1184;
const jsonb = 3802;

/** For a statement whose values of some types stay in the server's format. */
function asText(...types: number[]): pg.CustomTypesConfig {
  return {
    getTypeParser: (type: number, format?: any) => (types.includes(type) ? (text: string) => text : pg.types.getTypeParser(type, format)),
  } as pg.CustomTypesConfig;
}

/** Making a Date costs more than the rest of a row. */
export const timesAsText = asText(timestamptz);
export const timesAndJsonAsText = asText(timestamptz, jsonb);

/** A time as a statement without `timesAsText` would return it. */
export function timeOf(text: string): Date {
  return pg.types.getTypeParser(timestamptz, "text")(text) as Date;
}
