// The exports of the package.

export { Batch, currentBatch } from "./batch.js";
export type { BatchProgress, BatchState, CreateBatchOptions } from "./batch.js";
export { enqueue, enqueueMany, enqueueUnique, outcomeOf, resultOf, waitFor } from "./enqueue.js";
export type { Action, BatchOrId, Ended, EnqueueManyOptions, EnqueueOptions, JobOrId, Outcome } from "./enqueue.js";
export { AttemptOver, Permanent, Release, RetryAfter } from "./errors.js";
export type { BatchHandler, BatchOptions, Context, Handler, HandlerOptions, Middleware, Schema } from "./handlers.js";
export { Graph } from "./graph.js";
export type { GraphJobOptions, GraphOptions } from "./graph.js";
export { Job } from "./job.js";
export { RawJson } from "./sql.js";
export type { Duration, Queryable } from "./sql.js";
export { enqueued, runUntilIdle } from "./testing.js";
export type { Enqueued } from "./testing.js";
export { Worker } from "./worker.js";
export type { Connection, LogEntry, WorkerOptions } from "./worker.js";
