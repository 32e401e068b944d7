"""Batches on a psycopg AsyncConnection, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import psycopg

from ..batches import (
    BatchBase,
    BatchProgress,
    CallWhen,
    create_call,
    current_batch_call,
    progress_of,
)
from ..calls import JobOrId
from ..durations import Duration
from . import enqueueing
from .enqueueing import ask

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..calls import ManyOptions, Options


class Batch(BatchBase):
    """Jobs that are counted together: see hipq.Batch."""

    @classmethod
    async def create(
        cls,
        conn: psycopg.AsyncConnection[Any],
        name: Optional[str] = None,
        *,
        callback_type: Optional[str] = None,
        callback_data: Any = None,
        call_when: Optional[CallWhen] = None,
        queue: Optional[str] = None,
        expires_after: Optional[Duration] = None,
        closed: bool = False,
    ) -> Batch:
        """Creates a batch, and its callback: see hipq.Batch.create."""
        call = create_call(
            name, callback_type, callback_data, call_when, queue, expires_after, closed
        )
        return cls(int((await ask(conn, call))[0]))

    async def enqueue(
        self,
        conn: psycopg.AsyncConnection[Any],
        job_type: str,
        data: Any = None,
        **options: Unpack[Options],
    ) -> int:
        """Enqueues a job of the batch: see hipq.Batch.enqueue. Returns its id."""
        options["batch"] = self
        return await enqueueing.enqueue(conn, job_type, data, **options)

    async def enqueue_many(
        self,
        conn: psycopg.AsyncConnection[Any],
        job_type: str,
        items: Sequence[Any],
        *,
        job_keys: Optional[Sequence[Optional[str]]] = None,
        **options: Unpack[ManyOptions],
    ) -> list[int]:
        """Enqueues a job of the batch for each item: see hipq.enqueue_many. Returns their ids."""
        options["batch"] = self
        return await enqueueing.enqueue_many(conn, job_type, items, job_keys=job_keys, **options)

    async def close(self, conn: psycopg.AsyncConnection[Any]) -> bool:
        """Says that no more jobs will be added: see hipq.Batch.close."""
        return bool((await ask(conn, self._close_call()))[0])

    async def cancel(self, conn: psycopg.AsyncConnection[Any], reason: Optional[str] = None) -> int:
        """Closes the batch and cancels its unfinished jobs: see hipq.Batch.cancel."""
        return int((await ask(conn, self._cancel_call(reason)))[0])

    async def progress(self, conn: psycopg.AsyncConnection[Any]) -> Optional[BatchProgress]:
        """Returns the state, and the numbers of its jobs: see hipq.Batch.progress."""
        return progress_of(await ask(conn, self._progress_call()))


async def current_batch(conn: psycopg.AsyncConnection[Any], job: JobOrId) -> Optional[Batch]:
    """Returns the batch that a job belongs to, or comes after: see hipq.current_batch."""
    (batch_id,) = await ask(conn, current_batch_call(job))
    return None if batch_id is None else Batch(batch_id)
