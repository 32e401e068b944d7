"""Graphs: jobs that come after each other by their names, as one call."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Optional, Union

from psycopg.types.json import Jsonb

from .calls import Call, CommonOptions, JobOrId, When, argument, demand_known, id_of, plain
from .durations import duration_text

if TYPE_CHECKING:
    from typing_extensions import Unpack


class GraphJobOptions(CommonOptions, total=False):
    """The options of a job in a graph. after: names in the graph, ids, and jobs of handlers."""

    job_key: Optional[str]
    after: Optional[Sequence[Union[JobOrId, str]]]


# Times that are given as durations count from the start of the transaction.
_GRAPH = """(
    SELECT coalesce(jsonb_agg(job || jsonb_strip_nulls(jsonb_build_object(
        'scheduled_run_time', now() + run_after, 'expires_time', now() + expires_after))
        ORDER BY place), '[]')
    FROM unnest(%s::jsonb[], %s::interval[], %s::interval[])
        WITH ORDINALITY AS given (job, run_after, expires_after, place))"""


class GraphBase:
    """The jobs of a graph. Subclasses enqueue them."""

    def __init__(self, *, queue: Optional[str] = None, deadline: Optional[When] = None) -> None:
        """queue: of the jobs that name none. deadline: expires_time of the jobs that give none."""
        self._options = {"queue": queue, "deadline": deadline}
        self._jobs: list[Jsonb] = []
        self._delays: dict[str, list[Optional[timedelta]]] = {
            "scheduled_run_time": [],
            "expires_time": [],
        }

    def job(
        self, name: str, job_type: str, data: Any = None, **options: Unpack[GraphJobOptions]
    ) -> str:
        """Adds a job, and returns its name, for `after` of others.

        options: those of hipq.enqueue() but on_duplicate, worker, traceparent, batch and
        after_batch. after: a list of names in the graph, of ids, and of the jobs of handlers.
        Raises TypeError for an unknown option.
        """
        demand_known("job", options, GraphJobOptions.__annotations__)
        job: dict[str, Any] = {"name": name, "job_type": job_type}
        if data is not None:
            job["job_data"] = plain(data)
        job.update((key, _json_of(key, value)) for key, value in options.items())
        for key, delays in self._delays.items():
            delays.append(job.pop(key) if isinstance(job.get(key), timedelta) else None)
        self._jobs.append(Jsonb(job))
        return name

    def _call(self) -> Call:
        """Returns a call of hipq.enqueue_graph(). Its row has the names and the ids."""
        given = [argument(key, value) for key, value in self._options.items() if value is not None]
        arguments = ", ".join([_GRAPH, *(sql for sql, _ in given)])
        sql = f"SELECT array_agg(name), array_agg(id) FROM hipq.enqueue_graph({arguments})"
        return Call(sql, [self._jobs, *self._delays.values(), *(value for _, value in given)])


def _json_of(key: str, value: Any) -> Any:
    if value is None:
        return None
    if key == "after":
        return [id_of(job) for job in value]
    if key in ("timeout", "queue_ttl"):
        return duration_text(value)
    return value.isoformat() if isinstance(value, datetime) else value


def ids_of(row: Sequence[Any]) -> dict[str, int]:
    """Returns the id of each name, from the row of a call."""
    names, ids = row
    return dict(zip(names or (), ids or ()))
