"""Runs jobs in a thread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .answer import Answer
from .ending import answers_for
from .handlers import Handlers
from .job import Job


def run(jobs: Sequence[Job], handlers: Handlers) -> list[Answer]:
    """Calls the handler. Returns the answers to the server, not for jobs that are over."""
    return answers_for(jobs, endings_of(jobs, handlers))


def endings_of(jobs: Sequence[Job], handlers: Handlers) -> Sequence[Any]:
    """Returns for each job its result, or the exception of its handler."""
    try:
        if handlers.takes_many(jobs[0].type):
            return handlers.handle_many(jobs)
        return [handlers.handle(jobs[0])]
    except BaseException as error:  # sys.exit() in a handler is a failure, too
        return [error] * len(jobs)
