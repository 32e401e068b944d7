"""Sends a worker's answers for all its jobs over one connection, and reconnects after losses."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Optional

import psycopg

from .answer import Answer, Batch, batches_of
from .backoff import Backoff
from .connecting import connect
from .errors import is_lost, may_pass
from .patience import Patience

log = logging.getLogger("hipq")

MOST_AT_ONCE = 1_000
Rows = list[tuple[Any, ...]]
Connection = psycopg.Connection[tuple[Any, ...]]


class Answers:
    """One connection in autocommit mode, for one thread at a time.

    has_settled: called with the answers that the server has accepted or refused.
    """

    def __init__(
        self,
        connection: dict[str, Any],
        patience: Patience,
        has_settled: Callable[[Sequence[Answer]], None],
    ) -> None:
        self._settings = connection
        self._patience = patience
        self._has_settled = has_settled
        self._connection: Optional[Connection] = None
        self._lock = threading.Lock()
        self._waiting: deque[Answer] = deque()
        self._sends = threading.Lock()
        self._given_up = threading.Event()

    def ask(self, sql: str, values: Sequence[Any]) -> Rows:
        """Runs a statement, and returns its rows.

        When the connection is lost, or the server cannot run the statement now, sends it again.
        Raises psycopg.Error for permanent errors, and after give_up() for temporary errors, too.
        """
        with self._lock:
            return self._ask(sql, values)

    def tell(self, answers: Sequence[Answer]) -> None:
        """Sends answers, or leaves them to the thread that sends already. Raises nothing.

        So a thread that has answered runs the next job, and one statement sends many answers.
        """
        self._waiting.extend(answers)
        # The loop finds answers that were left just before the other thread stopped sending.
        while self._waiting and self._sends.acquire(blocking=False):
            try:
                self._send_waiting()
            finally:
                self._sends.release()

    def give_up(self) -> None:
        """From now on temporary errors are raised, too."""
        self._given_up.set()

    def close(self) -> None:
        """Closes the connection, unless a thread still uses it after a second."""
        self.give_up()
        if self._lock.acquire(timeout=1):
            self._drop()
            self._lock.release()

    def _send_waiting(self) -> None:
        while self._waiting:
            count = min(len(self._waiting), MOST_AT_ONCE)
            for batch in batches_of([self._waiting.popleft() for _ in range(count)]):
                with self._lock:
                    self._tell(batch)
                self._has_settled(batch.answers)

    def _tell(self, batch: Batch) -> None:
        try:
            batch.settle(self._ask(batch.sql, batch.values)[0][0])
        except Exception as error:
            # One invalid answer makes the whole statement fail.
            if len(batch.answers) == 1 or is_lost(error):
                batch.refuse(error)
            else:
                for alone in batch.apart():
                    self._tell(alone)

    def _ask(self, sql: str, values: Sequence[Any]) -> Rows:
        backoff = Backoff()
        while True:
            try:
                connection = self._connected()
                with self._patience.limits(connection):
                    return connection.execute(sql, values).fetchall()
            except psycopg.Error as error:
                if not may_pass(error) or self._given_up.is_set():
                    raise
                log.warning("an answer has to be given again: %s", error)
                if is_lost(error):
                    self._drop()
                self._given_up.wait(backoff.next())

    def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = connect(self._settings)
        return self._connection

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
