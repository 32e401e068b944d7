from datetime import datetime, timedelta, timezone

import psycopg

import hipq
from support import Case


class Testing(Case):
    types = {**Case.types, "next": "", "foreign": ""}

    def handlers(self, conn):
        worker = self.worker()

        @worker.job("scan")
        def scan(job):
            job.progress(1, 2)
            if job.data == "bad":
                raise hipq.Permanent("bad")
            if job.data == "weak":
                raise ValueError("weak")
            if job.data == "busy":
                job.release("1 h")
            hipq.enqueue(conn, "next", {"of": job.id}, queue=self.queue)
            return job.data

        worker.job("next")(lambda job: job.data["of"])
        return worker

    def test_run_due(self):
        "run_due runs what is due, and what that enqueues, in the test's transaction"
        with psycopg.connect("") as conn:
            worker = self.handlers(conn)
            ids = [
                hipq.enqueue(conn, "scan", data, queue=self.queue)
                for data in ("good", "bad", "weak", "busy")
            ]
            hipq.enqueue(conn, "scan", queue=self.queue, scheduled_run_time=timedelta(hours=1))
            hipq.enqueue(conn, "foreign", queue=self.queue)
            ran = hipq.testing.run_due(conn, worker, self.queue)
            self.assertEqual(
                [(one.job.type, one.outcome, one.result, one.error) for one in ran],
                [
                    ("scan", "succeeded", "good", None),
                    ("scan", "failed for good", None, "bad"),
                    ("scan", "failed", None, "ValueError: weak"),
                    ("scan", "released", None, None),
                    ("next", "succeeded", ids[0], None),
                ],
            )
            self.assertEqual(ran[0].job.reports, [(1, 2, None)])
            left = hipq.testing.enqueued(conn, queue=self.queue)
            self.assertEqual([job.type for job in left], ["scan", "foreign"])
            soon = datetime.now(timezone.utc) + timedelta(hours=2)
            later = hipq.testing.run_due(conn, worker, self.queue, at=soon)
            self.assertEqual([one.job.type for one in later], ["scan", "next"])
            conn.rollback()
        self.assertEqual(hipq.testing.enqueued(self.conn, queue=self.queue), [])

    def test_rights(self):
        "a role that may read, control and enqueue is enough"
        self.sql("CREATE ROLE tester LOGIN")
        for right in ("read", "control", "enqueue"):
            self.sql("SELECT hipq.grant_queue(%s, 'tester', %s)", self.queue, right)
        with psycopg.connect("user=tester") as conn:
            hipq.enqueue(conn, "next", {"of": 7}, queue=self.queue)
            (ran,) = hipq.testing.run_due(conn, self.handlers(conn), self.queue)
            self.assertEqual((ran.outcome, ran.result), ("succeeded", 7))
            conn.rollback()

    def test_aio(self):
        "the handlers of a hipq.aio.Worker run, too"
        worker = hipq.aio.Worker("", queues=[self.queue])

        @worker.job("scan")
        async def scan(job):
            await job.progress(1)
            return await job.extend("1 min") == job.deadline

        with psycopg.connect("") as conn:
            hipq.enqueue(conn, "scan", queue=self.queue)
            (ran,) = hipq.testing.run_due(conn, worker, self.queue)
            self.assertEqual((ran.outcome, ran.result), ("succeeded", True))
            self.assertEqual(ran.job.reports, [(1, None, None)])
            conn.rollback()
