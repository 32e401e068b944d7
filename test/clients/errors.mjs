// A worker in Node.js whose jobs fail in all ways: with each text of errors.json, and its own.
import { readFileSync } from "node:fs";
import { createContext, runInContext } from "node:vm";

const { AttemptOver, Permanent, Release, RetryAfter, Worker } =
  await import(`${process.env.HIPQ_CLIENT}/dist/index.js`);
const rows = JSON.parse(readFileSync(new URL("errors.json", import.meta.url), "utf8"));
const texts = new Map(rows.map(({ name, text, times = 1 }) => [name, text.repeat(times)]));

const raise = (thrown) => () => { throw thrown; };
const raiser = raise(new Error("no text"));
const withGetter = (error, name) => Object.defineProperty(error, name, { get: raiser });
const revoked = () => {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
};
const cycle = [];
cycle.push(cycle);

const ways = {
  "no prototype": raise(Object.create(null)),
  "nothing": raise(undefined),
  "null": raise(null),
  "a symbol": raise(Symbol("half \ud83d")),
  "a function": raise(() => 5),
  "a proxy": () => { throw new Proxy({}, { getPrototypeOf: raiser }); },
  "a revoked proxy": () => { throw revoked(); },
  "toString raises": raise({ toString: raiser }),
  "toString is no text": raise({ toString: () => ({}) }),
  "message raises": raise(withGetter(new Error(), "message")),
  "message is no text": raise(Object.assign(new Error(), { message: Object.create(null) })),
  "name raises": raise(withGetter(new Error(), "name")),
  "name is nothing": raise(Object.assign(new Error(), { name: "" })),
  "permanent": raise(withGetter(new Permanent(), "message")),
  "of another realm": () => runInContext("throw new TypeError('half \\ud83d')", createContext({})),
  "a code": raise(Object.assign(new Error("x"), { code: "HQ003", severity: "ERROR" })),
  "another job's end": raise(new AttemptOver("1", 1)),
  "a rejection": () => Promise.reject(Object.create(null)),
  "a stack": function again() { return again() + 1; },
  "a delay": raise(new Release("soon")),
  "a retry after nothing": raise(new RetryAfter("soon", "\ud83d")),
  "a retry after NUL": raise(new RetryAfter("\0", "\u20ac")),
  "a delay with NUL": raise(new Release("\0")),
  "a delay that raises": () => { throw new Release({ toString: raiser }); },
  "result: a bigint": () => 5n,
  "result: NUL": () => "\0",
  "result: half a pair": () => "\ud83d",
  "result: a cycle": () => cycle,
  "result: too large": () => "x".repeat(1_100_000),
  "result: toJSON raises": () => ({ toJSON: raiser }),
  "result: then raises": () => ({ then: raiser }),
  "result: a proxy": () => new Proxy({}, { getPrototypeOf: raiser }),
};

function run({ data: { how, name } }) {
  if (how === "text") throw new Error(texts.get(name));
  if (how === "permanent") throw new Permanent(texts.get(name));
  return how === "list" ? Object.keys(ways) : ways[name]();
}

const worker = new Worker({ name: "errors", queues: ["app.errors"], log: raiser });
await worker.job("fail", run).run();
