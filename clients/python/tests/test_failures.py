from datetime import timedelta
from unittest import mock

import hipq
from hipq import statements
from support import Case, until


class Failures(Case):
    types = {
        "scan": "max_retries => 3, retry_base => '0 s', ",
        "later": "max_retries => 1, retry_handler =>"
        " $$ SELECT substring(($3).error FROM 'again in (\\d+ s)')::interval $$, ",
    }

    def attempts(self, job):
        sql = "SELECT attempt, reason, error FROM hipq.attempts_detail WHERE job_id = %s ORDER BY attempt"
        return self.conn.execute(sql, (job,)).fetchall()

    def setUp(self):
        self.handler = None
        worker = self.worker()
        worker.job("scan")(lambda job: self.handler(job))
        worker.job("later")(lambda job: self.handler(job))
        self.serve(worker)

    def test_retried(self):
        "an exception fails the attempt, and the job is retried"

        def handler(job):
            if job.attempt < 3:
                raise ValueError("not yet")
            return [job.retry_count, job.retry_reason]

        self.handler = handler
        job = self.enqueue()
        self.assertEqual(self.outcome(job)[:2], ("succeeded", [2, "transient_error"]))
        error = ("transient_error", "ValueError: not yet")
        self.assertEqual(self.attempts(job), [(1, *error), (2, *error)])

    def test_permanent(self):
        "Permanent is not retried"

        def handler(job):
            raise hipq.Permanent("no such file")

        self.handler = handler
        job = self.enqueue()
        self.assertEqual(self.outcome(job)[::2], ("failed", "no such file"))
        self.assertEqual(self.attempts(job), [(1, "explicit_failure", "no such file")])

    def test_release(self):
        "release runs the job again, uncharged"

        def handler(job):
            if job.attempt == 1:
                job.release()
            if job.attempt == 2:
                raise hipq.Release(delay="0 s")
            return job.retry_count

        self.handler = handler
        self.assertEqual(self.outcome(self.enqueue()), ("succeeded", 0, None))

    def test_release_later(self):
        "release with a delay"
        self.handler = lambda job: job.release("1 h")
        job = self.enqueue()
        until(lambda: self.attempts(job), "it is released")
        self.assertEqual(hipq.wait_for(self.conn, job, 0).outcome, "waiting")
        sql = "SELECT scheduled_run_time - now() > '59 min' FROM hipq.jobs WHERE id = %s"
        self.assertTrue(self.sql(sql, job))
        self.sql("SELECT hipq.cancel(%s)", job)

    def test_failed_until_later(self):
        "a failure with the time of the retry: the retry handler reads it, and the retry is charged"

        def handler(job):
            raise RuntimeError("too many requests: again in 300 s")

        self.handler = handler
        job = self.enqueue("later")
        self.addCleanup(self.sql, "SELECT hipq.cancel(%s)", job)
        sql = """SELECT scheduled_run_time - now() > '3 min' AND retry_count = 1
            FROM hipq.jobs_detail WHERE id = %s AND state = 'retry'"""
        self.assertTrue(until(lambda: self.conn.execute(sql, (job,)).fetchone(), "it has failed")[0])

    def retry_of(self, job):
        """Returns the error, the charged retries, and the seconds from the failure to the retry."""
        sql = """SELECT error, retry_count, extract(epoch FROM scheduled_run_time - update_time)
            FROM hipq.jobs_detail WHERE id = %s AND state = 'retry'"""
        return until(lambda: self.conn.execute(sql, (job,)).fetchone(), "it has failed")

    def test_retry_after(self):
        "RetryAfter: the retry is charged, and waits for the delay"
        delays = {"text": "7 min", "number": 420, "timedelta": timedelta(minutes=7)}

        def handler(job):
            raise hipq.RetryAfter(delays[job.data], "busy")

        self.handler = handler
        for name in delays:
            job = self.enqueue("scan", name)
            self.addCleanup(self.sql, "SELECT hipq.cancel(%s)", job)
            self.assertEqual(self.retry_of(job), ("busy", 1, 420))
        job = self.enqueue("scan", "text", max_retries=0)
        self.assertEqual(self.outcome(job)[::2], ("failed", "busy"))
        self.assertEqual(self.attempts(job), [(1, "transient_error", "busy")])

    def test_retry_after_nothing(self):
        "RetryAfter with an invalid delay: the job fails as usual, and the log says so"

        class NoText:
            def __str__(self):
                raise ValueError("no text")

        for delay in ("soon", "-1 s", "\ud83d", NoText()):

            def handler(job, delay=delay):
                raise hipq.RetryAfter(delay, "b\u00fcsy")

            self.handler = handler
            with self.assertLogs("hipq", "WARNING") as logged:
                job = self.enqueue(max_retries=0)
                self.assertEqual(self.outcome(job)[::2], ("failed", "b\u00fcsy"))
            self.assertEqual(self.attempts(job), [(1, "transient_error", "b\u00fcsy")])
            said = [line for line in logged.output if "RetryAfter has no delay" in line]
            self.assertEqual(len(said), 1, logged.output)

    def test_retry_after_of_an_older_server(self):
        "RetryAfter where fail_attempts() has no such argument: the job fails as usual"
        self.handler = handler = mock.Mock(side_effect=hipq.RetryAfter("7 min", "busy"))
        older = statements.FAIL_MANY_LATER.replace("retry_after", "not_there_yet")
        with mock.patch.object(statements, "FAIL_MANY_LATER", older):
            job = self.enqueue(max_retries=1)
            self.assertEqual(self.outcome(job)[::2], ("failed", "busy"))
        self.assertEqual(handler.call_count, 2)

    def test_log(self):
        "a deliberate failure is one line in the log; any other failure has a traceback"

        class Mine(hipq.Permanent):
            pass

        for error, text, has_traceback in (
            (hipq.Permanent("no hope"), "no hope", False),
            (Mine("no hope"), "no hope", False),
            (hipq.RetryAfter("0", "busy"), "busy", False),
            (ValueError("a slip"), "ValueError: a slip", True),
        ):

            def handler(job, error=error):
                raise error

            self.handler = handler
            with self.assertLogs("hipq", "WARNING") as logged:
                job = self.enqueue(max_retries=0)
                self.outcome(job)
            (record,) = logged.records
            self.assertEqual(record.getMessage(), f"job {job} (scan) failed: {text}")
            self.assertEqual(bool(record.exc_info), has_traceback)

    def test_exit(self):
        "sys.exit() in a handler fails the job, and the worker goes on"

        def handler(job):
            raise SystemExit(3)

        self.handler = handler
        outcome = self.outcome(self.enqueue(max_retries=0))
        self.assertEqual(outcome[::2], ("failed", "SystemExit: 3"))
        self.handler = lambda job: 1
        self.assertTrue(self.outcome(self.enqueue()).succeeded)

    def test_strange_results_and_errors(self):
        "an invalid result fails the job; an invalid text of an error is changed"
        self.handler = lambda job: object()
        outcome = self.outcome(self.enqueue(max_retries=0))
        self.assertEqual(outcome.outcome, "failed")
        self.assertIn("not JSON serializable", outcome.error)
        self.handler = lambda job: "\0"
        self.assertEqual(self.outcome(self.enqueue(max_retries=0)).outcome, "failed")
        for text in ("", "NONE", "a\0b"):

            def handler(job, text=text):
                raise hipq.Permanent(text)

            self.handler = handler
            self.assertEqual(self.outcome(self.enqueue()).outcome, "failed")
