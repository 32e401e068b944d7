// A connection to the server that reconnects: statements wait for it and are sent again.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { isConnectionLost, mayPass, messageOf } from "./errors.js";

const firstPause = 50; // ms between attempts to connect; doubles
const longestPause = 5_000;
const connectTimeout = 10_000; // ms
const goodbye = 1_000; // ms, the longest wait for the end of a connection

export interface SessionOptions {
  /** Where to connect: of several servers, the first writable one. */
  configs: pg.ClientConfig[];
  /** The time limit for an answer, ms: a broken network may give no error. */
  replyTimeout: number;
  /** Called with each new connection before any other use of it. */
  prepare?: (client: pg.Client) => Promise<void>;
  onLost?: (why: string) => void;
  onNotification?: () => void;
}

type Rows = { rows: any[] };

/** Calls a function when the time is up, unless it is stopped. Events that have arrived by then go
    first, also after SIGSTOP. */
function after(ms: number, call: () => void): { stop: () => void } {
  let late: NodeJS.Immediate | undefined;
  const timer = setTimeout(() => (late = setImmediate(call)), ms);
  return {
    stop: () => {
      clearTimeout(timer);
      clearImmediate(late);
    },
  };
}

/** Ends a connection politely, or by force if the server does not answer. */
async function end(client: pg.Client): Promise<void> {
  const force = after(goodbye, () => destroy(client));
  await client.end().catch(() => undefined);
  force.stop();
}

function destroy(client: pg.Client): void {
  (client as pg.Client & { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
}

export class Session {
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  #wasConnected = false;
  #closed = new AbortController();

  constructor(private readonly options: SessionOptions) {}

  /** Connects if there is no connection; waits while the server is away. */
  async client(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /**
   * Runs a statement in its own transaction. When the connection is lost, or the server cannot run
   * it now, the statement is sent again, so it may run twice: only for statements that do no harm a
   * second time.
   */
  async query(text: string, values: unknown[] = []): Promise<Rows> {
    for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
      try {
        return await this.queryOnce(text, () => values);
      } catch (error) {
        if (!mayPass(error) || this.#closed.signal.aborted) throw error;
        if (!isConnectionLost(error)) await sleep(pause, undefined, { signal: this.#closed.signal });
      }
    }
  }

  /**
   * Runs a statement that is not sent again, and that may wait this long in the server. `values` is
   * called when there is a connection; `types`: how values of its rows are parsed.
   */
  async queryOnce(text: string, values: () => unknown[], wait = 0, types?: pg.CustomTypesConfig): Promise<Rows> {
    const client = await this.client();
    const limit = after(this.options.replyTimeout + wait, () => this.#lose(client, "the server did not answer in time"));
    try {
      return await client.query({ text, values: values(), types });
    } catch (error) {
      if (isConnectionLost(error)) this.#lose(client, messageOf(error));
      throw error;
    } finally {
      limit.stop();
    }
  }

  /** From now on a lost connection is an error, also for callers that wait for one. */
  giveUp(): void {
    this.#closed.abort();
  }

  async close(): Promise<void> {
    this.giveUp();
    const client = this.#client;
    this.#client = undefined;
    if (client !== undefined) await end(client);
  }

  async #connect(): Promise<pg.Client> {
    for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
      const failures: string[] = [];
      for (const config of this.options.configs) {
        this.#closed.signal.throwIfAborted();
        try {
          this.#client = await this.#open(config);
          this.#wasConnected = true;
          return this.#client;
        } catch (error) {
          if (!isConnectionLost(error) && !(this.#wasConnected && mayPass(error))) throw error;
          failures.push(messageOf(error));
        }
      }
      this.options.onLost?.(failures.join("; "));
      await sleep(pause, undefined, { signal: this.#closed.signal });
    }
  }

  async #open(config: pg.ClientConfig): Promise<pg.Client> {
    const client = new pg.Client({ keepAlive: true, keepAliveInitialDelayMillis: 10_000, connectionTimeoutMillis: connectTimeout, ...config });
    client.on("error", (error) => this.#lose(client, messageOf(error)));
    client.on("end", () => this.#lose(client, "the connection has ended"));
    client.on("notification", () => this.options.onNotification?.());
    const limit = after(connectTimeout + this.options.replyTimeout, () => destroy(client));
    try {
      await client.connect();
      if (this.options.configs.length > 1) await this.#demandWritable(client);
      await this.options.prepare?.(client);
      this.#closed.signal.throwIfAborted();
      return client;
    } catch (error) {
      void end(client);
      throw error;
    } finally {
      limit.stop();
    }
  }

  // A standby, or the former primary.
  async #demandWritable(client: pg.Client): Promise<void> {
    const { rows } = await client.query("SHOW transaction_read_only");
    if (rows[0].transaction_read_only === "on") throw new Error(`the server at ${client.host}:${client.port} cannot be written to`);
  }

  #lose(client: pg.Client, why: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    void end(client);
    if (!this.#closed.signal.aborted) this.options.onLost?.(why);
  }
}
