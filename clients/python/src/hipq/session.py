"""The session in which a worker is registered and claims its jobs."""

from __future__ import annotations

from typing import Any, Optional

import psycopg

from . import statements
from .durations import duration_text
from .errors import PooledSession, claim_error, raise_in_place, register_error
from .patience import Patience
from .settings import Settings

POOLED = (
    "this connection goes through a pooler, whose sessions are anybody's: connect to the server"
    " itself, or say Worker(pooler=True)"
)


class Session:
    """A registered worker, on a connection in autocommit mode."""

    def __init__(
        self,
        connection: psycopg.Connection[tuple[Any, ...]],
        settings: Settings,
        patience: Patience,
        job_types: list[str],
        take_over: bool,
        worker_id: Optional[int] = None,
    ) -> None:
        """Registers the worker. An unbound worker keeps its id, to which its running jobs belong.

        Raises NameTaken if another worker has the name, and psycopg.Error for other errors.

        Raises PooledSession if the worker would be bound to a session of a pooler.
        """
        self.connection = connection
        self._settings = settings
        self._patience = patience
        self._demand_own_session()
        if worker_id is None or settings.listen:
            worker_id = self._register(job_types, take_over)
        self.worker_id = worker_id

    def _register(self, job_types: list[str], take_over: bool) -> int:
        try:
            rows = self._ask(statements.REGISTER, self._settings.registration(job_types, take_over))
        except psycopg.Error as error:
            raise_in_place(error, register_error(error, self._settings.name))
        return int(rows[0][0])

    def _ask(self, sql: str, values: Any, wait: float = 0) -> list[tuple[Any, ...]]:
        with self._patience.limits(self.connection, wait):
            return self.connection.execute(sql, values, binary=True).fetchall()

    def _demand_own_session(self) -> None:
        if not self._settings.listen:
            return
        if self._ask(statements.SERVER_PROCESS, ()) != [(self.connection.info.backend_pid,)]:
            raise PooledSession(POOLED)

    def claim(self, most: int, wait: float) -> list[tuple[Any, ...]]:
        """Accepts at most `most` jobs. Raises WorkerEnded if it was replaced or deregistered."""
        try:
            return self._ask(statements.CLAIM, (self.worker_id, most, duration_text(wait)), wait)
        except psycopg.Error as error:
            raise_in_place(error, claim_error(error, self._settings.name))

    def heartbeat(self) -> None:
        """Sends a heartbeat, which also shows whether the connection still works."""
        try:
            self._ask(statements.HEARTBEAT, (self.worker_id,))
        except psycopg.Error as error:
            raise_in_place(error, claim_error(error, self._settings.name))

    def drain(self) -> None:
        """Makes the server stop giving jobs to the worker."""
        self._ask(statements.DRAIN, (self.worker_id,))

    def deregister(self) -> None:
        """Deregisters the worker."""
        self._ask(statements.DEREGISTER, (self.worker_id,))
