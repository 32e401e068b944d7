import threading

import hipq
from support import Case, until


class Unbound(Case):
    def test_pooler(self):
        "pooler=True: it is bound to no session; jobs run, and stop() works"
        worker = self.worker(pooler=True, poll=0.5)
        go = threading.Event()
        worker.job("scan")(lambda job: go.wait(60))
        serving = self.serve(worker)
        job = self.enqueue()
        self.until_running(job)
        sql = "SELECT pid IS NULL AND status = 'active' FROM hipq.workers_detail WHERE name = %s"
        self.assertTrue(self.sql(sql, worker.settings.name))
        go.set()
        self.assertEqual(self.outcome(job).result, True)
        serving.end()
        sql = "SELECT count(*) FROM hipq.workers_detail WHERE name = %s"
        self.assertEqual(self.sql(sql, worker.settings.name), 0)

    def test_heartbeat(self):
        "a worker without free capacity still sends heartbeats"
        worker = self.worker(pooler=True, poll=300, concurrency=1)
        go = threading.Event()
        worker.job("scan")(lambda job: go.wait(60))
        serving = self.serve(worker)
        job = self.enqueue()
        self.until_running(job)
        now = self.sql("SELECT clock_timestamp()")
        sql = "SELECT last_heartbeat > %s FROM hipq.workers_detail WHERE name = %s"
        worker._keeper._next_beat = 0
        until(lambda: self.sql(sql, now, worker.settings.name), "it is heard of")
        worker.stop()
        go.set()
        serving.end()

    def test_cancel(self):
        "the handler of a cancelled job is notified here, too"
        worker = self.worker(pooler=True, poll=0.5)
        told = threading.Event()

        @worker.job("scan")
        def scan(job):
            try:
                job.sleep(300)
            except hipq.AttemptOver:
                told.set()

        self.serve(worker)
        job = self.enqueue()
        self.until_running(job)
        self.sql("SELECT hipq.cancel(%s)", job)
        self.assertTrue(told.wait(60))
