import json

from django.db import connection, transaction

from shop.models import Customer, MailJob


@transaction.atomic
def sign_up(email):
    job = MailJob.objects.create(job_type="welcome", job_key=email, job_data={"to": email})
    Customer.objects.create(email=email)
    return job.id


def invite(emails):
    jobs = [MailJob(job_type="invite", job_data={"to": email}, priority=10) for email in emails]
    return [job.id for job in MailJob.objects.bulk_create(jobs)]


def remind(emails):
    jobs = [MailJob(job_type="remind", job_key=email, job_data={"to": email}) for email in emails]
    MailJob.objects.bulk_create(jobs, ignore_conflicts=True)


def remind_at(email, time):
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT hipq.enqueue('remind', %s, queue => 'app.mail', job_key => %s,
                                scheduled_run_time => %s, on_duplicate => 'replace')""",
            [json.dumps({"to": email}), email, time])
        return cursor.fetchone()[0]
