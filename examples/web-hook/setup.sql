-- Payments: a job asks a payment service to charge a card, and ends when the service says so by its web-hook.

CREATE EXTENSION hipq;
CREATE ROLE shop LOGIN;        -- owns the queue
CREATE ROLE requester LOGIN;   -- the program that calls the payment service
CREATE ROLE receiver LOGIN;    -- the program that the payment service calls

CREATE TABLE payment (
    name  text PRIMARY KEY,                   -- the idempotency key at the service, and the job's key
    cents integer NOT NULL,
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'paid'))
);
GRANT SELECT ON payment TO shop;
GRANT SELECT, UPDATE ON payment TO receiver;

SELECT hipq.create_queue('shop.payment', owner => 'shop', history => 'all');
SELECT hipq.grant_queue('shop.payment', 'requester', 'work');
SELECT hipq.grant_queue('shop.payment', 'receiver', 'work');

-- The handler of "charge": has the request sent, by a job of its own, and leaves its job running. Both count when it returns.
-- The request's key names the attempt: each attempt asks again, and the service knows by the payment's name that it is the same.
CREATE FUNCTION charge(job hipq.job) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
    PERFORM hipq.enqueue('send request', jsonb_build_object('payment', name, 'cents', cents), queue => 'shop.payment',
                         job_key => job.job_key || ', attempt ' || job.attempt, on_duplicate => 'return')
    FROM payment WHERE name = job.job_key;
    PERFORM hipq.complete_later();
END $$;

-- How long a web-hook may take: 3 s here, so that you see it; perhaps '1 hour' in production. Then it is asked again, twice.
SELECT hipq.register_job_type('shop.payment', 'charge', handler => 'charge', default_timeout => '3 s',
                              max_retries => 2, retry_base => '200 ms');
SELECT hipq.register_job_type('shop.payment', 'send request', handler_kind => 'notify', default_timeout => '30 s',
                              max_retries => 5, retry_base => '200 ms');
