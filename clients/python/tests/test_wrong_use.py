import asyncio
import os
import threading
import unittest

import psycopg

import hipq
from support import Case


class WrongUse(Case):
    def test_options(self):
        "the error names an unknown option"
        with self.assertRaisesRegex(TypeError, r"enqueue\(\) has no option 'quue'; there are "):
            hipq.enqueue(self.conn, "scan", quue="x")
        with self.assertRaisesRegex(TypeError, r"enqueue_many\(\) has no option 'job_key'"):
            hipq.enqueue_many(self.conn, "scan", [], job_key="x")

    def test_connections(self):
        "each kind of connection has its own functions"

        async def main():
            async with await psycopg.AsyncConnection.connect("") as conn:
                with self.assertRaisesRegex(TypeError, "an AsyncConnection needs hipq.aio"):
                    hipq.enqueue(conn, "scan")
            with self.assertRaisesRegex(TypeError, "hipq.aio needs an AsyncConnection"):
                await hipq.aio.enqueue(self.conn, "scan")

        asyncio.run(main())

    def test_worker(self):
        "invalid arguments of a worker"
        for error, text, options in (
            (TypeError, r"queues is a list: queues=\['a.b'\]", {"queues": "a.b"}),
            (ValueError, "at least one queue", {"queues": []}),
            (ValueError, "concurrency is at least 1", {"queues": ["a"], "concurrency": 0}),
            (ValueError, "cannot listen", {"queues": ["a"], "pooler": True, "listen": True}),
        ):
            for kind in (hipq, hipq.aio):
                with self.subTest(text), self.assertRaisesRegex(error, text):
                    kind.Worker("", **options)

    def test_handlers(self):
        "invalid handlers"
        worker = self.worker()
        with self.assertRaisesRegex(RuntimeError, "there is no handler"):
            worker.run()
        with self.assertRaisesRegex(TypeError, '@worker.job'):

            @worker.job
            def scan(job):
                pass

        worker.job("scan")(print)
        with self.assertRaisesRegex(ValueError, 'job type "scan" has a handler already'):
            worker.job("scan")(print)
        with self.assertRaisesRegex(TypeError, "hipq.aio.Worker takes such ones"):

            @worker.job("other")
            async def other(job):
                pass

        with self.assertRaisesRegex(TypeError, "neither model_validate nor parse_obj"):
            worker.job("other", schema=dict)

    def test_name(self):
        "a name that is taken; take_over takes it, and the first worker gets an error"
        first = self.worker(name="one", poll=0.2)
        first.job("scan")(lambda job: "first")
        serving = self.serve(first)
        self.until_served("one")
        second = self.worker(name="one")
        second.job("scan")(lambda job: "second")
        with self.assertRaisesRegex(hipq.NameTaken, 'a worker named "one" is there already'):
            second.run()
        third = self.worker(name="one", take_over=True)
        third.job("scan")(lambda job: "third")
        self.serve(third)
        serving.join()
        self.assertIsInstance(serving.error, hipq.WorkerEnded)
        self.assertIn('worker "one" has ended', str(serving.error))
        serving.error = None
        self.assertEqual(self.outcome(self.enqueue()).result, "third")

    def test_server_refuses(self):
        "the server's own errors: an unknown type, a missing right, no server"
        worker = self.worker()
        worker.job("unknown")(print)
        with self.assertRaisesRegex(psycopg.Error, "unknown"):
            worker.run()
        other = hipq.Worker("user=app host=/nowhere", queues=[self.queue])
        other.job("scan")(print)
        with self.assertRaisesRegex(psycopg.OperationalError, "No such file"):
            other.run()

    def test_runs_once(self):
        "a worker runs once"
        worker = self.worker()
        worker.job("scan")(print)
        serving = self.serve(worker)
        self.until_served(worker.settings.name)
        serving.end()
        with self.assertRaisesRegex(RuntimeError, "has run already"):
            worker.run()

    @unittest.skipIf("POOLER_HOST" not in os.environ, "there is no pooler")
    def test_pooled(self):
        "a bound worker refuses a pooler, and does not register"
        pooler = "host={POOLER_HOST} port={POOLER_PORT} user=worker".format_map(os.environ)
        worker = hipq.Worker(pooler, queues=[self.queue], name="pooled")
        worker.job("scan")(print)
        with self.assertRaisesRegex(hipq.PooledSession, r"Worker\(pooler=True\)"):
            worker.run()
        worker = hipq.aio.Worker(pooler, queues=[self.queue], name="pooled")
        worker.job("scan")(asyncio.sleep)
        with self.assertRaisesRegex(hipq.PooledSession, r"Worker\(pooler=True\)"):
            asyncio.run(worker.run())
        self.assertEqual(self.sql("SELECT count(*) FROM hipq.workers_detail WHERE name = 'pooled'"), 0)

    @unittest.skipIf("POOLER_HOST" not in os.environ, "there is no pooler")
    def test_through_a_pooler(self):
        "an unbound worker works through a pooler"
        pooler = "host={POOLER_HOST} port={POOLER_PORT} user=worker".format_map(os.environ)
        worker = hipq.Worker(pooler, queues=[self.queue], pooler=True, poll=1)
        worker.job("scan")(lambda job: "done")
        serving = self.serve(worker)
        self.assertTrue(self.outcome(self.enqueue()).succeeded)
        serving.end()
