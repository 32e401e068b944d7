"""Like hipq.opentelemetry, but for an AsyncConnection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

import psycopg

from ..opentelemetry import instrument, sending, tell_count, tell_id
from . import enqueueing

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..calls import ManyOptions, Options

__all__ = ["enqueue", "enqueue_many", "instrument"]


async def enqueue(
    conn: psycopg.AsyncConnection[Any],
    job_type: str,
    data: Any = None,
    **options: Unpack[Options],
) -> int:
    """Like hipq.aio.enqueue, in its own span, which becomes the parent of the job."""
    traced: dict[str, Any] = {**options}
    with sending(job_type, traced) as span:
        job_id = await enqueueing.enqueue(conn, job_type, data, **traced)
        tell_id(span, job_id)
    return job_id


async def enqueue_many(
    conn: psycopg.AsyncConnection[Any],
    job_type: str,
    items: Sequence[Any],
    *,
    job_keys: Optional[Sequence[Optional[str]]] = None,
    **options: Unpack[ManyOptions],
) -> list[int]:
    """Like hipq.aio.enqueue_many, in one span, which becomes the parent of all the jobs."""
    traced: dict[str, Any] = {**options}
    with sending(job_type, traced) as span:
        ids = await enqueueing.enqueue_many(conn, job_type, items, job_keys=job_keys, **traced)
        tell_count(span, ids)
    return ids
