"""Checks regularly which attempts are over, and sends heartbeats for an unbound worker."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Optional

import psycopg

from .. import statements
from ..errors import is_lost
from ..settings import HEARTBEAT, Settings
from .answers import Answers
from .job import Job

log = logging.getLogger("hipq")


class Keeper:
    """A task in addition to the worker's own."""

    def __init__(
        self, settings: Settings, answers: Answers, running: Callable[[], list[Job]]
    ) -> None:
        self._settings = settings
        self._answers = answers
        self._running = running
        self._next_beat = 0.0
        self.worker_id: Optional[int] = None

    async def run(self) -> None:
        """Checks until the task is cancelled."""
        while True:
            await asyncio.sleep(self._settings.look)
            try:
                await self._look()
            except psycopg.Error as error:
                # The worker's own task gets errors of the worker from claim().
                if not is_lost(error):
                    log.debug("the keeper could not look: %s", error)

    async def deregister(self) -> None:
        """Deregisters the worker. Raises nothing."""
        try:
            await self._answers.ask(statements.DEREGISTER, (self.worker_id,))
        except psycopg.Error as error:
            log.info("could not deregister: %s", error)

    async def _look(self) -> None:
        if self.worker_id is None:
            return
        if not self._settings.listen and time.monotonic() >= self._next_beat:
            await self._answers.ask(statements.HEARTBEAT, (self.worker_id,))
            self._next_beat = time.monotonic() + HEARTBEAT
        jobs = [job for job in self._running() if not job._has_ended and not job.cancelled]
        if jobs:
            await self._tell_those_that_are_over(jobs)

    async def _tell_those_that_are_over(self, jobs: list[Job]) -> None:
        names = ([job.id for job in jobs], [job.attempt for job in jobs])
        still_run = set((await self._answers.ask(statements.STILL_RUN, names))[0][0])
        for job in jobs:
            if job.id not in still_run and not job._has_ended:
                log.info("job %d (%s): attempt %d is over", job.id, job.type, job.attempt)
                job._cancel()
