import json

from sqlalchemy import create_engine, text
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from models import Customer, MailJob

engine = create_engine("postgresql://")


def sign_up(email):
    with Session(engine) as session:
        job = MailJob(job_type="welcome", job_key=email, job_data={"to": email})
        session.add(job)
        session.flush()    # from here on there is job.id
        session.add(Customer(email=email))
        session.commit()
        return job.id


def invite(emails):
    with Session(engine) as session, session.begin():
        jobs = [MailJob(job_type="invite", job_data={"to": email}, priority=10) for email in emails]
        session.add_all(jobs)
        session.flush()
        return [job.id for job in jobs]


def remind(emails):
    rows = [{"job_type": "remind", "job_key": email, "job_data": {"to": email}} for email in emails]
    new = insert(MailJob).values(rows).on_conflict_do_nothing().returning(MailJob.id)
    with Session(engine) as session, session.begin():
        return session.execute(new).scalars().all()


def remind_at(email, time):
    enqueue = text("""
        SELECT hipq.enqueue('remind', :data, queue => 'app.mail', job_key => :email,
                            scheduled_run_time => :time, on_duplicate => 'replace')""")
    data = json.dumps({"to": email})
    with Session(engine) as session, session.begin():
        return session.scalar(enqueue, {"data": data, "email": email, "time": time})
