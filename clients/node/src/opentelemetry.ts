// Spans of enqueueing and of attempts, with OpenTelemetry's API: a separate entry point
// (hipq/opentelemetry), the only one that needs it.

import {
  context, isSpanContextValid, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace,
  type Attributes, type Context, type Span, type SpanContext, type Tracer, type TracerProvider,
} from "@opentelemetry/api";
import * as hipq from "./enqueue.js";
import type { Action, EnqueueManyOptions, EnqueueOptions } from "./enqueue.js";
import { isOver, messageOf, Release } from "./errors.js";
import type { BatchHandler, Middleware } from "./handlers.js";
import type { Job } from "./job.js";
import type { Queryable } from "./sql.js";

export interface TracingOptions {
  /** The tracer; by default the globally registered one. */
  tracerProvider?: TracerProvider;
  /** The name of the worker, for the attribute messaging.client.id. */
  worker?: string;
}

const tracerOf = (provider: TracerProvider = trace.getTracerProvider()): Tracer => provider.getTracer("hipq");

// ---- traceparent, in the format of W3C Trace Context; of its flags two are known: sampled, and
// that the id is random

const knownFlags = 3;
const form = /^(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/;

function contextOf(traceparent: string | null): Context {
  const [, traceId, spanId, flags] = form.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags: parseInt(flags, 16) & knownFlags, isRemote: true });
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-0${traceFlags & knownFlags}`;
}

// ---- attempts

function attributesOf(job: Job, worker: string | undefined): Attributes {
  return {
    "messaging.system": "hipq", "messaging.operation.name": "process", "messaging.operation.type": "process",
    "messaging.destination.name": job.queue, "messaging.message.id": job.id, "hipq.queue": job.queue, "hipq.job.id": Number(job.id),
    "hipq.job.type": job.type, "hipq.attempt": job.attempt, ...(job.key !== null && { "hipq.job.key": job.key }),
    ...(worker !== undefined && { "messaging.client.id": worker }),
  };
}

function failSpan(span: Span, error: unknown): void {
  span.recordException(error instanceof Error ? error : messageOf(error));
  span.setAttribute("error.type", error instanceof Error ? error.name : "_OTHER");
  span.setStatus({ code: SpanStatusCode.ERROR, message: messageOf(error) });
}

// An attempt that is over stays over, whatever its handler returns.
function endAttempt(span: Span, job: Job, thrown?: { error: unknown }): void {
  const why = job.signal.aborted ? { error: job.signal.reason } : thrown;
  const outcome = why === undefined ? "succeeded" : why.error instanceof Release ? "released" : isOver(why.error) ? "lost" : "failed";
  span.setAttribute("hipq.outcome", outcome);
  if (why !== undefined && outcome !== "released") failSpan(span, why.error);
  span.end();
}

function startAttempt(job: Job, { tracerProvider, worker }: TracingOptions): Span {
  const options = { kind: SpanKind.CONSUMER, attributes: attributesOf(job, worker) };
  return tracerOf(tracerProvider).startSpan(`process ${job.queue}`, options, contextOf(job.traceparent));
}

/**
 * Middleware that makes a span for each attempt, as a child of the trace of its job, and runs the
 * handler in it: `worker.use(tracing())`, as the first middleware. Middleware does not wrap
 * batches: see tracingBatch.
 */
export function tracing(options: TracingOptions = {}): Middleware {
  return (job, next) => {
    const span = startAttempt(job, options);
    return context.with(trace.setSpan(ROOT_CONTEXT, span), async () => {
      try {
        const result = await next();
        endAttempt(span, job);
        return result;
      } catch (error) {
        endAttempt(span, job, { error });
        throw error;
      }
    });
  };
}

/**
 * Wraps a handler of batches so that each attempt has a span, as a child of the trace of its job:
 * `worker.batch("scan", tracingBatch(handler))`. None of these spans is active in the handler.
 */
export function tracingBatch<Data = any>(handler: BatchHandler<Data>, options: TracingOptions = {}): BatchHandler<Data> {
  return async (jobs, handlerContext) => {
    const spans = jobs.map((job) => startAttempt(job, options));
    try {
      const results = await handler(jobs, handlerContext);
      for (const [i, job] of jobs.entries()) {
        const result = Array.isArray(results) ? results[i] : undefined;
        endAttempt(spans[i]!, job, result instanceof Error ? { error: result } : undefined);
      }
      return results;
    } catch (error) {
      for (const [i, job] of jobs.entries()) endAttempt(spans[i]!, job, { error });
      throw error;
    }
  };
}

// ---- enqueueing

// A trace that the caller gave does not change. Otherwise the jobs get the trace of a span for the
// enqueueing.
async function inSpan<Options extends { queue?: string; traceparent?: string }, Result>(
  type: string, options: Options, enqueue: (options: Options) => Promise<Result>, told: (result: Result) => Attributes,
): Promise<Result> {
  if (options.traceparent !== undefined) return enqueue(options);
  const attributes = {
    "messaging.system": "hipq", "messaging.operation.name": "enqueue", "messaging.operation.type": "send", "hipq.job.type": type,
    ...(options.queue !== undefined && { "messaging.destination.name": options.queue, "hipq.queue": options.queue }),
  };
  const name = options.queue === undefined ? "enqueue" : `enqueue ${options.queue}`;
  return tracerOf().startActiveSpan(name, { kind: SpanKind.PRODUCER, attributes }, async (span) => {
    try {
      const here = span.spanContext();
      const result = await enqueue(isSpanContextValid(here) ? { ...options, traceparent: traceparentOf(here) } : options);
      span.setAttributes(told(result));
      return result;
    } catch (error) {
      failSpan(span, error);
      throw error;
    } finally {
      span.end();
    }
  });
}

const idAttributes = (id: string): Attributes => ({ "messaging.message.id": id, "hipq.job.id": Number(id) });

/** Like enqueue of "hipq", in its own span, which becomes the parent of the job. */
export function enqueue(client: Queryable, type: string, data: unknown = {}, options: EnqueueOptions = {}): Promise<string> {
  return inSpan(type, options, (traced) => hipq.enqueue(client, type, data, traced), idAttributes);
}

/** Like enqueueUnique of "hipq", in its own span, which becomes the parent of a new job. */
export function enqueueUnique(
  client: Queryable, type: string, data: unknown, options: EnqueueOptions & { key: string },
): Promise<{ id: string; action: Action }> {
  return inSpan(type, options, (traced) => hipq.enqueueUnique(client, type, data, traced), ({ id, action }) => ({
    ...idAttributes(id), "hipq.action": action,
  }));
}

/** Like enqueueMany of "hipq", in one span, which becomes the parent of all the jobs. */
export function enqueueMany(client: Queryable, type: string, data: unknown[], options: EnqueueManyOptions = {}): Promise<string[]> {
  return inSpan(type, options, (traced) => hipq.enqueueMany(client, type, data, traced), (ids) => ({
    "messaging.batch.message_count": ids.length,
  }));
}
