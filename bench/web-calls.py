# Sends the calls of the page to hipq-web, and prints times of answers and statements: for
# bench/web.
import http.client
import json
import os
import statistics
import sys
import threading
import time
from urllib.parse import urlsplit

url, log, calls, postmaster = urlsplit(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]
origin = f"http://{url.netloc}"


class Browser:
    """A session: its cookie, its token, and one connection."""

    def __init__(self, role="shop"):
        self.role = role
        self.connection = http.client.HTTPConnection(url.netloc)
        self.headers = {"Origin": origin, "Content-Type": "application/json"}
        self.ask("POST", "/api/sign-in", {"role": role, "password": role})

    def ask(self, method, path, body=None):
        self.connection.request(method, path, json.dumps(body) if body is not None else None, self.headers)
        response = self.connection.getresponse()
        answer = json.loads(response.read())
        if response.status != 200:
            sys.exit(f"{path}: {answer}")
        if response.getheader("Set-Cookie"):
            self.headers["Cookie"] = response.getheader("Set-Cookie").split(";")[0]
            self.headers["X-CSRF-Token"] = answer["csrf"]
        return answer

    def look(self, seconds):
        """Reads live figures for some time. Returns their size in bytes."""
        connection = http.client.HTTPConnection(url.netloc)
        connection.request("GET", "/api/events", headers=self.headers)
        response, end, size = connection.getresponse(), time.time() + seconds, 0
        while time.time() < end:
            size += len(response.readline())
        connection.close()
        return size


def slowest_since(offset):
    """Returns the time of hipq-web's longest statement since then: parse, bind and execute
    together."""
    worst, steps = 0.0, 0.0
    with open(log) as lines:
        lines.seek(offset)
        for line in lines:
            try:
                entry = json.loads(line)
            except ValueError:
                continue  # the log may be incomplete while the server writes it
            words = entry["message"].split()
            if entry.get("application_name") != "hipq-web" or words[0] != "duration:":
                continue
            steps = float(words[1]) + (0 if words[3] == "parse" else steps)
            worst = max(worst, steps)
    return worst


def ticks():
    """Returns the processor time of all processes of the server, s."""
    children = open(f"/proc/{postmaster}/task/{postmaster}/children").read().split()
    total = 0
    for pid in children:
        try:
            fields = open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()
            total += int(fields[11]) + int(fields[12])
        except FileNotFoundError:
            pass
    return total / os.sysconf("SC_CLK_TCK")


def timed(browser, call):
    offset, start = os.path.getsize(log), time.perf_counter()
    browser.ask(*call)
    return 1000 * (time.perf_counter() - start), slowest_since(offset)


queue = "shop.q_b"
some_calls = [
    ("GET", "/api/queues"),
    ("GET", f"/api/queues/{queue}"),
    ("GET", "/api/job-types"),
    ("GET", "/api/throughput"),
    ("GET", "/api/workers"),
    ("GET", "/api/executors"),
    ("GET", "/api/schedules"),
    ("GET", "/api/pauses"),
    ("GET", "/api/dead-letters/groups"),
    ("POST", "/api/dead-letters/search", {}),
    ("POST", "/api/jobs/search", {"queue": queue}),
    ("POST", "/api/jobs/search", {"queue": queue, "job_key": "key-7"}),
    ("POST", "/api/jobs/search", {"queue": queue, "contains": {"n": 7}}),
    ("POST", "/api/jobs/search", {}),
    ("POST", "/api/jobs/search", {"outcome": "failed"}),
]
monitor_calls = [("GET", "/api/alerts"), ("GET", "/api/doctor"), ("GET", "/api/settings")]
browser = Browser()
job = browser.ask("POST", "/api/jobs/search", {"queue": queue, "limit": 1})["jobs"][0]["id"]
some_calls.append(("GET", f"/api/jobs/{job}?queue={queue}"))
some_calls.append(("GET", f"/api/jobs/{job}"))


def measure(visitor, call):
    first, first_statement = timed(Browser(visitor.role), call)
    later = [timed(visitor, call) for _ in range(calls)]
    name = f"{call[1]} {json.dumps(call[2]) if len(call) > 2 else ''}"
    print(f"{name:70} {first:8.1f} {statistics.median(t for t, _ in later):8.1f} {first_statement:26.1f} {max(s for _, s in later[1:]):8.1f}", flush=True)


print(f"{'call':70} {'first':>8} {'median':>8} {'slowest statement: first':>26} {'later':>8}")
for call in some_calls:
    measure(browser, call)
monitor = Browser("watch")
for call in monitor_calls:
    measure(monitor, call)

for viewers in 0, 1, 20:
    threads = [threading.Thread(target=browser.look, args=(10,)) for _ in range(viewers)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    offset, before = os.path.getsize(log), ticks()
    time.sleep(8)
    print(f"{viewers:2} viewers: {1000 * (ticks() - before) / 8:6.1f} ms of processor time a second, slowest statement {slowest_since(offset):.1f} ms", flush=True)
    for thread in threads:
        thread.join()
