import asyncio
import threading

import hipq
from support import Case, until

COUNT = 50


class InALoop:
    """A worker of asyncio that runs like a worker with threads."""

    def __init__(self, worker):
        self.worker = worker
        self.stop = worker.stop

    def run(self):
        asyncio.run(self.worker.run())


class Answers(Case):
    "Answers are sent together, and a refused answer does not affect the others."

    types = {"scan": "max_retries => 0, "}
    aio = False

    def end_all_at_once(self, data):
        """Runs a job for each item, whose handlers end at the same moment. Returns the ids."""
        kind = hipq.aio if self.aio else hipq
        worker = kind.Worker(
            self.serves, name=self.id()[-60:], queues=[self.queue], concurrency=COUNT
        )
        go = threading.Event()

        def end(job):
            if job.data == "fail":
                raise ValueError("no luck")
            if job.data == "give up":
                raise hipq.Permanent("no hope")
            return "x" * 1_100_000 if job.data == "large" else job.data

        def scan(job):
            go.wait(60)
            return end(job)

        async def scan_soon(job):
            while not go.is_set():
                await asyncio.sleep(0.01)
            return end(job)

        worker.job("scan")(scan_soon if self.aio else scan)
        self.serve(InALoop(worker) if self.aio else worker)
        jobs = hipq.enqueue_many(self.conn, "scan", data, queue=self.queue)
        until(lambda: self.running() == len(data), "all jobs run")
        go.set()
        for job in jobs:
            self.outcome(job)
        return jobs

    def running(self):
        return self.sql("SELECT count(*) FROM hipq.running WHERE queue = %s", self.queue)

    def transactions(self, jobs):
        table = self.queue.replace(".", "_") + "_final"
        sql = f"SELECT count(DISTINCT xmin::text) FROM hipq.{table} WHERE id = ANY (%s)"
        return self.sql(sql, jobs)

    def test_together(self):
        "successes and failures are reported together"
        data = [n if n % 2 else "fail" for n in range(COUNT)]
        jobs = self.end_all_at_once(data)
        self.assertLess(self.transactions(jobs), COUNT // 2)
        for value, job in zip(data, jobs):
            expected = ("failed", None, "ValueError: no luck")
            if value != "fail":
                expected = ("succeeded", value, None)
            self.assertEqual(self.outcome(job), expected)

    def test_one_is_refused(self):
        "a result that the server refuses fails only its own job"
        data = ["large" if n == 3 else "give up" if n == 4 else n for n in range(10)]
        jobs = self.end_all_at_once(data)
        outcomes = [self.outcome(job) for job in jobs]
        self.assertEqual(outcomes[4], ("failed", None, "no hope"))
        self.assertEqual(outcomes[3].outcome, "failed")
        self.assertIn("too large", outcomes[3].error)
        for n in (0, 1, 2, 5, 6, 7, 8, 9):
            self.assertEqual(outcomes[n], ("succeeded", n, None))


class AioAnswers(Answers):
    aio = True
