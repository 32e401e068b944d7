"""What a worker tells the server of a job, by what its handler returned or raised."""

from __future__ import annotations

import logging
from typing import Any, NamedTuple, Optional

from psycopg.types.json import Jsonb

from . import statements
from .calls import plain
from .durations import duration_text
from .errors import AttemptOver, Permanent, Release
from .fields import JobFields

log = logging.getLogger("hipq")


class Answer(NamedTuple):
    """A statement and its values; `word` says in logs what it does."""

    word: str
    sql: str
    values: tuple[Any, ...]


def success(job: JobFields, result: Any) -> Answer:
    """The answer of a handler that returned."""
    return Answer(
        "completed", statements.COMPLETE, (job.id, job.attempt, Jsonb(plain(result)))
    )


def rolled_back(job: JobFields) -> Optional[Answer]:
    """The answer of a handler that has completed the job itself: HQ003, if that is committed."""
    return failure(job, RuntimeError("what completed the job was rolled back"))


def error_text(error: BaseException) -> str:
    """The error of a failed attempt: never empty, without characters that a text cannot hold."""
    text = str(error) if isinstance(error, Permanent) else f"{type(error).__name__}: {error}"
    return text.replace("\0", "?") if text.strip() not in ("", "NONE") else repr(error)


def failure(job: JobFields, error: BaseException) -> Optional[Answer]:
    """The answer of a handler that raised; None: there is nobody to answer."""
    if isinstance(error, AttemptOver):
        return None
    if isinstance(error, Release):
        delay = duration_text(error.delay)
        return Answer("released", statements.RELEASE, (job.id, job.attempt, delay))
    is_retriable = not isinstance(error, Permanent)
    values = (job.id, job.attempt, error_text(error), is_retriable)
    return Answer("failed", statements.FAIL, values)


def log_failure(job: JobFields, error: BaseException) -> None:
    """Logs the error of a handler, with its traceback."""
    if not isinstance(error, (AttemptOver, Release)):
        log.warning("job %d (%s) failed: %r", job.id, job.type, error, exc_info=error)
