"""What the library raises, and what a handler raises to say how its job ended."""

from __future__ import annotations

from typing import NoReturn

import psycopg

from .durations import Duration

ATTEMPT_IS_OVER = "HQ003"


class HipqError(Exception):
    """The parent of all errors of this library."""


class Permanent(HipqError):
    """Raised by a handler: the job has failed, and trying again cannot help."""


class RetryAfter(HipqError):
    """Raised by a handler: the attempt has failed, and a retry, which is charged, waits so long."""

    def __init__(self, delay: Duration, message: str = "retry asked for") -> None:
        super().__init__(message)
        self.delay = delay


class Release(HipqError):
    """Raised by a handler: the job is given back, and runs again after a delay, uncharged."""

    def __init__(self, delay: Duration = 0) -> None:
        super().__init__(f"released for {delay}")
        self.delay = delay


class AttemptOver(HipqError):
    """The attempt has ended: cancelled, timed out, or somebody else has the job. Stop working."""

    def __init__(self, job_id: int, attempt: int) -> None:
        super().__init__(f"attempt {attempt} of job {job_id} is over")
        self.job_id = job_id
        self.attempt = attempt


class NameTaken(HipqError):
    """Another worker of the role has the name, and is there."""


class WorkerEnded(HipqError):
    """The server knows the worker no more: taken over, or deregistered by somebody."""


class PooledSession(HipqError):
    """A pooler gives the worker's session to others, so it cannot be bound to it."""


def is_over(error: BaseException) -> bool:
    """Whether the server said that the attempt is over."""
    return isinstance(error, psycopg.Error) and error.sqlstate == ATTEMPT_IS_OVER


def is_lost(error: BaseException) -> bool:
    """Whether the connection is lost: no SQLSTATE came, or one that says so."""
    if not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def may_pass(error: BaseException) -> bool:
    """Whether the server may accept the same statement later.

    The connection is lost, or it lacks room, cannot be written to yet (a standby that is to be
    promoted), has undone one of several transactions, or a statement or a lock took too long.
    """
    if is_lost(error):
        return True
    sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
    return sqlstate is not None and (
        sqlstate.startswith(("53", "40")) or sqlstate in ("25006", "57014", "55P03")
    )


def claim_error(error: psycopg.Error, name: str) -> Exception:
    """What to raise in place of an error of claim() or heartbeat()."""
    if error.sqlstate not in ("55000", "42704"):
        return error
    return WorkerEnded(
        f'worker "{name}" has ended: another program has taken over its name, or somebody has '
        f"deregistered it ({error.diag.message_primary})"
    )


def register_error(error: psycopg.Error, name: str) -> Exception:
    """What to raise in place of an error of register_worker()."""
    if error.sqlstate != "55006":
        return error
    return NameTaken(
        f'a worker named "{name}" is there already; give this one another name, or take the name '
        "over with Worker(take_over=True)"
    )


def raise_in_place(error: psycopg.Error, better: Exception) -> NoReturn:
    """Raises the better error, with the other one as its cause."""
    if better is error:
        raise error
    raise better from error
