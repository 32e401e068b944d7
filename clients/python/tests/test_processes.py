import os
import signal
import subprocess
import tempfile
import unittest

import hipq
from support import Case, until


class Processes(Case):
    types = {"scan": "max_retries => 3, retry_base => '0 s', default_timeout => 120, "}
    aio: dict[str, str] = {}

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = os.path.join(folder.name, "go")
        # Waits for the end of the session: after a kill it could still get jobs.
        sql = """SELECT NOT EXISTS (
            SELECT FROM hipq.workers_detail WHERE status = 'active' AND %s = ANY (queues))"""
        until(lambda: self.sql(sql, self.queue), "the workers of the test before are gone")

    def attempts(self, jobs):
        sql = """SELECT string_agg(concat_ws(' ', job_id, attempt, reason, worker_id, error), '; ')
            FROM hipq.attempts_detail WHERE job_id = ANY (%s)"""
        return self.sql(sql, jobs)

    def slow(self, name):
        return self.program("slow.py", HIPQ_NAME=name, HIPQ_FILE=self.file, **self.aio)

    def until_running_with(self, job, name):
        """A program that is killed during its last claim() gets jobs after its death."""
        sql = "SELECT is_accepted AND worker = %s FROM hipq.running_detail WHERE id = %s"
        until(lambda: self.sql(sql, name, job), f"job {job} runs with {name}")

    def let_them_end(self):
        open(self.file, "w").close()

    def until_draining(self, name):
        sql = "SELECT is_draining FROM hipq.workers_detail WHERE name = %s"
        until(lambda: self.sql(sql, name), f"worker {name} drains")

    def test_sigterm(self):
        "SIGTERM: running jobs end, waiting jobs stay, the process ends with 0"
        first = self.slow("first")
        jobs = [self.enqueue() for _ in range(4)]
        for job in jobs:
            self.until_running_with(job, "first")
        first.send_signal(signal.SIGTERM)
        self.until_draining("first")
        later = self.enqueue()
        self.let_them_end()
        self.assertEqual(first.wait(60), 0)
        outcomes = [self.outcome(job)[:2] for job in jobs]
        self.assertEqual(outcomes, [("succeeded", "first")] * 4, self.attempts(jobs))
        self.assertEqual(hipq.wait_for(self.conn, later, 0).outcome, "waiting")
        self.sql("SELECT hipq.cancel(%s)", later)

    def test_second_signal(self):
        "a second SIGTERM: running jobs are given back, uncharged"
        first = self.slow("first")
        job = self.enqueue()
        self.until_running(job)
        first.send_signal(signal.SIGTERM)
        self.until_draining("first")
        first.send_signal(signal.SIGTERM)
        self.assertEqual(first.wait(60), 0)
        sql = "SELECT state || ' ' || attempt || ' ' || retry_count FROM hipq.jobs_detail WHERE id = %s"
        self.assertEqual(self.sql(sql, job), "retry 1 0")
        self.let_them_end()
        self.slow("second")
        self.assertEqual(self.outcome(job)[:2], ("succeeded", "second"))

    def test_kill(self):
        "kill -9 of a worker loses nothing: another worker runs the job"
        first = self.slow("first")
        job = self.enqueue()
        self.until_running(job)
        first.kill()
        first.wait(60)
        self.let_them_end()
        self.slow("second")
        self.assertEqual(self.outcome(job)[:2], ("succeeded", "second"))
        sql = "SELECT reason FROM hipq.attempts WHERE job_id = %s"
        self.assertEqual(self.sql(sql, job), "worker_lost")

    @unittest.skipUnless("HIPQ_PGDATA" in os.environ, "no server to restart")
    def test_restart(self):
        "a restart of the server: the worker continues, and completes running jobs and later jobs"
        first = self.slow("first")
        job = self.enqueue()
        self.until_running(job)
        data = os.environ["HIPQ_PGDATA"]
        subprocess.run(
            ["pg_ctl", "restart", "-s", "-w", "-m", "fast", "-D", data,
             "-l", os.environ["HIPQ_PGLOG"]],
            check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        self.connect_again()
        self.let_them_end()
        self.assertEqual(self.outcome(job)[:2], ("succeeded", "first"))
        self.assertEqual(self.outcome(self.enqueue())[:2], ("succeeded", "first"))
        self.assertIsNone(first.poll())

    def test_lost_sessions(self):
        "its sessions are terminated: it registers again, and still sends its answer"
        self.slow("first")
        job = self.enqueue()
        self.until_running(job)
        number = self.sql("SELECT worker_id FROM hipq.workers_detail WHERE name = 'first'")
        terminated = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
        self.sql(terminated + " WHERE usename = 'worker'")
        sql = "SELECT worker_id > %s AND status = 'active' FROM hipq.workers_detail WHERE name = 'first'"
        until(lambda: self.sql(sql, number), "it has registered again")
        self.let_them_end()
        self.assertEqual(self.outcome(job)[:2], ("succeeded", "first"))

    @classmethod
    def connect_again(cls):
        import psycopg

        cls.conn = psycopg.connect("", autocommit=True)
        cls.addClassCleanup(cls.conn.close)


class AioProcesses(Processes):
    aio = {"HIPQ_AIO": "1"}
