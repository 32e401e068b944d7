"""The connection over which a worker answers for all its jobs; it is made anew when it is lost."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Sequence
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
    """One connection in autocommit, for one thread at a time."""

    def __init__(self, connection: dict[str, Any], patience: Patience) -> None:
        self._settings = connection
        self._patience = patience
        self._connection: Optional[Connection] = None
        self._lock = threading.Lock()
        self._waiting: deque[Answer] = deque()
        self._given_up = threading.Event()

    def ask(self, sql: str, values: Sequence[Any]) -> Rows:
        """What a statement returns.

        When the connection is lost, or the server cannot do it now, it is given again. Raises
        psycopg.Error of what does not pass; of what does only after give_up().
        """
        with self._lock:
            return self._ask(sql, values)

    def tell(self, *answers: Answer) -> None:
        """Gives answers, and settles them; raises nothing that the server says.

        While one thread gives answers others add theirs, and the next one gives them all.
        """
        self._waiting.extend(answers)
        with self._lock:
            while not all(answer.is_settled for answer in answers):
                count = min(len(self._waiting), MOST_AT_ONCE)
                for batch in batches_of([self._waiting.popleft() for _ in range(count)]):
                    self._tell(batch)

    def give_up(self) -> None:
        """From now on what passes is an error, too."""
        self._given_up.set()

    def close(self) -> None:
        """Closes the connection, unless somebody uses it for another second."""
        self.give_up()
        if self._lock.acquire(timeout=1):
            self._drop()
            self._lock.release()

    def _tell(self, batch: Batch) -> None:
        try:
            batch.settle(self._ask(batch.sql, batch.values)[0][0])
        except Exception as error:
            # One bad answer makes the whole statement fail.
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
