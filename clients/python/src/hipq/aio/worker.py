"""A worker that runs each job in a task."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Optional

import psycopg

from .. import statements
from ..answer import Answer, replies_to
from ..backoff import Backoff
from ..errors import is_lost, may_pass
from ..fields import JobFields
from ..handlers import Handlers
from ..settings import GOODBYE, settings_of
from .answers import Answers
from .bell import Bell
from .connecting import connect
from .job import Job
from .keeper import Keeper
from .patience import Patience
from .running import Handling, begin, end
from .session import Session
from .signals import caught

log = logging.getLogger("hipq")


class Worker(Handlers):
    """Like hipq.Worker, with the same arguments, but its handlers are coroutines.

    Run it with asyncio.run(worker.run()). A handler that blocks the loop blocks the worker.
    """

    is_async = True

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
        self._running: dict[tuple[int, int], Job] = {}
        self._stops = 0
        self._loop: Optional[asyncio.AbstractEventLoop] = None
        self._bell: Bell
        self._answers: Answers

    def stop(self) -> None:
        """Claims no more jobs; run() returns when running jobs end. A second call gives them back.

        Any thread may call this.
        """
        self._stops += 1
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._bell.ring)

    async def run(self) -> None:
        """Runs jobs until stop(), SIGTERM or SIGINT; a second one gives back the running jobs.

        Raises the same errors as run() of hipq.Worker.
        """
        if not self.job_types:
            raise RuntimeError('there is no handler: register one with @worker.job("type")')
        if self._loop is not None:
            raise RuntimeError("the worker has run already; make another one")
        self._bell = Bell()
        self._loop = asyncio.get_running_loop()
        self._answers = Answers(self.settings.connection, self._patience, self._have_settled)
        keeper = Keeper(self.settings, self._answers, self._jobs)
        with caught(self.stop):
            keeping = asyncio.ensure_future(keeper.run())
            try:
                await self._serve_until_stopped(keeper)
            finally:
                keeping.cancel()
                self._cancel_all()
                await self._say_goodbye(keeper)
                await self._answers.close()

    @property
    def _is_stopping(self) -> bool:
        return self._stops > 0

    def _jobs(self) -> list[Job]:
        return list(self._running.values())

    def _cancel_all(self) -> None:
        for job in self._jobs():
            job._cancel()

    async def _connect(self) -> psycopg.AsyncConnection[tuple[Any, ...]]:
        return await connect(self.settings.connection)

    async def _serve_until_stopped(self, keeper: Keeper) -> None:
        backoff = Backoff()
        take_over = self.settings.take_over
        connection: Optional[psycopg.AsyncConnection[Any]] = await self._connect()
        while True:
            try:
                if connection is None:
                    connection = await self._connect()
                session = Session(connection, self.settings, self._patience)
                await session.register(self.job_types, take_over, keeper.worker_id)
                take_over = True  # from now on the worker's own earlier session may have the name
                keeper.worker_id = session.worker_id
                backoff.reset()
                await self._serve(session)
                keeper.worker_id = None
                return
            except psycopg.Error as error:
                if not (is_lost(error) or (keeper.worker_id and may_pass(error))):
                    raise
                log.warning("lost the server: %s", error)
            finally:
                if connection is not None:
                    await connection.close()
                    connection = None
            await self._bell.wait(backoff.next())
            if self._is_stopping:
                return await self._drain()

    async def _serve(self, session: Session) -> None:
        log.info("worker %d (%s) serves", session.worker_id, self.settings.name)
        backoff = Backoff()
        while not self._is_stopping:
            try:
                await self._look_for_jobs(session)
                backoff.reset()
            except psycopg.Error as error:
                if is_lost(error) or not may_pass(error):
                    raise
                log.warning("could not look for jobs: %s", error)
                await self._bell.wait(backoff.next())
        await session.drain()
        await self._drain(session)
        await session.deregister()

    async def _say_goodbye(self, keeper: Keeper) -> None:
        """Deregisters the worker, after any error, with a time limit in case the server is away."""
        if keeper.worker_id is not None:
            await asyncio.wait([asyncio.ensure_future(keeper.deregister())], timeout=GOODBYE)

    async def _look_for_jobs(self, session: Session) -> None:
        free = self.settings.concurrency - len(self._running)
        jobs = await self._claim(session, free)
        self._start(jobs)
        if free == 0:
            await self._wait(session)

    async def _claim(self, session: Session, free: int) -> list[tuple[Any, ...]]:
        if free == 0:
            return []
        return await session.claim(free, self.settings.wait)

    async def _wait(self, session: Session) -> None:
        """Waits for the end of a job, or stop()."""
        if not await self._bell.wait(self.settings.poll):
            await session.heartbeat()

    def _start(self, rows: Sequence[tuple[Any, ...]]) -> None:
        jobs = [Job(row, self._answers) for row in rows]
        self._end_earlier({job.id for job in jobs})
        self._running.update({(job.id, job.attempt): job for job in jobs})
        for group in self.groups_of(jobs):
            begin(group, self).add_done_callback(partial(self._has_run, group))

    def _end_earlier(self, again: set[int]) -> None:
        """Ends the earlier attempts of this worker for the jobs that it has claimed again.

        heartbeat_attempts() reports by job, so it would not report these attempts.
        """
        for job in self._jobs():
            if job.id in again:
                job._cancel()

    def _has_run(self, jobs: Sequence[Job], task: Handling) -> None:
        given: list[Answer] = []
        try:
            given = end(jobs, self, task)
        finally:
            answered = {answer.job for answer in given}
            self._forget([job for job in jobs if job not in answered])
        self._answers.tell(given)

    def _have_settled(self, answers: Sequence[Answer]) -> None:
        done, again = replies_to(answers)
        self._forget(done)
        self._answers.tell(again)

    def _forget(self, jobs: Sequence[JobFields]) -> None:
        if not jobs:
            return
        for job in jobs:
            del self._running[job.id, job.attempt]
        self._bell.ring()

    async def _drain(self, session: Optional[Session] = None) -> None:
        """Waits for the running jobs. After the second stop(), gives them back."""
        while self._running and self._stops < 2:
            if not await self._bell.wait(self.settings.poll) and session is not None:
                await session.heartbeat()
        if self._running:
            await self._give_back()

    async def _give_back(self) -> None:
        self._answers.give_up()
        jobs = [job for job in self._jobs() if not job._has_ended]
        self._cancel_all()
        try:
            names = [job.id for job in jobs], [job.attempt for job in jobs]
            await self._answers.ask(statements.RELEASE_MANY, names)
        except psycopg.Error as error:
            log.warning("could not give back %d jobs: %s", len(jobs), error)
