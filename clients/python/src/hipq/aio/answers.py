"""Sends a worker's answers for all its jobs over one connection, and reconnects after losses."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Optional

import psycopg

from ..answer import Answer, Batch, batches_of
from ..answers import MOST_AT_ONCE, Rows
from ..backoff import Backoff
from ..errors import is_lost, may_pass
from .connecting import connect
from .patience import Patience

log = logging.getLogger("hipq")

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class Answers:
    """One connection in autocommit mode, for one task at a time.

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
        self._lock = asyncio.Lock()
        self._waiting: deque[Answer] = deque()
        self._sends: Optional[asyncio.Task[None]] = None
        self._given_up = False

    async def ask(self, sql: str, values: Sequence[Any]) -> Rows:
        """Runs a statement, and returns its rows.

        When the connection is lost, or the server cannot run the statement now, sends it again.
        Raises psycopg.Error for permanent errors, and after give_up() for temporary errors, too.
        """
        # When the task is cancelled, its statement continues, so that it never ends halfway.
        return await asyncio.shield(self._ask_in_turn(sql, values))

    def tell(self, answers: Sequence[Answer]) -> None:
        """Sends answers soon, in a task that sends all that wait. Raises nothing."""
        self._waiting.extend(answers)
        if self._waiting and self._sends is None:
            self._sends = asyncio.ensure_future(self._send_waiting())

    def give_up(self) -> None:
        """From now on temporary errors are raised, too."""
        self._given_up = True

    async def close(self) -> None:
        """Closes the connection when no task uses it any more, or after a second."""
        self.give_up()
        try:
            await asyncio.wait_for(self._lock.acquire(), 1)
            self._lock.release()
        except asyncio.TimeoutError:
            pass
        await self._drop()

    async def _ask_in_turn(self, sql: str, values: Sequence[Any]) -> Rows:
        async with self._lock:
            return await self._ask(sql, values)

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                count = min(len(self._waiting), MOST_AT_ONCE)
                for batch in batches_of([self._waiting.popleft() for _ in range(count)]):
                    async with self._lock:
                        await self._tell(batch)
                    self._has_settled(batch.answers)
        finally:
            self._sends = None

    async def _tell(self, batch: Batch) -> None:
        try:
            batch.settle((await self._ask(batch.sql, batch.values))[0][0])
        except Exception as error:
            # One invalid answer makes the whole statement fail.
            if len(batch.answers) == 1 or is_lost(error):
                batch.refuse(error)
            else:
                for alone in batch.apart():
                    await self._tell(alone)

    async def _ask(self, sql: str, values: Sequence[Any]) -> Rows:
        backoff = Backoff()
        while True:
            try:
                connection = await self._connected()
                with self._patience.limits(connection):
                    return await (await connection.execute(sql, values)).fetchall()
            except psycopg.Error as error:
                if not may_pass(error) or self._given_up:
                    raise
                log.warning("an answer has to be given again: %s", error)
                if is_lost(error):
                    await self._drop()
                await asyncio.sleep(backoff.next())

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await connect(self._settings)
        return self._connection

    async def _drop(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
