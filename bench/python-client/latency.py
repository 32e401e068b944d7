"""Prints the time from the answer to a COMMIT to the handler, in ms: p50, p99 and the maximum of
COUNT jobs, one at a time, with WORKERS idle workers, each a process.

    latency.py COUNT WORKERS

All processes have the same clock (CLOCK_MONOTONIC).
"""

import multiprocessing
import os
import sys
import time

import hipq
import psycopg

PAUSE = 0.005  # seconds between two jobs


def serve(starts):
    worker = hipq.Worker(name=f"latency {os.getpid()}", queues=["app.main"])
    worker.job("ping")(lambda job: starts.put(time.monotonic()))
    worker.run()


def main():
    count, workers = int(sys.argv[1]), int(sys.argv[2])
    starts = multiprocessing.SimpleQueue()
    all_workers = [multiprocessing.Process(target=serve, args=(starts,)) for _ in range(workers)]
    for worker in all_workers:
        worker.start()
    took = []
    with psycopg.connect(autocommit=True) as conn:
        while conn.execute("SELECT count(*) FROM hipq.workers").fetchone()[0] < workers:
            time.sleep(0.01)
        time.sleep(1)  # until the effects of their start have ended
        for _ in range(count):
            with conn.transaction():
                hipq.enqueue(conn, "ping", queue="app.main")
            answered = time.monotonic()
            took.append((starts.get() - answered) * 1000)
            time.sleep(PAUSE)
    for worker in all_workers:
        worker.kill()
    took.sort()
    print(*(f"{took[min(count - 1, int(share * count))]:.2f}" for share in (0.5, 0.99, 1)))


if __name__ == "__main__":
    main()
