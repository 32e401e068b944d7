"""A worker that runs each job in a thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Optional

import psycopg

from . import statements
from .answer import Answer, replies_to
from .answers import Answers
from .backoff import Backoff
from .bell import Bell
from .connecting import connect
from .crew import Crew
from .errors import is_lost, may_pass
from .fields import JobFields
from .handlers import Handlers
from .job import Job
from .keeper import Keeper
from .patience import Patience
from .running import run
from .session import Session
from .settings import GOODBYE, settings_of
from .signals import caught

log = logging.getLogger("hipq")


class Worker(Handlers):
    """Runs jobs of queues, for the types that have a handler, `concurrency` at a time.

    conninfo: a conninfo of libpq; the environment supplies missing values (PGHOST ...).
    name: only one worker of a role can have it at a time; by default the host and the process.
    prefetch: how many more jobs it may be offered. capabilities: what job types may require.
    listen: binds the worker to its session, so that the server knows at once when it ends.
    pooler: the connections go through a pooler, so the worker is unbound and does not listen.
    take_over: takes the name from a worker that still has it.
    poll: seconds after which a worker without free capacity sends a heartbeat; and the longest wait
        of a claim in the server, if that is less than a second.
    look: seconds between two checks for attempts that are over.
    reply_timeout: the time limit in seconds for an answer of the server; then it reconnects.
    """

    def __init__(
        self,
        conninfo: str = "",
        *,
        queues: Sequence[str],
        name: Optional[str] = None,
        concurrency: int = 4,
        prefetch: int = 0,
        capabilities: Optional[Mapping[str, Any]] = None,
        listen: Optional[bool] = None,
        pooler: bool = False,
        take_over: bool = False,
        poll: float = 5.0,
        look: float = 1.0,
        reply_timeout: float = 30.0,
    ) -> None:
        super().__init__()
        self.settings = settings_of(
            conninfo, name, queues, concurrency, prefetch, capabilities, listen, pooler,
            take_over, poll, look, reply_timeout,
        )  # fmt: skip
        self._patience = Patience(reply_timeout)
        self._bell = Bell()
        self._lock = threading.Lock()
        self._running: dict[tuple[int, int], Job] = {}
        self._crew = Crew()
        self._stops = 0
        self._answers: Optional[Answers] = None
        self._keeper: Keeper

    def stop(self) -> None:
        """Claims no more jobs; run() returns when running jobs end. A second call gives them back.

        Any thread and any signal handler may call this.
        """
        self._stops += 1
        self._bell.ring()

    def run(self) -> None:
        """Runs jobs until stop(), SIGTERM or SIGINT; a second one gives back the running jobs.

        Raises NameTaken, WorkerEnded, PooledSession; psycopg.Error if it cannot connect at
        first, or register; RuntimeError without a handler. Reconnects after a lost connection.
        """
        if not self.job_types:
            raise RuntimeError('there is no handler: register one with @worker.job("type")')
        if self._answers is not None:
            raise RuntimeError("the worker has run already; make another one")
        self._answers = Answers(self.settings.connection, self._patience, self._have_settled)
        keeper = self._keeper = Keeper(self.settings, self._answers, self._jobs)
        with caught(self.stop):
            self._patience.start()
            keeper.start()
            try:
                self._serve_until_stopped(keeper)
            finally:
                keeper.stop()
                for job in self._jobs():
                    job._over.set()
                self._say_goodbye(keeper)
                self._answers.close()
                self._crew.close()
                self._patience.stop()

    @property
    def _is_stopping(self) -> bool:
        return self._stops > 0

    def _jobs(self) -> list[Job]:
        with self._lock:
            return list(self._running.values())

    def _serve_until_stopped(self, keeper: Keeper) -> None:
        backoff = Backoff()
        take_over = self.settings.take_over
        connection: Optional[psycopg.Connection[Any]] = connect(self.settings.connection)
        while True:
            try:
                if connection is None:
                    connection = connect(self.settings.connection)
                session = Session(
                    connection, self.settings, self._patience, self.job_types, take_over,
                    keeper.worker_id,
                )  # fmt: skip
                take_over = True  # from now on the worker's own earlier session may have the name
                keeper.worker_id = session.worker_id
                backoff.reset()
                self._serve(session)
                keeper.worker_id = None
                return
            except psycopg.Error as error:
                if not (is_lost(error) or (keeper.worker_id and may_pass(error))):
                    raise
                log.warning("lost the server: %s", error)
            finally:
                if connection is not None:
                    connection.close()
                    connection = None
            self._bell.wait(backoff.next())
            if self._is_stopping:
                return self._drain()

    def _serve(self, session: Session) -> None:
        log.info("worker %d (%s) serves", session.worker_id, self.settings.name)
        backoff = Backoff()
        while not self._is_stopping:
            try:
                self._look_for_jobs(session)
                backoff.reset()
            except psycopg.Error as error:
                if is_lost(error) or not may_pass(error):
                    raise
                log.warning("could not look for jobs: %s", error)
                self._bell.wait(backoff.next())
        session.drain()
        self._drain(session)
        session.deregister()

    def _say_goodbye(self, keeper: Keeper) -> None:
        """Deregisters the worker, after any error, with a time limit in case the server is away."""
        if keeper.worker_id is None:
            return
        last_words = threading.Thread(target=keeper.deregister, name="hipq goodbye", daemon=True)
        last_words.start()
        last_words.join(GOODBYE)

    def _look_for_jobs(self, session: Session) -> None:
        free = self.settings.concurrency - len(self._running)
        jobs = self._claim(session, free)
        self._start(jobs)
        if free == 0:
            self._wait(session)

    def _claim(self, session: Session, free: int) -> list[tuple[Any, ...]]:
        if free == 0:
            return []
        return session.claim(free, self.settings.wait)

    def _wait(self, session: Session) -> None:
        """Waits for the end of a job, or stop()."""
        if not self._bell.wait(self.settings.poll):
            session.heartbeat()

    def _start(self, rows: Sequence[tuple[Any, ...]]) -> None:
        assert self._answers is not None
        jobs = [Job(row, self._answers) for row in rows]
        self._end_earlier({job.id for job in jobs})
        with self._lock:
            self._running.update({(job.id, job.attempt): job for job in jobs})
        for group in self.groups_of(jobs):
            self._crew.run(f"hipq job {group[0].id}", partial(self._run, group))

    def _end_earlier(self, again: set[int]) -> None:
        """Ends the earlier attempts of this worker for the jobs that it has claimed again.

        heartbeat_attempts() reports by job, so it would not report these attempts.
        """
        for job in self._jobs():
            if job.id in again:
                job._over.set()

    def _run(self, jobs: Sequence[Job]) -> None:
        assert self._answers is not None
        given: list[Answer] = []
        try:
            given = run(jobs, self)
        finally:
            answered = {answer.job for answer in given}
            self._forget([job for job in jobs if job not in answered])
        self._answers.tell(given)

    def _have_settled(self, answers: Sequence[Answer]) -> None:
        assert self._answers is not None
        done, again = replies_to(answers)
        self._forget(done)
        self._answers.tell(again)

    def _forget(self, jobs: Sequence[JobFields]) -> None:
        if not jobs:
            return
        with self._lock:
            for job in jobs:
                del self._running[job.id, job.attempt]
        self._bell.ring()

    def _drain(self, session: Optional[Session] = None) -> None:
        """Waits for the running jobs. After the second stop(), gives them back."""
        while self._jobs() and self._stops < 2:
            if not self._bell.wait(self.settings.poll) and session is not None:
                session.heartbeat()
        if self._jobs():
            self._give_back()

    def _give_back(self) -> None:
        assert self._answers is not None
        self._answers.give_up()
        jobs = [job for job in self._jobs() if not job._has_ended]
        for job in jobs:
            job._over.set()
        try:
            names = [job.id for job in jobs], [job.attempt for job in jobs]
            self._answers.ask(statements.RELEASE_MANY, names)
        except psycopg.Error as error:
            log.warning("could not give back %d jobs: %s", len(jobs), error)
