#!/usr/bin/python3
"""The receiver of the web-hook:  receiver.py PORT

Checks the signature (key: HOOK_SECRET), marks the payment as paid and completes its job, in one transaction."""
import hashlib, hmac, http.server, json, os, sys
import psycopg

SECRET = os.environ["HOOK_SECRET"].encode()


def end_job(conn, payment, status):
    if status == "paid":
        conn.execute("SELECT hipq.complete_by_key('shop.payment', 'charge', %s, %s)",
                     (payment, json.dumps({"status": status})))
    else:
        conn.execute("SELECT hipq.fail_by_key('shop.payment', 'charge', %s, %s, retriable => false)", (payment, status))


def settle(payment, status):
    """What it returns is an HTTP status: 200 says that the hook need not come again."""
    with psycopg.connect("user=receiver") as conn:         # commits in the end
        if status == "paid":                               # also if the job has given up waiting for it
            conn.execute("UPDATE payment SET state = 'paid' WHERE name = %s", (payment,))
        try:
            with conn.transaction():                       # a savepoint
                end_job(conn, payment, status)
        except psycopg.errors.UndefinedObject:             # 42704: no unfinished job, so the hook is late or comes again
            return 200, "the job has ended before"
        except psycopg.errors.ObjectNotInPrerequisiteState:    # 55000: the job is between two attempts
            return 503, "come again"
    return 200, "thanks"


class Receiver(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        signature = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
        if not hmac.compare_digest(signature, self.headers.get("Signature", "")):
            return self.answer(403, "who are you?")
        hook = json.loads(body)
        status, text = settle(hook["payment"], hook["status"])
        print(f"{hook['payment']}: {hook['status']}: {status} {text}")
        self.answer(status, text)

    def answer(self, status, text):
        self.send_response(status)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *message):
        pass


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Receiver) as server:
        print(f"listens on port {server.server_address[1]}")
        server.serve_forever()
