"""Runs jobs in a task, and gives their answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from typing import Any, Optional

from ..answer import Answer, failure, log_told
from ..ending import answers_for
from ..handlers import Handlers
from .answers import Answers
from .job import HandlerTask, Job

log = logging.getLogger("hipq")


async def run(jobs: Sequence[Job], handlers: Handlers, answers: Answers) -> None:
    """Calls the handler and tells the server what became of the jobs. Raises nothing.

    The handler has a task of its own, which may be cancelled; the answers are this one's.
    """
    given = answers_for(jobs, await endings_of(jobs, handlers))
    await answers.tell(*given)
    for answer in given:
        await conclude(answer, answers)


async def endings_of(jobs: Sequence[Job], handlers: Handlers) -> Sequence[Any]:
    """Of each job its result, or what its handler raised."""
    takes_many = handlers.takes_many(jobs[0].type)
    call = handlers.handle_many_soon(jobs) if takes_many else handlers.handle_soon(jobs[0])
    task = asyncio.ensure_future(call)
    shared = HandlerTask(task, jobs)
    for job in jobs:
        job._task = shared
    await asyncio.wait([task])
    error = error_of(task)
    if error is not None:
        return [error] * len(jobs)
    return list(task.result()) if takes_many else [task.result()]


def error_of(task: asyncio.Task[Any]) -> Optional[BaseException]:
    """What a task that is done has raised."""
    return asyncio.CancelledError("cancelled") if task.cancelled() else task.exception()


async def conclude(answer: Answer, answers: Answers) -> None:
    """Logs what became of an answer. A success that is refused is a failure."""
    try:
        log_told(answer)
    except Exception as error:
        job = answer.job
        again = failure(job, error) if answer.word == "completed" else None
        if again is None:
            log.error("job %d (%s) cannot be answered: %s", job.id, job.type, error)
            return
        log.warning("job %d (%s) cannot be completed: %s", job.id, job.type, error)
        await answers.tell(again)
        await conclude(again, answers)
