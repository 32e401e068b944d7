import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { NodeTracerProvider, SimpleSpanProcessor } from "@opentelemetry/sdk-trace-node";
import * as hipq from "../dist/index.js";
import { enqueue, enqueueMany, enqueueUnique, tracing, tracingBatch } from "../dist/opentelemetry.js";
import { connect, connection, makeQueue, until, withWorker } from "./support.js";

// A collector: keeps the spans that the exporter of the SDK posts to it.
const collected = [];
const collector = createServer((request, response) => {
  const pieces = [];
  request.on("data", (piece) => pieces.push(piece));
  request.on("end", () => {
    assert.deepEqual([request.method, request.url, request.headers["content-type"]], ["POST", "/v1/traces", "application/json"]);
    for (const { scopeSpans } of JSON.parse(Buffer.concat(pieces)).resourceSpans)
      for (const { scope, spans } of scopeSpans) for (const span of spans) collected.push({ ...span, scope: scope.name, attributes: plain(span.attributes) });
    response.setHeader("Content-Type", "application/json").end("{}");
  });
});
const plain = (attributes) => Object.fromEntries(attributes.map(({ key, value }) => [key, Object.values(value)[0]]));
const spansOf = (traceId, count) =>
  until(() => { const spans = collected.filter((span) => span.traceId === traceId); return spans.length >= count && spans; }, `trace ${traceId} has ${count} spans`);
const byAttempt = (one, other) => one.attributes["hipq.attempt"] - other.attributes["hipq.attempt"];
const traceparentOf = ({ traceId, spanId, traceFlags }) => `00-${traceId}-${spanId}-0${traceFlags}`;
// The numbers of the protocol.
const consumer = SpanKind.CONSUMER + 1, producer = SpanKind.PRODUCER + 1;

let client, provider, tracer;
before(async () => {
  client = await connect();
  await new Promise((listening) => collector.listen(0, "127.0.0.1", listening));
});
after(async () => {
  await provider?.shutdown();
  collector.close();
  await client.end();
});

const traced = (queue, handler) =>
  new hipq.Worker({ name: queue, queues: [queue], connection, log: () => undefined, checkInterval: 50 }).use(tracing({ worker: queue })).job("work", handler);
const done = async (id) => (await hipq.waitFor(client, id, { timeout: 20 }))?.outcome;

test("the package itself does not need OpenTelemetry", () => {
  const folder = new URL("../dist/", import.meta.url);
  const needing = readdirSync(folder).filter((file) => file.endsWith(".js") && /@opentelemetry|\.\/opentelemetry/.test(readFileSync(new URL(file, folder), "utf8")));
  assert.deepEqual(needing, ["opentelemetry.js"]);
});

test("without an SDK jobs are enqueued and run", async () => {
  const queue = await makeQueue(client);
  let seen;
  await withWorker(traced(queue, (job) => void (seen = job.traceparent)), async () => {
    assert.equal(await done(await enqueue(client, "work", {}, { queue })), "succeeded");
    assert.equal(seen, null);
  });
});

test("an SDK is registered", () => {
  const exporter = new OTLPTraceExporter({ url: `http://127.0.0.1:${collector.address().port}/v1/traces` });
  provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  provider.register();
  tracer = trace.getTracer("test");
});

test("the trace goes through the queue: request, enqueueing, attempt, what the handler does", async () => {
  const queue = await makeQueue(client);
  let id, request;
  const worker = traced(queue, async (job) => {
    if (job.data.step === 1) await tracer.startActiveSpan("inner", async (span) => (await enqueue(client, "work", { step: 2 }, { queue }), span.end()));
  });
  await withWorker(worker, async () => {
    await tracer.startActiveSpan("request", async (span) => {
      request = span.spanContext();
      id = await enqueue(client, "work", { step: 1 }, { queue, key: "k" });
      span.end();
    });
    const spans = await spansOf(request.traceId, 6);
    const below = (parent) => spans.filter((span) => span.parentSpanId === parent.spanId);
    const [sent] = below(request);
    assert.deepEqual([sent.name, sent.kind, sent.scope, sent.attributes], [`enqueue ${queue}`, producer, "hipq", {
      "messaging.system": "hipq", "messaging.operation.name": "enqueue", "messaging.operation.type": "send", "messaging.destination.name": queue,
      "messaging.message.id": id, "hipq.queue": queue, "hipq.job.id": Number(id), "hipq.job.type": "work",
    }]);
    const [attempt] = below(sent);
    assert.deepEqual([attempt.name, attempt.kind, attempt.status.code, attempt.attributes], [`process ${queue}`, consumer, SpanStatusCode.UNSET, {
      "messaging.system": "hipq", "messaging.operation.name": "process", "messaging.operation.type": "process", "messaging.destination.name": queue,
      "messaging.message.id": id, "messaging.client.id": queue, "hipq.queue": queue, "hipq.job.id": Number(id), "hipq.job.type": "work",
      "hipq.job.key": "k", "hipq.attempt": 1, "hipq.outcome": "succeeded",
    }]);
    const [inner] = below(attempt);
    assert.equal(inner.name, "inner");
    const [sentInside] = below(inner);
    assert.equal(sentInside.kind, producer);
    assert.equal(below(sentInside)[0].attributes["hipq.outcome"], "succeeded");
    const { rows } = await client.query("SELECT traceparent FROM hipq.jobs_detail WHERE id = $1", [id]);
    assert.equal(rows[0].traceparent, `00-${request.traceId}-${sent.spanId}-01`, "the job belongs to the span of its being enqueued");
  });
});

test("each attempt is a span, with what became of it", async () => {
  const queue = await makeQueue(client);
  const parent = (n) => ({ traceId: `4bf92f3577b34da6a3ce929d0e0e473${n}`, spanId: "00f067aa0ba902b7", traceFlags: 1 });
  const worker = traced(queue, async (job, { signal }) => {
    if (job.data.how === "fail") throw new RangeError("no luck");
    if (job.data.how === "permanent") throw new hipq.Permanent("no such address");
    if (job.data.how === "later" && job.attempt === 1) throw new hipq.RetryAfter(0, "busy");
    if (job.data.how === "release" && job.attempt === 1) throw new hipq.Release();
    if (job.data.how === "cancel") await new Promise((resolve) => signal.addEventListener("abort", resolve));
  });
  await withWorker(worker, async () => {
    const ended = {};
    for (const [n, how] of ["fail", "permanent", "release", "cancel", "later"].entries()) {
      const id = await enqueue(client, "work", { how }, { queue, maxRetries: 1, traceparent: traceparentOf(parent(n)) });
      if (how === "cancel") await until(async () => (await client.query("SELECT FROM hipq.running_detail WHERE id = $1 AND is_accepted", [id])).rowCount, "it runs");
      if (how === "cancel") await client.query("SELECT hipq.cancel($1)", [id]);
      const spans = (await spansOf(parent(n).traceId, ["fail", "later", "release"].includes(how) ? 2 : 1)).sort(byAttempt);
      assert.ok(spans.every(({ parentSpanId }) => parentSpanId === parent(n).spanId), "a child of what the job was given");
      ended[how] = spans.map(({ attributes, status, events }) => [
        attributes["hipq.attempt"], attributes["hipq.outcome"], attributes["error.type"], status.code, status.message, events.length]);
    }
    const { UNSET, ERROR } = SpanStatusCode;
    const over = ended.cancel[0][4];
    assert.match(over, /^attempt 1 of job \d+ is over$/);
    assert.deepEqual(ended, {
      fail: [[1, "failed", "RangeError", ERROR, "no luck", 1], [2, "failed", "RangeError", ERROR, "no luck", 1]],
      later: [[1, "failed", "RetryAfter", ERROR, "busy", 1], [2, "succeeded", undefined, UNSET, undefined, 0]],
      permanent: [[1, "failed", "Permanent", ERROR, "no such address", 1]],
      release: [[1, "released", undefined, UNSET, undefined, 0], [2, "succeeded", undefined, UNSET, undefined, 0]],
      cancel: [[1, "lost", "AttemptOver", ERROR, over, 1]],
    });
  });
});

test("a trace that is not sampled goes on, without spans", async () => {
  const queue = await makeQueue(client);
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  let seen;
  await withWorker(traced(queue, () => void (seen = trace.getSpanContext(context.active()))), async () => {
    await done(await enqueue(client, "work", {}, { queue, traceparent: `00-${traceId}-b7ad6b7169203331-00` }));
    assert.deepEqual([seen.traceId, seen.traceFlags], [traceId, 0]);
    // Everything after it has arrived.
    const later = await enqueue(client, "work", {}, { queue });
    await until(() => collected.some(({ attributes }) => attributes["hipq.job.id"] === Number(later) && attributes["hipq.outcome"]), "the next span comes");
    assert.deepEqual(collected.filter((span) => span.traceId === traceId), []);
  });
});

test("of a batch each attempt is a span", async () => {
  const queue = await makeQueue(client);
  const handler = tracingBatch((jobs) => jobs.map((job) => (job.data === "fail" ? new RangeError("no luck") : "done")), { worker: queue });
  const worker = new hipq.Worker({ name: queue, queues: [queue], connection, log: () => undefined, concurrency: 9 }).batch("work", handler);
  const ids = await enqueueMany(client, "work", ["well", "fail"], { queue, maxRetries: 0 });
  await withWorker(worker, async () => {
    const spans = await until(() => {
      const found = ids.map((id) => collected.find(({ attributes }) => attributes["messaging.message.id"] === id && attributes["hipq.outcome"]));
      return found.every(Boolean) && found;
    }, "both spans come");
    assert.deepEqual(spans.map(({ kind, attributes, status }) => [kind, attributes["hipq.outcome"], attributes["messaging.client.id"], status.message]),
      [[consumer, "succeeded", queue, undefined], [consumer, "failed", queue, "no luck"]]);
    assert.equal(spans[0].parentSpanId, spans[1].parentSpanId, "below their being enqueued");
  });
  const broken = new hipq.Worker({ name: queue, queues: [queue], connection, log: () => undefined })
    .batch("work", tracingBatch(() => { throw new TypeError("broken"); }));
  const id = await enqueue(client, "work", {}, { queue, maxRetries: 0 });
  await withWorker(broken, () =>
    until(() => collected.some(({ attributes }) => attributes["messaging.message.id"] === id && attributes["error.type"] === "TypeError"), "its span comes"));
});

test("many jobs, and those with keys", async () => {
  const queue = await makeQueue(client);
  const span = tracer.startSpan("many");
  const ids = await context.with(trace.setSpan(context.active(), span), () => enqueueMany(client, "work", [1, 2], { queue }));
  const { id, action } = await context.with(trace.setSpan(context.active(), span), () => enqueueUnique(client, "work", {}, { queue, key: "k" }));
  const [many, unique] = await spansOf(span.spanContext().traceId, 2);
  assert.equal(many.attributes["messaging.batch.message_count"], 2);
  assert.deepEqual([action, unique.attributes["hipq.action"], unique.attributes["messaging.message.id"]], ["inserted", "inserted", id]);
  const { rows } = await client.query("SELECT DISTINCT traceparent FROM hipq.jobs_detail WHERE id = ANY ($1)", [ids]);
  assert.deepEqual(rows, [{ traceparent: `00-${many.traceId}-${many.spanId}-01` }]);
});

test("what the server refuses is an error of the span", async () => {
  const span = tracer.startSpan("wrong");
  await assert.rejects(context.with(trace.setSpan(context.active(), span), () => enqueue(client, "work", {}, { queue: "no.queue" })), { code: "42704" });
  const [refused] = await spansOf(span.spanContext().traceId, 1);
  assert.equal(refused.status.code, SpanStatusCode.ERROR);
});
