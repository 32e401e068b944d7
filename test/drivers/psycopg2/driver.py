"""psycopg 2: it writes the values of parameters into the statement."""

import json
import re
import sys
from datetime import datetime, timedelta, timezone
from decimal import Decimal

import psycopg2
from psycopg2.extras import Json


def shown(value):
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return str((value - datetime(1970, 1, 1, tzinfo=timezone.utc)) // timedelta(milliseconds=1))
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    if isinstance(value, dict):
        return json.dumps(value, separators=(",", ":"))
    return ",".join(value) if isinstance(value, list) else str(value)


def rows(connection, statement, values=None):
    cursor = connection.cursor()
    cursor.execute(statement, values)
    return cursor.fetchall()


def outcome(connection, statement, values):
    try:
        rows(connection, re.sub(r"\$\d+", "%s", statement), values)
        return "00000"
    except psycopg2.Error as error:
        return error.pgcode
    finally:
        connection.rollback()


def example(connection):
    # manual
    cursor = connection.cursor()
    cursor.execute(
        "SELECT hipq.enqueue('external', %s, 'app.drivers', timeout => %s, throttle_factor => %s)",
        (Json({"to": "ann@example.com"}), timedelta(minutes=5), 0.5),
    )
    (job,) = cursor.fetchone()
    ids, attempts = [job], [1]
    cursor.execute("SELECT hipq.complete_attempts(%s, %s)", (ids, attempts))
    # manual
    return job


connection = psycopg2.connect("dbname=postgres")
for line in open(sys.argv[1]):
    kind, what, *rest = line.rstrip("\n").split("\t")
    if kind == "read":
        print(kind, what, len(rows(connection, f"SELECT * FROM {what}")), sep="\t")
    elif kind == "value":
        print(kind, what, shown(rows(connection, what)[0][0]), sep="\t")
    else:
        values = [None if value == r"\N" else value for value in rest]
        print(kind, what, outcome(connection, what, values), sep="\t")
    connection.rollback()
job = example(connection)
values = rows(
    connection, "SELECT timeout, throttle_factor, job_data FROM hipq.jobs_detail WHERE id = %s",
    (job,))[0]
print("example", *map(shown, values), sep="\t")
connection.rollback()
