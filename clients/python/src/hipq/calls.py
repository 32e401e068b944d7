"""Calls of SQL functions as a statement and its values, without a connection."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple, Optional, TypedDict, Union

from psycopg.types.json import Jsonb

from .durations import Duration, duration_text
from .fields import JobFields

When = Union[datetime, timedelta]
"""A time, or a duration from the start of the transaction."""

JobOrId = Union[int, JobFields]
"""A job by its id, or as its handler has it."""


@dataclass(frozen=True)
class BatchFields:
    """A batch, by its id."""

    id: int


BatchOrId = Union[int, BatchFields]
"""A batch, or its id."""


class CommonOptions(TypedDict, total=False):
    """The options of all jobs. Options that are missing or None have the values of the job type."""

    queue: Optional[str]
    scheduled_run_time: Optional[When]
    priority: Optional[int]
    timeout: Optional[Duration]
    throttle_factor: Optional[float]
    time_windows: Optional[str]
    max_retries: Optional[int]
    expires_time: Optional[When]
    throttle_key: Optional[str]
    queue_ttl: Optional[Duration]
    after_policy: Optional[Literal["succeeded", "finished", "any", "failed"]]
    on_failure: Optional[Literal["fail", "skip", "run"]]


class ManyOptions(CommonOptions, total=False):
    """The options of jobs that are enqueued together."""

    on_duplicate: Optional[
        Literal["error", "return", "replace", "merge", "debounce", "after", "after_first"]
    ]
    traceparent: Optional[str]
    after: Optional[Sequence[JobOrId]]
    batch: Optional[BatchOrId]
    after_batch: Optional[BatchOrId]


class Options(ManyOptions, total=False):
    """The options of one job."""

    job_key: Optional[str]
    worker: Optional[str]


class Call(NamedTuple):
    """A statement and its values."""

    sql: str
    values: Sequence[Any]


CASTS = {
    "queue": "text",
    "job_key": "text",
    "scheduled_run_time": "timestamptz",
    "priority": "integer",
    "timeout": "text::hipq.duration",
    "throttle_factor": "double precision",
    "time_windows": "text",
    "max_retries": "integer",
    "expires_time": "timestamptz",
    "on_duplicate": "text",
    "throttle_key": "text",
    "queue_ttl": "text::hipq.duration",
    "worker": "text",
    "traceparent": "text",
    "after": "bigint[]",
    "after_policy": "text",
    "on_failure": "text",
    "batch": "bigint",
    "after_batch": "bigint",
    "deadline": "timestamptz",
}


def plain(data: Any) -> Any:
    """Returns data for JSON: for a pydantic model, its contents."""
    if hasattr(data, "model_dump"):
        return data.model_dump(mode="json")
    if hasattr(data, "parse_obj"):
        return json.loads(data.json())  # pydantic 1
    return data


def id_of(job: Any) -> Any:
    """Returns the id of a job of a handler, or of a batch; anything else as it is."""
    return job.id if isinstance(job, (JobFields, BatchFields)) else job


def argument(name: str, value: Any) -> tuple[str, Any]:
    """Returns a named argument: its SQL, and its value."""
    cast = CASTS[name]
    if cast.endswith("hipq.duration"):
        return f"{name} => %s::{cast}", duration_text(value)
    if name == "after":
        value = [id_of(job) for job in value]
    if name in ("batch", "after_batch"):
        value = id_of(value)
    if isinstance(value, timedelta):
        return f"{name} => now() + %s::interval", value
    return f"{name} => %s::{cast}", value


def enqueue_call(job_type: str, data: Any, options: Mapping[str, Any]) -> Call:
    """Returns a call of hipq.enqueue() with the given arguments."""
    first: list[tuple[str, Any]] = [("%s::text", job_type)]
    if data is not None:
        first.append(("job_data => %s::jsonb", Jsonb(plain(data))))
    return function_call("enqueue", first, options, Options.__annotations__)


def enqueue_many_call(
    job_type: str,
    items: Sequence[Any],
    job_keys: Optional[Sequence[Optional[str]]],
    options: Mapping[str, Any],
) -> Call:
    """Returns a call of hipq.enqueue_many() with the given arguments."""
    first = [("%s::text", job_type), ("%s::jsonb[]", [Jsonb(plain(item)) for item in items])]
    if job_keys is not None:
        first.append(("job_keys => %s::text[]", list(job_keys)))
    return function_call("enqueue_many", first, options, ManyOptions.__annotations__)


def demand_known(function: str, options: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raises TypeError for an unknown option."""
    unknown = sorted(set(options) - set(known))
    if unknown:
        raise TypeError(
            f"{function}() has no option {unknown[0]!r}; there are {', '.join(sorted(known))}"
        )


def function_call(
    function: str,
    first: Sequence[tuple[str, Any]],
    options: Mapping[str, Any],
    known: Mapping[str, Any],
) -> Call:
    """Returns a call of a function of hipq. Raises TypeError for an unknown option."""
    demand_known(function, options, known)
    given = [argument(name, value) for name, value in options.items() if value is not None]
    pairs = [*first, *given]
    sql = f"SELECT hipq.{function}({', '.join(sql for sql, _ in pairs)})"
    return Call(sql, [value for _, value in pairs])


def wait_for_call(job_id: int, timeout: Optional[Duration]) -> Call:
    """Returns a call of hipq.wait_for(). None: no time limit."""
    return Call(
        "SELECT outcome, result, error"
        " FROM hipq.wait_for(%s::bigint, timeout => %s::text::hipq.duration)",
        [job_id, None if timeout is None else duration_text(timeout)],
    )


class Outcome(NamedTuple):
    """How a job ended. Before its end `outcome` is "waiting" or "running"."""

    outcome: str
    result: Any
    error: Optional[str]

    @property
    def succeeded(self) -> bool:
        """Whether the job is final without an error."""
        return self.outcome == "succeeded"


def standing_call(function: str, job: Union[JobOrId, str], of: Optional[JobOrId]) -> Call:
    """Returns a call of hipq.outcome_of() or result_of(), by id or by the name in a graph."""
    if isinstance(job, str):
        return Call(f"SELECT hipq.{function}(%s::text, job => %s::bigint)", [job, id_of(of)])
    return Call(f"SELECT hipq.{function}(%s::bigint)", [id_of(job)])
