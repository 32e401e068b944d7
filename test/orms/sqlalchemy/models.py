from sqlalchemy import BigInteger, Column, DateTime, SmallInteger, Text
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import declarative_base, deferred

Base = declarative_base()


class Customer(Base):
    __tablename__ = "customer"
    id = Column(BigInteger, primary_key=True)
    email = Column(Text, nullable=False)


class MailJob(Base):
    __tablename__ = "app_mail"
    __table_args__ = {"schema": "hipq"}
    id = Column(BigInteger, primary_key=True)
    # Deferred: after a commit job.id reads the id again, and nothing else.
    job_type = deferred(Column(Text, nullable=False))
    job_data = deferred(Column(JSONB))
    job_key = deferred(Column(Text))
    scheduled_run_time = deferred(Column(DateTime(timezone=True)))
    priority = deferred(Column(SmallInteger))
