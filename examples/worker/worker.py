#!/usr/bin/python3
"""An external worker of hipq:  worker.py NAME QUEUE JOB_TYPE...

Connects as PGHOST, PGDATABASE, PGUSER say; HIPQ_POOLER=1 behind a pooler. SIGTERM: finishes what runs, then ends.
Debian: python3-psycopg2. docs/external-workers.md explains it."""
import concurrent.futures, json, os, select, signal, sys, threading, time
import psycopg2

CAPACITY = 4                                       # jobs at a time
POLL = 5                                           # seconds; far less than hipq.heartbeat_timeout
POOLER = "HIPQ_POOLER" in os.environ


def work(job):
    """Yours. What it returns is the result, an exception is a failure; ValueError: not to be retried."""
    steps = job.data.get("steps", 1)
    if steps < 1:
        raise ValueError("there is nothing to do")
    for step in range(steps):
        time.sleep(1)
        job.report(step + 1, steps)                # raises when the attempt is over: then stop
    return {"steps": steps}


class Job:
    def __init__(self, id, attempt, job_type, data, time_left):
        self.id, self.attempt, self.type, self.data = id, attempt, job_type, data
        self.end = time.monotonic() + time_left

    def answer(self, function, types, *values):
        placeholders = "".join(f", %s::{type}" for type in types.split())
        return answer(f"SELECT hipq.{function}(%s::bigint, %s::integer{placeholders})", self.id, self.attempt, *values)

    def report(self, done, total):
        self.answer("report_progress", "bigint bigint", done, total)
        if self.end - time.monotonic() < 60:       # it gets on, so it may have more time
            self.answer("extend", "interval", "5 min")
            self.end += 300

    def run(self):
        try:
            self.answer("complete", "jsonb", json.dumps(work(self)))
        except Exception as error:
            if getattr(error, "pgcode", None) != "HQ003":
                self.fail(error)                   # HQ003: the attempt is over

    def fail(self, error):
        print(f"job {self.id}: {error!r}", file=sys.stderr)
        try:
            self.answer("fail", "text boolean", repr(error), not isinstance(error, ValueError))
        except psycopg2.Error as stale:
            print(f"job {self.id}: {stale}", file=sys.stderr)


def connect():
    connection = psycopg2.connect("application_name=worker keepalives_idle=10")
    connection.autocommit = True
    return connection


def is_lost(error):
    """The connection, that is: no SQLSTATE came, or one that says so."""
    return not isinstance(error, psycopg2.ProgrammingError) and (error.pgcode or "08").startswith(("08", "57P"))


def ask(connection, sql, *values):
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return cursor.fetchall()


answers, answers_lock = None, threading.Lock()


def answer(sql, *values):
    """By a connection for all jobs. When that breaks the answer is given again: at worst it is HQ003 then."""
    global answers
    with answers_lock:
        while True:
            try:
                answers = answers or connect()
                return ask(answers, sql, *values)
            except psycopg2.Error as error:
                if not is_lost(error):
                    raise
                answers = None
                time.sleep(1)


running, stopping = set(), threading.Event()
bell, ring = os.pipe()                             # rings at each signal and each end of a job
os.set_blocking(bell, False), os.set_blocking(ring, False)


def wait(*channels):
    select.select([bell, *channels], [], [], POLL)
    try:
        os.read(bell, 4096)
    except BlockingIOError:
        pass


def serve(pool, name, queue, job_types, take_over):
    connection = connect()
    [[worker]] = ask(connection, "SELECT hipq.register_worker(%s, %s, %s, capacity => %s, listen => %s, take_over => %s)",
                     name, [queue], job_types, CAPACITY, not POOLER, take_over)
    while not stopping.is_set():
        free = CAPACITY - len(running)
        jobs = ask(connection, """SELECT id, attempt, job_type, job_data, extract(epoch FROM deadline - clock_timestamp())::float
                                  FROM hipq.claim(%s::bigint, %s, %s)""", worker, free, "5 s" if POOLER else "0") if free else []
        for job in jobs:
            run = pool.submit(Job(*job).run)
            running.add(run)
            run.add_done_callback(lambda done: (running.discard(done), os.write(ring, b"!")))
        if free == 0:
            ask(connection, "SELECT hipq.heartbeat(%s)", worker)         # claim is a heartbeat, too
        if free == 0 or not (jobs or POOLER):
            wait(*([] if POOLER else [connection]))
            connection.poll()                                            # takes the notifications, notices that it is broken
            connection.notifies.clear()
    ask(connection, "SELECT hipq.drain_worker(%s)", worker)              # what it has not claimed goes to others
    while running:
        wait()
        ask(connection, "SELECT hipq.heartbeat(%s)", worker)
    ask(connection, "SELECT hipq.deregister_worker(%s)", worker)


def stop(number, frame):
    stopping.set()
    signal.signal(number, signal.SIG_DFL)                                # the second time it ends at once


def main(name, queue, *job_types):
    signal.set_wakeup_fd(ring)
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    take_over = False
    with concurrent.futures.ThreadPoolExecutor(CAPACITY) as pool:
        while not stopping.is_set():
            try:
                serve(pool, name, queue, list(job_types), take_over)
            except psycopg2.Error as error:
                if not is_lost(error):
                    raise                                                # the name is taken, for example
                print(f"lost the server: {error}", file=sys.stderr)
                take_over = True                                         # our own old session may still hold the name
                time.sleep(1)


if __name__ == "__main__":
    main(*sys.argv[1:])
