"""The settings of a worker, the same for threads and for asyncio."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Optional

from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.types.json import Jsonb

HEARTBEAT = 10.0  # seconds; hipq.heartbeat_timeout is 30 s by default
LONGEST_WAIT = 1.0
"""Seconds that a claim waits in the server.

Its session holds a snapshot meanwhile, which keeps VACUUM from removing later dead rows.
"""
GOODBYE = 3.0  # seconds, the time limit to deregister if the server does not answer


@dataclass(frozen=True)
class Settings:
    """The settings, after `check`. hipq.Worker documents each of them."""

    conninfo: str
    name: str
    queues: Sequence[str]
    concurrency: int
    prefetch: int
    capabilities: Mapping[str, Any]
    listen: bool
    take_over: bool
    poll: float
    look: float
    reply_timeout: float

    @property
    def wait(self) -> float:
        """The seconds that a claim waits."""
        return min(self.poll, LONGEST_WAIT)

    @property
    def connection(self) -> dict[str, Any]:
        """The arguments for the worker's connections. Poolers do not know prepared statements."""
        defaults = {"connect_timeout": "10", "keepalives_idle": "10"}
        defaults.update(keepalives_interval="5", keepalives_count="3")
        defaults["fallback_application_name"] = f"hipq {self.name}"
        conninfo = make_conninfo(**{**defaults, **conninfo_to_dict(self.conninfo)})
        more: dict[str, Any] = {"conninfo": conninfo, "autocommit": True}
        if not self.listen:
            more["prepare_threshold"] = None
        return more

    def registration(self, job_types: Sequence[str], take_over: bool) -> dict[str, Any]:
        """The values of statements.REGISTER."""
        return {
            "name": self.name,
            "queues": list(self.queues),
            "job_types": list(job_types),
            "capacity": self.concurrency,
            "prefetch": self.prefetch,
            "capabilities": Jsonb(dict(self.capabilities)),
            "listen": self.listen,
            "take_over": take_over,
        }


def default_name() -> str:
    """Returns the name of the host and the pid."""
    return f"{socket.gethostname()}-{os.getpid()}"[:63]


def check(settings: Settings) -> Settings:
    """Returns the settings. Raises TypeError or ValueError if they are invalid."""
    if isinstance(settings.queues, str):
        raise TypeError(f"queues is a list: queues=[{settings.queues!r}]")
    if not settings.queues:
        raise ValueError("a worker serves at least one queue")
    if settings.concurrency < 1:
        raise ValueError("concurrency is at least 1")
    if settings.reply_timeout <= 0:
        raise ValueError("reply_timeout is more than 0")
    return settings


def settings_of(
    conninfo: str,
    name: Optional[str],
    queues: Sequence[str],
    concurrency: int,
    prefetch: int,
    capabilities: Optional[Mapping[str, Any]],
    listen: Optional[bool],
    pooler: bool,
    take_over: bool,
    poll: float,
    look: float,
    reply_timeout: float,
) -> Settings:
    """Makes the settings from the arguments of a Worker."""
    if pooler and listen:
        raise ValueError("a worker behind a pooler cannot listen: its session is anybody's")
    return check(
        Settings(
            conninfo,
            name or default_name(),
            queues,
            concurrency,
            prefetch,
            capabilities or {},
            not pooler if listen is None else listen,
            take_over,
            poll,
            look,
            reply_timeout,
        )
    )
