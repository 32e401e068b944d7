"""The Python client of hipq, the job queue inside PostgreSQL: enqueue jobs, run workers."""

from . import aio, testing
from .calls import Outcome
from .enqueueing import enqueue, enqueue_many, wait_for
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
    "enqueue",
    "enqueue_many",
    "testing",
    "wait_for",
]
