"""A job as a handler that runs in a thread sees it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NoReturn, Optional

import psycopg
from psycopg.types.json import Jsonb

from . import statements
from .answers import Answers, Rows
from .batches import current_batch_call
from .batching import Batch
from .calls import Call, plain
from .durations import Duration, duration_text
from .enqueueing import ask
from .errors import AttemptOver, Release, is_over
from .fields import JobFields


class Job(JobFields):
    """The job that claim() returned, and the messages that its handler can send while it runs."""

    def __init__(self, row: Sequence[Any], answers: Answers) -> None:
        super().__init__(*row)
        self._answers = answers
        self._over = threading.Event()
        self._has_ended = False  # the handler has ended: do not notify it when the attempt is over

    @property
    def cancelled(self) -> bool:
        """Whether the attempt is known to be over, by hipq.cancel(), a timeout, or otherwise."""
        return self._over.is_set()

    def check(self) -> None:
        """Raises AttemptOver if the attempt is known to be over. Sends nothing to the server."""
        if self.cancelled:
            raise AttemptOver(self.id, self.attempt)

    def sleep(self, seconds: float) -> None:
        """Sleeps; raises AttemptOver as soon as the attempt is known to be over."""
        self._over.wait(seconds)
        self.check()

    def progress(
        self, done: int, total: Optional[int] = None, message: Optional[str] = None
    ) -> None:
        """Reports the progress of the job; the view hipq.progress shows it. Raises AttemptOver."""
        self._say(statements.PROGRESS, done, total, message)

    def extend(self, more: Duration) -> datetime:
        """Gives the attempt at least this much time. Returns the deadline; raises AttemptOver."""
        self.deadline = self._say(statements.EXTEND, duration_text(more))[0][0]
        return self.deadline

    def batch(self) -> Optional[Batch]:
        """Returns the batch that the job belongs to, or comes after, as a callback does.

        None: there is none. Asks the server; the worker's role needs the right `read`.
        """
        ((batch_id,),) = self._answers.ask(*current_batch_call(self))
        return None if batch_id is None else Batch(batch_id)

    def release(self, delay: Duration = 0) -> NoReturn:
        """Ends the handler and gives the job back, to run again after `delay`: raises Release."""
        raise Release(delay)

    def complete(self, conn: psycopg.Connection[Any], result: Any = None) -> None:
        """Completes the job in the transaction of `conn`, so that its writes happen once.

        The handler must commit before it returns; its return value is then ignored. Raises
        AttemptOver.
        """
        self.check()
        values = [self.id, self.attempt, Jsonb(plain(result))]
        try:
            ask(conn, Call(statements.COMPLETE, values))
        except psycopg.Error as error:
            self._raise(error)
        self._has_ended = True

    def _say(self, sql: str, *values: Any) -> Rows:
        self.check()
        try:
            return self._answers.ask(sql, (self.id, self.attempt, *values))
        except psycopg.Error as error:
            self._raise(error)

    def _raise(self, error: psycopg.Error) -> NoReturn:
        if not is_over(error):
            raise error
        self._over.set()
        raise AttemptOver(self.id, self.attempt) from error
