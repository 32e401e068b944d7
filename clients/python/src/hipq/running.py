"""Runs one job in a thread, and gives its answer."""

from __future__ import annotations

import logging
from typing import Any, Optional

from .answer import Answer, failure, log_failure, log_told, rolled_back, success
from .answers import Answers
from .handlers import Handlers
from .job import Job

log = logging.getLogger("hipq")


def run(job: Job, handlers: Handlers, answers: Answers) -> None:
    """Calls the handler and tells the server what became of the job. Raises nothing."""
    try:
        result = handlers.handle(job)
    except BaseException as error:  # sys.exit() in a handler is a failure, too
        log_failure(job, error)
        answer_failure(job, error, answers)
    else:
        answer_success(job, result, answers)


def answer_success(job: Job, result: Any, answers: Answers) -> None:
    """Completes the job, unless the handler has; what cannot be a result fails it."""
    answer = rolled_back(job) if job._has_ended else success(job, result)
    job._has_ended = True
    try:
        give(job, answer, answers)
    except Exception as error:
        log.warning("job %d (%s) cannot be completed: %s", job.id, job.type, error)
        answer_failure(job, error, answers)


def answer_failure(job: Job, error: BaseException, answers: Answers) -> None:
    """Fails or releases the job."""
    job._has_ended = True
    try:
        give(job, failure(job, error), answers)
    except Exception as other:
        log.error("job %d (%s) cannot be answered: %s", job.id, job.type, other)


def give(job: Job, answer: Optional[Answer], answers: Answers) -> None:
    """Gives an answer; of an attempt that is over there is nothing to say."""
    if answer is None or job.cancelled:
        return
    answers.tell(answer)
    log_told(answer)
