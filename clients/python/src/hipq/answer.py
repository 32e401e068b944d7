"""The answer of a worker to the server, made from the result or the exception of a handler."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Optional

from psycopg.types.json import Jsonb

from . import statements
from .calls import plain
from .durations import duration_text
from .error_texts import error_text, in_ascii
from .errors import AttemptOver, Permanent, Release, RetryAfter, is_over, may_pass
from .fields import JobFields

log = logging.getLogger("hipq")


@dataclass(eq=False)
class Answer:
    """The answer for an attempt, and the server's reply to it.

    sql: a statement for many attempts, with ids, attempts, and values if there are any, that
    returns the ids whose attempts were not over; or, with `alone`, a statement for this attempt.
    word: the action, for logs. delay: the time until the retry of a failure, if its handler set it.
    text: the original error, if the value is in ASCII.
    """

    word: str
    job: JobFields
    sql: str
    value: Any
    alone: bool = False
    attempt_is_over: bool = False
    error: Optional[Exception] = None
    delay: Optional[str] = None
    text: Optional[str] = None


@dataclass
class Batch:
    """Answers that one statement sends."""

    sql: str
    answers: Sequence[Answer]

    @property
    def values(self) -> tuple[Any, ...]:
        """The values of the statement."""
        if self.answers[0].alone:
            (answer,) = self.answers
            return (answer.job.id, answer.job.attempt, answer.value)
        values: tuple[Any, ...] = (
            [answer.job.id for answer in self.answers],
            [answer.job.attempt for answer in self.answers],
            [answer.value for answer in self.answers],
        )
        if self.answers[0].delay is None:
            return values
        return (*values, [answer.delay for answer in self.answers])

    def settle(self, returned: Any) -> None:
        """Settles the answers: the server accepted all, or those whose ids it returned."""
        for answer in self.answers:
            answer.attempt_is_over = not answer.alone and answer.job.id not in returned

    def refuse(self, error: Exception) -> None:
        """Settles the answers with the server's error. An attempt that is over needs no more."""
        for answer in self.answers:
            answer.attempt_is_over = is_over(error)
            answer.error = None if answer.attempt_is_over else error

    def apart(self) -> list[Batch]:
        """Returns one batch for each answer."""
        return [Batch(self.sql, [answer]) for answer in self.answers]


def batches_of(answers: Iterable[Answer]) -> list[Batch]:
    """Groups the answers by statement, so that each statement sends as many as possible."""
    together: dict[str, list[Answer]] = {}
    batches = []
    for answer in answers:
        if answer.alone:
            batches.append(Batch(answer.sql, [answer]))
        else:
            together.setdefault(answer.sql, []).append(answer)
    return batches + [Batch(sql, some) for sql, some in together.items()]


def success(job: JobFields, result: Any) -> Answer:
    """Returns the answer for a handler that returned."""
    return Answer("completed", job, statements.COMPLETE_MANY, Jsonb(plain(result)))


def rolled_back(job: JobFields) -> Optional[Answer]:
    """Returns a failure after complete(): the server ignores it if the completion is committed."""
    return failure(job, RuntimeError("what completed the job was rolled back"))


def failure(job: JobFields, error: BaseException) -> Optional[Answer]:
    """Returns the answer for a handler that raised. None: the attempt is over, so there is none."""
    if isinstance(error, AttemptOver):
        return None
    if isinstance(error, Release):
        return released(job, error)
    if isinstance(error, RetryAfter):
        return failed_until(job, error)
    is_final = isinstance(error, Permanent)
    sql = statements.FAIL_MANY_FOR_GOOD if is_final else statements.FAIL_MANY
    return Answer("failed", job, sql, error_text(error))


def failed_until(job: JobFields, error: RetryAfter) -> Answer:
    """Returns the answer for a handler that raised RetryAfter. Ignores an invalid delay."""
    answer = Answer("failed", job, statements.FAIL_MANY_LATER, error_text(error))
    try:
        answer.delay = duration_text(error.delay)
    except Exception as wrong:
        return without_delay(answer, wrong)
    return answer


def without_delay(answer: Answer, error: Exception) -> Answer:
    """Returns the same failure, with a retry as the job type defines it."""
    job = answer.job
    log.warning("job %d (%s): its RetryAfter has no delay: %s", job.id, job.type, error)
    return Answer("failed", job, statements.FAIL_MANY, answer.text or answer.value)


def released(job: JobFields, release: Release) -> Optional[Answer]:
    """Returns the answer for a handler that gives its job back. An invalid delay fails the job."""
    try:
        delay = duration_text(release.delay)
    except Exception as error:
        return failure(job, error)
    return Answer("released", job, statements.RELEASE, delay, alone=True)


def instead_of(answer: Answer, error: Exception) -> Optional[Answer]:
    """Returns the answer to send after the server refused this one. None: nothing would help.

    A refused success or release fails the job. A refused failure is sent again in ASCII, and then
    without its delay.
    """
    if may_pass(error):
        return None
    if answer.word != "failed":
        return failure(answer.job, error)
    ascii_text = in_ascii(answer.value)
    if ascii_text != answer.value:
        return replace(answer, value=ascii_text, text=answer.value, error=None)
    return without_delay(answer, error) if answer.delay is not None else None


def log_failure(job: JobFields, error: BaseException) -> None:
    """Logs the error of a handler, with its traceback unless the handler raised it on purpose."""
    if not isinstance(error, (AttemptOver, Release)):
        is_deliberate = isinstance(error, (Permanent, RetryAfter))
        where = None if is_deliberate else error
        log.warning("job %d (%s) failed: %s", job.id, job.type, error_text(error), exc_info=where)


def replies_to(answers: Iterable[Answer]) -> tuple[list[JobFields], list[Answer]]:
    """Logs the server's replies. Returns the jobs that are done, and the answers to send now.

    A refused answer is sent in another form, if there is one.
    """
    done: list[JobFields] = []
    again: list[Answer] = []
    for answer in answers:
        other = next_of(answer)
        if other is None:
            done.append(answer.job)
        else:
            again.append(other)
    return done, again


def next_of(answer: Answer) -> Optional[Answer]:
    """Logs the server's reply. Returns the answer to send if it refused this one."""
    job, error = answer.job, answer.error
    if error is not None:
        return _in_other_form(answer, error)
    if answer.attempt_is_over:
        log.info("job %d (%s): its attempt %d is over", job.id, job.type, job.attempt)
    else:
        log.debug("job %d (%s) %s", job.id, job.type, answer.word)
    return None


def _in_other_form(answer: Answer, error: Exception) -> Optional[Answer]:
    job = answer.job
    again = instead_of(answer, error)
    if again is None:
        log.error("job %d (%s) cannot be answered: %s", job.id, job.type, error)
    else:
        log.warning("job %d (%s) cannot be %s: %s", job.id, job.type, answer.word, error)
    return again
