#!/usr/bin/python3
"""The mailer: sends the e-mail of an order, by the SMTP server at SMTP_HOST and SMTP_PORT. SIGTERM ends it."""
import email.message, os, smtplib
import hipq, psycopg

SMTP_SERVER = os.environ.get("SMTP_HOST", "127.0.0.1"), int(os.environ.get("SMTP_PORT", "25"))

worker = hipq.Worker("user=mailer", name="mailer", queues=["shop.mail"], concurrency=4)


def letter(order, customer, product, quantity):
    message = email.message.EmailMessage()
    message["From"] = "shop@example.com"
    message["To"] = customer
    message["Subject"] = f"Your order {order}"
    message["Message-ID"] = f"<order-{order}@example.com>"          # the same in each attempt
    message.set_content(f"Thank you! {quantity} {product} will be with you soon.\n")
    return message


@worker.job("order mail")
def send_order_mail(job):
    with psycopg.connect("user=mailer") as conn:
        row = conn.execute("SELECT id, customer, product, quantity FROM customer_order WHERE id = %s",
                           (job.data["order"],)).fetchone()
    try:
        with smtplib.SMTP(*SMTP_SERVER, timeout=10) as server:
            server.send_message(letter(*row))
    except smtplib.SMTPRecipientsRefused as error:
        ((code, text),) = error.recipients.values()
        if code >= 500:                                # the address is wrong, and will be
            raise hipq.Permanent(f"{code} {text.decode()}") from None
        raise                                          # 4xx: try again later
    return {"to": row[1]}


worker.run()
