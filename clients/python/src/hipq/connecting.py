"""Connects a worker. Each of several servers gets the full time limit to answer.

psycopg before 3.2 applies one time limit to all servers together: if the first server never
answers, the worker would not reach the next one.
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
    """Returns a conninfo for each server that the conninfo and the environment name."""
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
    """Returns the item of a server, or the only item, which is for all. None: there is none."""
    return (items[number] if len(items) > 1 else items[0]) or None


def ways_of(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the settings for each server."""
    return [{**settings, "conninfo": one} for one in one_by_one(settings["conninfo"])]


def connect(settings: dict[str, Any]) -> psycopg.Connection[tuple[Any, ...]]:
    """Connects to the first server that accepts. Raises the error of the last server."""
    *others, last = ways_of(settings)
    for way in others:
        try:
            return psycopg.connect(**way)
        except psycopg.OperationalError as error:
            log.info("trying the next server: %s", error)
    return psycopg.connect(**last)
