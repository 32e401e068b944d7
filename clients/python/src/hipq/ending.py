"""Makes the answers for jobs whose handler has ended."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Optional

from .answer import Answer, failure, log_failure, rolled_back, success
from .errors import AttemptOver

log = logging.getLogger("hipq")

Job = Any
"""That of hipq or of hipq.aio."""


def answers_for(jobs: Sequence[Job], endings: Sequence[Any]) -> list[Answer]:
    """Returns the answers for the jobs whose attempts are not known to be over."""
    given = [answer_for(job, ending) for job, ending in zip(jobs, endings)]
    return [answer for answer in given if answer is not None]


def answer_for(job: Job, ending: Any) -> Optional[Answer]:
    """Returns the answer for a job. None: its attempt is over, so there is none."""
    has_completed = job._has_ended  # the handler itself, with complete()
    job._has_ended = True
    if isinstance(ending, AttemptOver) and not job.cancelled:
        ending = RuntimeError(f"another job of its batch ended it, or another worker's: {ending}")
    if isinstance(ending, BaseException):
        if not job.cancelled:
            log_failure(job, ending)
        answer = failure(job, ending)
    else:
        answer = rolled_back(job) if has_completed else success_or_failure(job, ending)
    return None if job.cancelled else answer


def success_or_failure(job: Job, result: Any) -> Optional[Answer]:
    """Returns a success. A value that cannot be a result fails the job."""
    try:
        return success(job, result)
    except Exception as error:
        log.warning("job %d (%s) cannot be completed: %s", job.id, job.type, error)
        return failure(job, error)
