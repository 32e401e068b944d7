"""Like hipq, but for asyncio: AsyncConnection, and handlers that are coroutines."""

from .enqueueing import enqueue, enqueue_many, wait_for
from .job import Job
from .worker import Worker

__all__ = ["Job", "Worker", "enqueue", "enqueue_many", "wait_for"]
