"""Batches: jobs that are counted together, with a callback that runs after them, as calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Optional

from psycopg.types.json import Jsonb

from .calls import BatchFields, Call, JobOrId, id_of, plain
from .durations import Duration, duration_text

CallWhen = Literal["finished", "succeeded", "first_failure"]
"""When a callback runs: all jobs have ended, all have succeeded, or one has failed."""


class BatchProgress(NamedTuple):
    """The state of a batch, and the numbers of its jobs. Failed: or cancelled, or expired.

    state: "open", "running", "finished", or "abandoned": it was not closed in time.
    """

    state: str
    jobs: int
    unfinished: int
    succeeded: int
    failed: int
    skipped: int


def create_call(
    name: Optional[str],
    callback_type: Optional[str],
    callback_data: Any,
    call_when: Optional[CallWhen],
    queue: Optional[str],
    expires_after: Optional[Duration],
    closed: bool,
) -> Call:
    """Returns a call of hipq.create_batch() with the given arguments."""
    data = None if callback_data is None else Jsonb(plain(callback_data))
    lasts = None if expires_after is None else duration_text(expires_after)
    pairs = [
        ("name => %s::text", name),
        ("callback_type => %s::text", callback_type),
        ("callback_data => %s::jsonb", data),
        ("call_when => %s::text", call_when),
        ("queue => %s::text", queue),
        ("expires_after => %s::text::hipq.duration", lasts),
        ("closed => %s::boolean", closed or None),
    ]
    given = [(sql, value) for sql, value in pairs if value is not None]
    sql = f"SELECT hipq.create_batch({', '.join(sql for sql, _ in given)})"
    return Call(sql, [value for _, value in given])


def current_batch_call(job: JobOrId) -> Call:
    """Returns a call of hipq.current_batch()."""
    return Call("SELECT hipq.current_batch(job => %s::bigint)", [id_of(job)])


class BatchBase(BatchFields):
    """A batch, by its id. Subclasses act in the transaction of a connection."""

    def _close_call(self) -> Call:
        return Call("SELECT hipq.close_batch(%s::bigint)", [self.id])

    def _cancel_call(self, reason: Optional[str]) -> Call:
        return Call("SELECT hipq.cancel_batch(%s::bigint, reason => %s::text)", [self.id, reason])

    def _progress_call(self) -> Call:
        # One row, also without a batch.
        return Call(
            "SELECT state, jobs, unfinished, succeeded, failed, skipped"
            " FROM (SELECT) AS one LEFT JOIN hipq.batch_progress(%s::bigint) ON true",
            [self.id],
        )


def progress_of(row: Sequence[Any]) -> Optional[BatchProgress]:
    """Returns the progress, from the row of a call; None: there is no such batch."""
    return None if row[0] is None else BatchProgress(*row)
