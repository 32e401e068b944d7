import threading

import hipq
from support import Case


class Cancel(Case):
    types = {**Case.types, "talk": "", "late": "default_timeout => 1, "}

    def setUp(self):
        self.over = []
        self.done = threading.Event()

    def note(self, job, work):
        try:
            work(job)
        except hipq.AttemptOver as error:
            self.over.append((error.job_id, job.cancelled))
            self.done.set()
            raise

    def cancelled(self, job):
        self.until_running(job)
        self.sql("SELECT hipq.cancel(%s)", job)
        self.assertTrue(self.done.wait(60))
        self.assertEqual(self.over, [(job, True)])
        self.assertEqual(self.outcome(job).outcome, "cancelled")

    def test_call(self):
        "a handler that reports gets AttemptOver from the call"
        worker = self.worker(look=300)

        def work(job):
            while True:
                job.progress(1)
                self.done.wait(0.02)

        worker.job("talk")(lambda job: self.note(job, work))
        self.serve(worker)
        self.cancelled(self.enqueue("talk"))

    def test_silent(self):
        "the keeper notifies a handler that calls nothing"
        worker = self.worker()
        worker.job("scan")(lambda job: self.note(job, lambda job: job.sleep(300)))
        self.serve(worker)
        self.cancelled(self.enqueue())

    def test_others_go_on(self):
        "the other jobs of the worker are not notified"
        worker = self.worker()
        go = threading.Event()

        @worker.job("scan")
        def scan(job):
            if job.data == "stay":
                go.wait(60)
                return job.cancelled
            self.note(job, lambda job: job.sleep(300))

        self.serve(worker)
        other = self.enqueue("scan", "stay")
        self.until_running(other)
        self.cancelled(self.enqueue())
        go.set()
        self.assertEqual(self.outcome(other), ("succeeded", False, None))

    def test_timeout(self):
        "the same after a timeout of the attempt"
        worker = self.worker()
        worker.job("late")(lambda job: self.note(job, lambda job: job.sleep(300)))
        self.serve(worker)
        job = self.enqueue("late")
        self.assertTrue(self.done.wait(60))
        self.assertEqual(self.outcome(job).outcome, "failed")
        sql = "SELECT reason FROM hipq.attempts WHERE job_id = %s"
        self.assertEqual(self.sql(sql, job), "timeout")
