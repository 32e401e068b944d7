from datetime import datetime, timedelta, timezone

import psycopg

import hipq
from support import Case


class Testing(Case):
    types = {
        **Case.types,
        "next": "",
        "foreign": "",
        "asks": "retry_handler => $$ SELECT CASE ($3).error WHEN 'no' THEN NULL"
        " ELSE ($3).error::interval END $$, ",
    }

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
        "run_due runs due jobs, and the jobs that these enqueue, in the test's transaction"
        with psycopg.connect("") as conn:
            worker = self.handlers(conn)
            ids = [
                hipq.enqueue(conn, "scan", data, queue=self.queue)
                for data in ("good", "bad", "weak", "busy")
            ]
            hipq.enqueue(conn, "scan", queue=self.queue, scheduled_run_time=timedelta(hours=1))
            foreign = hipq.enqueue(conn, "foreign", queue=self.queue)
            hipq.enqueue(conn, "scan", queue=self.queue, after=[foreign])
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
            self.assertEqual([job.type for job in left], ["scan", "foreign", "scan"])
            soon = datetime.now(timezone.utc) + timedelta(hours=2)
            later = hipq.testing.run_due(conn, worker, self.queue, at=soon)
            self.assertEqual([one.job.type for one in later], ["scan", "next"])
            conn.rollback()
        self.assertEqual(hipq.testing.enqueued(self.conn, queue=self.queue), [])

    def test_retries(self):
        "run_due returns when the server would retry: by policy, RetryAfter, or retry handler"
        worker = self.worker()
        raised = {
            "weak": ValueError("weak"),
            "bad": hipq.Permanent("bad"),
            "busy": hipq.RetryAfter("7 min", "busy"),
            "2 h": hipq.RetryAfter(0, "2 h"),
            "1 h": hipq.RetryAfter("2 h", "1 h"),
            "no": hipq.Permanent("no"),
            "soon": hipq.RetryAfter(timedelta(0), "soon"),
            "late": hipq.RetryAfter("late"),
        }

        def fail(job):
            if job.data in raised:
                raise raised[job.data]
            if job.data == "release":
                job.release()

        worker.job("scan")(fail)
        worker.job("asks")(fail)

        def run(conn, job_type, *data, **options):
            """Returns for each job when its retry would be."""
            for each in data:
                hipq.enqueue(conn, job_type, each, queue=self.queue, **options)
            ran = hipq.testing.run_due(conn, worker, self.queue)
            self.assertEqual([one.job.data for one in ran], list(data))
            return ran

        def retries(*arguments, **options):
            return [one.retry_after for one in run(*arguments, **options)]

        none, later, hour = timedelta(0), timedelta(minutes=7), timedelta(hours=1)
        with psycopg.connect("") as conn:
            data = "weak", "busy", "bad", "well", "release"
            self.assertEqual(retries(conn, "scan", *data), [none, later, None, None, None])
            self.assertEqual(retries(conn, "scan", "weak", "busy", max_retries=0), [None] * 2)
            (late,) = run(conn, "scan", "late")
            with self.assertRaisesRegex(psycopg.Error, 'invalid duration "late"'):
                _ = late.retry_after
            (refused,) = run(conn, "asks", "2 h")
            with self.assertRaisesRegex(psycopg.Error, "in the session of another role"):
                _ = refused.retry_after
            conn.execute("SET LOCAL hipq.allow_foreign_handlers = on")
            self.assertEqual(retries(conn, "asks", "2 h", "1 h", "no"), [2 * hour, 2 * hour, None])
            (ran,) = run(conn, "asks", "soon")
            with self.assertRaisesRegex(psycopg.Error, 'interval: "soon"'):
                _ = ran.retry_after
            conn.rollback()
        with psycopg.connect("user=app") as conn:
            self.assertEqual(retries(conn, "asks", "2 h"), [2 * hour])
            conn.rollback()

    def test_rights(self):
        "the rights to read, control and enqueue are enough"
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
