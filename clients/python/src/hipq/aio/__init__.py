"""Like hipq, but for asyncio: AsyncConnection, and handlers that are coroutines."""

from .enqueueing import Graph, enqueue, enqueue_many, outcome_of, result_of, wait_for
from .job import Job
from .worker import Worker

__all__ = [
    "Graph",
    "Job",
    "Worker",
    "enqueue",
    "enqueue_many",
    "outcome_of",
    "result_of",
    "wait_for",
]
