"""Connects a worker. Of several servers each one has the time to answer.

psycopg before 3.2 gives all of them together the time for one: a first one that does not answer at
all would keep the worker from the next.
"""

from __future__ import annotations

import logging
import os
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

log = logging.getLogger("hipq")

LISTS = {"host": "PGHOST", "hostaddr": "PGHOSTADDR", "port": "PGPORT"}


def one_by_one(conninfo: str) -> list[str]:
    """A conninfo for each of the servers that conninfo and environment name."""
    given = conninfo_to_dict(conninfo)
    lists = {
        name: str(given.get(name) or os.environ.get(variable, "")).split(",")
        for name, variable in LISTS.items()
    }
    count = max(len(items) for items in lists.values())
    if count == 1:
        return [conninfo]
    return [
        make_conninfo(conninfo, **{name: item_of(items, i) for name, items in lists.items()})
        for i in range(count)
    ]


def item_of(items: list[str], number: int) -> Any:
    """That of a server, or the one for all of them; None: there is none."""
    return (items[number] if len(items) > 1 else items[0]) or None


def ways_of(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Settings for each of the servers."""
    return [{**settings, "conninfo": one} for one in one_by_one(settings["conninfo"])]


def connect(settings: dict[str, Any]) -> psycopg.Connection[tuple[Any, ...]]:
    """A connection to the first server that takes it. Raises what the last one raised."""
    *others, last = ways_of(settings)
    for way in others:
        try:
            return psycopg.connect(**way)
        except psycopg.OperationalError as error:
            log.info("trying the next server: %s", error)
    return psycopg.connect(**last)
