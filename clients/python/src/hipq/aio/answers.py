"""The connection over which a worker answers for all its jobs; it is made anew when it is lost."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Optional

import psycopg

from ..answers import Answer, Rows
from ..backoff import Backoff
from ..errors import is_lost, may_pass
from .patience import Patience

log = logging.getLogger("hipq")

Connection = psycopg.AsyncConnection[tuple[Any, ...]]


class Answers:
    """One connection in autocommit, for one task at a time."""

    def __init__(self, connection: dict[str, Any], patience: Patience) -> None:
        self._settings = connection
        self._patience = patience
        self._connection: Optional[Connection] = None
        self._lock = asyncio.Lock()
        self._given_up = False

    async def ask(self, sql: str, values: Sequence[Any]) -> Rows:
        """What a statement returns.

        When the connection is lost, or the server cannot do it now, it is given again. Raises
        psycopg.Error of what does not pass; of what does only after give_up().
        """

        async def work(connection: Connection) -> Rows:
            return await (await connection.execute(sql, values)).fetchall()

        return await self._again(work)

    def give_up(self) -> None:
        """From now on what passes is an error, too."""
        self._given_up = True

    async def close(self) -> None:
        """Closes the connection, when nobody uses it any more, or after a second."""
        self.give_up()
        try:
            await asyncio.wait_for(self._lock.acquire(), 1)
            self._lock.release()
        except asyncio.TimeoutError:
            pass
        await self._drop()

    async def _again(self, work: Callable[[Connection], Awaitable[Answer]]) -> Answer:
        # A statement goes on when its task is cancelled: nobody shall find it half done.
        return await asyncio.shield(self._in_turn(work))

    async def _in_turn(self, work: Callable[[Connection], Awaitable[Answer]]) -> Answer:
        backoff = Backoff()
        async with self._lock:
            while True:
                try:
                    connection = await self._connected()
                    with self._patience.limits(connection):
                        return await work(connection)
                except psycopg.Error as error:
                    if not may_pass(error) or self._given_up:
                        raise
                    log.warning("an answer has to be given again: %s", error)
                    if is_lost(error):
                        await self._drop()
                    await asyncio.sleep(backoff.next())

    async def _connected(self) -> Connection:
        if self._connection is None or self._connection.closed:
            self._connection = await psycopg.AsyncConnection.connect(**self._settings)
        return self._connection

    async def _drop(self) -> None:
        if self._connection is not None:
            await self._connection.close()
            self._connection = None
