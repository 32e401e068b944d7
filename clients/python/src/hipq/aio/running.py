"""Runs jobs in a task."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple, Optional

from ..answer import Answer
from ..ending import answers_for
from ..handlers import Handlers
from .job import HandlerTask, Job


Handling = asyncio.Task[Any]
"""A call of a handler, which can be cancelled."""


def begin(jobs: Sequence[Job], handlers: Handlers) -> Handling:
    """Calls the handler in a task."""
    takes_many = handlers.takes_many(jobs[0].type)
    call = handlers.handle_many_soon(jobs) if takes_many else handlers.handle_soon(jobs[0])
    task = asyncio.ensure_future(caught(call))
    shared = HandlerTask(task, jobs)
    for job in jobs:
        job._task = shared
    return task


def end(jobs: Sequence[Job], handlers: Handlers, task: Handling) -> list[Answer]:
    """Returns the answers of a task that is done, not for jobs that are over."""
    return answers_for(jobs, endings_of(jobs, handlers, task))


def endings_of(jobs: Sequence[Job], handlers: Handlers, task: Handling) -> Sequence[Any]:
    """Returns for each job its result, or the exception of its handler."""
    error = error_of(task)
    result = None if error is not None else task.result()
    if isinstance(result, Exit):
        error = result.error
    if error is not None:
        return [error] * len(jobs)
    return list(result) if handlers.takes_many(jobs[0].type) else [result]


class Exit(NamedTuple):
    """Wraps an exception of a handler that would end the loop if its task raised it."""

    error: BaseException


async def caught(call: Awaitable[Any]) -> Any:
    """Returns the result of a handler. sys.exit() in it is a failure, too."""
    try:
        return await call
    except (SystemExit, KeyboardInterrupt) as error:
        return Exit(error)


def error_of(task: Handling) -> Optional[BaseException]:
    """Returns the exception of a task that is done."""
    return asyncio.CancelledError("cancelled") if task.cancelled() else task.exception()
