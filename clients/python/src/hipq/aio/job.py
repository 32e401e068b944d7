"""A job as a handler that is a coroutine sees it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn, Optional

import psycopg
from psycopg.types.json import Jsonb

from .. import statements
from ..answers import Rows
from ..batches import current_batch_call
from ..calls import Call, plain
from ..durations import Duration, duration_text
from ..errors import AttemptOver, Release, is_over
from ..fields import JobFields
from .answers import Answers
from .batching import Batch
from .enqueueing import ask


class Job(JobFields):
    """The job that claim() returned, and the messages that its handler can send while it runs.

    When the attempt is over, the library cancels the handler's task.
    """

    def __init__(self, row: Sequence[Any], answers: Answers) -> None:
        super().__init__(*row)
        self._answers = answers
        self._task: Optional[HandlerTask] = None
        self._is_over = False
        self._has_ended = False  # the handler has ended: do not notify it when the attempt is over

    @property
    def cancelled(self) -> bool:
        """Whether the attempt is known to be over, by hipq.cancel(), a timeout, or otherwise."""
        return self._is_over

    async def progress(
        self, done: int, total: Optional[int] = None, message: Optional[str] = None
    ) -> None:
        """Reports the progress of the job; the view hipq.progress shows it."""
        await self._say(statements.PROGRESS, done, total, message)

    async def extend(self, more: Duration) -> datetime:
        """Gives the attempt at least this much time from now. Returns the deadline."""
        self.deadline = (await self._say(statements.EXTEND, duration_text(more)))[0][0]
        return self.deadline

    async def batch(self) -> Optional[Batch]:
        """Returns the batch that the job belongs to, or comes after, as a callback does.

        None: there is none. Asks the server; the worker's role needs the right `read`.
        """
        ((batch_id,),) = await self._answers.ask(*current_batch_call(self))
        return None if batch_id is None else Batch(batch_id)

    def release(self, delay: Duration = 0) -> NoReturn:
        """Ends the handler and gives the job back, to run again after `delay`: raises Release."""
        raise Release(delay)

    async def complete(self, conn: psycopg.AsyncConnection[Any], result: Any = None) -> None:
        """Completes the job in the transaction of `conn`, so that its writes happen once.

        The handler must commit before it returns; its return value is then ignored.
        """
        values = [self.id, self.attempt, Jsonb(plain(result))]
        try:
            await ask(conn, Call(statements.COMPLETE, values))
        except psycopg.Error as error:
            await self._raise(error)
        self._has_ended = True

    async def _say(self, sql: str, *values: Any) -> Rows:
        try:
            return await self._answers.ask(sql, (self.id, self.attempt, *values))
        except psycopg.Error as error:
            await self._raise(error)

    async def _raise(self, error: psycopg.Error) -> NoReturn:
        if not is_over(error):
            raise error
        self._cancel()
        await asyncio.sleep(0)  # CancelledError is raised here, in the handler's own task
        raise AttemptOver(self.id, self.attempt) from error

    def _cancel(self) -> None:
        """Cancels the handler's task, once."""
        if not self._is_over and not self._has_ended:
            self._is_over = True
            if self._task is not None:
                self._task.cancel()


class HandlerTask:
    """The task of a handler, which is cancelled when the attempts of all its jobs are over."""

    def __init__(self, task: asyncio.Task[Any], jobs: Sequence[Job]) -> None:
        self._task = task
        self._jobs = jobs

    def cancel(self) -> None:
        """Cancels the task if the attempts of all its jobs are over."""
        if all(job.cancelled or job._has_ended for job in self._jobs):
            self._task.cancel()
