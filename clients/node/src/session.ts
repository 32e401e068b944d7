// A connection to the server that comes back: statements wait for it and are sent again.

import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { isConnectionLost, messageOf } from "./errors.js";

const firstPause = 50; // ms between attempts to connect; doubles
const longestPause = 5_000;

export interface SessionOptions {
  config: pg.ClientConfig;
  /** Called with each new connection before anybody else has it. */
  prepare?: (client: pg.Client) => Promise<void>;
  onLost?: (why: string) => void;
  onNotification?: () => void;
}

export class Session {
  #client: pg.Client | undefined;
  #connecting: Promise<pg.Client> | undefined;
  #closed = new AbortController();

  constructor(private readonly options: SessionOptions) {}

  /** Connects if there is no connection; waits for one as long as the server is away. */
  async client(): Promise<pg.Client> {
    if (this.#client !== undefined) return this.#client;
    this.#connecting ??= this.#connect().finally(() => (this.#connecting = undefined));
    return this.#connecting;
  }

  /**
   * Runs a statement in a transaction of its own. When the connection is lost it is sent again, so it may
   * be executed twice: only for statements of which a second one does no harm.
   */
  async query(text: string, values: unknown[] = []): Promise<{ rows: any[] }> {
    for (;;) {
      const client = await this.client();
      try {
        return await client.query(text, values);
      } catch (error) {
        if (!isConnectionLost(error) || this.#closed.signal.aborted) throw error;
        this.#lose(client, messageOf(error));
      }
    }
  }

  /** Waits for a server that is away no longer: whoever does gets an error. */
  giveUp(): void {
    if (this.#client === undefined) this.#closed.abort();
  }

  async close(): Promise<void> {
    this.#closed.abort();
    const client = this.#client;
    this.#client = undefined;
    await client?.end().catch(() => undefined);
  }

  async #connect(): Promise<pg.Client> {
    for (let pause = firstPause; ; pause = Math.min(pause * 2, longestPause)) {
      this.#closed.signal.throwIfAborted();
      const client = new pg.Client({ keepAlive: true, ...this.options.config });
      client.on("error", (error) => this.#lose(client, messageOf(error)));
      client.on("end", () => this.#lose(client, "the connection has ended"));
      client.on("notification", () => this.options.onNotification?.());
      try {
        await client.connect();
        await this.options.prepare?.(client);
        this.#client = client;
        return client;
      } catch (error) {
        await client.end().catch(() => undefined);
        if (!isConnectionLost(error)) throw error;
        this.options.onLost?.(messageOf(error));
        await sleep(pause, undefined, { signal: this.#closed.signal });
      }
    }
  }

  #lose(client: pg.Client, why: string): void {
    if (this.#client !== client) return;
    this.#client = undefined;
    client.end().catch(() => undefined);
    if (!this.#closed.signal.aborted) this.options.onLost?.(why);
  }
}
