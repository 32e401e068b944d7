"""Batches on a psycopg Connection, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import psycopg

from . import enqueueing
from .batches import (
    BatchBase,
    BatchProgress,
    CallWhen,
    create_call,
    current_batch_call,
    progress_of,
)
from .calls import JobOrId
from .durations import Duration
from .enqueueing import ask

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .calls import ManyOptions, Options


class Batch(BatchBase):
    """Jobs that are counted together. Its methods act in the transaction of `conn`.

    Batch(id) is the batch of this id. enqueue(..., batch=batch) adds a job to it, too.
    """

    @classmethod
    def create(
        cls,
        conn: psycopg.Connection[Any],
        name: Optional[str] = None,
        *,
        callback_type: Optional[str] = None,
        callback_data: Any = None,
        call_when: Optional[CallWhen] = None,
        queue: Optional[str] = None,
        expires_after: Optional[Duration] = None,
        closed: bool = False,
    ) -> Batch:
        """Creates a batch, and its callback: a job that comes after it.

        name: for people.
        callback_type, callback_data: the type and the data of the callback; None: there is none.
        call_when: when it runs: "finished" (all jobs have ended), "succeeded" (all have), or
        "first_failure" (one has failed); otherwise it is skipped. None: "finished".
        queue: of the callback; None: the queue that has its type.
        expires_after: how long the batch may stay open; then it counts as closed. None: a day.
        closed: only this transaction adds jobs, and the jobs of the batch while they run.
        Raises psycopg.Error: 22023 without a callback and a queue.
        """
        call = create_call(
            name, callback_type, callback_data, call_when, queue, expires_after, closed
        )
        return cls(int(ask(conn, call)[0]))

    def enqueue(
        self,
        conn: psycopg.Connection[Any],
        job_type: str,
        data: Any = None,
        **options: Unpack[Options],
    ) -> int:
        """Enqueues a job of the batch: see hipq.enqueue. Returns its id.

        Raises psycopg.Error: 55000 if the batch is closed, unless one of its jobs runs.
        """
        options["batch"] = self
        return enqueueing.enqueue(conn, job_type, data, **options)

    def enqueue_many(
        self,
        conn: psycopg.Connection[Any],
        job_type: str,
        items: Sequence[Any],
        *,
        job_keys: Optional[Sequence[Optional[str]]] = None,
        **options: Unpack[ManyOptions],
    ) -> list[int]:
        """Enqueues a job of the batch for each item: see hipq.enqueue_many. Returns their ids."""
        options["batch"] = self
        return enqueueing.enqueue_many(conn, job_type, items, job_keys=job_keys, **options)

    def close(self, conn: psycopg.Connection[Any]) -> bool:
        """Says that no more jobs will be added, except by its own jobs while they run.

        False: it was closed already.
        """
        return bool(ask(conn, self._close_call())[0])

    def cancel(self, conn: psycopg.Connection[Any], reason: Optional[str] = None) -> int:
        """Closes the batch and cancels its unfinished jobs, but not its callback.

        Returns the number of cancelled jobs.
        """
        return int(ask(conn, self._cancel_call(reason))[0])

    def progress(self, conn: psycopg.Connection[Any]) -> Optional[BatchProgress]:
        """Returns the state, and the numbers of its jobs.

        None: there is no such batch, or the role lacks the right `read` on its queue.
        """
        return progress_of(ask(conn, self._progress_call()))


def current_batch(conn: psycopg.Connection[Any], job: JobOrId) -> Optional[Batch]:
    """Returns the batch that a job belongs to, or comes after, as a callback does; None: none.

    Requires the right `read` on the queue.
    """
    (batch_id,) = ask(conn, current_batch_call(job))
    return None if batch_id is None else Batch(batch_id)
