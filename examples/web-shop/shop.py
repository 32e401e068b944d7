#!/usr/bin/python3
"""The shop:  shop.py CUSTOMER PRODUCT QUANTITY

Sells, and has an e-mail sent, in one transaction: either there are both, order and e-mail, or neither."""
import sys
import hipq, psycopg


def sell(conn, customer, product, quantity):
    conn.execute("UPDATE product SET stock = stock - %s WHERE name = %s", (quantity, product))
    (order,) = conn.execute(
        "INSERT INTO customer_order (customer, product, quantity) VALUES (%s, %s, %s) RETURNING id",
        (customer, product, quantity)).fetchone()
    hipq.enqueue(conn, "order mail", {"order": order}, queue="shop.mail", job_key=f"order {order}")
    return order


def main(customer, product, quantity):
    try:
        with psycopg.connect("user=shop") as conn:                  # commits in the end, or rolls back
            order = sell(conn, customer, product, int(quantity))
        print(f"order {order}: {quantity} {product} for {customer}")
    except psycopg.errors.CheckViolation:
        sys.exit(f"no order: there is not enough of {product} for {customer}")


if __name__ == "__main__":
    main(*sys.argv[1:])
