"""The Python client of hipq, the job queue inside PostgreSQL: enqueue jobs, run workers."""

from . import aio, testing
from .batches import BatchProgress
from .batching import Batch, current_batch
from .calls import Outcome
from .enqueueing import Graph, enqueue, enqueue_many, outcome_of, result_of, wait_for
from .errors import (
    AttemptOver,
    HipqError,
    NameTaken,
    Permanent,
    PooledSession,
    Release,
    RetryAfter,
    WorkerEnded,
)
from .job import Job
from .worker import Worker

__all__ = [
    "AttemptOver",
    "Batch",
    "BatchProgress",
    "Graph",
    "HipqError",
    "Job",
    "NameTaken",
    "Outcome",
    "Permanent",
    "PooledSession",
    "Release",
    "RetryAfter",
    "Worker",
    "WorkerEnded",
    "aio",
    "current_batch",
    "enqueue",
    "enqueue_many",
    "outcome_of",
    "result_of",
    "testing",
    "wait_for",
]
