#!/usr/bin/python3
"""A mail server to try things with:  smtp_server.py PORT FILE

Speaks SMTP on loopback, appends each message to FILE as a line of JSON, and delivers nothing. With
PORT 0 it prints the chosen port. Refuses addresses that begin with "nobody", and is too busy for
the first message to an address that begins with "busy"."""
import email, email.policy, json, socketserver, sys


class Session(socketserver.StreamRequestHandler):
    busy_for = set()

    def say(self, line):
        self.wfile.write(line.encode() + b"\r\n")

    def handle(self):
        self.say("220 example ESMTP")
        for line in self.rfile:
            command = line.decode().strip()
            verb = command[:4].upper()
            if verb in ("EHLO", "HELO", "RSET", "NOOP", "MAIL"):
                self.say("250 ok")
            elif verb == "RCPT":
                self.say(self.recipient(command.partition("<")[2].rstrip(">")))
            elif verb == "DATA":
                self.say("354 go on")
                self.keep(self.message())
                self.say("250 kept")
            elif verb == "QUIT":
                return self.say("221 bye")
            else:
                self.say("502 not known here")

    def recipient(self, address):
        if address.startswith("nobody"):
            return "550 no such user"
        if address.startswith("busy") and address not in self.busy_for:
            self.busy_for.add(address)
            return "451 too busy, come again"
        return "250 ok"

    def message(self):
        lines = []
        for line in self.rfile:
            if line == b".\r\n":
                break
            lines.append(line[1:] if line.startswith(b".") else line)
        return email.message_from_bytes(b"".join(lines), policy=email.policy.default)

    def keep(self, message):
        kept = {key: message[key] for key in ("To", "Subject", "Message-ID")}
        with open(self.server.file, "a") as out:
            out.write(json.dumps({**kept, "text": message.get_content()}) + "\n")


class Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True


def main(port, file):
    with Server(("127.0.0.1", int(port)), Session) as server:
        server.file = file
        print(f"listens on port {server.server_address[1]}")
        server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
