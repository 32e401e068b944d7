"""Runs one job in a task, and gives its answer."""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Optional

from ..answer import Answer, failure, log_failure, log_told, rolled_back, success
from ..handlers import Handlers
from .answers import Answers
from .job import Job

log = logging.getLogger("hipq")


async def run(job: Job, handlers: Handlers, answers: Answers) -> None:
    """Calls the handler and tells the server what became of the job. Raises nothing.

    The handler has a task of its own, which may be cancelled; the answer is this one's.
    """
    job._task = asyncio.ensure_future(handlers.handle_soon(job))
    await asyncio.wait([job._task])
    error = error_of(job._task)
    if error is not None:
        if not job.cancelled:
            log_failure(job, error)
        await answer_failure(job, error, answers)
    else:
        await answer_success(job, job._task.result(), answers)


def error_of(task: asyncio.Task[Any]) -> Optional[BaseException]:
    """What a task that is done has raised."""
    return asyncio.CancelledError("cancelled") if task.cancelled() else task.exception()


async def answer_success(job: Job, result: Any, answers: Answers) -> None:
    """Completes the job, unless the handler has; what cannot be a result fails it."""
    answer = rolled_back(job) if job._has_ended else success(job, result)
    job._has_ended = True
    try:
        await give(job, answer, answers)
    except Exception as error:
        log.warning("job %d (%s) cannot be completed: %s", job.id, job.type, error)
        await answer_failure(job, error, answers)


async def answer_failure(job: Job, error: BaseException, answers: Answers) -> None:
    """Fails or releases the job."""
    job._has_ended = True
    try:
        await give(job, failure(job, error), answers)
    except Exception as other:
        log.error("job %d (%s) cannot be answered: %s", job.id, job.type, other)


async def give(job: Job, answer: Optional[Answer], answers: Answers) -> None:
    """Gives an answer; of an attempt that is over there is nothing to say."""
    if answer is None or job.cancelled:
        return
    await answers.tell(answer)
    log_told(answer)
