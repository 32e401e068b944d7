"""A worker whose jobs run until a file exists. HIPQ_AIO: with asyncio."""

import asyncio
import os
import time

import hipq

kind = hipq.aio if "HIPQ_AIO" in os.environ else hipq
queues = [os.environ["HIPQ_QUEUE"]]
name = os.environ["HIPQ_NAME"]
worker = kind.Worker(os.environ["HIPQ_CONNINFO"], name=name, queues=queues, poll=0.5, look=0.2)


def is_time() -> bool:
    return os.path.exists(os.environ["HIPQ_FILE"])


if kind is hipq:

    @worker.job("scan")
    def scan(job: hipq.Job) -> str:
        while not is_time():
            time.sleep(0.02)
        return name

    worker.run()
else:

    @worker.job("scan")
    async def scan_soon(job: hipq.aio.Job) -> str:
        while not is_time():
            await asyncio.sleep(0.02)
        return name

    asyncio.run(worker.run())
