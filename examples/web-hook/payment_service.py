#!/usr/bin/python3
"""A payment service to try things with:  payment_service.py PORT

Accepts a request with 202, and calls the hook a moment later, repeatedly until the hook returns
200. The name decides about the payment: "declined..." is declined, "forgotten..." is forgotten the
first time, "lost..." always, "twice..." is reported twice, "bad..." is refused at once. A payment
that is requested again is charged once."""
import http.server, json, sys, threading, time, urllib.error
import hook as web_hook

charged, requests = set(), {}


def call(hook, payment, status):
    for _ in range(20):
        time.sleep(0.3)
        try:
            if web_hook.call(hook, payment, status) == 200:
                return
        except urllib.error.URLError:
            pass                                           # the receiver is down


def charge(payment, cents, hook):
    if payment.startswith("declined"):
        call(hook, payment, "card declined")
        return
    if payment not in charged:
        charged.add(payment)
        print(f"charged {payment}: {cents}")
    if payment.startswith("lost") or payment.startswith("forgotten") and requests[payment] == 1:
        return
    for _ in range(2 if payment.startswith("twice") else 1):
        call(hook, payment, "paid")


class Service(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        payment = request["payment"]
        requests[payment] = requests.get(payment, 0) + 1
        is_bad = payment.startswith("bad")
        self.send_response(422 if is_bad else 202)
        self.end_headers()
        self.wfile.write(b"no such currency" if is_bad else b"accepted")
        if not is_bad:
            threading.Thread(target=charge, args=(payment, request["cents"], request["hook"]), daemon=True).start()

    def log_message(self, *message):
        pass


if __name__ == "__main__":
    with http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Service) as server:
        print(f"listens on port {server.server_address[1]}")
        server.serve_forever()
