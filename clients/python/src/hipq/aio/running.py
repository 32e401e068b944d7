"""Runs jobs in a task, and sends their answers."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple, Optional

from ..answer import Answer, instead_of, log_told
from ..ending import answers_for
from ..handlers import Handlers
from .answers import Answers
from .job import HandlerTask, Job

log = logging.getLogger("hipq")


async def run(jobs: Sequence[Job], handlers: Handlers, answers: Answers) -> None:
    """Calls the handler, and reports the results of the jobs to the server. Raises nothing.

    The handler has its own task, which can be cancelled; this task sends the answers.
    """
    given = answers_for(jobs, await endings_of(jobs, handlers))
    await answers.tell(*given)
    for answer in given:
        await conclude(answer, answers)


async def endings_of(jobs: Sequence[Job], handlers: Handlers) -> Sequence[Any]:
    """Returns for each job its result, or the exception of its handler."""
    takes_many = handlers.takes_many(jobs[0].type)
    call = handlers.handle_many_soon(jobs) if takes_many else handlers.handle_soon(jobs[0])
    task = asyncio.ensure_future(caught(call))
    shared = HandlerTask(task, jobs)
    for job in jobs:
        job._task = shared
    await asyncio.wait([task])
    error = error_of(task)
    result = None if error is not None else task.result()
    if isinstance(result, Exit):
        error = result.error
    if error is not None:
        return [error] * len(jobs)
    return list(result) if takes_many else [result]


class Exit(NamedTuple):
    """Wraps an exception of a handler that would end the loop if its task raised it."""

    error: BaseException


async def caught(call: Awaitable[Any]) -> Any:
    """Returns the result of a handler. sys.exit() in it is a failure, too."""
    try:
        return await call
    except (SystemExit, KeyboardInterrupt) as error:
        return Exit(error)


def error_of(task: asyncio.Task[Any]) -> Optional[BaseException]:
    """Returns the exception of a task that is done."""
    return asyncio.CancelledError("cancelled") if task.cancelled() else task.exception()


async def conclude(answer: Answer, answers: Answers) -> None:
    """Logs the server's reply to an answer. Sends a refused answer in another form."""
    try:
        log_told(answer)
    except Exception as error:
        job = answer.job
        again = instead_of(answer, error)
        if again is None:
            log.error("job %d (%s) cannot be answered: %s", job.id, job.type, error)
            return
        log.warning("job %d (%s) cannot be %s: %s", job.id, job.type, answer.word, error)
        await answers.tell(again)
        await conclude(again, answers)
