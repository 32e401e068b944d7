// Graphs: jobs that come after each other by their names, enqueued in one call.

import { idOf, named, type EnqueueOptions, type JobOrId } from "./enqueue.js";
import { call, json, RawJson, type Queryable } from "./sql.js";

export interface GraphOptions {
  /** "instance.queue", of the jobs that name none. */
  queue?: string;
  /** The jobs expire if they have not started by this time, unless they have a time of their own. */
  deadline?: Date | string;
}

type NotInGraphs = "onDuplicate" | "worker" | "traceparent" | "batch" | "afterBatch";

export interface GraphJobOptions extends Omit<EnqueueOptions, NotInGraphs | "after"> {
  /** The jobs that it comes after: names in the graph, and jobs that are there already. */
  after?: readonly JobOrId[];
}

/** A graph of jobs, which `enqueue` enqueues together. */
export class Graph {
  readonly #options: GraphOptions;
  readonly #jobs: string[] = [];

  constructor(options: GraphOptions = {}) {
    this.#options = options;
  }

  /** Adds a job, and returns its name, for `after` of others. A number is not a name. */
  job<Name extends string>(name: Name, type: string, data: unknown = {}, options: GraphJobOptions = {}): Name {
    const { after, ...rest } = options;
    const members = Object.entries<unknown>({ name, job_type: type, ...named(rest) })
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([key, value]) => `"${key}": ${JSON.stringify(value instanceof Date ? value.toISOString() : String(value))}`);
    members.push(`"job_data": ${element(data)}`);
    if (after !== undefined) members.push(`"after": [${after.map(earlier).join()}]`);
    this.#jobs.push(`{${members.join()}}`);
    return name;
  }

  /**
   * Enqueues all jobs, or none, in the open transaction of `client`. Returns the id of each name.
   * Raises the errors of hipq.enqueue_graph(): 22023 if the jobs come after each other in a circle.
   */
  async enqueue(client: Queryable): Promise<Map<string, string>> {
    const types = { graph: "jsonb", queue: "text", deadline: "timestamptz" };
    const { text, values } = call("enqueue_graph", types, { graph: `[${this.#jobs.join()}]`, ...this.#options });
    const { rows } = await client.query(`SELECT name, id::text FROM ${text}`, values);
    return new Map(rows.map(({ name, id }) => [name, id]));
  }
}

/** JSON inside other JSON: raw text must be one value, and nothing more. */
function element(data: unknown): string {
  if (data instanceof RawJson) JSON.parse(data.text);
  return json(data);
}

/** A number is the id of a job. JavaScript would round it. */
function earlier(job: JobOrId): string {
  const text = String(idOf(job));
  return /^(0|[1-9][0-9]*)$/.test(text) ? text : JSON.stringify(text);
}
