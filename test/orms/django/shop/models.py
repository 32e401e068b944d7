from django.db import models


class Customer(models.Model):
    email = models.TextField()

    class Meta:
        managed = False
        db_table = "customer"


class MailJob(models.Model):
    id = models.BigAutoField(primary_key=True)
    job_type = models.TextField()
    job_data = models.JSONField(default=dict)
    job_key = models.TextField(null=True)
    scheduled_run_time = models.DateTimeField(null=True)
    priority = models.SmallIntegerField(null=True)

    class Meta:
        managed = False
        db_table = '"hipq"."app_mail"'
