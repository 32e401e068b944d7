#!/usr/bin/python3
"""The requester: sends the requests to the payment service at SERVICE, which is to answer at HOOK. SIGTERM ends it."""
import contextlib, json, os, urllib.error, urllib.request
import hipq, psycopg

SERVICE, HOOK = os.environ["SERVICE"], os.environ["HOOK"]

worker = hipq.Worker("user=requester", name="requester", queues=["shop.payment"])


def refuse(payment, error):
    """No web-hook will come: the job that waits for it fails now. If it has ended already (42704) there is nothing to do."""
    with psycopg.connect("user=requester") as conn, contextlib.suppress(psycopg.errors.UndefinedObject):
        conn.execute("SELECT hipq.fail_by_key('shop.payment', 'charge', %s, %s, retriable => false)", (payment, error))


@worker.job("send request")
def send_request(job):
    body = json.dumps({**job.data, "hook": HOOK}).encode()
    request = urllib.request.Request(SERVICE, body, {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return {"status": answer.status}
    except urllib.error.HTTPError as error:
        if error.code in (400, 422):                       # it will never take this one
            refuse(job.data["payment"], f"{error.code}: {error.read().decode()}")
            return {"status": error.code}
        raise                                              # try again later


worker.run()
