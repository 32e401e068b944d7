import asyncio
import threading
from datetime import timedelta

import psycopg

import hipq
from support import Case


class Enqueue(Case):
    def count(self) -> int:
        return len(hipq.testing.enqueued(self.conn, queue=self.queue))

    def tearDown(self):
        self.sql("SELECT hipq.cancel(id) FROM hipq.enqueued(NULL, %s)", self.queue)

    def test_rollback(self):
        "a rollback of the caller's transaction leaves no job, a commit leaves it"
        with psycopg.connect("") as conn:
            hipq.enqueue(conn, "scan", queue=self.queue)
            self.assertEqual(self.count(), 0)
            conn.rollback()
            self.assertEqual(self.count(), 0)
            hipq.enqueue(conn, "scan", queue=self.queue)
            conn.commit()
            self.assertEqual(self.count(), 1)

    def test_options(self):
        "all options reach the server, and data of any kind"
        job = self.enqueue(
            "scan", "12 [x]", job_key="k", scheduled_run_time=timedelta(hours=1), priority=7,
            timeout="2 min", throttle_factor=0.5, time_windows="sat sun",
            max_retries=9, expires_time=timedelta(days=1), throttle_key="t", queue_ttl=30.5,
            worker="somebody", on_duplicate="error",
        )  # fmt: skip
        row = self.conn.execute(
            """SELECT job_data #>> '{}', job_key, scheduled_run_time > now() + interval '59 min',
                priority, timeout, throttle_factor::float, max_retries, throttle_key, queue_ttl
            FROM hipq.enqueued('scan', %s) WHERE id = %s""",
            (self.queue, job),
        ).fetchone()
        self.assertEqual(row, ("12 [x]", "k", True, 7, 120, 0.5, 9, "t", 31))

    def test_on_duplicate(self):
        "on_duplicate returns the job that has the key; without it psycopg raises UniqueViolation"
        job = self.enqueue(job_key="once")
        self.assertEqual(self.enqueue(job_key="once", on_duplicate="return"), job)
        with self.assertRaises(psycopg.errors.UniqueViolation):
            self.enqueue(job_key="once")

    def test_many(self):
        "enqueue_many: the ids are in the order of the items"
        ids = hipq.enqueue_many(
            self.conn, "scan", [{"n": 1}, "two", None], job_keys=["a", None, "c"],
            queue=self.queue, priority=3,
        )  # fmt: skip
        jobs = hipq.testing.enqueued(self.conn, "scan", self.queue)
        seen = {job.id: (job.data, job.key) for job in jobs}
        self.assertEqual(len(jobs), 3)
        self.assertEqual([seen[job] for job in ids], [({"n": 1}, "a"), ("two", None), (None, "c")])
        self.assertEqual(hipq.enqueue_many(self.conn, "scan", [], queue=self.queue), [])

    def test_row_factory(self):
        "the connection may have its own row factory"
        with psycopg.connect("", row_factory=psycopg.rows.dict_row, autocommit=True) as conn:
            self.assertGreater(hipq.enqueue(conn, "scan", queue=self.queue), 0)

    def test_wait_for(self):
        "wait_for returns outcome, result and error: at the end of the job, or when the time is up"
        worker = self.worker()
        go = threading.Event()

        @worker.job("scan")
        def scan(job):
            go.wait(60)
            return {"n": job.data["n"] + 1}

        self.serve(worker)
        job = self.enqueue("scan", {"n": 1})
        self.until_running(job)
        self.assertEqual(hipq.wait_for(self.conn, job, 0.1).outcome, "running")
        go.set()
        self.assertEqual(self.outcome(job), ("succeeded", {"n": 2}, None))
        self.assertTrue(self.outcome(job).succeeded)

    def test_aio(self):
        "hipq.aio has the same functions for an AsyncConnection"

        async def main():
            async with await psycopg.AsyncConnection.connect("") as conn:
                ids = await hipq.aio.enqueue_many(conn, "scan", [1, 2], queue=self.queue)
                one = await hipq.aio.enqueue(conn, "scan", 3, queue=self.queue)
                await conn.commit()
                return [*ids, one], await hipq.aio.wait_for(conn, one, 0)

        ids, outcome = asyncio.run(main())
        jobs = hipq.testing.enqueued(self.conn, "scan", self.queue)
        self.assertEqual({job.id: job.data for job in jobs}, dict(zip(ids, [1, 2, 3])))
        self.assertEqual(outcome, ("waiting", None, None))
