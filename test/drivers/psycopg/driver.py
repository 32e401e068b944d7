"""psycopg 3: values as text, and once more as binary."""

import json
import re
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import psycopg
from psycopg.types.json import Jsonb


def shown(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):  # an enum, in binary
        return value.decode()
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return str((value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1))
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return ",".join(value) if isinstance(value, list) else str(value)


def outcome(connection, statement, values):
    try:
        connection.execute(re.sub(r"\$\d+", "%s", statement), values).fetchall()
        return "00000"
    except psycopg.Error as error:
        return error.sqlstate
    finally:
        connection.rollback()


def example(connection):
    # manual
    data = {"to": "ann@example.com"}
    row = connection.execute(
        "SELECT hipq.enqueue('external', %s, 'app.drivers', timeout => %s, throttle_factor => %s)",
        (Jsonb(data), timedelta(minutes=5), 0.5),
    ).fetchone()
    ids, attempts = [row[0]], [1]
    connection.execute("SELECT hipq.complete_attempts(%s, %s)", (ids, attempts))
    # manual
    return row[0]


with psycopg.connect("dbname=postgres") as connection:
    for line in open(sys.argv[1]):
        kind, what, *rest = line.rstrip("\n").split("\t")
        for binary in (False, True):
            if kind == "read":
                cursor = connection.cursor(binary=binary).execute(f"SELECT * FROM {what}")
                print(kind, what, len(cursor.fetchall()), sep="\t")
            elif kind == "value":
                cursor = connection.cursor(binary=binary).execute(what)
                print(kind, what, shown(cursor.fetchone()[0]), sep="\t")
        connection.rollback()
        if kind == "call":
            values = [None if value == r"\N" else value for value in rest]
            print(kind, what, outcome(connection, what, values), sep="\t")
    job = connection.execute(
        "SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = %s",
        (example(connection),)).fetchone()
    print("example", *map(shown, job), sep="\t")
    connection.rollback()
