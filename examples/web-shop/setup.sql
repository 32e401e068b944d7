-- The shop's database: what it sells, its orders, and a queue for its e-mail.

CREATE EXTENSION hipq;

CREATE ROLE shop LOGIN;      -- the shop's programs
CREATE ROLE mailer LOGIN;    -- the program that sends e-mail

CREATE TABLE product (
    name  text PRIMARY KEY,
    stock integer NOT NULL CONSTRAINT product_is_in_stock CHECK (stock >= 0)
);
CREATE TABLE customer_order (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    customer text NOT NULL,
    product  text NOT NULL REFERENCES product,
    quantity integer NOT NULL CHECK (quantity > 0)
);
INSERT INTO product VALUES ('book', 10), ('lamp', 1);
GRANT SELECT, UPDATE ON product TO shop;
GRANT SELECT, INSERT ON customer_order TO shop;
GRANT SELECT ON customer_order TO mailer;

-- The job type has no handler in the server: the mailer runs its jobs. A mail server that is down is back in a moment or in
-- an hour, so thirty retries, from half a second to two in this example. In production: retry_base '30 s', retry_max '1 hour'.
SELECT hipq.create_queue('shop.mail', owner => 'shop');
SELECT hipq.register_job_type('shop.mail', 'order mail', handler_kind => 'notify', default_timeout => '30 s',
                              max_retries => 30, retry_base => '500 ms', retry_max => '2 s');
SELECT hipq.grant_queue('shop.mail', 'mailer', 'work');
