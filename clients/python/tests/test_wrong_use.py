import asyncio
import threading

import psycopg

import hipq
from hipq.session import Session
from support import Case


class WrongUse(Case):
    def test_options(self):
        "an unknown option is named"
        with self.assertRaisesRegex(TypeError, r"enqueue\(\) has no option 'quue'; there are "):
            hipq.enqueue(self.conn, "scan", quue="x")
        with self.assertRaisesRegex(TypeError, r"enqueue_many\(\) has no option 'job_key'"):
            hipq.enqueue_many(self.conn, "scan", [], job_key="x")

    def test_connections(self):
        "each kind of connection has its functions"

        async def main():
            async with await psycopg.AsyncConnection.connect("") as conn:
                with self.assertRaisesRegex(TypeError, "an AsyncConnection needs hipq.aio"):
                    hipq.enqueue(conn, "scan")
            with self.assertRaisesRegex(TypeError, "hipq.aio needs an AsyncConnection"):
                await hipq.aio.enqueue(self.conn, "scan")

        asyncio.run(main())

    def test_worker(self):
        "what a worker cannot be"
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
        "what a handler cannot be"
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
        "a name that is taken; take_over takes it, and the first one is told"
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
        "what the server refuses is its own error: an unknown type, no right, no server"
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

    def test_pooled(self):
        "a bound worker whose session is another one says so"
        worker = self.worker()
        with psycopg.connect(self.serves, autocommit=True) as one:
            session = Session(one, worker.settings, ["scan"], False)
            with psycopg.connect(self.serves, autocommit=True) as other:
                session.connection = other
                with self.assertRaisesRegex(hipq.PooledSession, r"Worker\(pooler=True\)"):
                    session.check_bound()
