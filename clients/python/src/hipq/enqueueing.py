"""Enqueues jobs and waits for them, on a psycopg Connection, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import psycopg
from psycopg.rows import tuple_row

from .calls import (
    Call,
    JobOrId,
    Outcome,
    enqueue_call,
    enqueue_many_call,
    standing_call,
    wait_for_call,
)
from .durations import Duration
from .graphs import GraphBase, ids_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .calls import ManyOptions, Options


def ask(conn: psycopg.Connection[Any], call: Call) -> tuple[Any, ...]:
    """Returns the one row of a call. Raises TypeError if the connection is for asyncio."""
    if isinstance(conn, psycopg.AsyncConnection):
        raise TypeError("an AsyncConnection needs hipq.aio")
    with conn.cursor(row_factory=tuple_row) as cursor:
        row = cursor.execute(call.sql, call.values).fetchone()
    assert row is not None
    return row


def enqueue(
    conn: psycopg.Connection[Any], job_type: str, data: Any = None, **options: Unpack[Options]
) -> int:
    """Enqueues a job in the transaction of `conn`. It is invisible to others until the commit.

    data: a value that JSON can represent, or a pydantic model; None is an empty object.
    options: queue, job_key, scheduled_run_time, priority, timeout, throttle_factor, time_windows,
    max_retries, expires_time, on_duplicate, throttle_key, queue_ttl, worker, traceparent, after,
    after_policy, on_failure, batch, after_batch, with the meanings of hipq.enqueue(). Times are
    datetimes, or timedeltas from now. after: a list of ids, or of the jobs of handlers. batch,
    after_batch: a Batch or an id.
    Returns the id of the job. Raises psycopg's errors, and TypeError for an unknown option.
    """
    return int(ask(conn, enqueue_call(job_type, data, options))[0])


def enqueue_many(
    conn: psycopg.Connection[Any],
    job_type: str,
    items: Sequence[Any],
    *,
    job_keys: Optional[Sequence[Optional[str]]] = None,
    **options: Unpack[ManyOptions],
) -> list[int]:
    """Enqueues a job for each item, in one statement; the options are the same for all.

    Returns the ids, in the order of the items. If hipq refuses one item, it enqueues none.
    """
    return list(ask(conn, enqueue_many_call(job_type, items, job_keys, options))[0])


def wait_for(
    conn: psycopg.Connection[Any], job_id: int, timeout: Optional[Duration] = 60
) -> Outcome:
    """Waits until a job is final, or for `timeout`; None waits for as long as it takes.

    Requires the right `read` on the queue. Raises psycopg.Error: 42704 if the job does not exist,
    25001 if the same transaction enqueued it.
    """
    return Outcome(*ask(conn, wait_for_call(job_id, timeout)))


def outcome_of(
    conn: psycopg.Connection[Any], job: Union[JobOrId, str], of: Optional[JobOrId] = None
) -> str:
    """Returns how a job ended, or "waiting" or "running".

    job: an id, a job, or the name of a job in a graph; then `of` is any job of this graph.
    Requires the right `read` on the queues of both. Raises psycopg.Error: 42704 if the job does not
    exist.
    """
    return str(ask(conn, standing_call("outcome_of", job, of))[0])


def result_of(
    conn: psycopg.Connection[Any], job: Union[JobOrId, str], of: Optional[JobOrId] = None
) -> Any:
    """Returns what the handler of a job returned; None: nothing, or the job has not ended.

    The arguments, rights and errors are those of outcome_of().
    """
    return ask(conn, standing_call("result_of", job, of))[0]


class Graph(GraphBase):
    """Jobs that are enqueued together, and come after each other by their names."""

    def enqueue(self, conn: psycopg.Connection[Any]) -> dict[str, int]:
        """Enqueues all jobs, or none, in the transaction of `conn`. Returns the id of each name.

        Raises psycopg.Error: 22023 if the jobs come after each other in a circle.
        """
        return ids_of(ask(conn, self._call()))
