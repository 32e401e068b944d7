"""The fields of a job that a worker has claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Optional

# None of these can be infinite, because psycopg cannot load infinite times.
COLUMNS = (
    "id, attempt, queue, job_type, job_key, job_data, deadline, retry_count,"
    " max_retries, retry_reason, scheduled_run_time, created_time, original_job_id,"
    " traceparent"
)


@dataclass(eq=False)
class JobFields:
    """A job as claim() returned it. `data` is a model if the handler has a schema."""

    id: int
    attempt: int
    queue: str
    type: str
    key: Optional[str]
    data: Any
    deadline: datetime
    retry_count: int
    max_retries: int
    retry_reason: Optional[str]
    scheduled_run_time: datetime
    created_time: datetime
    original_job_id: Optional[int]
    traceparent: Optional[str]

    def row(self) -> Sequence[Any]:
        """Returns the fields, in the order of COLUMNS."""
        return [getattr(self, name) for name in JobFields.__dataclass_fields__]
