"""Enqueues jobs and waits for them, on a psycopg AsyncConnection, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import psycopg
from psycopg.rows import tuple_row

from ..calls import Call, Outcome, enqueue_call, enqueue_many_call, outcome_of, wait_for_call
from ..durations import Duration

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..calls import ManyOptions, Options


async def ask(conn: psycopg.AsyncConnection[Any], call: Call) -> tuple[Any, ...]:
    """Returns the one row of a call. Raises TypeError if the connection is not for asyncio."""
    if isinstance(conn, psycopg.Connection):
        raise TypeError("hipq.aio needs an AsyncConnection")
    async with conn.cursor(row_factory=tuple_row) as cursor:
        await cursor.execute(call.sql, call.values)
        row = await cursor.fetchone()
    assert row is not None
    return row


async def enqueue(
    conn: psycopg.AsyncConnection[Any],
    job_type: str,
    data: Any = None,
    **options: Unpack[Options],
) -> int:
    """Enqueues a job in the transaction of `conn`: see hipq.enqueue. Returns its id."""
    return int((await ask(conn, enqueue_call(job_type, data, options)))[0])


async def enqueue_many(
    conn: psycopg.AsyncConnection[Any],
    job_type: str,
    items: Sequence[Any],
    *,
    job_keys: Optional[Sequence[Optional[str]]] = None,
    **options: Unpack[ManyOptions],
) -> list[int]:
    """Enqueues a job for each item: see hipq.enqueue_many. Returns their ids."""
    return list((await ask(conn, enqueue_many_call(job_type, items, job_keys, options)))[0])


async def wait_for(
    conn: psycopg.AsyncConnection[Any], job_id: int, timeout: Optional[Duration] = 60
) -> Outcome:
    """Waits until a job is final, or for `timeout`: see hipq.wait_for."""
    return outcome_of(await ask(conn, wait_for_call(job_id, timeout)))
