# Calls what the manual shows, then what the right 'enqueue' does not allow, and prints the results.
import json
from datetime import datetime, timezone

from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

import jobs
from models import MailJob


def error_of(action, *arguments):
    try:
        action(*arguments)
    except Exception as error:
        return f"{type(error).__name__} {error.orig.pgcode}"


def read(id):
    with Session(jobs.engine) as session:
        return session.get(MailJob, id).job_data


def upsert():
    rows = insert(MailJob).values(job_type="remind", job_key="bob@example.com")
    with Session(jobs.engine) as session:
        session.execute(rows.on_conflict_do_update(
            index_elements=["job_type", "job_key"], set_={"priority": 1}))


signed_up = jobs.sign_up("ann@example.com")
print(json.dumps({
    "signed_up": signed_up,
    "refused": error_of(jobs.sign_up, "nobody"),
    "duplicate": error_of(jobs.sign_up, "ann@example.com"),
    "invited": jobs.invite([f"guest{number}@example.com" for number in range(1, 101)]),
    "reminded": [
        jobs.remind(["bob@example.com"]), jobs.remind(["bob@example.com", "eve@example.com"])],
    "moved": jobs.remind_at("bob@example.com", datetime(2100, 1, 1, tzinfo=timezone.utc)),
    "read": error_of(read, signed_up),
    "upsert": error_of(upsert),
}))
