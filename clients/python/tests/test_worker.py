import contextvars
import os
import signal
import threading
from datetime import timedelta

import psycopg

import hipq
from hipq import statements
from support import PROGRAMS, Case, until


class Worker(Case):
    def test_ten_lines(self):
        "a worker of ten lines runs jobs"
        with open(os.path.join(PROGRAMS, "ten_lines.py")) as program:
            self.assertLessEqual(len([line for line in program if line.strip()]), 10)
        process = self.program("ten_lines.py")
        job = self.enqueue("scan", {"text": "four"})
        self.assertEqual(self.outcome(job), ("succeeded", {"pages": 4}, None))
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(60), 0)

    def test_job(self):
        "a job has the values that claim() returned"
        worker = self.worker()
        seen = []
        worker.job("scan")(seen.append)
        self.serve(worker)
        trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        self.outcome(self.enqueue("scan", [1], job_key="key", traceparent=trace))
        (job,) = seen
        seen = (job.attempt, job.queue, job.type, job.key)
        self.assertEqual(seen, (1, self.queue, "scan", "key"))
        self.assertEqual((job.data, job.retry_count, job.max_retries), ([1], 0, 3))
        self.assertEqual((job.retry_reason, job.original_job_id), (None, None))
        self.assertEqual(job.traceparent, trace)
        self.assertGreater(job.deadline, job.created_time)

    def test_after(self):
        "a handler enqueues a job that comes after its own"
        worker = self.worker(concurrency=2)
        ended, ids = [], []

        @worker.job("scan")
        def scan(job):
            if job.data == "first":
                with psycopg.connect("", autocommit=True) as conn:
                    ids.append(hipq.enqueue(conn, "scan", queue=self.queue, after=[job]))
            ended.append(job.id)

        self.serve(worker)
        first = self.enqueue("scan", "first")
        self.assertTrue(self.outcome(first).succeeded)
        self.assertTrue(self.outcome(ids[0]).succeeded)
        self.assertEqual(ended, [first, ids[0]])

    def test_concurrency(self):
        "as many jobs as its concurrency run at a time, and no more"
        worker = self.worker(concurrency=3)
        together = threading.Barrier(3)
        lock, now, most = threading.Lock(), [0], [0]

        @worker.job("scan")
        def scan(job):
            with lock:
                now[0] += 1
                most[0] = max(most[0], now[0])
            together.wait(60)
            with lock:
                now[0] -= 1

        self.serve(worker)
        jobs = hipq.enqueue_many(self.conn, "scan", [None] * 9, queue=self.queue)
        self.assertEqual({self.outcome(job).outcome for job in jobs}, {"succeeded"})
        self.assertEqual(most, [3])

    def test_kept_threads(self):
        "a thread runs further jobs, and each finds its own name and no variable of an earlier one"
        worker = self.worker(concurrency=1)
        variable = contextvars.ContextVar("variable", default=None)
        seen = []

        @worker.job("scan")
        def scan(job):
            seen.append((variable.get(), threading.current_thread().name == f"hipq job {job.id}"))
            threads.add(threading.get_ident())
            variable.set(job.id)

        threads = set()
        self.serve(worker)
        for job in hipq.enqueue_many(self.conn, "scan", [None] * 50, queue=self.queue):
            self.assertTrue(self.outcome(job).succeeded)
        self.assertEqual(seen, [(None, True)] * 50)
        self.assertLess(len(threads), 10)

    def test_starts_at_once(self):
        "a bound worker needs no poll: notifications announce its jobs"
        worker = self.worker(poll=300)
        worker.job("scan")(lambda job: None)
        self.serve(worker)
        for _ in range(20):
            self.assertTrue(self.outcome(self.enqueue()).succeeded)

    def test_progress_and_extend(self):
        "progress is in hipq.progress; extend moves the deadline to this much time from now"
        worker = self.worker()
        said, go = threading.Event(), threading.Event()
        deadlines, clock = [], []

        @worker.job("scan")
        def scan(job):
            for more in ("30 min", 60, timedelta(hours=1)):
                clock.append(self.sql("SELECT clock_timestamp()"))
                deadlines.append(job.extend(more))
            clock.append(self.sql("SELECT clock_timestamp()"))
            job.progress(3, 10, "reads")
            said.set()
            go.wait(60)

        self.serve(worker)
        job = self.enqueue()
        self.assertTrue(said.wait(60))
        row = self.conn.execute(
            "SELECT done, total, message FROM hipq.progress_detail WHERE id = %s", (job,)
        ).fetchone()
        self.assertEqual(row, (3, 10, "reads"))
        sql = "SELECT deadline FROM hipq.running_detail WHERE id = %s"
        self.assertEqual(self.sql(sql, job), deadlines[-1])
        go.set()
        self.assertTrue(self.outcome(job).succeeded)
        half, same, whole = deadlines
        self.assertTrue(clock[0] <= half - timedelta(minutes=30) <= clock[1])
        self.assertEqual(same, half)  # the attempt had more time already
        self.assertTrue(clock[2] <= whole - timedelta(hours=1) <= clock[3])

    def test_probes_change_nothing(self):
        "checks for attempts that are over do not move deadlines"
        worker = self.worker()
        go = threading.Event()
        worker.job("scan")(lambda job: go.wait(60))
        serving = self.serve(worker)
        job = self.enqueue()
        self.until_running(job)
        sql = "SELECT deadline FROM hipq.running_detail WHERE id = %s"
        before = self.sql(sql, job)
        ask = serving.worker._answers.ask
        self.assertEqual(ask(statements.STILL_RUN, ([job, job], [2, 1])), [([job],)])
        self.assertEqual(ask(statements.STILL_RUN, ([job], [2])), [([],)])
        self.assertEqual(self.sql(sql, job), before)
        go.set()
        self.assertTrue(self.outcome(job).succeeded)

    def test_complete(self):
        "job.complete() commits the handler's writes together with the success"
        self.sql("CREATE TABLE written (n integer); GRANT ALL ON written TO worker")
        worker = self.worker()

        @worker.job("scan")
        def scan(job):
            with psycopg.connect(self.serves) as conn:
                conn.execute("INSERT INTO written VALUES (%s)", (job.id,))
                job.complete(conn, {"in": "time"})
                if job.attempt == 1:
                    raise RuntimeError("before the commit")
                if job.attempt == 2:
                    conn.rollback()

        self.serve(worker)
        job = self.enqueue()
        self.assertEqual(self.outcome(job), ("succeeded", {"in": "time"}, None))
        self.assertEqual(self.sql("SELECT count(*) FROM written"), 1)
        sql = "SELECT array_agg(error ORDER BY attempt) FROM hipq.attempts_detail WHERE job_id = %s"
        errors = ["before the commit", "what completed the job was rolled back"]
        errors = [f"RuntimeError: {error}" for error in errors]
        self.assertEqual(self.sql(sql, job), errors)

    def test_stop_gives_up_its_place(self):
        "after stop() run() returns, and the worker is deregistered"
        worker = self.worker()
        worker.job("scan")(lambda job: None)
        serving = self.serve(worker)
        self.until_served(worker.settings.name)
        serving.end()
        sql = "SELECT count(*) FROM hipq.workers WHERE name = %s"
        until(lambda: self.sql(sql, worker.settings.name) == 0, "the worker is gone")
