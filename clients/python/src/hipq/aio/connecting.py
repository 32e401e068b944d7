"""Connects a worker: see hipq.connecting."""

from __future__ import annotations

import logging
from typing import Any

import psycopg

from ..connecting import ways_of

log = logging.getLogger("hipq")


async def connect(settings: dict[str, Any]) -> psycopg.AsyncConnection[tuple[Any, ...]]:
    """Connects to the first server that accepts. Raises the error of the last server."""
    *others, last = ways_of(settings)
    for way in others:
        try:
            return await psycopg.AsyncConnection.connect(**way)
        except psycopg.OperationalError as error:
            log.info("trying the next server: %s", error)
    return await psycopg.AsyncConnection.connect(**last)
