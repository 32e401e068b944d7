import asyncio

import hipq
from hipq.ending import answers_for
from hipq.testing import TestJob, run_job
from support import Case, until
from test_answers import InALoop


class Model:
    """A schema without pydantic."""

    def __init__(self, number):
        self.number = number

    @classmethod
    def model_validate(cls, data):
        if not isinstance(data, int):
            raise ValueError("no number")
        return cls(data)


class Batches(Case):
    types = {"scan": "max_retries => 0, "}
    aio = False

    def run_all(self, data, function, **options):
        """Returns the outcomes of jobs that a handler of batches runs."""
        kind = hipq.aio if self.aio else hipq
        worker = kind.Worker(
            self.serves, name=self.id()[-60:], queues=[self.queue], concurrency=20, look=0.1
        )

        async def soon(jobs):
            await asyncio.sleep(0)
            return function(jobs)

        worker.batch("scan", **options)(soon if self.aio else function)
        jobs = hipq.enqueue_many(self.conn, "scan", data, queue=self.queue)
        self.serve(InALoop(worker) if self.aio else worker)
        return [self.outcome(job) for job in jobs]

    def test_results(self):
        "batches: results are in the order of the jobs; a call has at most `size` jobs"
        sizes = []

        def double(jobs):
            sizes.append(len(jobs))
            return [2 * job.data for job in jobs]

        outcomes = self.run_all(list(range(20)), double, size=4)
        self.assertEqual(outcomes, [("succeeded", 2 * n, None) for n in range(20)])
        self.assertEqual((max(sizes), sum(sizes)), (4, 20))

    def test_one_by_one(self):
        "batches: an exception in place of a result, and invalid data, apply only to that job"

        def some(jobs):
            return [hipq.Permanent("one") if job.data.number == 1 else "well" for job in jobs]

        outcomes = self.run_all([0, 1, "two", 3], some, schema=Model)
        self.assertEqual(outcomes[0], ("succeeded", "well", None))
        self.assertEqual(outcomes[1], ("failed", None, "one"))
        self.assertEqual(outcomes[2], ("failed", None, "invalid data: no number"))
        self.assertEqual(outcomes[3], ("succeeded", "well", None))

    def test_delays(self):
        "batches: RetryAfter applies only to its job, also with an invalid delay"
        ends = [hipq.RetryAfter("7 min", "busy"), "well", hipq.RetryAfter("soon", "busy")]
        worker = (hipq.aio if self.aio else hipq).Worker(
            self.serves, name=self.id()[-60:], queues=[self.queue], concurrency=20
        )
        calls = []

        def some(jobs):
            calls.append(len(jobs))
            return [ends[job.data] for job in jobs]

        async def soon(jobs):
            return some(jobs)

        worker.batch("scan")(soon if self.aio else some)
        jobs = hipq.enqueue_many(
            self.conn, "scan", [0, 1, 2, 0], queue=self.queue, max_retries=1
        )
        self.addCleanup(self.sql, "SELECT hipq.cancel_jobs(%s)", self.queue)
        self.serve(InALoop(worker) if self.aio else worker)
        self.assertEqual(self.outcome(jobs[1]), ("succeeded", "well", None))
        self.assertEqual(self.outcome(jobs[2]), ("failed", None, "busy"))
        sql = """SELECT array_agg(extract(epoch FROM scheduled_run_time - update_time)::integer)
            FROM hipq.jobs_detail
            WHERE id = ANY (%s) AND state = 'retry' AND retry_count = 1 AND error = 'busy'"""
        until(lambda: self.sql(sql, jobs) == [420, 420], "the others wait as long as they say")
        self.assertEqual(sum(calls), 5)  # in whatever groups they ran

    def test_all(self):
        "batches: an exception of the handler applies to all jobs"

        def spoilt(jobs):
            raise ValueError("none of them")

        error = ("failed", None, "ValueError: none of them")
        self.assertEqual(self.run_all([1, 2], spoilt), [error, error])

    def test_too_few(self):
        "batches: a missing result fails all jobs"
        for outcome in self.run_all([1, 2], lambda jobs: []):
            self.assertEqual(outcome.outcome, "failed")
            self.assertRegex(outcome.error, r"returned 0 results for \d jobs")

    def test_nothing(self):
        "batches: without results all jobs have succeeded"
        self.assertEqual(self.run_all([1, 2], lambda jobs: None), [("succeeded", None, None)] * 2)

    def test_over(self):
        "batches: when one of the jobs is over, and the handler raises AttemptOver, the others fail"
        over, other = (TestJob(n, 1, self.queue, "scan", *[None] * 10) for n in range(2))
        over.cancelled = True
        over._has_ended = other._has_ended = False
        (answer,) = answers_for([over, other], [hipq.AttemptOver(over.id, 1)] * 2)
        self.assertEqual((answer.word, answer.job), ("failed", other))
        self.assertIn("another job of its batch", answer.value)


    def test_alone(self):
        "batches: tests of handlers run their jobs one by one"
        worker = (hipq.aio if self.aio else hipq).Worker("", queues=[self.queue])

        def halve(jobs):
            return [job.data // 2 if job.data else ValueError("nothing") for job in jobs]

        async def halve_soon(jobs):
            return halve(jobs)

        worker.batch("scan")(halve_soon if self.aio else halve)
        jobs = [TestJob(1, 1, self.queue, "scan", None, data, *[None] * 8) for data in (6, 0)]
        ran = [run_job(worker, job)[1:] for job in jobs]
        self.assertEqual(ran[0], ("succeeded", 3, None))
        self.assertEqual(ran[1], ("failed", None, "ValueError: nothing"))


class AioBatches(Batches):
    aio = True
