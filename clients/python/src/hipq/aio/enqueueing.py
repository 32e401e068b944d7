"""Enqueues jobs and waits for them, on a psycopg AsyncConnection, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

import psycopg
from psycopg.rows import tuple_row

from ..calls import (
    Call,
    JobOrId,
    Outcome,
    enqueue_call,
    enqueue_many_call,
    standing_call,
    wait_for_call,
)
from ..durations import Duration
from ..graphs import GraphBase, ids_of

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
    return Outcome(*await ask(conn, wait_for_call(job_id, timeout)))


async def outcome_of(
    conn: psycopg.AsyncConnection[Any], job: Union[JobOrId, str], of: Optional[JobOrId] = None
) -> str:
    """Returns how a job ended, or "waiting" or "running": see hipq.outcome_of."""
    return str((await ask(conn, standing_call("outcome_of", job, of)))[0])


async def result_of(
    conn: psycopg.AsyncConnection[Any], job: Union[JobOrId, str], of: Optional[JobOrId] = None
) -> Any:
    """Returns what the handler of a job returned: see hipq.result_of."""
    return (await ask(conn, standing_call("result_of", job, of)))[0]


class Graph(GraphBase):
    """Jobs that are enqueued together, and come after each other by their names: see hipq.Graph."""

    async def enqueue(self, conn: psycopg.AsyncConnection[Any]) -> dict[str, int]:
        """Enqueues all jobs, or none, in the transaction of `conn`. Returns the id of each name."""
        return ids_of(await ask(conn, self._call()))
