import asyncio

import psycopg

import hipq
from support import Case


class Aio(Case):
    def worker(self, **options):
        options = {"queues": [self.queue], "name": self.id()[-60:], "look": 0.1, **options}
        return hipq.aio.Worker(self.serves, **options)

    def run_with(self, worker, script):
        """Runs the worker, and at the same time the script, which gets an AsyncConnection."""

        async def main():
            serving = asyncio.ensure_future(worker.run())
            async with await psycopg.AsyncConnection.connect("", autocommit=True) as conn:
                answer = await asyncio.wait_for(script(conn), 60)
            worker.stop()
            await asyncio.wait_for(serving, 60)
            return answer

        return asyncio.run(main())

    async def outcome_of(self, conn, **options):
        job = await hipq.aio.enqueue(conn, "scan", queue=self.queue, **options)
        return await hipq.aio.wait_for(conn, job)

    def test_run(self):
        "jobs run as tasks, together; a failure is retried; progress and extend"
        worker = self.worker(concurrency=3)
        here = []

        @worker.job("scan")
        async def scan(job):
            here.append(job.id)
            while len(set(here)) < 3:
                await asyncio.sleep(0.01)
            await job.progress(1, 2, "half")
            await job.extend("1 min")
            if job.attempt == 1:
                raise ValueError("once more")
            return job.retry_count

        async def script(conn):
            ids = await hipq.aio.enqueue_many(conn, "scan", [1, 2, 3], queue=self.queue)
            return [await hipq.aio.wait_for(conn, job) for job in ids]

        self.assertEqual(self.run_with(worker, script), [("succeeded", 1, None)] * 3)

    def test_permanent_and_release(self):
        "Permanent, RetryAfter and release"
        worker = self.worker()
        seen = []

        @worker.job("scan")
        async def scan(job):
            seen.append((job.retry_count, job.retry_reason))
            if job.attempt == 1:
                job.release()
            if job.attempt == 2:
                raise hipq.RetryAfter(0, "busy")
            raise hipq.Permanent("no")

        outcome = self.run_with(worker, self.outcome_of)
        self.assertEqual(outcome[::2], ("failed", "no"))
        self.assertEqual(seen, [(0, None), (0, "released"), (1, "transient_error")])

    def cancel(self, worker, handler):
        seen = []

        @worker.job("scan")
        async def scan(job):
            try:
                await handler(job)
            except asyncio.CancelledError:
                seen.append(job.cancelled)
                raise

        async def script(conn):
            job = await hipq.aio.enqueue(conn, "scan", queue=self.queue)
            while not self.sql("SELECT is_accepted FROM hipq.running_detail WHERE id = %s", job):
                await asyncio.sleep(0.02)
            await conn.execute("SELECT hipq.cancel(%s)", (job,))
            while not seen:
                await asyncio.sleep(0.02)
            return (await hipq.aio.wait_for(conn, job)).outcome

        self.assertEqual((self.run_with(worker, script), seen), ("cancelled", [True]))

    def test_cancel(self):
        "a cancelled job: the handler's task is cancelled by the keeper"
        self.cancel(self.worker(), lambda job: asyncio.sleep(300))

    def test_cancel_by_call(self):
        "a cancelled job: a call of the handler cancels the handler's task"

        async def handler(job):
            while True:
                await job.progress(1)
                await asyncio.sleep(0.02)

        self.cancel(self.worker(look=300), handler)

    def test_starts_at_once(self):
        "a bound worker needs no poll: notifications announce its jobs"
        worker = self.worker(poll=300)

        @worker.job("scan")
        async def scan(job):
            return 1

        async def script(conn):
            return [(await self.outcome_of(conn)).result for _ in range(20)]

        self.assertEqual(self.run_with(worker, script), [1] * 20)

    def test_complete(self):
        "job.complete() in a transaction of the handler"
        worker = self.worker()

        @worker.job("scan")
        async def scan(job):
            async with await psycopg.AsyncConnection.connect(self.serves) as conn:
                await job.complete(conn, "done")

        self.assertEqual(self.run_with(worker, self.outcome_of)[:2], ("succeeded", "done"))

    def test_pooler(self):
        "pooler=True"
        worker = self.worker(pooler=True, poll=0.2)

        @worker.job("scan")
        async def scan(job):
            return 1

        self.assertEqual(self.run_with(worker, self.outcome_of)[:2], ("succeeded", 1))

    def test_middleware(self):
        "middleware, and a function that is no coroutine"
        worker = self.worker()

        @worker.middleware
        async def twice(job, call_next):
            return 2 * await call_next(job)

        @worker.job("scan")
        async def scan(job):
            return 4

        self.assertEqual(self.run_with(worker, self.outcome_of).result, 8)
        with self.assertRaisesRegex(TypeError, "hipq.Worker takes such ones"):
            worker.job("talk")(lambda job: None)
