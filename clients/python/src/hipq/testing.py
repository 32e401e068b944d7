"""For tests of programs that use hipq: lists enqueued jobs, and runs handlers at once.

Everything happens in the test's own transaction, without workers and executors, so a rollback
removes everything. The role needs the rights `read` and `control` on the queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, NamedTuple, NoReturn, Optional, Union

import psycopg
from psycopg.rows import tuple_row

from .aio.batching import Batch as AsyncBatch
from .aio.worker import Worker as AsyncWorker
from .batching import current_batch
from .durations import Duration, duration_text
from .error_texts import error_text
from .errors import Permanent, Release, RetryAfter
from .fields import JobFields
from .handlers import Handlers

# Only columns that cannot be infinite, because psycopg cannot load infinite times.
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
    WHERE job.job_type = ANY (%(job_types)s::text[]) AND job.waits_for IS NULL
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
    """A job without a server: it keeps the messages of its handler. Its attempt is never over."""

    __test__ = False  # pytest: this is not a test

    reports: list[tuple[Any, ...]] = field(default_factory=list)
    extensions: list[Duration] = field(default_factory=list)
    completed: Optional[tuple[Any]] = None
    cancelled: bool = False
    retry: Union[timedelta, Exception, None] = None
    conn: Optional[psycopg.Connection[Any]] = field(default=None, repr=False)

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
        """Adds to `extensions`, and returns the deadline, which does not change."""
        self.extensions.append(more)
        return self.deadline

    def batch(self) -> Any:
        """Returns the batch of the job, as the transaction of the test knows it."""
        return None if self.conn is None else current_batch(self.conn, self)

    def release(self, delay: Duration = 0) -> NoReturn:
        """Raises Release."""
        raise Release(delay)

    def complete(self, conn: Any, result: Any = None) -> Any:
        """Keeps the result in `completed`."""
        self.completed = (result,)


class AsyncTestJob(TestJob):
    """A TestJob for the handlers of a hipq.aio.Worker."""

    async def progress(
        self, done: int, total: Optional[int] = None, message: Optional[str] = None
    ) -> None:
        """Adds to `reports`."""
        super().progress(done, total, message)

    async def extend(self, more: Duration) -> Any:
        """Adds to `extensions`, and returns the deadline, which does not change."""
        return super().extend(more)

    async def batch(self) -> Any:
        """Returns the batch of the job, as the transaction of the test knows it."""
        batch = super().batch()
        return None if batch is None else AsyncBatch(batch.id)

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
        """The time until the server would retry a failed job of run_due(); None: it would not.

        The time comes from the policy or the retry handler. Raises the error of the retry handler,
        the reason why it must not be called (the role does not own the queue), or the error in the
        delay of a RetryAfter.
        """
        if isinstance(self.job.retry, Exception):
            raise self.job.retry
        return self.job.retry


def enqueued(
    conn: psycopg.Connection[Any], job_type: Optional[str] = None, queue: Optional[str] = None
) -> list[TestJob]:
    """Returns the waiting jobs, also those of the open transaction, in the order of their ids.

    None: all job types; all queues that the role may read.
    """
    rows = _rows(conn, ENQUEUED, {"job_type": job_type, "queue": queue})
    return [TestJob(*row, conn=conn) for row in rows]


def run_due(
    conn: psycopg.Connection[Any],
    worker: Handlers,
    queue: str,
    *,
    at: Optional[datetime] = None,
    max_jobs: int = 1000,
) -> list[Ran]:
    """Runs the due jobs of a queue, and those that their handlers enqueue on `conn`.

    Cancels each job in the queue, and then runs it once: in hipq's tables it has no other outcome.
    Does not run jobs that wait for other jobs.
    worker: has the handlers. A hipq.aio.Worker runs them in a separate loop, so do not call this
    within another loop. at: the time that counts as now. Returns the jobs that ran. Raises
    psycopg.Error.
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
    """Asks in a savepoint, because the role may lack the right, and a retry handler may fail."""
    try:
        delay = duration_text(error.delay) if isinstance(error, RetryAfter) else None
        values = (ran.job.id, ran.error, not isinstance(error, Permanent), delay)
        with conn.transaction():
            waits: Optional[timedelta] = _rows(conn, RETRY, values)[0][0]
            return waits
    except Exception as refusal:
        return refusal


def run_job(worker: Handlers, job: TestJob) -> Ran:
    """Calls the middleware and the handler for one job. Does not raise exceptions of handlers."""
    return _run(worker, job)[0]


def _run(worker: Handlers, job: TestJob) -> tuple[Ran, Optional[Exception]]:
    """Like run_job(), but also returns the exception."""
    try:
        if isinstance(worker, AsyncWorker):
            job = AsyncTestJob(*job.row(), conn=job.conn)
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
