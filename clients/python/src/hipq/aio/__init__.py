"""Like hipq, but for asyncio: AsyncConnection, and handlers that are coroutines."""

from .batching import Batch, current_batch
from .enqueueing import Graph, enqueue, enqueue_many, outcome_of, result_of, wait_for
from .job import Job
from .worker import Worker

__all__ = [
    "Batch",
    "Graph",
    "Job",
    "Worker",
    "current_batch",
    "enqueue",
    "enqueue_many",
    "outcome_of",
    "result_of",
    "wait_for",
]
