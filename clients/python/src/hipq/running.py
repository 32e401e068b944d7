"""Runs jobs in a thread, and sends their answers."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from .answer import Answer, instead_of, log_told
from .answers import Answers
from .ending import answers_for
from .handlers import Handlers
from .job import Job

log = logging.getLogger("hipq")


def run(jobs: Sequence[Job], handlers: Handlers, answers: Answers) -> None:
    """Calls the handler, and reports the results of the jobs to the server. Raises nothing."""
    given = answers_for(jobs, endings_of(jobs, handlers))
    answers.tell(*given)
    for answer in given:
        conclude(answer, answers)


def endings_of(jobs: Sequence[Job], handlers: Handlers) -> Sequence[Any]:
    """Returns for each job its result, or the exception of its handler."""
    try:
        if handlers.takes_many(jobs[0].type):
            return handlers.handle_many(jobs)
        return [handlers.handle(jobs[0])]
    except BaseException as error:  # sys.exit() in a handler is a failure, too
        return [error] * len(jobs)


def conclude(answer: Answer, answers: Answers) -> None:
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
        answers.tell(again)
        conclude(again, answers)
