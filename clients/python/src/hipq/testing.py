"""For tests of a program that uses hipq: what it has enqueued, and its handlers run at once.

All in the test's own transaction: no worker and no executor takes part, and a rollback leaves
nothing. The role needs the rights `read` and `control` on the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, NoReturn, Optional, Union

import psycopg
from psycopg.rows import tuple_row

from .aio.worker import Worker as AsyncWorker
from .durations import Duration, duration_text
from .error_texts import error_text
from .errors import Permanent, Release, RetryAfter
from .fields import JobFields
from .handlers import Handlers

# Only columns that cannot be infinite, which psycopg could not load.
ENQUEUED = """
    SELECT job.id, 1, shown.queue, job.job_type, nullif(job.job_key, 'NONE'), job.job_data,
        clock_timestamp() + job.timeout * interval '1 s', job.retry_count, job.max_retries,
        nullif(job.retry_reason, 'NONE'), job.scheduled_run_time, job.created_time,
        job.original_job_id, job.traceparent
    FROM hipq.enqueued(%(job_type)s::text, %(queue)s::text) AS job
    JOIN hipq.jobs_detail AS shown USING (id)
    ORDER BY job.id"""
DUE = """
    SELECT job.id FROM hipq.enqueued(NULL, %(queue)s::text) AS job
    WHERE job.job_type = ANY (%(job_types)s::text[])
      AND job.scheduled_run_time <= coalesce(%(at)s::timestamptz, clock_timestamp())
    ORDER BY job.priority, job.scheduled_run_time, job.id
    LIMIT 1"""
TAKE = "SELECT hipq.cancel(%s::bigint)"
RETRY = (
    "SELECT hipq.dry_fail(%s::bigint, %s::text, retriable => %s::boolean,"
    " retry_after => %s::text::hipq.duration)"
)


@dataclass(eq=False)
class TestJob(JobFields):
    """A job without a server: it keeps what its handler says. Its attempt is never over."""

    __test__ = False  # pytest: this is not a test

    reports: list[tuple[Any, ...]] = field(default_factory=list)
    extensions: list[Duration] = field(default_factory=list)
    completed: Optional[tuple[Any]] = None
    cancelled: bool = False
    retry: Union[timedelta, Exception, None] = None

    def check(self) -> None:
        """Raises nothing."""

    def sleep(self, seconds: float) -> None:
        """Does not sleep."""

    def progress(
        self, done: int, total: Optional[int] = None, message: Optional[str] = None
    ) -> Any:
        """Adds to `reports`."""
        self.reports.append((done, total, message))

    def extend(self, more: Duration) -> Any:
        """Adds to `extensions`, and returns the deadline, which stays."""
        self.extensions.append(more)
        return self.deadline

    def release(self, delay: Duration = 0) -> NoReturn:
        """Raises Release."""
        raise Release(delay)

    def complete(self, conn: Any, result: Any = None) -> Any:
        """Keeps the result in `completed`."""
        self.completed = (result,)


class AsyncTestJob(TestJob):
    """The same for the handlers of a hipq.aio.Worker."""

    async def progress(
        self, done: int, total: Optional[int] = None, message: Optional[str] = None
    ) -> None:
        """Adds to `reports`."""
        super().progress(done, total, message)

    async def extend(self, more: Duration) -> Any:
        """Adds to `extensions`, and returns the deadline, which stays."""
        return super().extend(more)

    async def complete(self, conn: Any, result: Any = None) -> None:
        """Keeps the result in `completed`."""
        super().complete(conn, result)


class Ran(NamedTuple):
    """A job that was run: `outcome` is "succeeded", "failed", "failed for good" or "released"."""

    job: TestJob
    outcome: str
    result: Any
    error: Optional[str]

    @property
    def retry_after(self) -> Optional[timedelta]:
        """How long the server would have a failed job of run_due() wait for its retry; None: never.

        The policy says so, or the retry handler. Raises what that raised, why it may not be asked
        (the role is not the queue's owner), or what is wrong with the delay of a RetryAfter.
        """
        if isinstance(self.job.retry, Exception):
            raise self.job.retry
        return self.job.retry


def enqueued(
    conn: psycopg.Connection[Any], job_type: Optional[str] = None, queue: Optional[str] = None
) -> list[TestJob]:
    """The jobs that wait, those too that this transaction has not committed, by their ids.

    None: of all types, of all queues that the role may read.
    """
    rows = _rows(conn, ENQUEUED, {"job_type": job_type, "queue": queue})
    return [TestJob(*row) for row in rows]


def run_due(
    conn: psycopg.Connection[Any],
    worker: Handlers,
    queue: str,
    *,
    at: Optional[datetime] = None,
    max_jobs: int = 1000,
) -> list[Ran]:
    """Runs the due jobs of a queue with the handlers of a worker, and what these enqueue on `conn`.

    Each is run once, whatever becomes of it, and is cancelled in the queue before: in hipq's tables
    it has no other outcome. at: as if it were then. The handlers of a hipq.aio.Worker run in a loop
    of their own, so not within another one. Returns what was run. Raises psycopg.Error.
    """
    ran: list[Ran] = []
    due = {"queue": queue, "job_types": worker.job_types, "at": at}
    while len(ran) < max_jobs:
        rows = _rows(conn, DUE, due)
        if not rows:
            break
        (job,) = [job for job in enqueued(conn, queue=queue) if job.id == rows[0][0]]
        _rows(conn, TAKE, (job.id,))
        ran.append(_run_and_ask(conn, worker, job))
    return ran


def _run_and_ask(conn: psycopg.Connection[Any], worker: Handlers, job: TestJob) -> Ran:
    ran, error = _run(worker, job)
    if error is not None:
        ran.job.retry = _retry_of(conn, ran, error)
    return ran


def _retry_of(
    conn: psycopg.Connection[Any], ran: Ran, error: Exception
) -> Union[timedelta, Exception, None]:
    """Asks in a savepoint: the role may not be allowed to, and a retry handler may fail."""
    try:
        delay = duration_text(error.delay) if isinstance(error, RetryAfter) else None
        values = (ran.job.id, ran.error, not isinstance(error, Permanent), delay)
        with conn.transaction():
            waits: Optional[timedelta] = _rows(conn, RETRY, values)[0][0]
            return waits
    except Exception as refusal:
        return refusal


def run_job(worker: Handlers, job: TestJob) -> Ran:
    """Calls the middleware and the handler for one job. Raises nothing that a handler raises."""
    return _run(worker, job)[0]


def _run(worker: Handlers, job: TestJob) -> tuple[Ran, Optional[Exception]]:
    """The same, and the failure."""
    try:
        if isinstance(worker, AsyncWorker):
            job = AsyncTestJob(*job.row())
            result = asyncio.run(worker.handle_soon(job))
        else:
            result = worker.handle(job)
        return Ran(job, "succeeded", job.completed[0] if job.completed else result, None), None
    except Release:
        return Ran(job, "released", None, None), None
    except Permanent as error:
        return Ran(job, "failed for good", None, error_text(error)), error
    except Exception as error:
        return Ran(job, "failed", None, error_text(error)), error


def _rows(conn: psycopg.Connection[Any], sql: str, values: Any) -> Sequence[tuple[Any, ...]]:
    with conn.cursor(row_factory=tuple_row) as cursor:
        return cursor.execute(sql, values).fetchall()
