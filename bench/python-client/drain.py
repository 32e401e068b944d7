"""Runs the waiting jobs with two processes of Python. Prints the seconds from their start to the
end of the last one, after the last answer of the server.

    drain.py hipq_batch|hipq_single|hipq_tasks|loop_batch|loop_single COUNT

hipq_*: the client of hipq, with a handler of batches, a handler in a thread for each job, and one
in a task of asyncio. loop_*: a loop that people write by hand over a plain table with psycopg,
500 jobs in a transaction, or one.
"""

import asyncio
import multiprocessing
import os
import sys
import threading
import time

import psycopg

PROCESSES = 2
SIZE = 500  # jobs in a batch
REPORT_INTERVAL = 0.02  # seconds

TAKE = (
    "SELECT id, data FROM job WHERE state = 'new' AND run_at <= now()"
    " ORDER BY run_at, id LIMIT %s FOR UPDATE SKIP LOCKED"
)


def loop(size):
    with psycopg.connect() as conn:
        # Jobs whose end a crash loses run again, as with hipq's group durability.
        conn.execute("SET synchronous_commit = off")
        conn.commit()
        while True:
            jobs = conn.execute(TAKE, (size,)).fetchall()
            if not jobs:
                return
            for _id, data in jobs:
                handle(data)
            ids = [id for id, data in jobs]
            conn.execute("UPDATE job SET state = 'done' WHERE id = ANY (%s)", (ids,))
            conn.commit()


def handle(data):
    pass


class Counted:
    """Counts the jobs of all processes, and stops the worker when all have run."""

    def __init__(self, done, count):
        self.done, self.count = done, count
        self.lock, self.mine = threading.Lock(), 0

    def add(self, jobs):
        with self.lock:
            self.mine += jobs

    def stop_at_end(self, stop):
        threading.Thread(target=self._watch, args=(stop,), daemon=True).start()

    def _watch(self, stop):
        reported = 0
        while self.done.value < self.count:
            time.sleep(REPORT_INTERVAL)
            mine = self.mine
            with self.done.get_lock():
                self.done.value += mine - reported
            reported = mine
        stop()


def work(kind, done, count):
    if kind.startswith("loop"):
        return loop(SIZE if kind == "loop_batch" else 1)
    import hipq

    counted = Counted(done, count)
    settings = {"name": f"python {os.getpid()}", "queues": ["app.main"]}
    if kind == "hipq_batch":
        worker = hipq.Worker(concurrency=2 * SIZE, prefetch=4 * SIZE, **settings)

        @worker.batch("run", size=SIZE)
        def run(jobs):
            for job in jobs:
                handle(job.data)
            counted.add(len(jobs))

    elif kind == "hipq_single":
        worker = hipq.Worker(concurrency=64, prefetch=4 * SIZE, **settings)

        @worker.job("run")
        def run(job):
            handle(job.data)
            counted.add(1)

    else:
        worker = hipq.aio.Worker(concurrency=SIZE, prefetch=4 * SIZE, **settings)

        @worker.job("run")
        async def run(job):
            handle(job.data)
            counted.add(1)

    counted.stop_at_end(worker.stop)
    if kind == "hipq_tasks":
        asyncio.run(worker.run())
    else:
        worker.run()


def main():
    kind, count = sys.argv[1], int(sys.argv[2])
    done = multiprocessing.Value("q", 0)
    processes = [
        multiprocessing.Process(target=work, args=(kind, done, count)) for _ in range(PROCESSES)
    ]
    start = time.monotonic()
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    print(time.monotonic() - start)
    sys.exit(any(process.exitcode for process in processes))


if __name__ == "__main__":
    main()
