import asyncio
import threading
from datetime import datetime, timedelta, timezone

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
        for keeps in ("return", "after_first"):
            self.assertEqual(self.enqueue(job_key="once", on_duplicate=keeps), job)
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

    def test_after(self):
        "a job that comes after others waits for them, and ends as it says if they fail"
        first = self.enqueue()
        second = self.enqueue(after=[first], on_failure="skip")
        (third,) = hipq.enqueue_many(
            self.conn, "scan", [3], queue=self.queue, after=[first, second], after_policy="any"
        )
        held = "SELECT count(*) FROM hipq.jobs_detail WHERE id = ANY (%s) AND waits_for = 'jobs'"
        self.assertEqual(self.sql(held, [second, third]), 2)
        self.sql("SELECT hipq.cancel(%s)", first)
        self.assertEqual(self.outcome(second).outcome, "skipped")
        self.assertEqual(self.outcome(third).outcome, "failed")
        free = self.enqueue(after=[], on_failure="run")
        self.assertEqual(self.sql(held, [free]), 0)

    def detail(self, job, columns):
        sql = f"SELECT {columns} FROM hipq.jobs_detail WHERE id = %s"
        return self.conn.execute(sql, (job,)).fetchone()

    def test_graph(self):
        "a graph is enqueued in the caller's transaction, with the options of each job"
        deadline = datetime(2040, 1, 2, 3, 4, 5, 678, tzinfo=timezone.utc)
        graph = hipq.Graph(queue=self.queue, deadline=deadline)
        scan = graph.job(
            'scan "1"', "scan", {"path": "ü"}, job_key="k", scheduled_run_time=timedelta(hours=1),
            expires_time=datetime(2041, 1, 1, tzinfo=timezone.utc), priority=7, timeout="2 min",
            throttle_factor=0.5, time_windows="sat sun", max_retries=9, throttle_key="t",
            queue_ttl=timedelta(seconds=30.5),
        )  # fmt: skip
        index = graph.job(
            "index", "scan", [12345678901234567890], after=[scan], after_policy="finished",
            on_failure="run", expires_time=timedelta(days=2),
        )  # fmt: skip
        graph.job("last", "scan", after=[index], priority=None)
        with psycopg.connect("", row_factory=psycopg.rows.dict_row) as conn:
            graph.enqueue(conn)
            conn.rollback()
            self.assertEqual(self.count(), 0)
        ids = graph.enqueue(self.conn)
        self.assertEqual(list(ids), [scan, index, "last"])
        columns = """job_data, job_key, scheduled_run_time - created_time, expires_time, priority,
            timeout, throttle_factor::float, max_retries, throttle_key, waits_for"""
        *row, waits_for = self.detail(ids[scan], columns)
        self.assertEqual(
            row,
            [{"path": "ü"}, "k", timedelta(hours=1), datetime(2041, 1, 1, tzinfo=timezone.utc), 7,
             120, 0.5, 9, "t"],
        )  # fmt: skip
        self.assertIsNone(waits_for)
        columns = "job_data::text, expires_time - created_time, waits_for"
        row = self.detail(ids[index], columns)
        self.assertEqual(row, ("[12345678901234567890]", timedelta(days=2), "jobs"))
        self.assertEqual(self.detail(ids["last"], "job_data, expires_time"), ({}, deadline))
        policies = "SELECT array_agg(after_policy || on_failure ORDER BY job_id)"
        policies += " FROM hipq.dependency WHERE job_id = ANY (%s)"
        found = self.sql(policies, list(ids.values()))
        self.assertEqual(found, ["finishedrun", "succeededfail"])

    def test_graph_runs(self):
        "jobs of a graph run one after the other; outcomes and results are known by name"
        worker = self.worker()
        seen = []

        @worker.job("scan")
        def scan(job):
            with psycopg.connect("") as conn:
                if job.data["n"] == 3:
                    seen.extend(hipq.result_of(conn, name, job) for name in ("one", "two"))
            return job.data["n"] * 2

        first = self.enqueue("scan", {"n": 0}, scheduled_run_time=timedelta(days=1))
        graph = hipq.Graph(queue=self.queue)
        last = graph.job("sum", "scan", {"n": 3}, after=["one", "two"])  # names may come later
        for n, name in ((1, "one"), (2, "two")):
            graph.job(name, "scan", {"n": n}, after=[first])
        ids = graph.enqueue(self.conn)
        self.assertEqual(hipq.outcome_of(self.conn, ids[last]), "waiting")
        self.assertIsNone(hipq.result_of(self.conn, ids[last]))
        with self.assertRaises(psycopg.errors.UndefinedObject):
            hipq.result_of(self.conn, last, first)  # it belongs to no graph
        self.sql("SELECT hipq.reschedule(%s, now())", first)
        self.serve(worker)
        self.assertEqual(self.outcome(ids[last]), ("succeeded", 6, None))
        self.assertEqual(seen, [2, 4])
        self.assertEqual(hipq.result_of(self.conn, "two", ids["one"]), 4)
        self.assertEqual(hipq.outcome_of(self.conn, "two", ids["one"]), "succeeded")

    def test_wrong_graph(self):
        "psycopg raises the errors of the server; an unknown option is a TypeError"
        graph = hipq.Graph(queue=self.queue)
        with self.assertRaisesRegex(TypeError, "no option 'on_duplicate'; there are after, "):
            graph.job("a", "scan", on_duplicate="return")
        self.assertEqual(graph.enqueue(self.conn), {})
        graph.job("a", "scan", after=["b"])
        graph.job("b", "scan", after=["a"])
        with self.assertRaisesRegex(psycopg.errors.InvalidParameterValue, "after each other"):
            graph.enqueue(self.conn)
        late = hipq.Graph(queue=self.queue)
        late.job("late", "scan", after=[900719925474099301])
        with self.assertRaisesRegex(psycopg.errors.UndefinedObject, "900719925474099301"):
            late.enqueue(self.conn)

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
                graph = hipq.aio.Graph(queue=self.queue, deadline=timedelta(days=1))
                four = graph.job("four", "scan", 4)
                graph.job("five", "scan", 5, after=[four])
                named = await graph.enqueue(conn)
                await conn.commit()
                outcome = await hipq.aio.outcome_of(conn, "five", named[four])
                self.assertEqual(outcome, "waiting")
                self.assertIsNone(await hipq.aio.result_of(conn, named["five"]))
                ids += [one, *named.values()]
                return ids, await hipq.aio.wait_for(conn, one, 0)

        ids, outcome = asyncio.run(main())
        jobs = hipq.testing.enqueued(self.conn, "scan", self.queue)
        self.assertEqual({job.id: job.data for job in jobs}, dict(zip(ids, [1, 2, 3, 4, 5])))
        self.assertEqual(outcome, ("waiting", None, None))
