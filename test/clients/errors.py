"""A worker in Python whose jobs fail in all ways: with each text of errors.json, and its own."""

import asyncio
import json
import os

import psycopg

import hipq

is_async = "HIPQ_AIO" in os.environ
with open(os.path.join(os.path.dirname(__file__), "errors.json"), encoding="utf-8") as table:
    texts = {row["name"]: row["text"] * row.get("times", 1) for row in json.load(table)}


class StrRaises(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no text")


class StrExits(Exception):
    def __str__(self) -> str:
        raise SystemExit(3)


class NoStr(Exception):
    def __str__(self) -> str:
        return 5


class ReprRaises(Exception):
    def __repr__(self) -> str:
        raise RuntimeError("no text")


class WrongState(psycopg.Error):
    """An error of the server with a code of the wrong type."""

    sqlstate = 5


def raised(error: BaseException):
    def handler() -> None:
        raise error

    return handler


cycle: list = []
cycle.append(cycle)
ways = {
    "__str__ raises": raised(StrRaises()),
    "__str__ exits": raised(StrExits()),
    "__str__ is no text": raised(NoStr()),
    "__repr__ raises": raised(ReprRaises("x")),
    "exit": raised(SystemExit(3)),
    "exit of nothing": raised(SystemExit()),
    "interrupt": raised(KeyboardInterrupt()),
    "generator": raised(GeneratorExit()),
    "cancelled": raised(asyncio.CancelledError()),
    "a code": raised(WrongState("x")),
    "permanent": raised(hipq.Permanent(StrRaises())),
    "permanent of nothing": raised(hipq.Permanent()),
    "another job's end": raised(hipq.AttemptOver(1, 1)),
    "a delay": raised(hipq.Release("soon")),
    "a retry after nothing": raised(hipq.RetryAfter("soon", "\ud83d")),
    "a retry after NUL": raised(hipq.RetryAfter("\0", "\u20ac")),
    "a delay with NUL": raised(hipq.Release("\0")),
    "result: no JSON": lambda: object(),
    "result: NUL": lambda: "\0",
    "result: half a pair": lambda: "\ud83d",
    "result: not a number": lambda: float("nan"),
    "result: a cycle": lambda: cycle,
    "result: too large": lambda: "x" * 1_100_000,
}


def run(job) -> object:
    how, name = job.data["how"], job.data.get("name")
    if how == "text":
        raise ValueError(texts[name])
    if how == "permanent":
        raise hipq.Permanent(texts[name])
    return list(ways) if how == "list" else ways[name]()


async def run_soon(job: hipq.aio.Job) -> object:
    return run(job)


kind = hipq.aio if is_async else hipq
worker = kind.Worker(name="errors", queues=["app.errors"], concurrency=1)
worker.job("fail")(run_soon if is_async else run)
if is_async:
    asyncio.run(worker.run())
else:
    worker.run()
