"""A worker in Python as a user would write it, with asyncio.

Each start and each end of a job is a line of a ledger; a long job waits for a file.
"""

import asyncio
import os

import hipq

folder = os.environ["HIPQ_LEDGER"]
worker = hipq.aio.Worker(
    name=os.environ["HIPQ_NAME"],
    queues=[os.environ.get("HIPQ_QUEUE", "app.run")],
    pooler="HIPQ_POOLER" in os.environ,
    reply_timeout=6,
)


def note(word: str, job: hipq.aio.Job) -> None:
    with open(f"{folder}/ledger", "a") as ledger:
        ledger.write(f"{word} {job.id} {job.attempt}\n")


def may_end(job: hipq.aio.Job) -> bool:
    return any(os.path.exists(f"{folder}/{name}") for name in (job.id, "all"))


@worker.job("short")
@worker.job("long")
async def run(job: hipq.aio.Job) -> int:
    note("start", job)
    try:
        while job.type == "long" and not may_end(job):
            await asyncio.sleep(0.05)
    except asyncio.CancelledError:
        note("over", job)
        raise
    note("end", job)
    return job.attempt


asyncio.run(worker.run())
