"""The session in which a worker is registered and claims its jobs."""

from __future__ import annotations

from typing import Any, Optional

import psycopg

from .. import statements
from ..durations import duration_text
from ..errors import PooledSession, claim_error, raise_in_place, register_error
from ..session import POOLED
from ..settings import Settings
from .patience import Patience


class Session:
    """A worker, on a connection in autocommit mode."""

    def __init__(
        self,
        connection: psycopg.AsyncConnection[tuple[Any, ...]],
        settings: Settings,
        patience: Patience,
    ) -> None:
        self.connection = connection
        self.worker_id = 0
        self._settings = settings
        self._patience = patience

    async def register(
        self, job_types: list[str], take_over: bool, worker_id: Optional[int] = None
    ) -> None:
        """Registers the worker. An unbound worker keeps its id, to which its running jobs belong.

        Raises NameTaken if another worker has the name, PooledSession if the worker would be
        bound to a session of a pooler, and psycopg.Error for all other errors.
        """
        await self._demand_own_session()
        if worker_id is not None and not self._settings.listen:
            self.worker_id = worker_id
            return
        try:
            registration = self._settings.registration(job_types, take_over)
            rows = await self._ask(statements.REGISTER, registration)
        except psycopg.Error as error:
            raise_in_place(error, register_error(error, self._settings.name))
        self.worker_id = rows[0][0]

    async def _ask(self, sql: str, values: Any, wait: float = 0) -> list[tuple[Any, ...]]:
        with self._patience.limits(self.connection, wait):
            return await (await self.connection.execute(sql, values, binary=True)).fetchall()

    async def _demand_own_session(self) -> None:
        if not self._settings.listen:
            return
        if await self._ask(statements.SERVER_PROCESS, ()) != [(self.connection.info.backend_pid,)]:
            raise PooledSession(POOLED)

    async def claim(self, most: int, wait: float) -> list[tuple[Any, ...]]:
        """Accepts at most `most` jobs. Raises WorkerEnded if it was replaced or deregistered."""
        try:
            values = (self.worker_id, most, duration_text(wait))
            return await self._ask(statements.CLAIM, values, wait)
        except psycopg.Error as error:
            raise_in_place(error, claim_error(error, self._settings.name))

    async def heartbeat(self) -> None:
        """Sends a heartbeat, which also shows whether the connection still works."""
        try:
            await self._ask(statements.HEARTBEAT, (self.worker_id,))
        except psycopg.Error as error:
            raise_in_place(error, claim_error(error, self._settings.name))

    async def drain(self) -> None:
        """Makes the server stop giving jobs to the worker."""
        await self._ask(statements.DRAIN, (self.worker_id,))

    async def deregister(self) -> None:
        """Deregisters the worker."""
        await self._ask(statements.DEREGISTER, (self.worker_id,))
