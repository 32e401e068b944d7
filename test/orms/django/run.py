# Calls what the manual shows, then what the right 'enqueue' does not allow, and prints the results.
import json
import os
from datetime import datetime, timezone

import django

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
django.setup()

from shop import jobs  # noqa: E402
from shop.models import MailJob  # noqa: E402


def error_of(action, *arguments):
    try:
        action(*arguments)
    except Exception as error:
        return f"{type(error).__name__} {error.__cause__.pgcode}"


def read(id):
    return MailJob.objects.get(id=id)


def upsert():
    MailJob.objects.update_or_create({"priority": 1}, job_type="remind", job_key="bob@example.com")


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
