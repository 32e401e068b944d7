"""Enqueues jobs and waits for them, on a psycopg Connection, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import psycopg
from psycopg.rows import tuple_row

from .calls import Call, Outcome, enqueue_call, enqueue_many_call, outcome_of, wait_for_call
from .durations import Duration

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
    max_retries, expires_time, on_duplicate, throttle_key, queue_ttl, worker, traceparent, with
    the meanings of hipq.enqueue(). Times are datetimes, or timedeltas from now.
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
    return outcome_of(ask(conn, wait_for_call(job_id, timeout)))
