import asyncio

import psycopg

import hipq
from support import Case


class BatchesOfJobs(Case):
    types = {"scan": "max_retries => 0, ", "told": ""}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.sql("SELECT hipq.grant_queue(%s, 'worker', 'read')", cls.queue)

    def create(self, **options):
        options = {"callback_type": "told", "queue": self.queue, **options}
        return hipq.Batch.create(self.conn, **options)

    def callback_of(self, batch):
        return self.sql("SELECT job_id FROM hipq.dependency WHERE before_id = %s", batch.id)

    def telling(self, scan):
        """A worker whose callbacks return the progress of their batches."""
        worker = self.worker()
        worker.job("scan")(scan)

        @worker.job("told")
        def told(job):
            with psycopg.connect("") as conn:
                return [job.data, job.batch().id, *job.batch().progress(conn)]

        self.serve(worker)

    def test_create(self):
        "a batch is part of the caller's transaction, with its options"
        with psycopg.connect("", row_factory=psycopg.rows.dict_row) as conn:
            batch = hipq.Batch.create(
                conn, "import", callback_type="told", callback_data=[1], queue=self.queue,
                call_when="succeeded", expires_after="2 hours", closed=True,
            )  # fmt: skip
            row = conn.execute(
                """SELECT one.name, one.queue, one.state, job.job_data, after_policy,
                    round(extract(epoch FROM one.expires_time - one.created_time) / 3600)::int
                FROM hipq.batches_detail AS one
                JOIN hipq.dependency ON before_id = one.batch_id
                JOIN hipq.jobs_detail AS job ON job.id = job_id WHERE one.batch_id = %s""",
                (batch.id,),
            ).fetchone()
            conn.rollback()
        expected = ["import", self.queue, "finished", [1], "succeeded", 2]
        self.assertEqual(list(row.values()), expected)
        self.assertIsNone(batch.progress(self.conn))

    def test_callback(self):
        "a batch counts its jobs, and a worker runs its callback after them"

        def scan(job):
            if job.data == "bad":
                raise ValueError("bad")

        batch = self.create(callback_data="a.csv")
        batch.enqueue(self.conn, "scan", queue=self.queue)
        batch.enqueue_many(self.conn, "scan", ["good", "bad"], queue=self.queue)
        self.enqueue(batch=batch)
        hipq.enqueue_many(self.conn, "scan", [1], queue=self.queue, batch=batch.id)
        self.assertEqual(batch.progress(self.conn), ("open", 5, 5, 0, 0, 0))
        self.assertEqual(batch.close(self.conn), True)
        self.assertEqual(batch.close(self.conn), False)
        self.telling(scan)
        result = ["a.csv", batch.id, "finished", 5, 0, 4, 1, 0]
        self.assertEqual(self.outcome(self.callback_of(batch)), ("succeeded", result, None))

    def test_members_add_members(self):
        "a job of a closed batch adds jobs to it while it runs"

        def scan(job):
            if job.data == 2:
                with psycopg.connect("") as conn:
                    job.batch().enqueue_many(conn, "scan", [0, 0], queue=self.queue)

        with psycopg.connect("") as conn:
            batch = hipq.Batch.create(conn, callback_type="told", queue=self.queue, closed=True)
            batch.enqueue(conn, "scan", 2, queue=self.queue)
        with self.assertRaisesRegex(psycopg.errors.ObjectNotInPrerequisiteState, "is closed"):
            batch.enqueue(self.conn, "scan", queue=self.queue)
        self.telling(scan)
        result = [{}, batch.id, "finished", 3, 0, 3, 0, 0]
        self.assertEqual(self.outcome(self.callback_of(batch)).result, result)

    def test_cancel(self):
        "a cancelled batch is closed, and its callback runs"
        batch = self.create()
        ids = batch.enqueue_many(self.conn, "scan", [1, 2], queue=self.queue)
        self.assertEqual(batch.cancel(self.conn, "not wanted"), 2)
        self.assertIn("not wanted", self.outcome(ids[0]).error)
        self.telling(lambda job: None)
        result = [{}, batch.id, "finished", 2, 0, 0, 2, 0]
        self.assertEqual(self.outcome(self.callback_of(batch)).result, result)

    def test_after_batch(self):
        "a job comes after a batch: after all of its jobs, or after the first failure"
        batch = self.create(callback_type=None)
        later = self.enqueue(after_batch=batch)
        alarm = self.enqueue(after_batch=batch.id, after_policy="failed", on_failure="skip")
        self.assertEqual(hipq.current_batch(self.conn, later), batch)
        batch.enqueue(self.conn, "scan", queue=self.queue)
        batch.close(self.conn)
        self.telling(lambda job: None)
        self.assertEqual(self.outcome(later).outcome, "succeeded")
        self.assertEqual(self.outcome(alarm).outcome, "skipped")
        self.assertIsNone(hipq.current_batch(self.conn, self.enqueue()))

    def test_wrong_use(self):
        "psycopg raises the errors of the server; an unknown argument is a TypeError"
        with self.assertRaises(TypeError):
            hipq.Batch.create(self.conn, callback="told")
        with self.assertRaisesRegex(psycopg.errors.InvalidParameterValue, "needs a queue"):
            hipq.Batch.create(self.conn)
        with self.assertRaisesRegex(psycopg.errors.UndefinedObject, "900719925474099301"):
            hipq.Batch(900719925474099301).close(self.conn)

    def test_aio(self):
        "hipq.aio has the same batches for an AsyncConnection"
        worker = hipq.aio.Worker(self.serves, queues=[self.queue], name="batches", look=0.1)
        told = []

        @worker.job("scan")
        async def scan(job):
            async with await psycopg.AsyncConnection.connect("") as conn:
                batch = await job.batch()
                if job.data == "first":
                    await batch.enqueue_many(conn, "scan", [1, 2], queue=self.queue)

        @worker.job("told")
        async def tell(job):
            told.append(await job.batch())

        async def main():
            serving = asyncio.ensure_future(worker.run())
            options = {"callback_type": "told", "queue": self.queue}
            async with await psycopg.AsyncConnection.connect("", autocommit=True) as conn:
                batch = await hipq.aio.Batch.create(conn, "one", **options)
                cancelled = await hipq.aio.Batch.create(conn, queue=self.queue)
                self.assertEqual(await cancelled.cancel(conn), 0)
                self.assertIsNone(await hipq.aio.Batch(1).progress(conn))
                callback = self.callback_of(batch)
                self.assertEqual(await hipq.aio.current_batch(conn, callback), batch)
                await batch.enqueue(conn, "scan", "first", queue=self.queue)
                self.assertTrue(await batch.close(conn))
                await hipq.aio.wait_for(conn, callback)
                progress = await batch.progress(conn)
            worker.stop()
            await serving
            return batch, progress

        batch, progress = asyncio.run(main())
        self.assertEqual(told, [batch])
        self.assertEqual(progress, ("finished", 3, 0, 3, 0, 0))

    def test_testing(self):
        "jobs of hipq.testing know their batch"
        for worker in (self.worker(), hipq.aio.Worker("", queues=[self.queue])):
            with psycopg.connect("") as conn:
                batch = hipq.Batch.create(conn, callback_type="told", queue=self.queue)
                batch.enqueue(conn, "scan", queue=self.queue)
                hipq.enqueue(conn, "scan", queue=self.queue)
                if worker.is_async:
                    worker.job("scan")(self.id_of_batch_soon)
                    worker.job("told")(self.id_of_batch_soon)
                else:
                    worker.job("scan")(self.id_of_batch)
                    worker.job("told")(self.id_of_batch)
                ran = hipq.testing.run_due(conn, worker, self.queue)
                self.assertEqual([one.result for one in ran], [batch.id, None])
                (callback,) = hipq.testing.enqueued(conn, "told", self.queue)
                self.assertEqual(hipq.testing.run_job(worker, callback).result, batch.id)
                conn.rollback()

    @staticmethod
    def id_of_batch(job):
        batch = job.batch()
        return batch and batch.id

    @staticmethod
    async def id_of_batch_soon(job):
        batch = await job.batch()
        return batch and batch.id
