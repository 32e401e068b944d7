"""The errors that the library raises, and those with which a handler ends its job."""

from __future__ import annotations

from typing import NoReturn

import psycopg

from .durations import Duration

ATTEMPT_IS_OVER = "HQ003"


class HipqError(Exception):
    """The base class of all errors of this library."""


class Permanent(HipqError):
    """A handler raises this: the job has failed, and a retry cannot help."""


class RetryAfter(HipqError):
    """A handler raises this: the attempt has failed; a retry, which is charged, waits this long."""

    def __init__(self, delay: Duration, message: str = "retry asked for") -> None:
        super().__init__(message)
        self.delay = delay


class Release(HipqError):
    """A handler raises this: the job runs again after the delay, and no retry is charged."""

    def __init__(self, delay: Duration = 0) -> None:
        super().__init__(f"released for {delay}")
        self.delay = delay


class AttemptOver(HipqError):
    """The attempt is over: cancelled, timed out, or another worker has the job. Stop working."""

    def __init__(self, job_id: int, attempt: int) -> None:
        super().__init__(f"attempt {attempt} of job {job_id} is over")
        self.job_id = job_id
        self.attempt = attempt


class NameTaken(HipqError):
    """A worker of the role that is still there has the name."""


class WorkerEnded(HipqError):
    """Another program has taken over the worker's name, or the worker was deregistered."""


class PooledSession(HipqError):
    """A pooler shares the worker's session with other clients, so no worker can be bound to it."""


def is_over(error: BaseException) -> bool:
    """Whether this is the server's error for an attempt that is over."""
    return isinstance(error, psycopg.Error) and error.sqlstate == ATTEMPT_IS_OVER


def is_lost(error: BaseException) -> bool:
    """Whether the connection is lost: the error has no SQLSTATE, or the SQLSTATE of a lost one."""
    if not isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
        return False
    return error.sqlstate is None or error.sqlstate.startswith(("08", "57P"))


def may_pass(error: BaseException) -> bool:
    """Whether the server may accept the same statement later.

    The connection is lost; the server lacks resources, is not writable yet (a standby before its
    promotion), or has rolled back one of several transactions; or a statement or a lock took too
    long.
    """
    if is_lost(error):
        return True
    sqlstate = error.sqlstate if isinstance(error, psycopg.Error) else None
    return sqlstate is not None and (
        sqlstate.startswith(("53", "40")) or sqlstate in ("25006", "57014", "55P03")
    )


def claim_error(error: psycopg.Error, name: str) -> Exception:
    """Returns the exception to raise for an error of claim() or heartbeat()."""
    if error.sqlstate not in ("55000", "42704"):
        return error
    return WorkerEnded(
        f'worker "{name}" has ended: another program has taken over its name, or somebody has '
        f"deregistered it ({error.diag.message_primary})"
    )


def register_error(error: psycopg.Error, name: str) -> Exception:
    """Returns the exception to raise for an error of register_worker()."""
    if error.sqlstate != "55006":
        return error
    return NameTaken(
        f'a worker named "{name}" is there already; give this one another name, or take the name '
        "over with Worker(take_over=True)"
    )


def raise_in_place(error: psycopg.Error, better: Exception) -> NoReturn:
    """Raises the better error, with the original error as its cause."""
    if better is error:
        raise error
    raise better from error
