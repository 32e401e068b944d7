"""The connection over which a worker answers for all its jobs; it is made anew when it is lost."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, Optional, TypeVar

import psycopg

from . import statements
from .backoff import Backoff
from .errors import is_lost, may_pass
from .patience import Patience

log = logging.getLogger("hipq")

Answer = TypeVar("Answer")
Rows = list[tuple[Any, ...]]
Connection = psycopg.Connection[tuple[Any, ...]]


class Answers:
    """One connection in autocommit, for one thread at a time."""

    def __init__(self, connection: dict[str, Any], patience: Patience) -> None:
        self._settings = connection
        self._patience = patience
        self._connection: Optional[Connection] = None
        self._lock = threading.Lock()
        self._given_up = threading.Event()

    def ask(self, sql: str, values: Sequence[Any]) -> Rows:
        """What a statement returns.

        When the connection is lost, or the server cannot do it now, it is given again. Raises
        psycopg.Error of what does not pass; of what does only after give_up().
        """
        return self._again(lambda connection: connection.execute(sql, values).fetchall())

    def give_up(self) -> None:
        """From now on what passes is an error, too."""
        self._given_up.set()

    def close(self) -> None:
        """Closes the connection, unless somebody uses it for another second."""
        self.give_up()
        if self._lock.acquire(timeout=1):
            self._drop()
            self._lock.release()

    def _again(self, work: Callable[[Connection], Answer]) -> Answer:
        backoff = Backoff()
        with self._lock:
            while True:
                try:
                    connection = self._connected()
                    with self._patience.limits(connection):
                        return work(connection)
                except psycopg.Error as error:
                    if not may_pass(error) or self._given_up.is_set():
                        raise
                    log.warning("an answer has to be given again: %s", error)
                    if is_lost(error):
                        self._drop()
                    self._given_up.wait(backoff.next())

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = psycopg.connect(**self._settings)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
